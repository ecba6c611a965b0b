// `assay dispute RUN RUN`: both runs are asked here, by their files and by running steps again. What only whoever has runs and data can do comes first and last: a
// damaged copy is no party to anything, and an audit of the steps in dispute says what a run that cannot show its own lie did instead.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "assay/audit/audit.h"
#include "assay/base/file.h"
#include "assay/cli/asked_job.h"
#include "assay/cli/dispute_command.h"
#include "assay/cli/dispute_copies.h"
#include "assay/cli/exit_status.h"
#include "assay/cli/signer.h"
#include "assay/run/commit_schedule.h"
#include "assay/service/peers.h"
#include "assay/train/interrupt.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 20;

// The keys named, or the user's own where there is one; last, one that is nobody's.
Result<std::deque<SigningKey>> KeysAtHand(const std::vector<std::string>& paths) {
  std::deque<SigningKey> keys;
  for (const std::string& path : paths) {
    ASSAY_ASSIGN(SigningKey key, ReadSigningKey(path));
    keys.push_back(std::move(key));
  }
  if (paths.empty()) {
    ASSAY_ASSIGN(auto own, OpenExistingSigner());
    if (own) keys.push_back(std::move(*own));
  }
  keys.push_back(SigningKey::Generate("nobody"));
  return keys;
}

int PrintUndisputed(const DisputeOptions& options, const std::vector<DisputedCopy>& copies, VerdictView view) {
  const auto opened = std::ranges::find_if(copies, [](const DisputedCopy& copy) { return copy.run.has_value(); });
  if (opened != copies.end()) view.job_id = opened->run->identity().job.hex();
  if (options.json) {
    OrderedJson json;
    AddVerdict(json, view);
    json["evidence"] = nullptr;
    fmt::print("{}\n", Dump(json));
  } else {
    fmt::print("{}", VerdictText(view));
  }
  return ExitStatusOf(view);
}

// Audits of runs in dispute, and what they add to its verdict. A signal ends them; what they have not looked at is then unchecked.
class Auditing {
 public:
  Auditing(const PreparedJob& prepared, const Compute& compute, bool quiet)
      : prepared_(prepared), compute_(compute), quiet_(quiet) {}

  void Explain(const dispute::Arbitration& result, VerdictView& view) const {
    if (view.verdict == "undecided") return Decide(result, view);
    const std::optional<std::int64_t> found = view.finding ? StepOf(*view.finding) : std::nullopt;
    if (!found) return;
    const std::int64_t step = *found;
    for (auto* list : {&view.convicted, &view.accused, &view.absent}) {
      for (const NamedParty& party : *list) AddReason(AuditOf(party, step, step), view);
    }
  }

 private:
  // Where the finding is; of what an entry cannot show, the step after which it stands.
  std::optional<std::int64_t> StepOf(const dispute::Finding& finding) const {
    if (finding.step || !finding.unproven) return finding.step;
    const auto* expand = std::get_if<dispute::ExpandQuestion>(&*finding.unproven);
    const auto* leaves = std::get_if<dispute::LeavesQuestion>(&*finding.unproven);
    if (expand == nullptr && leaves == nullptr) return std::nullopt;
    const dispute::TreeName& tree = expand != nullptr ? expand->tree : leaves->tree;
    if (tree.kind != dispute::TreeKind::kBatches) return std::nullopt;
    return CommitSchedule::Of(prepared_.job).StepOfEntry(tree.at);
  }

  RunAudit AuditOf(const NamedParty& party, std::int64_t first, std::int64_t last) const {
    RunAudit audit{.label = party.label, .name = party.name, .verdict = std::string(Name(Verdict::kUnchecked)), .step = first};
    const auto refuted = Replay(party.name, first, last);
    if (!refuted || (*refuted && ((*refuted)->damage || (*refuted)->open))) {
      audit.reason = refuted ? (*refuted)->reason : refuted.error().message;
    } else if (!*refuted) {
      audit.verdict = Name(Verdict::kVerified);
      const bool rounded = prepared_.job.precision == Precision::kFp64Rounded;
      audit.reason =
          fmt::format("steps {} to {} give what its log says{}", first, last, rounded ? ", its roundings followed" : "");
    } else {
      const Refutation& found = **refuted;
      audit.verdict = Name(Verdict::kRefuted);
      audit.reason = found.reason;
      if (found.step) audit.step = found.step;
      audit.node = found.node;
      audit.node_name = found.node_name;
      audit.first_result = found.first_result;
    }
    return audit;
  }

