#include "assay/monitor/work_rules.h"

#include <algorithm>

#include "assay/monitor/iteration_rule.h"

namespace assay::monitor {
namespace {

// What a session did between its first and its last sample.
struct Work {
  double seconds = 0, cpu_seconds = 0;
  double gpu_busy_seconds = 0, joules = 0;
  double mean_watts = 0;
  bool tells_utilisation = false, tells_energy = false, tells_power = false;
  double steps = 0;
};

// Of the energy counter, which counts from when the driver was loaded: it stays so while a program computes.
bool Falls(const Session& session) {
  std::int64_t before = kNotTold;
  for (const auto& sample : session.samples) {
    if (!sample.body.gpu || sample.body.gpu->energy_mj == kNotTold) continue;
    if (sample.body.gpu->energy_mj < before) return true;
    before = sample.body.gpu->energy_mj;
  }
  return false;
}

Work WorkOf(const Session& session) {
  Work work;
  if (session.samples.size() < 2) return work;
  const auto &first = session.samples.front(), &last = session.samples.back();
  work.seconds = 1e-6 * (static_cast<double>(last.mono_us) - static_cast<double>(first.mono_us));
  work.cpu_seconds = 1e-6 * (static_cast<double>(last.body.cpu_us) - static_cast<double>(first.body.cpu_us));
  work.steps = static_cast<double>(last.body.step) - static_cast<double>(first.body.step);
  double weighted = 0;
  for (std::size_t i = 1; i < session.samples.size(); ++i) {
    const double seconds =
        1e-6 * (static_cast<double>(session.samples[i].mono_us) - static_cast<double>(session.samples[i - 1].mono_us));
    const auto& gpu = session.samples[i].body.gpu;
    if (!gpu) continue;
    if (gpu->utilisation != kNotTold) {
      work.tells_utilisation = true;
      work.gpu_busy_seconds += seconds * 0.01 * static_cast<double>(gpu->utilisation);
    }
    if (gpu->power_mw != kNotTold) {
      work.tells_power = true;
      weighted += seconds * 1e-3 * static_cast<double>(gpu->power_mw);
    }
  }
  work.mean_watts = work.seconds > 0 ? weighted / work.seconds : 0;
  const auto &begin = first.body.gpu, &end = last.body.gpu;
  work.tells_energy = begin && end && begin->energy_mj != kNotTold && end->energy_mj != kNotTold;
  if (work.tells_energy) work.joules = 1e-3 * (static_cast<double>(end->energy_mj) - static_cast<double>(begin->energy_mj));
  return work;
}

bool OnGpu(const Session& session) { return session.record.device == "cuda"; }

// Of the machine, as the session measured it; 0: not measured.
double SpeedOf(const SessionRecord& record) { return record.device == "cuda" ? record.flops_per_s : record.flops_per_cpu_s; }

// Operations a second that the machine can do. Threads beyond the cores add nothing; 0 of either: not told.
double LimitOf(const SessionRecord& record) {
  if (record.device == "cuda") return record.flops_per_s;
  const std::uint32_t at_once = record.threads == 0 || record.cores == 0 ? std::max(record.threads, record.cores)
                                                                         : std::min(record.threads, record.cores);
  return record.flops_per_cpu_s * at_once;
}

// Of a job that rounds no speed is measured, and nothing can be said of it. Every other session measures one before its first step, and samples as it begins and
// ends: whoever leaves that out must not be better off than who is found too fast.
RuleResult NotMeasured(const std::string& rule, const RunFacts& facts, double threshold, const std::string& why) {
  return Named(rule, "not_measured", facts.exact ? RuleState::kUnchecked : RuleState::kNotApplicable, why, std::nullopt,
               threshold);
}

// What leaves the steps of a session without a measure; empty: nothing does.
std::string UnmeasuredIn(const Telemetry& telemetry) {
  for (const Session& session : telemetry.sessions) {
    if (session.steps.empty()) continue;
    if (SpeedOf(session.record) <= 0) return "a session says nothing of the speed of its machine";
    const bool ended = !session.seals.empty() && session.seals.back().body.final;
    if (ended && WorkOf(session).seconds <= 0) return "a session that came to the end has no two samples at different times";
    // A recorder writes the first sample with the session's record, and the last one before the seal: what stands outside of them would be measured by nobody.
    if (session.samples.empty() || session.samples.front().body.step != session.record.first_step)
      return "a session recorded steps before its first sample";
    if (ended && session.samples.back().body.step != session.steps.back().body.step)
      return "a session that came to the end recorded steps after its last sample";
  }
  return "";
}

constexpr char kNothingMeasured[] = "no session has a measured speed and two samples at different times";

std::string MiscountedIn(const Telemetry& telemetry, const RunFacts& facts) {
  for (const Session& session : telemetry.sessions) {
    if (session.record.step_flops != facts.step_flops || session.record.state_bytes != facts.state_bytes) {
      return fmt::format("a session counts {:.6g} operations a step and {} bytes of state, the program has {:.6g} and {}",
                         session.record.step_flops, session.record.state_bytes, facts.step_flops, facts.state_bytes);
    }
  }
  return "";
}

RuleResult ThroughputRule(const Telemetry& telemetry, const RunFacts& facts) {
  const std::string rule = "throughput";
  if (const std::string wrong = MiscountedIn(telemetry, facts); !wrong.empty())
    return Judged(rule, false, std::nullopt, strict::kMostSpeed, wrong);
  double fastest = 0;
  bool measured = false;
  for (const Session& session : telemetry.sessions) {
    const Work work = WorkOf(session);
    const double limit = LimitOf(session.record);
    if (limit <= 0 || work.seconds <= 0) continue;
    measured = true;
    fastest = std::max(fastest, facts.step_flops * work.steps / work.seconds / limit);
  }
  if (!measured) return NotMeasured(rule, facts, strict::kMostSpeed, kNothingMeasured);
  const std::string unmeasured = facts.exact ? UnmeasuredIn(telemetry) : "";
  if (!unmeasured.empty() && fastest <= strict::kMostSpeed) return NotMeasured(rule, facts, strict::kMostSpeed, unmeasured);
  return Judged(rule, fastest <= strict::kMostSpeed, fastest, strict::kMostSpeed,
                fmt::format("the counted operations were done at {:.3g} times the speed that was measured", fastest));
}

// A GPU that is busier than it can be; empty: none is.
std::string BusierThanAllIn(const Telemetry& telemetry) {
  constexpr std::int64_t kAll = 100;  // percent
  for (const Session& session : telemetry.sessions) {
    if (!OnGpu(session)) continue;
    for (const auto& sample : session.samples) {
      if (sample.body.gpu && sample.body.gpu->utilisation > kAll)
        return fmt::format("a sample after step {} says that the GPU was busy for {} % of the time", sample.body.step,
                           sample.body.gpu->utilisation);
    }
  }
  return "";
}

RuleResult UtilisationRule(const Telemetry& telemetry, const RunFacts& facts) {
  const std::string rule = "utilisation";
  if (const std::string wrong = BusierThanAllIn(telemetry); !wrong.empty())
    return Judged(rule, false, std::nullopt, strict::kLeastWork, wrong);
  double used = 0, needed = 0;
  bool too_short = false, silent = false;
  for (const Session& session : telemetry.sessions) {
    const Work work = WorkOf(session);
    const double speed = SpeedOf(session.record);
    if (speed <= 0 || work.seconds <= 0) continue;
    if (OnGpu(session) && !work.tells_utilisation) {
      silent = true;
      continue;
    }
    if (OnGpu(session) && work.seconds < strict::kLeastSeconds) {
      too_short = true;
      continue;
    }
    used += OnGpu(session) ? work.gpu_busy_seconds : work.cpu_seconds;
    needed += facts.step_flops * work.steps / speed;
  }
  const std::string unmeasured = facts.exact ? UnmeasuredIn(telemetry) : "";
  if (needed <= 0 && !unmeasured.empty()) return NotMeasured(rule, facts, strict::kLeastWork, unmeasured);
  if (needed <= 0 && too_short) {
    return Named(rule, "too_short", RuleState::kNotApplicable,
                 "the driver averages a GPU's utilisation over longer than the run took", std::nullopt, strict::kLeastWork);
  }
  if (needed <= 0 && silent) {
    return Named(rule, "not_told", RuleState::kNotApplicable, "the driver does not tell how busy the GPU is", std::nullopt,
                 strict::kLeastWork);
  }
  if (needed <= 0) return NotMeasured(rule, facts, strict::kLeastWork, kNothingMeasured);
  const double figure = used / needed;
  if (!unmeasured.empty() && figure >= strict::kLeastWork) return NotMeasured(rule, facts, strict::kLeastWork, unmeasured);
  return Judged(
      rule, figure >= strict::kLeastWork, figure, strict::kLeastWork,
      fmt::format("busy for {:.3g} s; the counted operations take {:.3g} s at the speed that was measured", used, needed));
}

RuleResult EnergyRule(const Telemetry& telemetry, const RunFacts& facts) {
  const std::string rule = "energy";
  const double most = strict::kMostFlopsPerJoule;
  double flops = 0, joules = 0, by_power = 0, seconds = 0;
  bool any_gpu = false, silent = false, falls = false;
  for (const Session& session : telemetry.sessions) {
    if (!OnGpu(session)) continue;
    const Work work = WorkOf(session);
    any_gpu = true;
    falls = falls || Falls(session);
    silent = silent || (work.seconds > 0 && !work.tells_energy);
    if (!work.tells_energy) continue;
    flops += facts.step_flops * work.steps;
    joules += work.joules;
    if (work.tells_power) by_power += work.mean_watts * work.seconds;
    seconds += work.seconds;
  }
  if (!any_gpu) {
    return Named(rule, "no_gpu", RuleState::kNotApplicable, "no GPU computed, and nothing else tells of energy", std::nullopt,
                 most);
  }
  if (falls) return Judged(rule, false, std::nullopt, most, "the GPU's energy counter runs backwards within a session");
  if (seconds <= 0 && silent) {
    return Named(rule, "not_told", RuleState::kNotApplicable, "the driver does not tell of the GPU's energy", std::nullopt,
                 most);
  }
  if (seconds <= 0) return NotMeasured(rule, facts, most, "no session on a GPU has two samples at different times");
  if (seconds < strict::kLeastSeconds)
    return Named(rule, "too_short", RuleState::kNotApplicable, "the GPU told of too little time", std::nullopt, most);
  if (joules <= 0) {
    return Judged(rule, flops <= 0, std::nullopt, most,
                  fmt::format("the energy counter stands still over {:.4g} operations", flops));
  }
  const double figure = flops / joules;
  constexpr double kDisagree = 2;
  if (by_power > 0 && (joules > kDisagree * by_power || joules < by_power / kDisagree)) {
    return Judged(rule, false, figure, most,
                  fmt::format("{:.4g} J by the counter, {:.4g} J by the power of the samples", joules, by_power));
  }
  return Judged(rule, figure <= most, figure, most, fmt::format("{:.4g} J for {:.4g} operations", joules, flops));
}

RuleResult MemoryRule(const Telemetry& telemetry, const RunFacts& facts) {
  const std::vector<std::int64_t> bytes = MemoryOf(telemetry);
  const auto state = static_cast<double>(facts.state_bytes);
  if (bytes.empty()) return Named("memory", "no_samples", RuleState::kUnchecked, "no samples", std::nullopt, state);
  const auto most = static_cast<double>(*std::ranges::max_element(bytes));
  return Judged("memory", most >= state, most, state,
                fmt::format("{:.4g} bytes were in use at most; the state alone has {:.4g}", most, state));
}

}  // namespace

std::vector<RuleResult> WorkRules(const Telemetry& telemetry, const RunFacts& facts) {
  return {Bounded(Bound::kAtMost, ThroughputRule(telemetry, facts)),
          Bounded(Bound::kAtLeast, UtilisationRule(telemetry, facts)), Bounded(Bound::kAtMost, EnergyRule(telemetry, facts)),
          Bounded(Bound::kAtLeast, MemoryRule(telemetry, facts))};
}

}  // namespace assay::monitor
