// How a dispute ended, for people and for programs: the same words and labels from `assay dispute` and from `assay judge`. Value types; pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/cli/json.h"
#include "assay/cli/next_steps.h"
#include "assay/dispute/evidence.h"

namespace assay::cli {

// One of the parties. Labels are a and b for two runs on one machine, otherwise the provider's number as the referee has it.
struct NamedParty {
  std::string label;
  std::string name;  // where it was reached, or the name of its key
  std::string key;   // NAME+HASH+DATA; empty where there is no receipt
  std::string why{};
};

struct VerdictView {
  std::string verdict;           // a, b, both, none, undecided or a number
  std::string reason{};          // one line
  std::string decided_by{};      // of what is undecided: what would decide it
  std::vector<NextStep> next{};  // and by which commands
  std::string job_id{};
  // Everybody is in one of these lists. The accused are charged by answers that nobody signed.
  std::vector<NamedParty> convicted{}, accused{}, standing{}, misled{}, refused{}, absent{};
  std::vector<std::string> assumed{};         // what was taken on trust
  std::optional<dispute::Finding> finding{};  // the last trial's: that which decided between the last two claims
  NamedParty sides[2]{};                      // of it
  bool proven = false;                        // the evidence convicts everybody who is named as convicted
};

// Of the parties of a judgement. `names`: where they were reached, by whoever held the dispute and so knows what they answered; empty for a judge, who
// calls them by their keys and convicts nobody whose answers are not signed.
VerdictView ViewOf(const dispute::Judgement& judgement, bool pair, const std::vector<std::string>& names);

// Of evidence, for a judge. One claim alone, which nobody contradicts, leaves everything open.
VerdictView ViewOf(const dispute::Evidence& evidence, const dispute::Judgement& judgement);
// Whether it has been shown that who has this key is guilty.
bool Convicts(const dispute::Judgement& judgement, const VerifyKey& key);

std::string VerdictText(const VerdictView& view);
void AddVerdict(OrderedJson& json, const VerdictView& view);

// The deciding finding in plain words, with the numbers that differ.
std::string Explanation(const VerdictView& view);

// 0: somebody stands and is right, or all agree; 1: nobody stands; 3: undecided.
int ExitStatusOf(const VerdictView& view);

}  // namespace assay::cli
