#include "assay/rounding/decision_log.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace assay::rounding {
namespace {

std::vector<Decision> RandomDecisions(std::mt19937_64& random, std::size_t count, double mean_gap, double wide) {
  std::vector<Decision> decisions;
  std::geometric_distribution<std::uint64_t> gap(1 / mean_gap);
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Decision decision;
    decision.position = next + (mean_gap > 1 ? gap(random) : 0);
    next = decision.position + 1;
    decision.wide = std::bernoulli_distribution(wide)(random);
    if (decision.wide) {
      // A value of the grid of 26 bits.
      decision.value = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xbfffffc0u);
      if (random() % 2 == 0) {
        decision.value = 0;
        decision.modulus = static_cast<std::uint8_t>(1 + random() % kMaxModulus);
        decision.residue = static_cast<std::uint32_t>(random()) & ((1u << decision.modulus) - 1);
      }
    } else {
      decision.up = random() % 2 == 0;
    }
    decisions.push_back(decision);
  }
  return decisions;
}

std::uint64_t ElementsOf(const std::vector<Decision>& decisions) {
  return decisions.empty() ? 0 : decisions.back().position + 1;
}

TEST(DecisionLog, RoundTrips) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 400; ++i) {
    const auto decisions =
        RandomDecisions(random, random() % 300, std::exp2(static_cast<double>(random() % 40)), static_cast<double>(i % 5) / 4);
    const std::uint64_t elements = ElementsOf(decisions) + random() % 3;
    const Bytes bytes = EncodeDecisions(decisions, elements);
    const auto log = DecodeDecisions(bytes, "log");
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_EQ(log->elements, elements);
    ASSERT_EQ(log->decisions, decisions);
  }
  // The ends of the range.
  const std::vector<Decision> ends = {{.position = 0, .wide = true, .up = false, .value = -0.0f},
                                      {.position = kMaxElements - 1, .wide = false, .up = true, .value = 0}};
  const auto log = DecodeDecisions(EncodeDecisions(ends, kMaxElements), "log");
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ(log->decisions, ends);
  EXPECT_TRUE(std::signbit(log->decisions[0].value));
  EXPECT_EQ(EncodeDecisions({}, 5).size(), 4u + 16 + 16);
}

// The bytes of docs/formats/rounding.md.
TEST(DecisionLog, HasTheBytesOfTheSpecification) {
  const std::vector<Decision> decisions = {{.position = 5, .wide = false, .up = true, .value = 0},
                                           {.position = 6, .wide = true, .up = false, .value = 1.5f},
                                           {.position = 1000, .wide = false, .up = false, .value = 0}};
  EXPECT_EQ(Hex(EncodeDecisions(decisions, 2000)),
            "1000000061737361792f726f756e64696e672f31"
            "d007000000000000"
            "0300000000000000"
            "0d41e8847800064a343c4680");
}

TEST(DecisionLog, IsNearTheEntropy) {
  std::mt19937_64 random(2);
  struct Case {
    std::size_t count;
    double mean_gap;
  };
  for (const auto& [count, mean_gap] :
       {Case{300, 1e5}, Case{3000, 1e5}, Case{100000, 1e5}, Case{3000, 1e3}, Case{100000, 1e3}, Case{100000, 20}}) {
    const auto decisions = RandomDecisions(random, count, mean_gap, 0);
    const double bits = 8.0 * static_cast<double>(EncodeDecisions(decisions, ElementsOf(decisions)).size());
    const double p = 1 / mean_gap;
    const double entropy = 1 + (-(1 - p) * std::log2(1 - p) - p * std::log2(p)) / p;
    const double each = bits / static_cast<double>(count);
    std::printf("%zu decisions, mean gap %g: %.3f bits each, entropy %.3f\n", count, mean_gap, each, entropy);
    EXPECT_LT(each, entropy * 1.01 + 800.0 / static_cast<double>(count));
  }
}

TEST(DecisionLog, AcceptsNothingElse) {
  std::mt19937_64 random(3);
  const auto decisions = RandomDecisions(random, 40, 500, 0.2);
  const Bytes bytes = EncodeDecisions(decisions, ElementsOf(decisions) + 10);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes other = bytes;
      other[i] = static_cast<std::uint8_t>(other[i] ^ (1 << bit));
      const auto log = DecodeDecisions(other, "log");
      // What is still a log is another one, in the form in which it is written.
      if (log) {
        EXPECT_EQ(EncodeDecisions(log->decisions, log->elements), other);
      }
    }
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeDecisions(ByteSpan(bytes).first(size), "log")) << size;
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(DecodeDecisions(longer, "log"));
}

TEST(DecisionLog, SurvivesHostileBytes) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20000; ++i) {
    ByteWriter out;
    out.String("assay/rounding/1");
    out.U64(random() >> (random() % 64));
    out.U64(random() % 8 == 0 ? random() : random() % 4000);
    Bytes rest(random() % 200);
    const std::uint8_t fill = static_cast<std::uint8_t>(random());
    for (std::uint8_t& byte : rest) byte = i % 3 == 0 ? fill : static_cast<std::uint8_t>(random());
    out.Raw(rest);
    const auto log = DecodeDecisions(out.bytes(), "log");
    if (log) {
      EXPECT_LE(log->decisions.size(), 8 * rest.size());
    }
  }
}

}  // namespace
}  // namespace assay::rounding
