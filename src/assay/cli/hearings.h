// Who was not heard in a dispute so that it is undecided, and how it comes to be heard (docs/formats/dispute.md, "Refusals").
//
// Whoever denies this referee the dispute is never to be left out: then whoever can make it deny one, by many claims that use up what it has for strangers, would win by that. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "assay/cli/next_steps.h"
#include "assay/dispute/arbitrate.h"

namespace assay::cli {

// An address that refused the dispute for a party that was not heard and whose claim nobody who stands shares.
struct Hearing {
  std::size_t party = 0;
  std::size_t address = 0;  // of the party: the same provider, or another that hands out the same claim under the same key
  bool denied = false;  // it may let this referee ask: it names others, or has too little left for those that it does not name
  bool alone = false;   // the party has no other address
};

// In the order of the list, at least one of each party: those addresses that denied it, or where there are none those that refuse for another reason.
std::vector<Hearing> NotHeard(const dispute::Arbitration& result);

// The first provider that claims the same under the same key: the party that a provider is an address of.
std::size_t PartyOf(const dispute::Arbitration& result, std::size_t provider);

// A dispute of these addresses. `key`: the file of the referee's; empty: not named. `evidence`: the name of its file, without what it ends in.
std::string DisputeCommand(const std::vector<std::string>& urls, const std::string& key, const std::string& evidence,
                           const NextContext& context);

// What would decide it, in words. `labels`: of the providers that have a receipt.
std::string HeardBy(const Hearing& hearing, const dispute::Arbitration& result, const std::vector<std::string>& labels,
                    const NextContext& context);

// For each that denied it: the provider names this referee, and the dispute once more; and where more than two took part a dispute with one other alone, which costs less.
std::vector<NextStep> HearingSteps(const std::vector<Hearing>& hearings, const dispute::Arbitration& result,
                                   const std::vector<std::string>& labels, const NextContext& context);

}  // namespace assay::cli
