#include "assay/rounding/inflate.h"

#include <array>
#include <cstdint>
#include <span>

namespace assay::rounding {
namespace {

constexpr unsigned kMostBits = 15;  // of a code
constexpr unsigned kEndOfBlock = 256;
constexpr unsigned kLiterals = 286, kDistances = 30;  // symbols that mean something

// Bits, the lowest of each byte first. Reading past the end gives zeros and is remembered.
class BitReader {
 public:
  explicit BitReader(ByteSpan bytes) : bytes_(bytes) {}

  unsigned Bits(unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; ++i) value |= Bit() << i;
    return value;
  }
  unsigned Bit() {
    if (at_ / 8 >= bytes_.size()) {
      past_end_ = true;
      return 0;
    }
    const unsigned bit = bytes_[at_ / 8] >> (at_ % 8) & 1u;
    ++at_;
    return bit;
  }
  void ToByte() { at_ = (at_ + 7) / 8 * 8; }
  bool past_end() const { return past_end_; }
  bool at_end() const { return at_ / 8 == bytes_.size(); }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;  // in bits
  bool past_end_ = false;
};

// A prefix code by the lengths of its words: words of one length are consecutive numbers, in the order of their symbols.
class Code {
 public:
  // Whether there is such a code: no word begins another, and every string of bits begins with a word, unless `may_lack` and there is at most one word, of one bit.
  bool Set(std::span<const std::uint8_t> lengths, bool may_lack) {
    count_.fill(0);
    for (const std::uint8_t length : lengths) ++count_[length];
    count_[0] = 0;
    int left = 1;
    unsigned longest = 0;
    for (unsigned bits = 1; bits <= kMostBits; ++bits) {
      left = 2 * left - count_[bits];
      if (left < 0) return false;
      if (count_[bits] > 0) longest = bits;
    }
    if (left > 0 && !(may_lack && longest <= 1)) return false;
    std::array<std::uint16_t, kMostBits + 2> next{};
    for (unsigned bits = 1; bits <= kMostBits; ++bits) next[bits + 1] = static_cast<std::uint16_t>(next[bits] + count_[bits]);
    for (unsigned symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] > 0) symbols_[next[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
    }
    return true;
  }

  std::optional<unsigned> Next(BitReader& in) const {
    int word = 0, first = 0, index = 0;
    for (unsigned bits = 1; bits <= kMostBits; ++bits) {
      word |= static_cast<int>(in.Bit());
      const int count = count_[bits];
      if (word - first < count) return symbols_[static_cast<std::size_t>(index + word - first)];
      index += count;
      first = 2 * (first + count);
      word *= 2;
    }
    return std::nullopt;
  }

