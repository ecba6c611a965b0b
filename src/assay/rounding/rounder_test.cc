#include "assay/rounding/rounder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "assay/rounding/decision_segment.h"
#include "assay/rounding/paper_log.h"
#include "assay/rounding/round_values.h"

namespace assay::rounding {
namespace {

using numerics::Grid;

std::uint32_t BitsOf(float v) { return std::bit_cast<std::uint32_t>(v); }

TEST(RoundValues, AreThoseOfTheGrid) {
  std::mt19937_64 random(1);
  const double odd[] = {0.0,
                        -0.0,
                        std::nan(""),
                        -std::nan(""),
                        HUGE_VAL,
                        -HUGE_VAL,
                        0x1p-1074,
                        -0x1p-1074,
                        0x1p1023,
                        -0x1.fffffffffffffp1023,
                        0x1.ffffffp127,
                        0x1p128,
                        0x1p200,
                        0x1p-126,
                        0x1.fffffffffffffp-127};
  for (int bits = Grid::kMinBits; bits <= Grid::kMaxBits; ++bits) {
    const Grid grid(bits);
    std::vector<double> y(odd, odd + std::size(odd));
    for (int i = 0; i < 20011; ++i) {
      const float at = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xffffff00u);
      const double gap = std::isfinite(at) ? grid.Spacing(double{at}) : 0;
      y.push_back(i % 3 == 0 ? std::bit_cast<double>(random()) : double{at} + gap * static_cast<double>(random() % 9) / 8);
    }
    std::vector<float> out(y.size());
    const std::vector<double> zeros(y.size());
    RoundValues(grid, y.data(), static_cast<std::int64_t>(y.size()), out.data());
    std::vector<float> tested(y.size());
    RoundValuesAndTest(grid, y.data(), zeros.data(), static_cast<std::int64_t>(y.size()), tested.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(BitsOf(out[i]), BitsOf(grid.Round(y[i]))) << bits << " " << std::hexfloat << y[i];
      ASSERT_EQ(BitsOf(tested[i]), BitsOf(out[i]));
    }
  }
}

TEST(RoundValues, TestMissesNoDecision) {
  std::mt19937_64 random(2);
  std::uint64_t passed = 0;
  std::uint64_t found = 0;
  for (int bits = Grid::kMinBits; bits <= Grid::kMaxBits; ++bits) {
    const Grid grid(bits);
    for (int i = 0; i < 100000; ++i) {
      const std::uint32_t mask = i % 4 == 0 ? 0xff800000u : i % 4 == 1 ? 0x80ffff00u : i % 4 == 2 ? 0xffffff00u : 0x80000000u;
      const float at = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & mask);
      if (!std::isfinite(at)) continue;
      const double gap = grid.Spacing(double{at});
      const double e = random() % 16 == 0 ? 0 : gap * std::exp2(-static_cast<double>(random() % 60) / 2);
      const double y =
          double{at} + gap * (static_cast<double>(random() % 9) - 4) / 8 + e * (static_cast<double>(random() % 101) - 50) / 20;
      float out = 0;
      const bool near = RoundValuesAndTest(grid, &y, &e, 1, &out);
      const bool decides = Decide(grid, y, Reach(e), 0).has_value();
      ASSERT_TRUE(near || !decides) << std::hexfloat << y << " " << e << " bits " << bits;
      found += decides ? 1 : 0;
      passed += near ? 0 : 1;
    }
  }
  EXPECT_GT(found, 100000u);
  EXPECT_GT(passed, 100000u);
  const Grid grid(32);
  float out = 0;
  const double nan = std::nan("");
  const double one = 1;
  EXPECT_TRUE(RoundValuesAndTest(grid, &one, &nan, 1, &out)) << "a bound that is not a number is no bound";
  const double zeros[4] = {};
  float outs[4];
  EXPECT_FALSE(RoundValuesAndTest(grid, zeros, zeros, 4, outs)) << "zeros that are exact";
}

