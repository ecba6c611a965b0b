// Groups that have the same entries around the disputed interval as one of the two sides, and join it.
#include <algorithm>

#include "assay/dispute/match.h"

namespace assay::dispute {

// Asks all groups for the entries around the disputed interval. False: there is nobody else to join.
bool Match::Invite(Floor& floor, const std::vector<Ask>& asks) {
  std::optional<std::int64_t> entry;
  for (const Ask& ask : asks) {
    if (!ProvesItself(ask.question) && !entry) entry = floor.law.entry(ask.question);
  }
  if (!entry || *entry < 1) return false;
  const auto at = static_cast<std::uint64_t>(*entry);
  invitation_ = LeavesQuestion{{.kind = TreeKind::kLog}, {{at - 1, at + 1}}};
  const auto groups = static_cast<std::uint32_t>(floor.ledger.record().groups.size());
  bool others = false;
  for (std::uint32_t group = 0; group < groups; ++group) {
    others = others || (floor.ledger.GroupStands(group) && group != sides_[0].group() && group != sides_[1].group());
  }
  if (!others) return false;
  for (std::uint32_t group = 0; group < groups; ++group) {
    if (floor.ledger.GroupStands(group)) Add(floor, std::nullopt, group, invitation_, floor.ledger.StandingOf(group));
  }
  Open(floor);
  return true;
}

// Whoever did not prove its own log is out, and the next of its group is asked; when all have answered, the guests are seated.
void Match::CloseInvitation(Floor& floor, const std::vector<Pending>& batch) {
  for (const Pending& pending : batch) {
    if (!pending.answered) continue;
    const ProviderId id = *pending.answered;
    const Bytes& body = floor.mail.Words(id, pending.question).body;
    const Result<std::vector<Bytes>> leaves = floor.law.open_log(floor.claims[id], invitation_, body);
    if (leaves) {
      leaves_[pending.group] = {{pending.question, id}, *leaves};
      continue;
    }
    if (floor.ledger.Stands(id)) {
      const ProviderId by[] = {id};
      const StatementId said =
          floor.ledger.Note(pending.question, invitation_, body, floor.mail.Signatures(pending.question, by));
      const std::size_t charge = floor.ledger.Accuse(UnprovenLog{id, said});
      Fall(floor, id, Standing::kConvicted, fmt::format("did not prove its own log: {}", leaves.error().message), charge);
    }
    if (floor.ledger.GroupStands(pending.group))
      Add(floor, std::nullopt, pending.group, invitation_, floor.ledger.StandingOf(pending.group));
  }
  if (batch_.empty()) {
    Seat(floor.ledger);
  } else {
    Open(floor);
  }
}

void Match::Seat(const Ledger& ledger) {
  const auto first = leaves_.find(sides_[0].group()), second = leaves_.find(sides_[1].group());
  if (first == leaves_.end() || second == leaves_.end()) return;
  if (first->second.second == second->second.second) return;
  for (const auto& [group, shown] : leaves_) {
    if (group == first->first || group == second->first) continue;
    for (Side& side : sides_) {
      if (shown.second == leaves_.at(side.group()).second) side.Seat(ledger.StandingOf(group));
    }
  }
}

}  // namespace assay::dispute
