#include "assay/life/life.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "assay/base/quote.h"
#include "assay/life/ruling.h"
#include "assay/life/sample.h"
#include "assay/life/wanted.h"
#include "assay/merkle/proof.h"
#include "assay/run/log.h"

namespace assay::life {
namespace {

using State = Lease::State;

bool IsHexDigest(const std::string& text) { return Digest::FromHex(text).has_value(); }

bool Contains(const std::vector<LeaseNumber>& list, LeaseNumber number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

// Ascending, all of them in `all`.
bool IsPartOf(const std::vector<LeaseNumber>& part, const std::vector<LeaseNumber>& all) {
  return std::is_sorted(part.begin(), part.end()) && std::adjacent_find(part.begin(), part.end()) == part.end() &&
         std::includes(all.begin(), all.end(), part.begin(), part.end());
}

// Two names of one key do not make two workers.
bool IsSameKey(const std::string& one, const std::string& other) {
  const auto a = VerifyKey::Parse(one), b = VerifyKey::Parse(other);
  return a && b && a->point() == b->point();
}

// What an auditor may say in a sealed order: its finding again, and where. Anything else could quote the job.
bool IsSealedWords(const Report& report) {
  if (report.words.empty()) return true;
  if (report.finding == Finding::kVerified || !report.words.starts_with(Name(report.finding))) return false;
  std::string_view rest = std::string_view(report.words).substr(Name(report.finding).size());
  if (rest.empty()) return true;
  constexpr std::string_view kAt = " at step ";
  if (report.finding != Finding::kRefuted || !rest.starts_with(kAt)) return false;
  rest.remove_prefix(kAt.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), step);
  return error == std::errc() && end == rest.data() + rest.size() && step >= 0 && std::to_string(step) == rest;
}

// That what was committed before is the beginning of `now`.
Status CheckGrowth(const std::optional<Checkpoint>& before, const Checkpoint& now, const std::vector<Digest>& proof,
                   std::string_view what) {
  if (!before) return proof.empty() ? Status() : Err("{}: proves that it continues a checkpoint, and there is none", what);
  if (before->origin != now.origin) return Err("{}: is of another log than the checkpoint before", what);
  if (before->size > now.size) return Err("{}: is shorter than the checkpoint before", what);
  const Status grown = VerifyConsistency(before->size, before->root, now.size, now.root, proof);
  return grown ? Status() : Err("{}: does not continue the checkpoint before: {}", what, grown.error().message);
}

}  // namespace

Status Life::Apply(const Entry& entry) {
  if (entry.n != size_) return Err("entry {}: is in the place of entry {}", entry.n, size_);
  if (entry.at < last_time_) return Err("entry {}: is dated before the entry that it follows", entry.n);
  if (decision_) return Err("entry {}: comes after the decision, which is the last", entry.n);
  if ((size_ == 0) != std::holds_alternative<Submitted>(entry.event))
    return Err("entry {}: an order is submitted first, and once", entry.n);
  const Status done = std::visit([&](const auto& event) { return Check(event, entry); }, entry.event);
  if (!done) return Err("entry {}: {}", entry.n, done.error().message);
  ++size_;
  last_time_ = entry.at;
  return {};
}

const Lease* Life::Find(LeaseNumber number) const {
  const auto found = leases_.find(number);
  return found == leases_.end() ? nullptr : &found->second;
}

bool Life::Knows(const ed25519::PublicKey& worker) const {
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& at) { return at.second.point == worker; });
}

std::vector<const Lease*> Life::Runs(State state) const {
  std::vector<const Lease*> runs;
  for (const auto& [number, lease] : leases_) {
    if (lease.role == Role::kTrain && lease.state == state) runs.push_back(&lease);
  }
  return runs;
}

Result<Lease*> Life::OpenLease(LeaseNumber number, Role role) {
  const auto found = leases_.find(number);
  if (found == leases_.end()) return Err("there is no lease {}", number);
  if (found->second.role != role) return Err("lease {} is not to {}", number, Name(role));
  if (found->second.state != State::kOpen) return Err("lease {} has ended", number);
  return &found->second;
}

Status Life::Check(const Submitted& event, const Entry&) {
  ASSAY_ASSIGN(order_, OpenOrder(event.order, "order"));
  return {};
}