// A step: results with values and bounds, and another evaluation of the same.
struct Step {
  std::vector<std::vector<double>> y;
  std::vector<std::vector<double>> other;
  std::vector<std::vector<double>> e;
};
Step RandomStep(std::mt19937_64& random, double relative) {
  Step step;
  for (const std::size_t n : {1u, 1000u, 64u, 0u, 40000u, 77u}) {
    step.y.emplace_back();
    step.other.emplace_back();
    step.e.emplace_back();
    for (std::size_t i = 0; i < n; ++i) {
      const double truth = std::normal_distribution<double>()(random);
      const double e = std::fabs(truth) * relative * (random() % 50 == 0 ? 0x1p12 : 1);
      const auto off = [&] { return e * std::uniform_real_distribution<double>(-1, 1)(random); };
      step.y.back().push_back(truth + off());
      step.other.back().push_back(truth + off());
      step.e.back().push_back(e * (1 + 0x1p-20));  // the sums above are rounded
    }
  }
  return step;
}

using Values = std::vector<std::vector<float>>;

// Rounds a step block by block on some threads, with bounds only where they are wanted.
Values RunStep(Rounder& rounder, const std::vector<std::vector<double>>& y, const std::vector<std::vector<double>>& e,
               std::size_t block, unsigned threads) {
  Values out;
  for (std::size_t r = 0; r < y.size(); ++r) {
    out.emplace_back(y[r].size());
    const std::uint64_t first = rounder.Next(y[r].size());
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (std::size_t begin = t * block; begin < y[r].size(); begin += threads * block) {
          const std::size_t size = std::min(block, y[r].size() - begin);
          const bool wants = rounder.WantsBounds(first + begin, first + begin + size);
          rounder.Round(&y[r][begin], wants ? &e[r][begin] : nullptr, static_cast<std::int64_t>(size), first + begin,
                        &out[r][begin]);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  return out;
}

TEST(Rounder, FollowersTakeTheRecordersValues) {
  std::mt19937_64 random(3);
  std::uint64_t corrections = 0;
  for (const int bits : {24, 28, 32}) {
    const Step step = RandomStep(random, std::ldexp(1.0, -bits - 5));
    Rounder rounder(bits);
    rounder.BeginRecord();
    const Values recorded = RunStep(rounder, step.y, step.e, 96, 3);
    const StepReport record = rounder.End();
    EXPECT_GT(record.decisions, 100u);
    EXPECT_EQ(record.elements, 41142u);
    // The order of blocks and threads does not show.
    rounder.BeginRecord();
    EXPECT_EQ(RunStep(rounder, step.y, step.e, 1 << 20, 1), recorded);
    EXPECT_EQ(rounder.End().log, record.log);

    for (const std::size_t block : {1u, 100u, 100000u}) {
      ASSERT_TRUE(rounder.BeginFollow(record.log, "log"));
      EXPECT_EQ(RunStep(rounder, step.other, step.e, block, 2), recorded);
      const StepReport follow = rounder.End();
      EXPECT_FALSE(follow.inadmissible);
      EXPECT_EQ(follow.log, record.log);
      EXPECT_EQ(follow.decisions, record.decisions);
      EXPECT_EQ(follow.elements, record.elements);
      corrections += follow.corrections;
    }
    // Without the log they part.
    rounder.BeginPlain();
    EXPECT_NE(RunStep(rounder, step.other, step.e, 100, 1), recorded);
    EXPECT_TRUE(rounder.End().log.empty());
  }
  EXPECT_GT(corrections, 100u);
}

// With a pool and without, whether decisions or bytes are followed, a log has the same bytes.
TEST(Rounder, CodesLogsOnThreads) {
  std::mt19937_64 random(6);
  const Step step = RandomStep(random, 0x1p-20);
  ThreadPool pool(3);
  std::vector<Bytes> logs;
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    Rounder rounder(26);
    rounder.set_pool(threads);
    rounder.BeginRecord();
    RunStep(rounder, step.y, step.e, 96, 3);
    const StepReport record = rounder.End();
    EXPECT_GT(record.decisions, kSegment);
    logs.push_back(record.log);
    ASSERT_TRUE(rounder.BeginFollow(record.log, "log"));
    RunStep(rounder, step.other, step.e, 50, 2);
    logs.push_back(rounder.End().log);
    rounder.BeginFollow(*DecodeDecisions(record.log, "log"));
    RunStep(rounder, step.other, step.e, 50, 2);
    logs.push_back(rounder.End().log);
  }
  for (const Bytes& log : logs) EXPECT_EQ(log, logs.front());
}

TEST(Rounder, TellsWhatWasCorrected) {
  Rounder rounder(32);
  const double gap = 0x1p-23, mine[] = {1.0, 1 + gap * 0.499999999}, other[] = {1.0, 1 + gap * 0.500000001};
  const double e[] = {0x1p-50, gap * 1e-8};
  float out[2];
  const auto run = [&](const double* y) {
    rounder.Next(3);
    rounder.Round(other, e, 1, 0, out);
    rounder.Round(other, e, 1, 1, out);
    rounder.Round(other, e, 1, 2, out);
    rounder.Round(y, e, 2, rounder.Next(2), out);
    return rounder.End();
  };
  rounder.BeginRecord();
  const StepReport recorded = run(other);
  ASSERT_TRUE(rounder.BeginFollow(recorded.log, "log"));
  EXPECT_TRUE(run(other).corrected.empty());
  ASSERT_TRUE(rounder.BeginFollow(recorded.log, "log"));
  const StepReport report = run(mine);
  ASSERT_EQ(report.corrected.size(), 1u);
  EXPECT_EQ(report.corrected[0].result, 1u);
  EXPECT_EQ(report.corrected[0].y, mine[1]);
  EXPECT_EQ(report.corrections, 1u);
}

TEST(Rounder, ReportsTheFirstInadmissibleDecision) {
  std::mt19937_64 random(4);
  const Step step = RandomStep(random, 0x1p-40);
  Rounder rounder(32);
  rounder.BeginRecord();
  RunStep(rounder, step.y, step.e, 96, 1);
  auto log = *DecodeDecisions(rounder.End().log, "log");
  // A value far away, for elements 3 and 5 of result 2, that nobody can have come to.
  std::erase_if(log.decisions, [](const Decision& d) { return d.position >= 1001 && d.position < 1065; });
  const auto at = std::ranges::lower_bound(log.decisions, 1001u, {}, &Decision::position);
  log.decisions.insert(at, {{.position = 1004, .wide = true, .up = false, .value = 77},
                            {.position = 1006, .wide = true, .up = false, .value = 77}});
  rounder.BeginFollow(log);
  RunStep(rounder, step.other, step.e, 2, 3);
  const auto inadmissible = rounder.End().inadmissible;
  ASSERT_TRUE(inadmissible);
  EXPECT_EQ(inadmissible->result, 2u);
  EXPECT_EQ(inadmissible->element, 3u);
  EXPECT_EQ(inadmissible->decision, (Decision{.position = 1004, .wide = true, .up = false, .value = 77}));
  EXPECT_FALSE(inadmissible->reason.empty());
}

TEST(Rounder, NamesTheFirstElementOfAStep) {
  Rounder rounder(32);
  rounder.BeginFollow({.elements = 1, .decisions = {{.position = 0, .wide = false, .up = false, .value = 0}}});
  RunStep(rounder, {{1.5 - 0x1p-30}}, {{0x1p-50}}, 2, 1);
  const auto first = rounder.End().inadmissible;
  ASSERT_TRUE(first);
  EXPECT_NE(Describe(*first).find("decides element 0 of result 0 as rounded down"), std::string::npos) << Describe(*first);
}

TEST(Rounder, ReportsALogOfAnotherStep) {
  const std::vector<std::vector<double>> y = {{1.0, 2.0, 3.0}};
  const std::vector<std::vector<double>> e = {{0.0, 0.0, 0.0}};
  Rounder rounder(32);
  for (const std::uint64_t elements : {2u, 4u}) {
    rounder.BeginFollow({.elements = elements, .decisions = {}});
    RunStep(rounder, y, e, 2, 1);
    const StepReport report = rounder.End();
    ASSERT_TRUE(report.inadmissible) << elements;
    EXPECT_EQ(report.inadmissible->result, 1u);
    EXPECT_NE(report.inadmissible->reason.find("the step has 3"), std::string::npos) << report.inadmissible->reason;
  }
  // A decision about an element that comes in no result.
  rounder.BeginFollow({.elements = 5, .decisions = {{.position = 4, .wide = true, .up = false, .value = 1}}});
  RunStep(rounder, y, e, 2, 1);
  EXPECT_TRUE(rounder.End().inadmissible);
  EXPECT_FALSE(rounder.BeginFollow(AsBytes("no log"), "log"));
  rounder.BeginFollow({.elements = 3, .decisions = {}});
  RunStep(rounder, y, e, 2, 1);
  EXPECT_FALSE(rounder.End().inadmissible);
}

TEST(Rounder, ExactResultsHaveNoPosition) {
  Rounder rounder(24);
  rounder.BeginRecord();
  const double y[3] = {0.1, -0.0, std::nan("")};
  float out[3];
  rounder.RoundExact(y, 3, out);
  EXPECT_EQ(BitsOf(out[0]), BitsOf(Grid(24).Round(0.1)));
  EXPECT_EQ(BitsOf(out[1]), 0x80000000u);
  EXPECT_EQ(BitsOf(out[2]), 0x7fc00000u);
  const StepReport report = rounder.End();
  EXPECT_EQ(report.elements, 0u);
  EXPECT_EQ(report.decisions, 0u);
}

TEST(Rounder, PaperRuleFollowsToo) {
  std::mt19937_64 random(5);
  Step step = RandomStep(random, 0x1p-36);
  Rounder rounder(26, Rule::kPaper, 0.4 * Grid(26).Spacing(1));
  EXPECT_FALSE(rounder.WantsBounds(0, 1));
  rounder.BeginRecord();
  const Values recorded = RunStep(rounder, step.y, step.e, 96, 3);
  const StepReport record = rounder.End();
  ASSERT_TRUE(rounder.BeginFollow(record.log, "log"));
  EXPECT_EQ(RunStep(rounder, step.other, step.e, 50, 2), recorded);
  const StepReport follow = rounder.End();
  EXPECT_EQ(follow.log, record.log);
  EXPECT_EQ(follow.decisions, record.decisions);
  EXPECT_FALSE(follow.inadmissible);
  EXPECT_GT(follow.corrections, 0u);
  ASSERT_TRUE(rounder.BeginFollow(record.log, "log"));
  step.other.pop_back();
  RunStep(rounder, step.other, step.e, 50, 1);
  EXPECT_TRUE(rounder.End().inadmissible);
}

// Whoever follows somebody that may lie takes the same values as who follows, and has a log by which others come to them too.
TEST(Rounder, AmendsWhatItFollows) {
  std::mt19937_64 random(7);
  for (const Rule rule : {Rule::kBound, Rule::kPaper}) {
    SCOPED_TRACE(rule == Rule::kBound ? "bound" : "paper");
    const Step step = RandomStep(random, 0x1p-36);
    Rounder rounder(26, rule, 0.4 * Grid(26).Spacing(1));
    rounder.BeginRecord();
    const Values recorded = RunStep(rounder, step.y, step.e, 96, 3);
    const Bytes log = rounder.End().log;
    // The log, one that says nothing, one that is none, and (of decisions) one with a value that nobody comes to.
    std::vector<Bytes> followed = {log, Bytes{1, 2, 3}};
    if (rule == Rule::kPaper) {
      followed.push_back(EncodePaperLog(std::vector<std::uint8_t>(41142, kNotClose)));
    } else {
      followed.push_back(EncodeDecisions({}, 41142));
      followed.push_back(EncodeDecisions(std::vector{Decision{.position = 1004, .wide = true, .value = 77}}, 41142));
    }
    for (std::size_t i = 0; i < followed.size(); ++i) {
      SCOPED_TRACE(i);
      ASSERT_TRUE(rounder.BeginAmend(followed[i], "log"));
      const Values values = RunStep(rounder, step.other, step.e, 96, 2);
      const StepReport report = rounder.End();
      EXPECT_EQ(report.inadmissible.has_value(), i == 1 || i == 3);
      EXPECT_EQ(report.log, followed[i]);
      EXPECT_EQ(values == recorded, i == 0);
      ASSERT_TRUE(report.own);
      // Nobody within reach comes to other values by it. (The published rule promises less.)
      ASSERT_TRUE(rounder.BeginFollow(*report.own, "log"));
      EXPECT_EQ(RunStep(rounder, rule == Rule::kBound ? step.y : step.other, step.e, 96, 2), values);
      EXPECT_FALSE(rounder.End().inadmissible);
    }
    rounder.BeginRecord();
    RunStep(rounder, step.other, step.e, 96, 2);
    EXPECT_FALSE(rounder.End().own);
  }
}

}  // namespace
}  // namespace assay::rounding
