// Streams read without zlib, beside zlib itself.
#include "assay/rounding/inflate.h"

#include <gtest/gtest.h>
#ifdef ASSAY_HAVE_ZLIB
#include <zlib.h>
#endif

#include <cstdlib>
#include <random>
#include <string>

namespace assay::rounding {
namespace {

TEST(Inflate, ReadsAStoredBlock) {
  const Bytes stream{0x78, 0x01, 0x01, 0x03, 0x00, 0xfc, 0xff, 'a', 'b', 'c', 0x02, 0x4d, 0x01, 0x27};
  EXPECT_EQ(Inflated(stream, 3), (Bytes{'a', 'b', 'c'}));
  EXPECT_FALSE(Inflated(stream, 2));
  EXPECT_FALSE(Inflated(stream, 4));
  for (std::size_t cut = 0; cut < stream.size(); ++cut) EXPECT_FALSE(Inflated(ByteSpan(stream).first(cut), 3)) << cut;
}

#ifdef ASSAY_HAVE_ZLIB

std::optional<Bytes> ByZlib(ByteSpan stream, std::size_t size) {
  Bytes out(size + 1);
  uLongf got = size + 1;
  uLong used = stream.size();
  if (uncompress2(out.data(), &got, stream.data(), &used) != Z_OK || got != size || used != stream.size()) return std::nullopt;
  out.resize(size);
  return out;
}

Bytes Deflated(const Bytes& bytes, int level, int strategy) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, level, Z_DEFLATED, 15, 8, strategy), Z_OK);
  Bytes out(deflateBound(&z, bytes.size()));
  z.next_in = const_cast<Bytef*>(bytes.data());
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// Text of many kinds: few symbols, long repeats, noise.
Bytes Content(std::mt19937& random) {
  Bytes bytes(random() % 5000);
  const std::size_t symbols = 1 + random() % (std::size_t{1} << random() % 9);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % symbols);
  if (bytes.size() > 100 && random() % 2 == 0) {
    const std::size_t half = bytes.size() / 2;
    for (std::size_t i = half; i < bytes.size(); ++i) bytes[i] = bytes[i - half];
  }
  return bytes;
}

TEST(Inflate, AcceptsWhatZlibAccepts) {
  const char* asked = std::getenv("ASSAY_INFLATE_CASES");
  const int cases = asked != nullptr ? std::atoi(asked) : 1000;
  std::mt19937 random(4711);
  int altered_and_accepted = 0;
  for (int i = 0; i < cases; ++i) {
    const Bytes content = Content(random);
    constexpr int kStrategies[] = {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE};
    const Bytes stream = Deflated(content, static_cast<int>(random() % 10), kStrategies[random() % 4]);
    ASSERT_EQ(Inflated(stream, content.size()), content) << "seed 4711, case " << i;
    ASSERT_FALSE(Inflated(stream, content.size() + 1));
    for (int k = 0; k < 40; ++k) {
      Bytes altered = stream;
      const std::size_t place = k % 4 == 0 ? random() % std::min<std::size_t>(altered.size(), 80) : random() % altered.size();
      altered[place] ^= static_cast<std::uint8_t>(1u << random() % 8);
      if (k % 8 == 1) altered.resize(random() % altered.size());
      if (k % 8 == 2) altered.push_back(0);
      const auto expected = ByZlib(altered, content.size());
      altered_and_accepted += expected.has_value();
      ASSERT_EQ(Inflated(altered, content.size()), expected) << "seed 4711, case " << i << ", alteration " << k;
    }
  }
  if (cases >= 1000) {
    EXPECT_GT(altered_and_accepted, 0) << "a stream that says the same in another way";
  }
}

// Headers of blocks from nothing but noise, with the sum of what zlib makes of them: where codes that lack words are told from those that do not.
TEST(Inflate, TakesOrRefusesCodesAsZlibDoes) {
  std::mt19937 random(42);
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    Bytes stream{0x78, 0x01};
    const std::size_t length = 1 + random() % 40;
    for (std::size_t k = 0; k < length; ++k) stream.push_back(static_cast<std::uint8_t>(random()));
    stream[2] =
        static_cast<std::uint8_t>((stream[2] & ~7u) | 1u | (random() % 2 == 0 ? 2u : 4u));  // the last block, of either code
    z_stream z{};
    ASSERT_EQ(inflateInit(&z), Z_OK);
    Bytes out(70'000);
    z.next_in = stream.data();
    z.avail_in = static_cast<uInt>(stream.size());
    z.next_out = out.data();
    z.avail_out = static_cast<uInt>(out.size());
    // To the end of the block, where the sum would follow.
    const int ended = inflate(&z, Z_BLOCK) == Z_OK ? inflate(&z, Z_BLOCK) : Z_DATA_ERROR;
    const bool whole = ended == Z_OK && (z.data_type & 128) != 0 && (z.data_type & 64) != 0;
    const std::size_t used = z.total_in, size = z.total_out;
    inflateEnd(&z);
    if (!whole) continue;
    ++taken;
    out.resize(size);
    stream.resize(used);
    const auto sum = static_cast<std::uint32_t>(adler32(adler32(0, nullptr, 0), out.data(), static_cast<uInt>(size)));
    for (int shift = 24; shift >= 0; shift -= 8) stream.push_back(static_cast<std::uint8_t>(sum >> shift));
    ASSERT_EQ(ByZlib(stream, size), out) << "case " << i;
    ASSERT_EQ(Inflated(stream, size), out) << "case " << i;
  }
  EXPECT_GT(taken, 100);
}

#endif

}  // namespace
}  // namespace assay::rounding
