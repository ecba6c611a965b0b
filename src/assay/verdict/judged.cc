#include "assay/verdict/judged.h"

#include <string_view>

#include "assay/dispute/retelling.h"
#include "assay/verdict/exit_status.h"

namespace assay::verdict {
namespace {

constexpr std::string_view kEvidenceTag = "assay/evidence/";

std::string Mismatch(const Expected& expected, const dispute::Judgement& judgement) {
  if (expected.job && *expected.job != judgement.job) {
    return fmt::format("the evidence is about job {}, not about {}", judgement.job.hex(), expected.job->hex());
  }
  for (const VerifyKey& signer : expected.signers) {
    if (!Convicts(judgement, signer)) return fmt::format("it does not convict {}", signer.ToString());
  }
  return {};
}

void Assume(const Expected& expected, VerdictView& view) {
  if (!expected.job) view.assumed.push_back("that the job is the one that was asked for: --job JOB insists on it");
  if (expected.signers.empty())
    view.assumed.push_back("that the keys belong to those you think they do: --signer KEY.pub insists on who is convicted");
}

}  // namespace

Error NotEvidence(const std::string& name, const Error& error) {
  std::string_view why = error.message;
  constexpr std::string_view kOfIt = "evidence: ";
  if (why.starts_with(kOfIt)) why.remove_prefix(kOfIt.size());
  return {fmt::format("{}: not valid evidence: {}", name, why)};
}

bool LooksLikeEvidence(ByteSpan bytes) {
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return text.size() > 4 && text.substr(4).starts_with(kEvidenceTag);
}

Result<dispute::Evidence> ReadEvidence(ByteSpan bytes, const std::string& name) {
  auto evidence = dispute::DecodeEvidence(bytes);
  if (!evidence) return tl::unexpected(NotEvidence(name, evidence.error()));
  return evidence;
}

Result<Judged> Judge(const dispute::Evidence& evidence, const Expected& expected) {
  // Another job's file says nothing about this one's start.
  const bool same_job = expected.job && *expected.job == JobId(evidence.job, evidence.program);
  auto judgement = dispute::Judge(evidence, same_job ? expected.start : dispute::StartingBytes{});
  if (!judgement) return tl::unexpected(NotEvidence(expected.name, judgement.error()));
  Judged judged{.judgement = *std::move(judgement)};
  judged.view = ViewOf(evidence, judged.judgement);
  judged.mismatch = Mismatch(expected, judged.judgement);
  Assume(expected, judged.view);
  judged.convicts = judged.judgement.convicts && judged.mismatch.empty();
  judged.view.proven = judged.convicts;
  return judged;
}

OrderedJson ToJson(const Judged& judged, const std::string& name) {
  OrderedJson json = {{"evidence", name}, {"convicts", judged.convicts}};
  AddVerdict(json, judged.view);
  if (!judged.mismatch.empty()) json["reason"] = json["worth"] = judged.mismatch;
  return json;
}

void AddExplanation(OrderedJson& json, const dispute::Evidence& evidence, const Judged& judged) {
  json["explanation"] = Explanation(judged.view);
  json["retelling"] = OrderedJson::parse(dispute::RetellingJson(evidence, judged.judgement));
}

int ExitStatusOf(const Judged& judged) {
  if (judged.convicts) return kExitOk;
  return judged.mismatch.empty() && judged.view.verdict == "undecided" ? kExitUndecided : kExitRefuted;
}

}  // namespace assay::verdict
