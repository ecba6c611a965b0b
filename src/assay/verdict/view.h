// How a dispute ended, for people and for programs: the same words and labels from `assay dispute`, from `assay judge` and in a browser. Value types; pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/dispute/evidence.h"
#include "assay/verdict/json.h"
#include "assay/verdict/next_step.h"

namespace assay::verdict {

// One of the parties. Labels are a and b for two runs on one machine, otherwise the provider's number as the referee has it.
struct NamedParty {
  std::string label;
  std::string name;  // where it was reached, or the name of its key
  std::string key;   // NAME+HASH+DATA; empty where there is no receipt
  std::string why{};
};

// What an audit of a run directory says about the steps in dispute. Whoever has the run and its data can repeat it; it is no evidence.
struct RunAudit {
  std::string label, name;
  std::string verdict;  // "verified", "refuted" or "unchecked"
  std::string reason{};
  std::optional<std::int64_t> step{}, node{};
  bool first_result = false;  // the node writes the first result that differs; what went wrong may have come before it
  std::string node_name{};
};

struct VerdictView {
  std::string verdict;           // a, b, both, none, undecided, damaged or a number
  std::string reason{};          // one line
  std::string decided_by{};      // of what is undecided: what would decide it
  std::vector<NextStep> next{};  // and by which commands
  std::string job_id{};
  // Everybody is in one of these lists, unless a copy is damaged: then nothing is decided. The accused are charged by what nobody signed.
  std::vector<NamedParty> convicted{}, accused{}, standing{}, misled{}, refused{}, absent{}, damaged{};
  std::vector<RunAudit> audits{};             // of run directories
  std::vector<std::string> unchecked{};       // charges that need something that is not at hand, and what
  std::vector<std::string> assumed{};         // what was taken on trust
  std::optional<dispute::Finding> finding{};  // the last trial's: that which decided between the last two claims
  NamedParty sides[2]{};                      // of it
  bool proven = false;                        // the evidence convicts everybody who is named as convicted
  bool one_signer = false;                    // of two run directories: both are signed by one key
};

// Of the parties of a judgement. `claims`: how many there are about the job; one alone, which nobody contradicts, leaves everything open. `names`: where they were
// reached, for whoever held the dispute; empty for a judge, who calls them by their keys. Nothing else depends on it: nobody is convicted whose answers are not
// signed.
VerdictView ViewOf(const dispute::Judgement& judgement, bool pair, std::size_t claims, const std::vector<std::string>& names);

// Of evidence, for a judge.
VerdictView ViewOf(const dispute::Evidence& evidence, const dispute::Judgement& judgement);
// Whether it has been shown that who has this key is guilty.
bool Convicts(const dispute::Judgement& judgement, const VerifyKey& key);

void AddVerdict(OrderedJson& json, const VerdictView& view);

// "1 (NAME, key KEY)".
std::string Called(const NamedParty& party);

// What the evidence is worth, in a sentence; where it does not show somebody's guilt, how to get some that does.
std::string WorthOf(const VerdictView& view);

// The deciding finding in plain words, with the numbers that differ.
std::string Explanation(const VerdictView& view);

}  // namespace assay::verdict