  Result<std::optional<Refutation>> Replay(const std::string& path, std::int64_t first, std::int64_t last) const {
    ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(path));
    if (!quiet_) fmt::print(stderr, "{:<8}{}, steps {}..{}\n", "audit", path, first, last);
    const InterruptGuard interrupt;
    const AuditHooks hooks{.should_stop = [&] { return interrupt.signal() != 0; }};
    return AuditSteps(run, prepared_, first, last, *compute_.backend, *compute_.pool, hooks);
  }

  // The law's sentence, which a judge says too, and after it what the audit knows.
  static void AddReason(RunAudit audit, VerdictView& view) {
    if (audit.verdict != Name(Verdict::kRefuted)) return;
    view.reason += fmt::format("; an audit of {} says: {}", audit.label, audit.reason);
    if (!view.finding->node && audit.node && !audit.first_result) {
      view.finding->node = static_cast<std::uint32_t>(*audit.node);
      view.finding->node_name = audit.node_name;
      view.finding->step = audit.step;
    }
    view.audits.push_back(std::move(audit));
  }

  // What the law leaves open between two claims, an audit of each from there to the end may tell: a lie may come after a close call that is none. Nobody else need
  // believe it: it is no evidence.
  void Decide(const dispute::Arbitration& result, VerdictView& view) const {
    const auto drawn =
        std::ranges::find_if(result.record.matches, [](const dispute::MatchRecord& match) { return match.step.has_value(); });
    if (drawn == result.record.matches.end()) return;
    const std::int64_t first = *drawn->step, last = first == 0 ? 0 : prepared_.job.steps;
    std::vector<NamedParty> left;
    for (NamedParty& party : view.standing) {
      RunAudit audit = AuditOf(party, first, last);
      if (audit.verdict == Name(Verdict::kRefuted)) {
        view.reason += fmt::format("; an audit of {} refutes it: {}", audit.label, audit.reason);
        view.assumed.push_back(fmt::format("the audit of {}, which was made here and is no evidence for a judge", audit.label));
        party.why = fmt::format("an audit refutes it, which is no evidence for a judge: {}", audit.reason);
        view.accused.push_back(party);
      } else {
        left.push_back(party);
      }
      view.audits.push_back(std::move(audit));
    }
    if (left.size() == view.standing.size()) {
      const bool hold =
          std::ranges::all_of(view.audits, [](const RunAudit& audit) { return audit.verdict == Name(Verdict::kVerified); });
      view.reason +=
          fmt::format("; audits of both from step {} on {}", first, hold ? "hold: both can be right" : "refute neither");
      return;
    }
    view.standing = std::move(left);
    view.verdict = view.standing.empty() ? "none" : view.standing.front().label;
    view.decided_by.clear();
    view.next.clear();
  }

  const PreparedJob& prepared_;
  const Compute& compute_;
  const bool quiet_;
};

// The runs cannot be asked here, which counts neither for nor against anybody.
VerdictView CannotAsk(const std::vector<DisputedCopy>& copies, const std::string& why) {
  VerdictView view{
      .verdict = "undecided", .reason = why, .decided_by = "the same dispute where the job's data is (--data PATH)"};
  for (const DisputedCopy& copy : copies) view.standing.push_back(copy.Party(""));
  return view;
}

Result<dispute::Claim> ClaimOf(const RunDirectory& run) {
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  return dispute::OpenClaim({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, run.receipt_path());
}

// Of runs that promise the same in their receipts: nothing needs to be asked to see it, and so no data. None: they do not, or one of them is not whole.
std::optional<VerdictView> AgreementOf(const std::vector<DisputedCopy>& copies, ThreadPool& pool) {
  std::vector<dispute::Claim> claims;
  for (const DisputedCopy& copy : copies) {
    if (copy.run->identity().job != copies.front().run->identity().job) return std::nullopt;
    const auto damage = CheckOwnJob(*copy.run);
    const auto faults = FindFaults(*copy.run, pool);
    if (!damage || *damage || !faults || faults->damage || faults->lie) return std::nullopt;
    auto claim = ClaimOf(*copy.run);
    if (!claim || GroupOf(*claim) != GroupOf(claims.empty() ? *claim : claims.front())) return std::nullopt;
    claims.push_back(*std::move(claim));
  }
  VerdictView view{.verdict = "both", .reason = "all claims are the same"};
  for (const DisputedCopy& copy : copies) view.standing.push_back(copy.Party(""));
  view.assumed = {"that what they agree on is true: nothing was computed again (an audit does that)",
                  "that the job is the one that was asked for: --job JOB insists on it",
                  "that the keys belong to those you think they do"};
  return view;
}

// The job that was named, or that of the first run whose job can be believed. Nothing: of neither, which is then among their faults.
Result<std::optional<AskedJob>> JobOf(const DisputeOptions& options, std::vector<DisputedCopy>& copies, ThreadPool& pool) {
  if (!options.job.empty()) {
    ASSAY_ASSIGN(AskedJob asked, OpenAskedJob(options.job, options.data));
    if (asked.prepared) return asked;
    return Err("--job: expected a job file, since the runs are run again here, got '{}'", options.job);
  }
  for (DisputedCopy& copy : copies) {
    ASSAY_ASSIGN(auto damage, CheckOwnJob(*copy.run));
    if (damage) {
      copy.faults.damage = std::move(damage);
      continue;
    }
    AskedJob asked;
    ASSAY_ASSIGN(PreparedJob prepared, PrepareRun(*copy.run, options.data, pool));
    asked.prepared = std::make_shared<const PreparedJob>(std::move(prepared));
    asked.id = copy.run->identity().job;
    return asked;
  }
  return std::nullopt;
}

AuditReport AuditWhole(const DisputedCopy& copy, const PreparedJob& prepared, const Compute& compute, bool quiet) {
  if (!quiet) fmt::print(stderr, "{:<8}{}\n", "audit", copy.path);
  const InterruptGuard interrupt;
  return Audit(*copy.run, prepared, {}, *compute.backend, *compute.pool,
               {.should_stop = [&] { return interrupt.signal() != 0; }});
}

}  // namespace

