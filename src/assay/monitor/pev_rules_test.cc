// The rules about epochs on figures that are made up: what each accepts and refuses, the holes of the published one among it.
#include "assay/monitor/pev_rules.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace assay::monitor {
namespace {

// Ten steps of four samples whose losses fall from 2 to 1.1, and what 8 of 40 samples give at the end.
EpochFacts Falling() {
  EpochFacts epoch{.epoch = 1, .first_step = 11, .last_step = 20, .checkpoint = 20, .population = 40, .drawn = 8};
  for (int i = 0; i < 10; ++i) epoch.recorded.push_back(2.0f - 0.1f * static_cast<float>(i));
  epoch.groups = {1.0f, 1.1f, 0.9f, 1.0f};
  epoch.highest = 2.0f;
  epoch.next_loss = 1.05f;
  return epoch;
}

TEST(EpochRules, TheIntervalIsThatOfAFinitePopulation) {
  const ConfidenceInterval interval = FinitePopulationInterval({1, 2, 3}, 6, 24);
  EXPECT_DOUBLE_EQ(interval.mean, 2);
  // Two degrees of freedom, variance 1, three groups, three quarters not looked at.
  EXPECT_DOUBLE_EQ(interval.high - 2, 31.599 * std::sqrt(1.0 / 3 * 0.75));
  EXPECT_DOUBLE_EQ(2 - interval.low, interval.high - 2);
  const ConfidenceInterval all = FinitePopulationInterval({1, 2, 3}, 24, 24);
  EXPECT_DOUBLE_EQ(all.low, all.high);
}

TEST(EpochRules, SeedIsTheFormula) {
  const RuleResult result = SeedEpochRule(Falling(), 20);
  EXPECT_EQ(result.verdict, "accepted") << result.reason;
  EXPECT_NEAR(*result.figure, 0.55, 1e-6);
  EXPECT_NEAR(*result.threshold, std::sqrt(0.0825) * 5, 1e-6);
  EpochFacts far = Falling();
  far.groups = {9.0f, 9.0f};
  EXPECT_EQ(SeedEpochRule(far, 20).verdict, "refused");
}

// The threshold grows as fewer samples are looked at: at 10 % it is ten deviations of single losses wide, where the mean's own error is a fraction of one.
TEST(EpochRules, SeedAcceptsACheckpointThatIsFarFromItsRecord) {
  EpochFacts epoch = Falling();
  epoch.groups = {4.0f, 4.1f, 3.9f, 4.0f};
  EXPECT_EQ(SeedEpochRule(epoch, 10).verdict, "accepted");
  EXPECT_EQ(StrictEpochRule(epoch).verdict, "refused") << StrictEpochRule(epoch).reason;
}

TEST(EpochRules, SpecialCasesHaveNames) {
  EpochFacts epoch = Falling();
  epoch.checkpoint.reset();
  EXPECT_EQ(SeedEpochRule(epoch, 10).verdict, "no_snapshot");
  EXPECT_EQ(StrictEpochRule(epoch).state, RuleState::kUnchecked);
  epoch = Falling();
  epoch.recorded.resize(1);
  EXPECT_EQ(SeedEpochRule(epoch, 10).verdict, "one_iteration");
  EXPECT_EQ(StrictEpochRule(epoch).verdict, "accepted") << "needs no deviation";
  epoch.recorded.clear();
  EXPECT_EQ(SeedEpochRule(epoch, 10).verdict, "no_losses");
  epoch = Falling();
  epoch.recorded.assign(5, 1.0f);
  EXPECT_EQ(SeedEpochRule(epoch, 10).verdict, "constant");
  EXPECT_EQ(SeedEpochRule(epoch, 10).state, RuleState::kRefused);
  EXPECT_EQ(StrictEpochRule(epoch).verdict, "accepted") << "a loss that does not change is no lie";
  epoch.recorded[0] = std::nanf("");
  EXPECT_EQ(SeedEpochRule(epoch, 10).verdict, "not_finite");
  epoch = Falling();
  epoch.groups.resize(2);
  EXPECT_EQ(StrictEpochRule(epoch).verdict, "too_few");
}

// Training that goes wrong in its last steps is no lie: the next loss says the same.
TEST(EpochRules, StrictAcceptsALossThatRises) {
  EpochFacts epoch = Falling();
  epoch.groups = {8.0f, 8.2f, 7.8f, 8.0f};
  epoch.next_loss = 8.1f;
  EXPECT_EQ(StrictEpochRule(epoch).verdict, "accepted") << StrictEpochRule(epoch).reason;
  epoch.next_loss.reset();
  EXPECT_EQ(StrictEpochRule(epoch).verdict, "rose_at_end");
  EXPECT_EQ(StrictEpochRule(epoch).state, RuleState::kUnchecked);
}

TEST(EpochRules, LossesAreTheSameBits) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  std::vector<SameLoss> compared = {{1, bits(2.0f), bits(2.0f), true}, {11, bits(1.0f), bits(1.0f), false}};
  RuleResult result = SameLossRule(compared, 3, 2);
  EXPECT_EQ(result.verdict, "accepted");
  EXPECT_EQ(result.figure, 2);
  compared[1].computed = bits(std::nextafter(1.0f, 2.0f));
  result = SameLossRule(compared, 3, 2);
  EXPECT_EQ(result.verdict, "refused");
  EXPECT_NE(result.reason.find("step 11"), std::string::npos);
  EXPECT_EQ(SameLossRule({}, 0, 0).verdict, "no_snapshot");
  EXPECT_EQ(SameLossRule({}, 2, 0).verdict, "untold");
  EXPECT_EQ(SameLossRule({}, 2, 2).verdict, "not_drawn");
}

}  // namespace
}  // namespace assay::monitor