 private:
  std::array<std::uint16_t, kMostBits + 1> count_{};  // words by their length
  std::array<std::uint16_t, 288> symbols_{};          // in the order of their words
};

struct Codes {
  Code literals, distances;
};

Codes FixedCodes() {
  std::array<std::uint8_t, 288> lengths{};
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = static_cast<std::uint8_t>(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
  Codes codes;
  codes.literals.Set(lengths, false);
  codes.distances.Set(std::array<std::uint8_t, 32>{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
                                                   5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5},
                      false);
  return codes;
}

// Codes that the block itself describes, by lengths that are coded in their turn.
bool ReadCodes(BitReader& in, Codes& codes) {
  constexpr std::uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const unsigned literals = in.Bits(5) + 257, distances = in.Bits(5) + 1, described = in.Bits(4) + 4;
  if (literals > kLiterals || distances > kDistances) return false;
  std::array<std::uint8_t, 19> of_lengths{};
  for (unsigned i = 0; i < described; ++i) of_lengths[kOrder[i]] = static_cast<std::uint8_t>(in.Bits(3));
  Code code;
  if (!code.Set(of_lengths, false)) return false;
  std::array<std::uint8_t, kLiterals + kDistances> lengths{};
  for (unsigned at = 0; at < literals + distances;) {
    const std::optional<unsigned> symbol = code.Next(in);
    if (!symbol || in.past_end()) return false;
    if (*symbol < 16) {
      lengths[at++] = static_cast<std::uint8_t>(*symbol);
      continue;
    }
    if (*symbol == 16 && at == 0) return false;
    const std::uint8_t repeated = *symbol == 16 ? lengths[at - 1] : std::uint8_t{0};
    unsigned times = *symbol == 16 ? 3 + in.Bits(2) : *symbol == 17 ? 3 + in.Bits(3) : 11 + in.Bits(7);
    if (at + times > literals + distances) return false;
    for (; times > 0; --times) lengths[at++] = repeated;
  }
  if (lengths[kEndOfBlock] == 0) return false;
  const std::span<const std::uint8_t> all = lengths;
  return codes.literals.Set(all.first(literals), true) && codes.distances.Set(all.subspan(literals, distances), true);
}

// The first length or distance of a symbol's range, and how many bits say which of the range it is: `each` symbols for one more bit.
struct Range {
  unsigned first = 0, bits = 0;
};

Range LengthOf(unsigned symbol) {  // from 0
  if (symbol == 28) return {258, 0};
  if (symbol < 8) return {3 + symbol, 0};
  const unsigned bits = symbol / 4 - 1;
  return {3 + ((4 + symbol % 4) << bits), bits};
}

Range DistanceOf(unsigned symbol) {
  if (symbol < 4) return {1 + symbol, 0};
  const unsigned bits = symbol / 2 - 1;
  return {1 + ((2 + symbol % 2) << bits), bits};
}

bool ReadCoded(BitReader& in, const Codes& codes, std::size_t size, Bytes& out) {
  while (true) {
    const std::optional<unsigned> symbol = codes.literals.Next(in);
    if (!symbol || in.past_end()) return false;
    if (*symbol == kEndOfBlock) return true;
    if (*symbol < kEndOfBlock) {
      if (out.size() == size) return false;
      out.push_back(static_cast<std::uint8_t>(*symbol));
      continue;
    }
    if (*symbol >= kLiterals) return false;
    const Range lengths = LengthOf(*symbol - kEndOfBlock - 1);
    const unsigned length = lengths.first + in.Bits(lengths.bits);
    const std::optional<unsigned> far = codes.distances.Next(in);
    if (!far || *far >= kDistances) return false;
    const Range distances = DistanceOf(*far);
    const std::size_t distance = distances.first + in.Bits(distances.bits);
    if (in.past_end() || distance > out.size() || length > size - out.size()) return false;
    for (unsigned i = 0; i < length; ++i) out.push_back(out[out.size() - distance]);
  }
}

bool ReadStored(BitReader& in, std::size_t size, Bytes& out) {
  in.ToByte();
  unsigned length = in.Bits(16);
  if ((in.Bits(16) ^ 0xFFFFu) != length || in.past_end() || length > size - out.size()) return false;
  for (; length > 0; --length) out.push_back(static_cast<std::uint8_t>(in.Bits(8)));
  return !in.past_end();
}

std::uint32_t Adler32(ByteSpan bytes) {
  std::uint32_t a = 1, b = 0;
  for (const std::uint8_t byte : bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

}  // namespace

std::optional<Bytes> Inflated(ByteSpan stream, std::size_t size) {
  BitReader in(stream);
  const unsigned method = in.Bits(8), flags = in.Bits(8);
  constexpr unsigned kDictionary = 0x20;
  if ((method & 15u) != 8 || method >> 4u > 7 || (256 * method + flags) % 31 != 0 || (flags & kDictionary) != 0)
    return std::nullopt;
  static const Codes fixed = FixedCodes();
  Bytes out;
  out.reserve(size);
  for (bool last = false; !last;) {
    last = in.Bit() != 0;
    const unsigned kind = in.Bits(2);
    Codes own;
    const bool read = kind == 0   ? ReadStored(in, size, out)
                      : kind == 1 ? ReadCoded(in, fixed, size, out)
                                  : kind == 2 && ReadCodes(in, own) && ReadCoded(in, own, size, out);
    if (!read) return std::nullopt;
  }
  in.ToByte();
  std::uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum = sum << 8 | in.Bits(8);
  if (in.past_end() || !in.at_end() || out.size() != size || sum != Adler32(out)) return std::nullopt;
  return out;
}

}  // namespace assay::rounding