Result<int> DisputeRuns(const DisputeOptions& options) {
  if (options.runs.size() != 2) return Err("expected two run directories, or --provider URL at least twice");
  // Options that would be silently ignored.
  for (const auto& [name, value] : {std::pair("--referee-key", options.referee_key), std::pair("--ca", options.ca_file)}) {
    if (!value.empty()) return Err("{}: belongs to --provider; two run directories are asked here", name);
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(options.runs[0], options.runs[1], ignored)) {
    return Err("{} and {}: are the same run; a dispute is between two", options.runs[0], options.runs[1]);
  }
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const std::deque<SigningKey> keys, KeysAtHand(options.keys));
  ASSAY_ASSIGN(std::vector<DisputedCopy> copies, OpenCopies(options.runs));
  std::optional<AskedJob> asked;
  const auto undisputed = [&] {
    return PrintUndisputed(options, copies, DecideWithoutDispute(copies, [&](const DisputedCopy& copy) {
                             return AuditWhole(copy, *asked->prepared, compute, options.quiet);
                           }));
  };
  if (IsAnyDamaged(copies)) return undisputed();
  auto job = JobOf(options, copies, *compute.pool);
  if (!job && options.job.empty()) {
    auto agreed = AgreementOf(copies, *compute.pool);
    if (agreed && !options.evidence.empty())
      fmt::print(stderr, "assay: --evidence {}: not written: the runs agree, and could not be asked here\n", options.evidence);
    return PrintUndisputed(options, copies, agreed ? *std::move(agreed) : CannotAsk(copies, job.error().message));
  }
  if (!job) return tl::unexpected(job.error());
  asked = std::move(*job);
  if (!asked) return undisputed();
  ASSAY_TRY(FindFaultsIn(copies, *asked->prepared, *compute.pool));
  ASSAY_TRY(ComputeFor(asked->prepared->job, compute));
  if (IsAnyDamaged(copies)) return undisputed();
  std::mutex turn;
  dispute::ArbitrateOptions how{.job = asked->id, .start = asked->start};
  std::vector<std::unique_ptr<dispute::Peer>> peers;
  // A signature does not tell which run it speaks for: of one signer, what was said for one could be held against the other.
  const bool one_signer = copies[0].run->signer().point() == copies[1].run->signer().point();
  for (const DisputedCopy& copy : copies) {
    const VerifyKey& signer = copy.run->signer();
    const auto own = one_signer ? keys.end() : std::ranges::find(keys, signer, &SigningKey::verify_key);
    if (own == keys.end()) how.law.unsigned_answers.push_back(signer);
    auto peer = service::MakeLocalPeer(copy.path, *asked->prepared, *compute.backend, *compute.pool,
                                       own == keys.end() ? keys.back() : *own, turn);
    // Nobody can answer from what is no log of the job.
    if (!peer && copy.faults.lie) return undisputed();
    if (!peer) return tl::unexpected(peer.error());
    peers.push_back(std::move(*peer));
  }
  how.law.pair = true;
  const Auditing auditing(*asked->prepared, compute, options.quiet);
  return HoldDispute(options, std::move(peers), std::move(how), [&](const dispute::Arbitration& result, VerdictView& view) {
    auditing.Explain(result, view);
    AccuseLiars(copies, view);
  });
}

}  // namespace assay::cli
