#include "assay/monitor/pev_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "assay/base/check.h"
#include "assay/monitor/iteration_rule.h"

namespace assay::monitor {
namespace {

// Quantiles of Student's distribution at (1 + kConfidence) / 2, by degrees of freedom; beyond the last one it only shrinks.
constexpr double kStudent[] = {636.619, 31.599, 12.924, 8.610, 6.869, 5.959, 5.408, 5.041, 4.781, 4.587,
                               4.437,   4.318,  4.221,  4.140, 4.073, 4.015, 3.965, 3.922, 3.883, 3.850,
                               3.819,   3.792,  3.768,  3.745, 3.725, 3.707, 3.690, 3.674, 3.659, 3.646};

double StudentQuantile(std::size_t freedom) {
  ASSAY_CHECK(freedom >= 1);
  return kStudent[std::min(freedom, std::size(kStudent)) - 1];
}

double MeanOf(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

double SquaresAround(const std::vector<float>& values, double mean) {
  double sum = 0;
  for (const float value : values) sum += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  return sum;
}

bool AllFinite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

std::string Where(const EpochFacts& epoch) {
  const std::int64_t off = *epoch.checkpoint - epoch.last_step;
  const std::string place =
      off == 0 ? "at the epoch's end"
               : fmt::format("{} steps {} the epoch's end", off < 0 ? -off : off, off < 0 ? "before" : "after");
  return fmt::format("snapshot after step {}, {}", *epoch.checkpoint, place);
}

constexpr char kEpoch[] = "epoch";
constexpr char kLosses[] = "losses";

// What both rules cannot be held against.
std::optional<RuleResult> Special(const EpochFacts& epoch) {
  if (!epoch.checkpoint) {
    return Named(kEpoch, "no_snapshot", RuleState::kUnchecked,
                 fmt::format("no snapshot lies within half an epoch of step {}, so that nothing shows what the epoch led to",
                             epoch.last_step));
  }
  if (epoch.recorded.empty()) return Named(kEpoch, "no_losses", RuleState::kUnchecked, "the run told no loss of this epoch");
  if (!AllFinite(epoch.recorded) || !AllFinite(epoch.groups))
    return Named(kEpoch, "not_finite", RuleState::kUnchecked, "a loss is not finite; means say nothing");
  return std::nullopt;
}

}  // namespace

ConfidenceInterval FinitePopulationInterval(const std::vector<float>& groups, std::int64_t drawn, std::int64_t population) {
  ASSAY_CHECK(groups.size() >= 2 && drawn >= 1 && drawn <= population);
  const auto count = static_cast<double>(groups.size());
  const double mean = MeanOf(groups);
  const double variance = SquaresAround(groups, mean) / (count - 1);
  const double left = 1 - static_cast<double>(drawn) / static_cast<double>(population);
  const double reach = StudentQuantile(groups.size() - 1) * std::sqrt(variance / count * left);
  return {mean, mean - reach, mean + reach};
}

RuleResult SeedEpochRule(const EpochFacts& epoch, double percent) {
  if (auto special = Special(epoch)) return *std::move(special);
  if (epoch.recorded.size() == 1)
    return Named(kEpoch, "one_iteration", RuleState::kUnchecked, "one loss has no deviation; the formula says nothing");
  const double recorded = MeanOf(epoch.recorded), here = MeanOf(epoch.groups);
  const double deviation = std::sqrt(SquaresAround(epoch.recorded, recorded) / static_cast<double>(epoch.recorded.size()));
  const double limit = deviation * 100 / percent, difference = std::fabs(recorded - here);
  const std::string words = fmt::format("recorded mean {:.6g} of {} losses, {:.6g} on {} of {} samples; {}", recorded,
                                        epoch.recorded.size(), here, epoch.drawn, epoch.population, Where(epoch));
  if (deviation == 0) return Named(kEpoch, "constant", RuleState::kRefused, words, difference, limit);
  return Judged(kEpoch, difference < limit, difference, limit, words);
}

RuleResult StrictEpochRule(const EpochFacts& epoch) {
  if (auto special = Special(epoch)) return *std::move(special);
  if (epoch.groups.size() < kLeastGroups) {
    return Named(
        kEpoch, "too_few", RuleState::kNotApplicable,
        fmt::format(
            "the share leaves fewer than {} microbatches of this epoch for its mean, and their interval would say next to "
            "nothing; a larger --percent leaves more",
            kLeastGroups));
  }
  const ConfidenceInterval interval = FinitePopulationInterval(epoch.groups, epoch.drawn, epoch.population);
  double limit = static_cast<double>(*epoch.highest);
  if (epoch.next_loss && std::isfinite(*epoch.next_loss)) {
    // A loss at the same weights, of other samples: it scatters as the groups do.
    const double variance = SquaresAround(epoch.groups, interval.mean) / static_cast<double>(epoch.groups.size() - 1) /
                            static_cast<double>(epoch.microbatches);
    const double reach = StudentQuantile(epoch.groups.size() - 1) * std::sqrt(variance);
    limit = std::max(limit, static_cast<double>(*epoch.next_loss) + reach);
  }
  const std::string words =
      fmt::format("mean loss in {:.6g} .. {:.6g} ({} of {} samples), at most {:.6g} was recorded on the way; {}", interval.low,
                  interval.high, epoch.drawn, epoch.population, limit, Where(epoch));
  const bool holds = interval.low <= limit;
  if (!holds && !epoch.next_loss) {
    return Named(kEpoch, "rose_at_end", RuleState::kUnchecked,
                 words + "; no later loss tells whether the last steps made it so", interval.low, limit);
  }
  return Judged(kEpoch, holds, interval.low, limit, words);
}

RuleResult SameLossRule(const std::vector<SameLoss>& compared, std::int64_t openings, std::int64_t told) {
  if (openings == 0) {
    return Named(kLosses, "no_snapshot", RuleState::kUnchecked,
                 "no step of this epoch follows a snapshot, so that no loss can be computed again");
  }
  if (told == 0) {
    return Named(kLosses, "untold", RuleState::kUnchecked,
                 "the run told no loss of a step that follows a snapshot: commit.every is above 1 and there is no telemetry");
  }
  if (compared.empty()) return Named(kLosses, "not_drawn", RuleState::kNotApplicable, "no step of this epoch was drawn");
  const auto equal = std::ranges::count_if(compared, [](const SameLoss& one) { return one.told == one.computed; });
  const auto committed = std::ranges::count_if(compared, &SameLoss::committed);
  std::string words = fmt::format("{} of {} losses are bit for bit those that were told, {} of these in the log", equal,
                                  compared.size(), committed);
  const auto wrong = std::ranges::find_if(compared, [](const SameLoss& one) { return one.told != one.computed; });
  if (wrong != compared.end()) {
    words += fmt::format("; step {} has loss {}, {} was told", wrong->step, std::bit_cast<float>(wrong->computed),
                         std::bit_cast<float>(wrong->told));
  }
  return Judged(kLosses, wrong == compared.end(), static_cast<double>(equal), static_cast<double>(compared.size()), words);
}

}  // namespace assay::monitor
