// A file of evidence, judged: what `assay judge` says about it and what a browser's judge says, from one function. Value types; pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/dispute/evidence.h"
#include "assay/dispute/terms.h"
#include "assay/verdict/view.h"

namespace assay::verdict {

// What the evidence is expected to be.
struct Expected {
  std::string name;                  // of the file, as it is called in what is said about it
  std::optional<Digest> job{};       // which it is about; none: any
  dispute::StartingBytes start{};    // the starting weights of that job, where it takes them from a file that is at hand
  std::vector<VerifyKey> signers{};  // whom it convicts
};

struct Judged {
  dispute::Judgement judgement{};
  VerdictView view{};
  std::string mismatch{};  // what the evidence was expected to be and is not; empty: nothing
  bool convicts = false;
};

// By its first bytes, so that an altered file is named for what it was meant to be.
bool LooksLikeEvidence(ByteSpan bytes);

// What is said of a file that cannot be read or judged.
Error NotEvidence(const std::string& name, const Error& error);

// An error, which names the file: it is no valid evidence, and why.
Result<dispute::Evidence> ReadEvidence(ByteSpan bytes, const std::string& name);
Result<Judged> Judge(const dispute::Evidence& evidence, const Expected& expected);

// The object that `assay judge --json` prints (docs/OUTPUT.md).
OrderedJson ToJson(const Judged& judged, const std::string& name);
// And what --explain adds to it.
void AddExplanation(OrderedJson& json, const dispute::Evidence& evidence, const Judged& judged);

// 0: it convicts; 3: it convicts nobody and leaves the dispute undecided; otherwise 1.
int ExitStatusOf(const Judged& judged);

}  // namespace assay::verdict
