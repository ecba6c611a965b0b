#include "assay/rounding/decision_log.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "assay/rounding/decision_segment.h"

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

// Lists that end where a segment does, and near it; on threads and without.
TEST(DecisionLog, RoundTripsInSegments) {
  std::mt19937_64 random(5);
  ThreadPool pool(3);
  for (const std::size_t count : {kSegment - 1, kSegment, kSegment + 1, 2 * kSegment, 5 * kSegment + 17}) {
    for (const double mean_gap : {1.0, 300.0}) {
      const auto decisions = RandomDecisions(random, count, mean_gap, 0.1);
      const std::uint64_t elements = ElementsOf(decisions);
      const Bytes bytes = EncodeDecisions(decisions, elements);
      EXPECT_EQ(EncodeDecisions(decisions, elements, &pool), bytes);
      for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
        const auto log = DecodeDecisions(bytes, "log", threads);
        ASSERT_TRUE(log) << log.error().message;
        EXPECT_EQ(log->elements, elements);
        EXPECT_EQ(log->decisions, decisions);
      }
    }
  }
}

// The bytes of docs/formats/rounding.md.
TEST(DecisionLog, HasTheBytesOfTheSpecification) {
  const std::vector<Decision> decisions = {{.position = 5, .wide = false, .up = true, .value = 0},
                                           {.position = 6, .wide = true, .up = false, .value = 1.5f},
                                           {.position = 1000, .wide = false, .up = false, .value = 0}};
  EXPECT_EQ(Hex(EncodeDecisions(decisions, 2000)),
            "1000000061737361792f726f756e64696e672f33"
            "d007000000000000"
            "0300000000000000"
            "08000000000000000500000000000000"
            "40c0feff7e01e4ea");
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
    // What a segment costs to learn and to find.
    const double segments = std::ceil(static_cast<double>(count) / static_cast<double>(kSegment));
    EXPECT_LT(each, entropy * 1.01 + 800 * segments / static_cast<double>(count));
  }
}

// What is still a log is another one, in the form in which it is written.
void ExpectRefusedOrAsWritten(const Bytes& bytes, ThreadPool* pool = nullptr) {
  const auto log = DecodeDecisions(bytes, "log", pool);
  if (log) {
    EXPECT_EQ(EncodeDecisions(log->decisions, log->elements), bytes);
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
      ExpectRefusedOrAsWritten(other);
    }
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeDecisions(ByteSpan(bytes).first(size), "log")) << size;
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(DecodeDecisions(longer, "log"));
}

constexpr std::size_t kTable = 4 + 16 + 8 + 8;  // bytes before the table of segments
constexpr std::size_t kEntry = 8 + 8;

TEST(DecisionLog, AcceptsNoOtherSegments) {
  std::mt19937_64 random(6);
  ThreadPool pool(2);
  const auto decisions = RandomDecisions(random, 2 * kSegment + 100, 50, 0.2);
  const std::uint64_t elements = ElementsOf(decisions) + 10;
  const Bytes bytes = EncodeDecisions(decisions, elements);
  for (int i = 0; i < 300; ++i) {
    Bytes other = bytes;
    const std::size_t at = i < 200 ? random() % (kTable + 3 * kEntry) : random() % bytes.size();
    other[at] = static_cast<std::uint8_t>(other[at] ^ (1 << random() % 8));
    ExpectRefusedOrAsWritten(other, &pool);
  }
  const auto changed = [&](std::size_t at, int by) {
    Bytes other = bytes;
    other[at] = static_cast<std::uint8_t>(other[at] + by);
    return other;
  };
  // A byte given from one segment to the next.
  EXPECT_FALSE(DecodeDecisions(changed(kTable, -1), "log"));
  // A segment that starts where the one before has not ended, and one that starts beyond the last element.
  const std::uint64_t starts[] = {decisions[kSegment - 1].position, decisions[0].position, 0, elements, ~std::uint64_t{0}};
  for (const std::uint64_t start : starts) {
    Bytes other = bytes;
    for (int k = 0; k < 8; ++k)
      other[kTable + kEntry + 8 + static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(start >> (8 * k));
    EXPECT_FALSE(DecodeDecisions(other, "log")) << start;
  }
  // One that starts elsewhere, where all of it still fits, holds other decisions.
  const auto shifted = DecodeDecisions(changed(kTable + 2 * kEntry + 8, 1), "log");
  ASSERT_TRUE(shifted) << shifted.error().message;
  EXPECT_EQ(shifted->decisions[2 * kSegment + 99].position, decisions[2 * kSegment + 99].position + 1);
}

TEST(DecisionLog, SurvivesHostileBytes) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20000; ++i) {
    Bytes rest(random() % 200);
    const std::uint8_t fill = static_cast<std::uint8_t>(random());
    for (std::uint8_t& byte : rest) byte = i % 3 == 0 ? fill : static_cast<std::uint8_t>(random());
    ByteWriter out;
    out.String("assay/rounding/3");
    out.U64(random() >> (8 + random() % 56));
    out.U64(random() % 8 == 0 ? random() : random() % (8 * rest.size() + 1));
    if (i % 4 != 0) {
      out.U64(rest.size());
      out.U64(random() % 50);
    }
    out.Raw(rest);
    const auto log = DecodeDecisions(out.bytes(), "log");
    if (log) {
      EXPECT_LE(log->decisions.size(), 8 * rest.size());
      EXPECT_EQ(EncodeDecisions(log->decisions, log->elements), out.bytes());
    }
  }
}

// What is claimed is not reserved before there are bytes for it.
TEST(DecisionLog, RefusesClaimsThatItsBytesCannotHold) {
  for (const std::uint64_t count :
       {std::uint64_t{33}, std::uint64_t{4097}, std::uint64_t{1} << 40, kMaxElements, ~std::uint64_t{0}}) {
    ByteWriter out;
    out.String("assay/rounding/3");
    out.U64(kMaxElements);
    out.U64(count);
    out.U64(4);
    out.U64(0);
    out.U32(0);
    EXPECT_FALSE(DecodeDecisions(out.bytes(), "log")) << count;
  }
}

TEST(DecisionLogWriter, WritesWhatIsWrittenAtOnce) {
  std::vector<Decision> decisions;
  for (std::uint64_t i = 0; i < 9000; ++i) decisions.push_back({.position = 7 * i + i % 3, .wide = false, .up = i % 5 == 0});
  for (const std::size_t total : std::initializer_list<std::size_t>{0, 1, 4095, 4096, 4097, 8192, 9000}) {
    for (const std::size_t piece : std::initializer_list<std::size_t>{1, 1000, 4096, 9000}) {
      DecisionLogWriter writer;
      for (std::size_t at = 0; at < total; at += piece)
        writer.Add(std::span(decisions).subspan(at, std::min(piece, total - at)));
      EXPECT_EQ(writer.count(), total);
      EXPECT_EQ(writer.Finish(100000), EncodeDecisions(std::span(decisions).first(total), 100000)) << total << " by " << piece;
    }
  }
}

}  // namespace
}  // namespace assay::rounding
