// The published rules as they are written, with the constants that they leave open (docs/CHECKS.md).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/monitor/iteration_rule.h"

namespace assay::monitor {
namespace {

constexpr std::size_t kLeastSamples = 2;

// Of a run for which the published rule says nothing.
std::optional<RuleResult> Degenerate(const std::string& rule, std::size_t samples, const RunFacts& facts, double threshold) {
  if (samples < kLeastSamples) {
    return Named(rule, "no_samples", RuleState::kUnchecked,
                 fmt::format("{} samples: the rule says nothing about them", samples), std::nullopt, threshold);
  }
  if (facts.steps == 1) {
    return Named(rule, "one_iteration", RuleState::kUnchecked, "one iteration: the rule says nothing about it", std::nullopt,
                 threshold);
  }
  return std::nullopt;
}

RuleResult UtilisationRule(const Telemetry& telemetry, const RunFacts& facts) {
  const std::string rule = "utilisation";
  const std::vector<UtilisationSample> samples = UtilisationOf(telemetry);
  if (auto degenerate = Degenerate(rule, samples.size(), facts, seed::kAlpha)) return *degenerate;
  double sum = 0;
  for (const UtilisationSample& sample : samples) sum += sample.percent;
  const double mean = sum / static_cast<double>(samples.size());
  const auto above = std::ranges::count_if(samples, [&](const UtilisationSample& sample) { return sample.percent > mean; });
  const double share = static_cast<double>(above) / static_cast<double>(samples.size());
  const auto [least, most] = std::ranges::minmax(samples, {}, &UtilisationSample::percent);
  if (least.percent == most.percent) {
    return Named(rule, "constant", RuleState::kRefused,
                 fmt::format("utilisation is constant at {:.1f} %: no sample lies above the mean", mean), share, seed::kAlpha);
  }
  return Judged(rule, share >= seed::kAlpha, share, seed::kAlpha,
                fmt::format("{} of {} samples lie above the mean of {:.1f} %", above, samples.size(), mean));
}

RuleResult MemoryRule(const Telemetry& telemetry, const RunFacts& facts) {
  const std::string rule = "memory";
  const std::vector<std::int64_t> bytes = MemoryOf(telemetry);
  if (auto degenerate = Degenerate(rule, bytes.size(), facts, seed::kSteep)) return *degenerate;
  const auto head =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(seed::kHead * static_cast<double>(bytes.size()))), 1,
                              bytes.size() - 1) +
      1;
  const auto first = static_cast<double>(bytes.front());
  const auto most = static_cast<double>(*std::ranges::max_element(bytes));
  if (most <= first) {
    return Named(rule, "flat", RuleState::kRefused,
                 fmt::format("memory never rises above its beginning, {} bytes", bytes.front()), 0, seed::kSteep);
  }
  const auto most_in_head =
      static_cast<double>(*std::max_element(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(head)));
  const double steep = (most_in_head - first) / (most - first);
  const auto [low, high] = std::minmax_element(bytes.begin() + static_cast<std::ptrdiff_t>(head) - 1, bytes.end());
  const double spread = (static_cast<double>(*high) - static_cast<double>(*low)) / most;
  return Judged(rule, steep >= seed::kSteep && spread <= seed::kFlat, steep, seed::kSteep,
                fmt::format("{:.0f} % of the rise is in the first {} of {} samples; from the last of these on they differ by "
                            "{:.1f} % of the largest (at most {:.0f} %)",
                            100 * steep, head, bytes.size(), 100 * spread, 100 * seed::kFlat));
}

}  // namespace

std::vector<RuleResult> SeedRules(const Telemetry& telemetry, const RunFacts& facts) {
  return {IterationRule(telemetry, facts), Bounded(Bound::kAtLeast, UtilisationRule(telemetry, facts)),
          Bounded(Bound::kAtLeast, MemoryRule(telemetry, facts))};
}

}  // namespace assay::monitor
