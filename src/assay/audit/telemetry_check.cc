#include "assay/audit/telemetry_check.h"

#include <set>
#include <utility>

#include "assay/graph/program.h"
#include "assay/job/job.h"
#include "assay/job/learning_rate.h"
#include "assay/merkle/tree.h"
#include "assay/monitor/speed.h"
#include "assay/ops/table.h"
#include "assay/run/commit_schedule.h"
#include "assay/run/directory.h"
#include "assay/run/log.h"

namespace assay {
namespace {

using monitor::RuleState;

constexpr std::uint64_t kMaxFixedBytes = std::uint64_t{1} << 30;

// Roots of the first so many entries, for the sizes that are asked for: one pass over the leaves.
std::map<std::uint64_t, Digest> RootsOf(const RunLog& log, const std::set<std::uint64_t>& sizes) {
  std::map<std::uint64_t, Digest> roots;
  std::vector<std::pair<std::uint64_t, Digest>> peaks;  // whole subtrees, the largest first
  std::uint64_t size = 0;
  for (const LogEntry& entry : log.entries()) {
    peaks.emplace_back(1, HashOf(entry));
    while (peaks.size() > 1 && peaks[peaks.size() - 2].first == peaks.back().first) {
      const auto right = peaks.back();
      peaks.pop_back();
      peaks.back() = {2 * right.first, NodeHash(peaks.back().second, right.second)};
    }
    if (!sizes.contains(++size)) continue;
    Digest root = peaks.back().second;
    for (std::size_t i = peaks.size() - 1; i-- > 0;) root = NodeHash(peaks[i].second, root);
    roots[size] = root;
  }
  return roots;
}

Result<monitor::RunFacts> FactsOf(const RunDirectory& run, const RunLog& log, bool finished) {
  ASSAY_TRY(run.CheckFixedFiles());
  ASSAY_ASSIGN(const Bytes job_bin, ReadFile(JoinPath(run.path(), "job.bin"), kMaxFixedBytes));
  ASSAY_ASSIGN(const Bytes program_bin, ReadFile(JoinPath(run.path(), "program.bin"), kMaxFixedBytes));
  ASSAY_ASSIGN(const DecodedJob decoded, DecodeJob(job_bin));
  ASSAY_ASSIGN(const Program program, DecodeProgram(Ops(), program_bin));
  monitor::RunFacts facts{.job = run.identity().job,
                          .steps = decoded.job.steps,
                          .exact = IsExact(decoded.job.precision),
                          .finished = finished,
                          .step_flops = monitor::StepFlops(program),
                          .state_bytes = monitor::StateBytes(program),
                          .log_size = log.entries().size()};
  for (const LogEntry& entry : log.entries()) facts.committed.push_back({entry.step, entry.state_root, entry.loss_bits});
  facts.entries_after = [schedule = CommitSchedule::Of(decoded.job)](std::int64_t step) {
    return static_cast<std::uint64_t>(schedule.EntriesAfter(step));
  };
  facts.learns = [schedule = decoded.job.schedule](std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) {
      if (LearningRate(schedule, step) != 0) return true;
    }
    return false;
  };
  return facts;
}

std::set<std::uint64_t> SealedSizes(const monitor::Telemetry& telemetry) {
  std::set<std::uint64_t> sizes;
  for (const monitor::Session& session : telemetry.sessions) {
    for (const auto& seal : session.seals) sizes.insert(seal.body.log_size);
  }
  return sizes;
}

TelemetryReport Without(TelemetryReport report, RuleState state, std::string reason) {
  report.state = state;
  report.reason = std::move(reason);
  return report;
}

}  // namespace

Result<TelemetryReport> CheckTelemetry(const std::string& path, RuleSet rules) {
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(path));
  TelemetryReport report;
  ASSAY_ASSIGN(report.stage, StageOf(run));  // first: what is read afterwards is of this stage or a later one
  const bool finished = report.stage == RunStage::kFinished;
  const auto damaged = [&](const Error& error) -> Result<TelemetryReport> {
    if (error.system) return tl::unexpected(error);
    return Without(report, RuleState::kDamaged, error.message);
  };
  const auto log = ReadRunLog(run, report.stage == RunStage::kGoingOn);
  if (!log) return damaged(log.error());
  if (finished) {
    if (const Status good = CheckReceiptFits(run, *log); !good) return damaged(good.error());
  }
  auto facts = FactsOf(run, *log, finished);
  if (!facts) return damaged(facts.error());
  report.steps = facts->steps;
  if (!Exists(run.telemetry_path())) {
    return Without(report, RuleState::kUnchecked,
                   "the run has no telemetry: it was trained with --no-telemetry, or by an earlier version");
  }
  // As fsck has it, which finds such a run whole.
  if (!IsPlainFile(run.telemetry_path())) {
    return Without(report, RuleState::kUnchecked,
                   fmt::format("{}: is no plain file, and counts as absent: the run has no telemetry", run.telemetry_path()));
  }
  // Read, not mapped: who goes on with the run may cut its end off.
  const auto file = ReadFile(run.telemetry_path(), monitor::kMaxTelemetryBytes);
  if (!file) return damaged(file.error());
  const monitor::Telemetry telemetry = monitor::ReadTelemetry(*file, run.identity().trajectory, run.signer());
  facts->log_roots = RootsOf(*log, SealedSizes(telemetry));
  const auto steps = monitor::CountingSteps(telemetry);
  report.step = steps.empty() ? 0 : steps.rbegin()->first;
  for (const monitor::Session& session : telemetry.sessions) report.samples += session.samples.size();
  const bool broken = telemetry.scan.end == monitor::ChainScan::End::kBroken ||
                      telemetry.scan.end == monitor::ChainScan::End::kForeign ||
                      (finished && telemetry.scan.end == monitor::ChainScan::End::kTorn);
  if (broken && rules == RuleSet::kSeed)
    return Without(report, RuleState::kDamaged, fmt::format("{}: {}", run.telemetry_path(), telemetry.scan.problem));
  report.rules = rules == RuleSet::kSeed ? SeedRules(telemetry, *facts) : StrictRules(telemetry, *facts);
  report.state = Worst(report.rules);
  return report;
}

}  // namespace assay
