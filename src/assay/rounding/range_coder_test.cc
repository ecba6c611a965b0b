#include "assay/rounding/range_coder.h"

#include <gtest/gtest.h>

#include <random>

namespace assay::rounding {
namespace {

TEST(BitModel, DividesExactly) {
  for (std::uint32_t seen = 0; seen <= BitModel::kMemory; ++seen) {
    for (std::uint32_t x = 0; x <= BitModel::kOne; ++x) {
      if (BitModel::Quotient(x, seen) != x / (seen + 2)) FAIL() << x << " / " << seen + 2;
    }
  }
}

// Updates are monotonic, so that equal bits lead to the extremes.
TEST(BitModel, StaysWithinItsBounds) {
  BitModel zeros, ones;
  for (int i = 0; i < 100000; ++i) {
    zeros.Update(false);
    ones.Update(true);
    ASSERT_LE(zeros.zero(), BitModel::kOne - BitModel::kLeast);
    ASSERT_GE(ones.zero(), BitModel::kLeast);
  }
}

constexpr std::size_t kModels = 64;

// A raw symbol, or one bit by a model.
struct Symbol {
  int raw = 0;  // bits; 0 for a bit by a model
  std::size_t model = 0;
  std::uint64_t value = 0;
};

Bytes Encode(std::span<const Symbol> symbols) {
  BitEncoder coder(0);
  std::vector<BitModel> models(kModels);
  for (const Symbol& s : symbols) {
    if (s.raw > 0) {
      coder.Raw(s.value, s.raw);
    } else {
      coder.Bit(models[s.model], s.value != 0);
    }
  }
  return coder.Finish();
}

// Puts what is decoded into the values; whether the bytes are whole.
bool Decode(ByteSpan bytes, std::span<Symbol> symbols) {
  BitDecoder coder(bytes);
  std::vector<BitModel> models(kModels);
  for (Symbol& s : symbols) s.value = s.raw > 0 ? coder.Raw(s.raw) : coder.Bit(models[s.model]) ? 1 : 0;
  return coder.Whole();
}

// Values of all kinds: likely and unlikely bits, runs of ones that carries go through.
std::vector<Symbol> RandomSymbols(std::mt19937_64& random) {
  std::vector<Symbol> symbols(random() % 200);
  const std::uint64_t kind = random() % 4;
  for (Symbol& s : symbols) {
    s.model = random() % 4;
    s.raw = random() % 2 == 0 ? static_cast<int>(1 + random() % 63) : 0;
    const std::uint64_t bits = kind == 0   ? 0
                               : kind == 1 ? ~std::uint64_t{0}
                               : kind == 2 ? random()
                                           : ~(random() & random() & random());
    s.value = s.raw > 0 ? bits & ((std::uint64_t{1} << s.raw) - 1) : kind == 2 ? std::uint64_t{random() % 64 == 0} : bits & 1;
  }
  return symbols;
}

TEST(RangeCoder, RoundTripsAndRefusesOtherBytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::vector<Symbol> symbols = RandomSymbols(random);
    const Bytes bytes = Encode(symbols);
    std::vector<Symbol> decoded = symbols;
    ASSERT_TRUE(Decode(bytes, decoded));
    for (std::size_t k = 0; k < symbols.size(); ++k) ASSERT_EQ(decoded[k].value, symbols[k].value) << k;
    Bytes other = bytes;
    other.push_back(0);
    EXPECT_FALSE(Decode(other, decoded));
    // What is whole nevertheless are other values.
    const auto expect_as_written = [&] {
      const bool whole = Decode(other, decoded);
      EXPECT_EQ(whole, Encode(decoded) == other);
    };
    other.resize(bytes.size() - 1);
    expect_as_written();
    other = bytes;
    std::uint8_t& byte = other[random() % 2 == 0 ? random() % other.size() : other.size() - 1];
    byte = static_cast<std::uint8_t>(byte ^ (1 << random() % 8));
    expect_as_written();
  }
}

// Of all short strings of bytes those are whole that an encoder writes.
TEST(RangeCoder, WholeMeansAsWritten) {
  std::vector<Symbol> symbols = {{.raw = 3},   {.model = 1}, {.model = 1}, {.raw = 1},
                                 {.model = 2}, {.raw = 5},   {.model = 1}, {.model = 2}};
  std::size_t whole = 0;
  for (std::size_t size = 0; size <= 3; ++size) {
    for (std::uint32_t number = 0; number < (size == 3 ? 1u << 16 : 1u << (8 * size)); ++number) {
      // The longest begin with ones: nothing is coded so high.
      Bytes bytes;
      for (std::size_t k = 0; k < size; ++k)
        bytes.push_back(static_cast<std::uint8_t>(size == 3 && k == 0 ? 0xff : number >> (8 * (size - 1 - k))));
      const bool as_written = Decode(bytes, symbols);
      ASSERT_EQ(as_written, Encode(symbols) == bytes) << Hex(bytes);
      whole += as_written ? 1 : 0;
    }
  }
  EXPECT_GT(whole, 1000u);
}

// The first range ends before the greatest number. With one more, the difference grows with every bit that is read until it is lost.
TEST(RangeCoder, RefusesWhatIsAboveTheRange) {
  std::mt19937_64 random(2);
  std::vector<Symbol> symbols(kModels);
  for (std::size_t i = 0; i < kModels; ++i) symbols[i].model = i;
  for (int i = 0; i < 1000; ++i) {
    Bytes bytes(4, 0xff);
    for (std::uint64_t rest = random() % 6; rest > 0; --rest) bytes.push_back(static_cast<std::uint8_t>(random()));
    EXPECT_FALSE(Decode(bytes, symbols)) << Hex(bytes);
  }
}

}  // namespace
}  // namespace assay::rounding
