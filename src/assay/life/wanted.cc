#include "assay/life/wanted.h"

#include <algorithm>

namespace assay::life {
namespace {

using State = Lease::State;

// Audits of one promise that may come to nothing before they are given up.
constexpr std::int64_t kAuditsTried = 3;

Wanted Decide(Verdict verdict, LeaseNumber lease, std::string words) {
  Wanted wanted;
  wanted.decision = Decided{.verdict = verdict, .lease = lease, .words = std::move(words)};
  return wanted;
}

bool AnyOpen(const Life& life) {
  return std::any_of(life.leases().begin(), life.leases().end(),
                     [](const auto& at) { return at.second.state == State::kOpen; });
}

// Whether a dispute is decided that one of the held runs took part in.
bool Refereed(const Life& life, const std::vector<const Lease*>& held) {
  for (const Judged& dispute : life.disputes()) {
    if (!dispute.decided) continue;
    for (const Lease* run : held) {
      if (std::find(dispute.among.begin(), dispute.among.end(), run->number) != dispute.among.end()) return true;
    }
  }
  return false;
}

bool Agree(const std::vector<const Lease*>& held) {
  return std::all_of(held.begin(), held.end(),
                     [&](const Lease* run) { return SamePromise(*run->receipt, *held.front()->receipt); });
}

struct AuditState {
  bool verified = false;
  bool open = false;
  std::int64_t in_vain = 0;
  std::int64_t ended = 0;               // in whatever way
  std::vector<LeaseNumber> challenges;  // that are to be given
};

// Of the promise that all held runs share.
AuditState AuditsOf(const Life& life, const Lease& run) {
  AuditState state;
  for (const auto& [number, audit] : life.leases()) {
    if (audit.role != Role::kAudit) continue;
    const Lease& audited = *life.Find(audit.of);
    if (!SamePromise(*audited.receipt, *run.receipt)) continue;
    if (audit.state == State::kOpen) {
      state.open = true;
    } else {
      ++state.ended;
    }
    if (!audit.finding) continue;
    if (*audit.finding == Finding::kVerified) {
      state.verified = true;
    } else if (*audit.finding == Finding::kRefuted) {
      const auto challenge = std::find_if(life.leases().begin(), life.leases().end(),
                                          [&](const auto& at) { return at.second.challenges == number; });
      if (challenge == life.leases().end()) {
        state.challenges.push_back(number);
      } else {
        ++state.in_vain;  // the auditor brought no run, or one that agrees, or fell
      }
    } else {
      ++state.in_vain;
    }
  }
  return state;
}

}  // namespace

Wanted WantedBy(const Life& life) {
  if (life.size() == 0 || life.decision()) return {};
  const Policy& policy = life.order().policy;
  const auto held = life.Runs(State::kHeld);
  const auto open = static_cast<std::int64_t>(life.Runs(State::kOpen).size());
  if (life.cancelled()) return AnyOpen(life) ? Wanted() : Decide(Verdict::kFailed, 0, "the order was cancelled");
  if (life.undecided())
    return AnyOpen(life) ? Wanted() : Decide(Verdict::kUndecided, 0, "the dispute between its runs is undecided");
  if (held.size() == 1 && held.front()->waived)
    return Decide(Verdict::kVerified, held.front()->number, "taken unchecked, by its provider's record");

  const bool refereed = Refereed(life, held);
  const std::int64_t need = refereed ? 1 : policy.replicas;
  const auto had = static_cast<std::int64_t>(held.size());
  if (open + had < need) {
    std::int64_t given = 0;
    bool received = false;
    for (const auto& [number, lease] : life.leases()) {
      if (lease.role == Role::kTrain && lease.challenges == 0) ++given;
      received = received || (lease.role == Role::kTrain && lease.receipt.has_value());
    }
    Wanted wanted;
    wanted.runs = std::min(need - open - had, policy.attempts - given);
    if (wanted.runs > 0 || AnyOpen(life)) return wanted;
    if (received) return Decide(Verdict::kWithheld, 0, "no attempts are left, and the runs that are there do not suffice");
    return Decide(Verdict::kFailed, 0, "no attempts are left, and nobody brought a run");
  }
  if (open > 0) return {};
  if (!Agree(held)) {
    Wanted wanted;
    for (const Lease* run : held) wanted.dispute.push_back(run->number);
    return wanted;
  }
  if (policy.audit > 0) {
    const AuditState audits = AuditsOf(life, *held.front());
    if (!audits.challenges.empty()) {
      Wanted wanted;
      wanted.challenges = audits.challenges;
      return wanted;
    }
    if (!audits.verified && audits.open) return {};
    if (!audits.verified && audits.in_vain < kAuditsTried && audits.ended < policy.attempts) {
      Wanted wanted;
      wanted.audits.push_back(held.front()->number);
      return wanted;
    }
    if (!audits.verified && !refereed) return Decide(Verdict::kUndecided, 0, "none of its audits came to a result");
  }
  if (AnyOpen(life)) return {};
  return refereed ? Decide(Verdict::kRefereed, held.front()->number, "the runs differed, and a referee decided")
                  : Decide(Verdict::kVerified, held.front()->number, policy.audit > 0 ? "audited" : "all runs agree");
}

bool MayWaive(const Policy& policy, std::int64_t record, const Digest& draw) {
  if (policy.probe >= 100 || record < kLongRecord) return false;
  // 32 bits of the draw are compared with the policy's share of 2^32.
  std::uint64_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | draw.bytes[static_cast<std::size_t>(i)];
  return word * 100 >= static_cast<std::uint64_t>(policy.probe) << 32;
}

}  // namespace assay::life
