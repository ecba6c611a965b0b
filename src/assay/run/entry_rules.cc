#include "assay/run/entry_rules.h"

namespace assay {

EntryRules EntryRules::Of(const Job& job) {
  return {.schedule = CommitSchedule::Of(job), .rounded = job.precision == Precision::kFp64Rounded};
}

Status CheckEntryForm(const EntryRules& rules, std::int64_t index, const LogEntry& entry) {
  const CommitSchedule& schedule = rules.schedule;
  if (index < 0 || index >= schedule.entries()) return Err("is one too many: the job commits {}", schedule.entries());
  const std::int64_t step = schedule.StepOfEntry(index);
  if (entry.step != step) return Err("is of step {}, the job commits step {} there", entry.step, step);
  if (entry.rounding_root.has_value() != rules.rounded) {
    return Err("{} rounding root, {}", rules.rounded ? "has no" : "has a",
               rules.rounded ? "as every entry of an fp64-rounded job has" : "as only entries of an fp64-rounded job have");
  }
  if (index > 0) return {};
  if (entry.batch_root != BatchRootOfSteps({}) || entry.loss_bits != 0)
    return Err("names a batch or a loss before the first step");
  if (rules.rounded && *entry.rounding_root != RoundingRootOfSteps({}))
    return Err("names a rounding log before the first step");
  return {};
}

Status CheckEntry(const EntryRules& rules, std::int64_t index, const LogEntry& entry, const Digest& previous) {
  ASSAY_TRY(CheckEntryForm(rules, index, entry));
  if (entry.previous != previous) return Err("does not follow from {}", index == 0 ? "this job" : "the entry before it");
  return {};
}

std::optional<WrongEntry> FindWrongEntry(const EntryRules& rules, std::span<const LogEntry> entries, const Digest& trajectory) {
  Digest previous = trajectory;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (const Status good = CheckEntry(rules, index, entries[i], previous); !good)
      return WrongEntry{index, good.error().message};
    previous = HashOf(entries[i]);
  }
  return std::nullopt;
}

}  // namespace assay
