// Our rules about what was signed: the chain, the losses, the states (docs/CHECKS.md). Those about the work are in work_rules.cc.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "assay/monitor/iteration_rule.h"
#include "assay/monitor/work_rules.h"

namespace assay::monitor {
namespace {

RuleResult BrokenChain(const ChainScan& scan) {
  const bool foreign = scan.end == ChainScan::End::kForeign;
  return Named("chain", foreign ? "foreign" : "damaged", RuleState::kDamaged, scan.problem, static_cast<double>(scan.records));
}

// Why a seal cannot be one of its session's job.
std::string MisplacedSeal(const SealRecord& seal, const Session& session, const RunFacts& facts) {
  if (seal.job != session.record.job)
    return fmt::format("the seal after step {} is of another job than its session", seal.step);
  if (!seal.final) return "";
  if (session.beyond_final) return "a session goes on behind a final seal";
  if (seal.job == facts.job && seal.step != facts.steps)
    return fmt::format("the seal after step {} is final, and the job has {} steps", seal.step, facts.steps);
  return "";
}

// A log only grows, by the entries of the steps that are done. What a process finds that takes up a run may lead further than the snapshot that it goes on from: it
// then stays as it is until the steps come to its end. Any session may find one, also the first that there is telemetry of.
std::string WrongSize(const Session& session, const RunFacts& facts) {
  std::optional<std::uint64_t> found;  // at most so many entries
  for (const auto& timed : session.seals) {
    const SealRecord& seal = timed.body;
    if (seal.job != facts.job) continue;
    if (facts.finished && seal.log_size > facts.log_size) {
      return fmt::format("the seal after step {} is for a log of {} entries, and the run's has {}", seal.step, seal.log_size,
                         facts.log_size);
    }
    if (!facts.entries_after || seal.step < 0 || seal.step > facts.steps) continue;  // such a step is refused as an iteration
    const std::uint64_t made = facts.entries_after(seal.step);
    if (!found) found = std::min(seal.log_size, facts.entries_after(facts.steps));
    if (const std::uint64_t expected = std::max(made, *found); seal.log_size != expected) {
      return fmt::format("the seal after step {} is for a log of {} entries, which had {} then", seal.step, seal.log_size,
                         expected);
    }
  }
  return "";
}

// The first seal that is misplaced or, of this job, about another log.
std::string WrongSeal(const Telemetry& telemetry, const RunFacts& facts) {
  for (const Session& session : telemetry.sessions) {
    for (const auto& seal : session.seals) {
      if (const std::string wrong = MisplacedSeal(seal.body, session, facts); !wrong.empty()) return wrong;
    }
    if (const std::string wrong = WrongSize(session, facts); !wrong.empty()) return wrong;
    for (const auto& seal : session.seals) {
      if (seal.body.job != facts.job || seal.body.log_size > facts.log_size) continue;  // a run that goes on has grown since
      const auto root = facts.log_roots.find(seal.body.log_size);
      if (root == facts.log_roots.end() || root->second != seal.body.log_root) {
        return fmt::format("the seal after step {} is for another log than the run's", seal.body.step);
      }
    }
  }
  return "";
}

// What a finished run's last record must be.
std::string WrongEnd(const Telemetry& telemetry, const RunFacts& facts) {
  const Session& last = telemetry.sessions.back();
  if (last.record.job != facts.job) return "its last session is of another job, with another number of steps";
  if (!telemetry.ends_sealed || !last.seals.back().body.final)
    return "the run is finished, and its telemetry is not: no final seal ends it";
  const SealRecord& seal = last.seals.back().body;
  if (seal.log_size != facts.log_size || seal.step != facts.steps) return "its final seal is for another log than the run's";
  return "";
}

RuleResult ChainRule(const Telemetry& telemetry, const RunFacts& facts) {
  const ChainScan& scan = telemetry.scan;
  const auto records = static_cast<double>(scan.records);
  const bool torn_so_far = scan.end == ChainScan::End::kTorn && !facts.finished;
  if (scan.end != ChainScan::End::kWhole && !torn_so_far) return BrokenChain(scan);
  if (telemetry.sessions.empty()) return Named("chain", "empty", RuleState::kUnchecked, "no record yet", 0);
  if (const std::string wrong = WrongSeal(telemetry, facts); !wrong.empty())
    return Judged("chain", false, records, std::nullopt, wrong);
  if (facts.finished) {
    if (const std::string wrong = WrongEnd(telemetry, facts); !wrong.empty())
      return Judged("chain", false, records, std::nullopt, wrong);
    return Judged("chain", true, records, std::nullopt,
                  fmt::format("{} records without a gap, signed to the end, for this run's log", scan.records));
  }
  if (scan.sealed == 0)
    return Named("chain", "unsealed", RuleState::kUnchecked, fmt::format("{} records, none signed yet", scan.records), records);
  return Judged("chain", true, records, std::nullopt,
                fmt::format("{} records without a gap so far, {} of them signed", scan.records, scan.sealed));
}

// Two honest recordings of a step of an exact job have the same loss.
std::string Contradiction(const Telemetry& telemetry) {
  std::map<std::int64_t, std::uint32_t> seen;
  for (const Session& session : telemetry.sessions) {
    for (const auto& step : session.steps) {
      const auto [at, added] = seen.try_emplace(step.body.step, step.body.loss_bits);
      if (!added && at->second != step.body.loss_bits)
        return fmt::format("step {} is recorded with two losses", step.body.step);
    }
  }
  return "";
}

RuleResult LossRule(const Telemetry& telemetry, const RunFacts& facts) {
  const auto steps = CountingSteps(telemetry);
  double compared = 0, equal = 0;
  std::string fault = facts.exact ? Contradiction(telemetry) : "";
  for (const CommittedStep& entry : facts.committed) {
    if (entry.step == 0) continue;
    const auto step = steps.find(entry.step);
    if (step == steps.end()) continue;  // the rule of iterations says whether that is a fault
    ++compared;
    if (step->second.loss_bits == entry.loss_bits) {
      ++equal;
    } else if (fault.empty()) {
      fault = fmt::format("step {} is recorded with loss {:08x}, and the log commits to {:08x}", entry.step,
                          step->second.loss_bits, entry.loss_bits);
    }
  }
  if (!fault.empty()) return Judged("losses", false, equal, compared, fault);
  if (compared == 0)
    return Named("losses", "nothing_committed", RuleState::kUnchecked, "no step that is recorded is committed to yet", 0, 0);
  return Judged("losses", true, equal, compared,
                compared == 1 ? "the one loss is bit for bit that which the log commits to"
                              : fmt::format("{:.0f} losses are bit for bit those that the log commits to", compared));
}

RuleResult ProgressRule(const RunFacts& facts) {
  double moved = 0, intervals = 0;
  std::string fault;
  for (std::size_t i = 1; i < facts.committed.size(); ++i) {
    const CommittedStep &before = facts.committed[i - 1], &after = facts.committed[i];
    ++intervals;
    if (before.state_root != after.state_root) {
      ++moved;
      continue;
    }
    const float loss = std::bit_cast<float>(after.loss_bits);
    // Where the gradient vanishes or is no number, or nothing is to be learnt, a state may stay as it is.
    if (!std::isfinite(loss) || std::fabs(loss) < strict::kFrozenLoss || !facts.learns ||
        !facts.learns(before.step, after.step))
      continue;
    if (fault.empty())
      fault = fmt::format("the state after step {} is the state after step {}, bit for bit, at a loss of {}", after.step,
                          before.step, loss);
  }
  if (!fault.empty()) return Judged("progress", false, moved, intervals, fault);
  if (intervals == 0) return Named("progress", "nothing_committed", RuleState::kUnchecked, "no step is committed to yet", 0, 0);
  return Judged("progress", true, moved, intervals,
                fmt::format("{:.0f} of {:.0f} committed states differ from the one before", moved, intervals));
}

RuleResult TimeRule(const Telemetry& telemetry) {
  constexpr double kJump = 2;  // seconds, above which it is worth a word
  const double jump = telemetry.clock_jump_s;
  if (telemetry.disorder) return Judged("times", false, std::nullopt, std::nullopt, *telemetry.disorder);
  if (jump > kJump) {
    return Named("times", "clock_jumped", RuleState::kAccepted,
                 fmt::format("times never go back; the machine's clock jumped by {:.1f} s", jump), jump);
  }
  return Judged("times", true, jump, std::nullopt, "times never go back, and steps, samples and seals are in their order");
}

}  // namespace

std::vector<RuleResult> StrictRules(const Telemetry& telemetry, const RunFacts& facts) {
  std::vector<RuleResult> results = {ChainRule(telemetry, facts)};
  if (results[0].state == RuleState::kDamaged || telemetry.sessions.empty()) return results;
  results.push_back(IterationRule(telemetry, facts));
  results.push_back(LossRule(telemetry, facts));
  results.push_back(ProgressRule(facts));
  results.push_back(TimeRule(telemetry));
  for (RuleResult& result : WorkRules(telemetry, facts)) results.push_back(std::move(result));
  return results;
}

}  // namespace assay::monitor
