#include "assay/rounding/holds_all.h"

#include <gtest/gtest.h>

#include "assay/rounding/paper_log.h"

namespace assay::rounding {
namespace {

Decision At(std::uint64_t position, bool up) {
  Decision decision;
  decision.position = position;
  decision.up = up;
  return decision;
}

TEST(HoldsAll, Decisions) {
  const Bytes log = EncodeDecisions(std::vector{At(3, true), At(5, false), At(9, true)}, 10);
  const auto holds = [&](const Bytes& part) { return HoldsAll(log, part, Rule::kBound); };
  EXPECT_TRUE(holds(log));
  EXPECT_TRUE(holds(EncodeDecisions({}, 10)));
  EXPECT_TRUE(holds(EncodeDecisions(std::vector{At(5, false)}, 10)));
  EXPECT_FALSE(holds(EncodeDecisions(std::vector{At(5, true)}, 10)));
  EXPECT_FALSE(holds(EncodeDecisions(std::vector{At(5, false), At(6, false)}, 10)));
  EXPECT_FALSE(holds(EncodeDecisions(std::vector{At(5, false)}, 11)));
  EXPECT_FALSE(holds(Bytes{1, 2, 3}));
  EXPECT_FALSE(HoldsAll(Bytes{}, EncodeDecisions({}, 10), Rule::kBound));
}

TEST(HoldsAll, Symbols) {
  const std::uint8_t all[] = {kWentUp, kNotClose, kWentDown}, some[] = {kWentUp, kNotClose, kNotClose},
                     other[] = {kWentDown, kNotClose, kWentDown}, shorter[] = {kWentUp, kNotClose};
  const auto holds = [&](std::span<const std::uint8_t> part) {
    return HoldsAll(EncodePaperLog(all), EncodePaperLog(part), Rule::kPaper);
  };
  EXPECT_TRUE(holds(all));
  EXPECT_TRUE(holds(some));
  EXPECT_FALSE(holds(other));
  EXPECT_FALSE(holds(shorter));
  EXPECT_FALSE(HoldsAll(EncodePaperLog(all), Bytes{1}, Rule::kPaper));
}

}  // namespace
}  // namespace assay::rounding
