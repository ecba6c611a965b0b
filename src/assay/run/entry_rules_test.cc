#include "assay/run/entry_rules.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Digest DigestOf(std::uint8_t first) {
  Digest digest{};
  digest.bytes[0] = first;
  return digest;
}

// The log of a finished run.
std::vector<LogEntry> LogOf(const EntryRules& rules, const Digest& trajectory) {
  std::vector<LogEntry> entries;
  Digest previous = trajectory;
  for (std::int64_t i = 0; i < rules.schedule.entries(); ++i) {
    LogEntry entry{.step = rules.schedule.StepOfEntry(i),
                   .state_root = DigestOf(static_cast<std::uint8_t>(i)),
                   .batch_root = i == 0 ? BatchRootOfSteps({}) : DigestOf(7),
                   .loss_bits = i == 0 ? 0u : 5u,
                   .previous = previous};
    if (rules.rounded) entry.rounding_root = i == 0 ? RoundingRootOfSteps({}) : DigestOf(8);
    entries.push_back(entry);
    previous = HashOf(entry);
  }
  return entries;
}

TEST(EntryRules, AcceptWhatTrainingWritesAndNothingElse) {
  for (const bool rounded : {false, true}) {
    const EntryRules rules{.schedule = {.commit_every = 4, .steps = 10}, .rounded = rounded};
    const std::vector<LogEntry> entries = LogOf(rules, DigestOf(1));
    ASSERT_EQ(entries.size(), 4u);
    EXPECT_FALSE(FindWrongEntry(rules, entries, DigestOf(1)));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto expect_wrong = [&](const char* what, const auto& edit) {
        std::vector<LogEntry> other = entries;
        edit(other[i]);
        const auto wrong = FindWrongEntry(rules, other, DigestOf(1));
        ASSERT_TRUE(wrong) << what;
        EXPECT_EQ(wrong->index, static_cast<std::int64_t>(i)) << what << ": " << wrong->what;
      };
      expect_wrong("step", [](LogEntry& e) { ++e.step; });
      expect_wrong("previous", [](LogEntry& e) { e.previous.bytes[3] ^= 1; });
      expect_wrong(rounded ? "has no rounding root, " : "has a rounding root, ",
                   [&](LogEntry& e) { e.rounding_root = rounded ? std::nullopt : std::optional(Digest{}); });
      if (i > 0) continue;
      expect_wrong("loss", [](LogEntry& e) { e.loss_bits = 1; });
      expect_wrong("batch", [](LogEntry& e) { e.batch_root = Digest{}; });
      if (rounded) expect_wrong("roundings", [](LogEntry& e) { e.rounding_root = Digest{}; });
    }
    std::vector<LogEntry> longer = entries;
    longer.push_back(entries.back());
    EXPECT_EQ(FindWrongEntry(rules, longer, DigestOf(1))->index, 4);
    EXPECT_FALSE(FindWrongEntry(rules, std::span(entries).first(2), DigestOf(1))) << "an unfinished run";
  }
}

TEST(RoundingLeaf, HasOneForm) {
  const Bytes log(5000, 3);
  const RoundingLeaf leaf = RoundingLeafOf(log);
  EXPECT_EQ(leaf.bytes, 5000u);
  EXPECT_EQ(DecodeRoundingLeaf(Encode(leaf)).value(), leaf);
  Bytes longer = Encode(leaf);
  ASSERT_EQ(longer.size(), 40u);
  EXPECT_FALSE(DecodeRoundingLeaf(ByteSpan(longer).first(39)));
  longer.push_back(0);
  EXPECT_FALSE(DecodeRoundingLeaf(longer));
}

}  // namespace
}  // namespace assay