Status Life::Check(const Leased& event, const Entry& entry) {
  if (event.lease != next_lease_) return Err("lease {} is given where {} is next", event.lease, next_lease_);
  ASSAY_ASSIGN(const VerifyKey worker, VerifyKey::Parse(event.worker));
  Lease lease{.number = event.lease, .role = event.role, .worker = event.worker, .point = worker.point(), .since = entry.at};
  const Wanted wanted = WantedBy(*this);
  if (event.role == Role::kAudit) {
    if (!Contains(wanted.audits, event.of)) return Err("an audit of lease {} is not wanted", event.of);
    if (!IsHexDigest(event.nonce)) return Err("the nonce of an audit is not 64 hex digits");
    lease.of = event.of;
    lease.nonce = event.nonce;
  } else if (!event.nonce.empty()) {
    return Err("a training lease has no nonce");
  } else if (event.of != 0) {
    const Lease* audit = Find(event.of);
    if (!Contains(wanted.challenges, event.of)) return Err("a challenge by audit {} is not wanted", event.of);
    if (!IsSameKey(audit->worker, event.worker)) return Err("the challenge by audit {} is not its auditor's", event.of);
    lease.challenges = event.of;
  } else if (wanted.runs < 1) {
    return Err("no run is wanted");
  }
  if (lease.challenges == 0 && Knows(worker.point())) return Err("{} has had a lease already", event.worker);
  leases_.emplace(event.lease, std::move(lease));
  ++next_lease_;
  return {};
}

Status Life::Check(const Committed& event, const Entry&) {
  ASSAY_ASSIGN(Lease* const lease, OpenLease(event.lease, Role::kTrain));
  ASSAY_ASSIGN(const VerifyKey key, VerifyKey::Parse(lease->worker));
  ASSAY_ASSIGN(const Checkpoint now, OpenCheckpoint(event.note, key, "checkpoint"));
  // Nothing could continue the log of another run, nor be proven to continue a log without entries: the lease would be dead.
  if (const std::string origin = LogOrigin(key, order_.job); now.origin != origin)
    return Err("checkpoint: is of the log {}, expected {}", now.origin, origin);
  if (now.size == 0) return Err("checkpoint: is of a log without entries");
  ASSAY_TRY(CheckGrowth(lease->committed, now, event.proof, "checkpoint"));
  if (lease->committed && lease->committed->size == now.size) return Err("checkpoint: is the one before");
  lease->committed = now;
  return {};
}

Status Life::Check(const Released& event, const Entry&) {
  const auto found = leases_.find(event.lease);
  if (found == leases_.end()) return Err("there is no lease {}", event.lease);
  if (found->second.state != State::kOpen) return Err("lease {} has ended", event.lease);
  found->second.state = State::kGone;
  return {};
}

Status Life::Check(const Received& event, const Entry&) {
  if (cancelled_) return Err("the order is cancelled");
  ASSAY_ASSIGN(Lease* const lease, OpenLease(event.lease, Role::kTrain));
  ASSAY_ASSIGN(const VerifyKey key, VerifyKey::Parse(lease->worker));
  ASSAY_ASSIGN(Receipt receipt, OpenReceipt(event.receipt, key, "receipt"));
  if (receipt.job != order_.job) return Err("receipt: is for job {}, the order is for {}", receipt.job.hex(), order_.job.hex());
  ASSAY_TRY(CheckGrowth(lease->committed, receipt.log, event.proof, "receipt"));
  if (event.model < 0) return Err("the size of the model is negative");
  lease->state = State::kHeld;
  lease->receipt = std::move(receipt);
  lease->receipt_file = event.receipt;
  lease->model_bytes = event.model;
  return {};
}

Status Life::Check(const Audited& event, const Entry&) {
  if (cancelled_) return Err("the order is cancelled");
  ASSAY_ASSIGN(Lease* const lease, OpenLease(event.lease, Role::kAudit));
  ASSAY_ASSIGN(const VerifyKey key, VerifyKey::Parse(lease->worker));
  ASSAY_ASSIGN(const Report report, OpenReport(event.report, key, "report"));
  if (report.order != order_.id || report.lease != event.lease) return Err("report: is of another audit");
  if (report.nonce != lease->nonce || report.percent != order_.policy.audit)
    return Err("report: its sample is not the one that was drawn");
  const Lease& run = *Find(lease->of);
  if (report.receipt != HashBytes(AsBytes(run.receipt_file))) return Err("report: is about another receipt");
  if (!order_.sealed.empty() && !IsSealedWords(report)) return Err("report: its words may say what is in a sealed order");
  if (!IsHexDigest(report.share)) return Err("report: the auditor's share of the draw is not 64 hex digits");
  std::string sample;  // an audit that ends early has replayed less than was drawn, and says nothing of it
  if (report.finding == Finding::kVerified) {
    ASSAY_ASSIGN(sample, SampleOf(*run.receipt, report.receipt, report.nonce, report.share, report.percent));
  }
  if (report.sample != sample) return Err("report: the segments that it speaks of are not those that were drawn");
  lease->state = State::kHeld;
  lease->finding = report.finding;
  return {};
}

