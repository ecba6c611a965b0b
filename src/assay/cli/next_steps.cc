#include "assay/cli/next_steps.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "assay/base/quote.h"
#include "assay/dispute/examine.h"

namespace assay::cli {
namespace {

using dispute::ProviderId;
using dispute::Standing;

std::optional<ProviderId> FirstStanding(const dispute::Record& record, std::uint32_t group) {
  for (const ProviderId id : record.groups[group]) {
    if (record.providers[id].standing == Standing::kStanding) return id;
  }
  return std::nullopt;
}

// Who else stands by what `leader` claims and took its decisions from it.
std::optional<ProviderId> FollowerOf(const dispute::Arbitration& result, ProviderId leader) {
  const dispute::Claim& followed = result.claims[leader];
  for (std::size_t i = 0; i < result.claims.size(); ++i) {
    const dispute::Claim& claim = result.claims[i];
    if (result.record.providers[i].standing != Standing::kStanding || !claim.receipt.follows) continue;
    const bool same = claim.receipt.follows->signer == followed.receipt.signer &&
                      claim.receipt.follows->log_root == followed.receipt.log.root && GroupOf(claim) == GroupOf(followed);
    if (same && claim.signer.point() != followed.signer.point()) return static_cast<ProviderId>(i);
  }
  return std::nullopt;
}

std::vector<std::string> Commands(const NextStep& step, const NextContext& context) {
  const std::string job = context.job.empty() ? "JOB.toml" : ShellQuoted(context.job), them = ShellQuoted(step.name);
  const std::string out = fmt::format("followed-{}", step.follow);
  const std::string train = fmt::format("assay train {} --follow {} --out {}", job, them, out);
  if (context.pair) return {train, fmt::format("assay dispute {} {} --job {}", them, out, job)};
  const std::string referee =
      context.referee_key.empty() ? "" : fmt::format(" --referee-key {}", ShellQuoted(context.referee_key));
  return {train, fmt::format("assay provide {} --listen HOST:PORT", out),
          fmt::format("assay dispute --job {} --provider {} --provider http://HOST:PORT{} --evidence {}.evidence", job, them,
                      referee, out)};
}

}  // namespace

std::vector<NextStep> NextSteps(const dispute::Arbitration& result, const std::vector<std::string>& labels,
                                const NextContext& context) {
  std::map<ProviderId, ProviderId> standing;  // who met whom in a close call
  for (const dispute::MatchRecord& match : result.record.matches) {
    if (match.decided_by != dispute::kDecidedByFollowing) continue;
    const auto a = FirstStanding(result.record, match.groups[0]), b = FirstStanding(result.record, match.groups[1]);
    if (!a || !b) continue;
    standing.emplace(*a, *b);
    standing.emplace(*b, *a);
  }
  std::vector<NextStep> next;
  for (const auto& [id, other] : standing) {
    ProviderId leader = id;
    // Of a group the one that decided for itself is followed.
    for (std::size_t i = 0; i < result.claims.size(); ++i) {
      const bool stands = result.record.providers[i].standing == Standing::kStanding;
      if (stands && !result.claims[i].receipt.follows && GroupOf(result.claims[i]) == GroupOf(result.claims[id])) {
        leader = static_cast<ProviderId>(i);
        break;
      }
    }
    NextStep step{.follow = labels[leader], .name = result.names[leader], .by = labels[other]};
    if (const auto follower = FollowerOf(result, leader)) {
      step.followed_by = labels[*follower];
    } else {
      step.commands = Commands(step, context);
    }
    next.push_back(std::move(step));
  }
  return next;
}

std::string NextText(const std::vector<NextStep>& next) {
  std::string text;
  for (const NextStep& step : next) {
    if (!step.followed_by.empty()) {
      text +=
          fmt::format("followed    {} ({}) by {}, which agrees with it to the end\n", step.follow, step.name, step.followed_by);
      continue;
    }
    if (step.waits) {
      text += fmt::format("next        {} ({}) is disputed without the other claims of its key:\n", step.hear, step.name);
    } else if (!step.hear.empty() && !step.by.empty()) {
      text += fmt::format("next        or {} ({}) and {} alone are disputed, for which less has to be left:\n", step.hear,
                          step.name, step.by);
    } else if (!step.hear.empty()) {
      text += fmt::format(
          "next        the provider of {} ({}) is sent this referee's public key and names it, and the dispute is held "
          "again:\n",
          step.hear, step.name);
      if (!step.referee.empty()) text += fmt::format("              public key {}\n", step.referee);
    } else {
      text += fmt::format("next        {}, or whoever doubts {}, follows {} and disputes it again:\n", step.by, step.follow,
                          step.follow);
    }
    for (const std::string& command : step.commands) text += fmt::format("              {}\n", command);
  }
  if (!next.empty() && std::ranges::all_of(next, [](const NextStep& step) { return !step.followed_by.empty(); })) {
    text += "next        nothing, for whoever trusts those who followed: each is a correct run of the job\n";
  }
  return text;
}

}  // namespace assay::cli
