#include "assay/cli/hearings.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "assay/base/quote.h"
#include "assay/dispute/docket.h"

namespace assay::cli {
namespace {

using dispute::Standing;

bool SharedByOneWhoStands(const dispute::Record& record, std::size_t party) {
  return std::ranges::any_of(record.providers, [&](const dispute::ProviderRecord& other) {
    return other.standing == Standing::kStanding && other.group == record.providers[party].group;
  });
}

std::function<bool(std::size_t)> IsDenied(const dispute::Arbitration& result) {
  return [&](std::size_t i) { return result.trouble_kind[i] == dispute::PeerError::Kind::kDenied; };
}
std::function<bool(std::size_t)> IsRefused(const dispute::Arbitration& result) {
  return [&](std::size_t i) { return result.trouble_kind[i] && dispute::PeerError::IsFinal(*result.trouble_kind[i]); };
}

std::vector<std::size_t> AddressesOf(const dispute::Arbitration& result, std::size_t party) {
  std::vector<std::size_t> addresses;
  for (std::size_t i = 0; i < result.claims.size(); ++i) {
    const bool is = i == party || (result.record.providers[i].standing == Standing::kRepeated && PartyOf(result, i) == party);
    if (is) addresses.push_back(i);
  }
  return addresses;
}

// Of each group that stands, the first in the list.
std::vector<std::size_t> Opponents(const dispute::Record& record) {
  std::vector<std::size_t> opponents;
  for (std::uint32_t group = 0; group < record.groups.size(); ++group) {
    for (std::size_t i = 0; i < record.providers.size(); ++i) {
      if (record.providers[i].standing != Standing::kStanding || record.providers[i].group != group) continue;
      opponents.push_back(i);
      break;
    }
  }
  return opponents;
}

}  // namespace

std::string DisputeCommand(const std::vector<std::string>& urls, const std::string& key, const std::string& evidence,
                           const NextContext& context) {
  std::string command = fmt::format("assay dispute --job {}", context.job.empty() ? context.job_id : ShellQuoted(context.job));
  for (const std::string& url : urls) command += fmt::format(" --provider {}", ShellQuoted(url));
  if (!key.empty()) command += fmt::format(" --referee-key {}", ShellQuoted(key));
  return command + fmt::format(" --evidence {}.evidence", evidence);
}

std::size_t PartyOf(const dispute::Arbitration& result, std::size_t provider) {
  const dispute::Claim& claim = result.claims[provider];
  const auto same = std::ranges::find_if(result.claims, [&](const dispute::Claim& other) {
    return other.signer.point() == claim.signer.point() && GroupOf(other) == GroupOf(claim);
  });
  return static_cast<std::size_t>(same - result.claims.begin());
}

std::vector<Hearing> NotHeard(const dispute::Arbitration& result) {
  std::vector<Hearing> hearings;
  for (std::size_t party = 0; party < result.claims.size(); ++party) {
    if (result.record.providers[party].standing != Standing::kUnheard || SharedByOneWhoStands(result.record, party)) continue;
    const std::vector<std::size_t> addresses = AddressesOf(result, party);
    const bool alone = addresses.size() == 1, denied = std::ranges::any_of(addresses, IsDenied(result));
    std::vector<std::size_t> refused = addresses;
    std::erase_if(refused, std::not_fn(denied ? IsDenied(result) : IsRefused(result)));
    if (refused.empty()) refused = {party};
    for (const std::size_t address : refused) hearings.push_back({party, address, denied, alone});
  }
  return hearings;
}

std::string HeardBy(const Hearing& hearing, const dispute::Arbitration& result, const std::vector<std::string>& labels,
                    const NextContext& context) {
  const std::string &label = labels[hearing.address], &name = result.names[hearing.address];
  if (result.trouble_kind[hearing.address] == dispute::PeerError::Kind::kFailed) {
    return fmt::format("the same dispute where {} and its data can be read", name);
  }
  if (context.pair) return fmt::format("a copy of {} that is whole", name);
  if (!hearing.denied) {
    if (!hearing.alone && context.providers.size() > 2) {
      return fmt::format("a list without {}, which refuses in place of other addresses of the same claim", name);
    }
    return fmt::format("the provider of {}, at an address where it answers", label);
  }
  const std::string key = context.key_file.empty()
                              ? "which was made for this dispute alone: make one that lasts with assay keygen"
                              : context.referee;
  std::string by = fmt::format(
      "the provider of {} ({}), if it names this referee's public key ({}), or names nobody and leaves {} bouts for strangers "
      "(--open-to-all)",
      label, name, key, dispute::Docket::BoutsOf(result.record.parties));
  if (result.record.parties > 2 && !Opponents(result.record).empty()) {
    by += fmt::format("; or a dispute of {} with one other alone, for which {} bouts are enough", label,
                      dispute::Docket::BoutsOf(2));
  }
  return by;
}

std::vector<NextStep> HearingSteps(const std::vector<Hearing>& hearings, const dispute::Arbitration& result,
                                   const std::vector<std::string>& labels, const NextContext& context) {
  const std::string key = context.key_file.empty() ? "referee.key" : context.key_file;
  std::vector<NextStep> next;
  for (const Hearing& hearing : hearings) {
    if (!hearing.denied || context.pair) continue;
    NextStep step{.hear = labels[hearing.address], .name = result.names[hearing.address], .referee = context.referee};
    if (context.key_file.empty()) step.commands.push_back(fmt::format("assay keygen --out {}", key));
    // The provider's machine has none of the referee's files.
    step.commands.push_back(fmt::format("assay provide RUN --key KEY --listen HOST:PORT --referee {}",
                                        ShellQuoted(context.referee.empty() ? key + ".pub" : context.referee)));
    step.commands.push_back(DisputeCommand(context.providers, key, "heard", context));
    next.push_back(step);
    if (result.record.parties <= 2) continue;
    for (const std::size_t opponent : Opponents(result.record)) {
      NextStep alone{.hear = step.hear, .name = step.name, .by = labels[opponent]};
      alone.commands = {DisputeCommand({step.name, result.names[opponent]}, context.key_file,
                                       fmt::format("heard-{}-{}", step.hear, alone.by), context)};
      next.push_back(std::move(alone));
    }
  }
  return next;
}

}  // namespace assay::cli