Status Life::Check(const Judged& event, const Entry&) {
  if (event.among.empty() || event.among != WantedBy(*this).dispute) return Err("a dispute among these leases is not wanted");
  if (!order_.sealed.empty()) {
    ASSAY_TRY(CheckRuling(*this, event));
    if (!event.words.empty()) return Err("a dispute of a sealed order is judged without words, which may say what is in it");
  } else if (!event.signature.empty()) {
    return Err("a dispute of an order that is not sealed is judged by the coordinator, and nobody else signs it");
  }
  if (!IsPartOf(event.convicted, event.among) || !IsPartOf(event.silent, event.among))
    return Err("a dispute convicts or misses whom it is not about");
  const auto twice = [&](LeaseNumber number) { return Contains(event.silent, number); };
  if (std::any_of(event.convicted.begin(), event.convicted.end(), twice)) return Err("one lease is both convicted and silent");
  if (!std::all_of(event.evidence.begin(), event.evidence.end(), IsHexDigest)) return Err("evidence is named by 64 hex digits");
  if (std::set<std::string>(event.evidence.begin(), event.evidence.end()).size() != event.evidence.size())
    return Err("a file of evidence is named twice");
  if (event.evidence.size() > kMaxEvidenceFiles)
    return Err("a dispute has {} files of evidence, at most {} are allowed", event.evidence.size(), kMaxEvidenceFiles);
  if (!event.convicted.empty() && event.evidence.empty()) return Err("somebody is convicted without evidence");
  const auto falls = [&](LeaseNumber number) { return Contains(event.convicted, number) || Contains(event.silent, number); };
  const Lease* left = nullptr;
  for (const LeaseNumber number : event.among) {
    const Lease& lease = leases_.at(number);
    if (falls(number)) continue;
    if (left != nullptr && event.decided && !SamePromise(*left->receipt, *lease.receipt))
      return Err("a dispute that leaves two promises is not decided");
    left = &lease;
  }
  for (const LeaseNumber number : event.among) {
    Lease& lease = leases_.at(number);
    lease.convicted = Contains(event.convicted, number);
    if (falls(number)) lease.state = State::kOut;
  }
  if (event.decided) ++disputes_;
  undecided_ = undecided_ || !event.decided;
  judged_.push_back(event);
  return {};
}

Status Life::Check(const Waived& event, const Entry&) {
  if (cancelled_) return Err("the order is cancelled");
  const auto found = leases_.find(event.lease);
  if (found == leases_.end() || leases_.size() != 1 || found->second.state != State::kHeld)
    return Err("only the first run of an order may go unchecked, once it is there");
  const auto draw = Digest::FromHex(event.draw);
  if (!draw) return Err("a draw is 64 hex digits");
  if (!MayWaive(order_.policy, event.record, *draw)) return Err("the policy does not let this run go unchecked");
  found->second.waived = true;
  return {};
}

Status Life::Check(const Cancelled& event, const Entry&) {
  if (cancelled_) return Err("the order is cancelled already");
  if (event.by != "client" && event.by != "admin")
    return Err("an order is cancelled by its client or an admin, not by {}", Quote(event.by));
  cancelled_ = true;
  return {};
}

Status Life::Check(const Decided& event, const Entry&) {
  const std::optional<Decided> due = WantedBy(*this).decision;
  if (!due) return Err("no decision follows from what has happened");
  if (event.verdict != due->verdict || event.lease != due->lease)
    return Err("says {} by lease {}; what follows is {} by lease {}", Name(event.verdict), event.lease, Name(due->verdict),
               due->lease);
  decision_ = event;
  return {};
}

}  // namespace assay::life
