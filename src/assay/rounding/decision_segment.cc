#include "assay/rounding/decision_segment.h"

#include <algorithm>
#include <array>
#include <bit>

#include "assay/base/check.h"
#include "assay/rounding/range_coder.h"

namespace assay::rounding {
namespace {

// Symbols of `Bits` bits, the highest first; each bit has a model for each beginning.
template <int Bits>
class Tree {
 public:
  void Encode(BitEncoder& coder, std::uint32_t symbol) {
    std::uint32_t node = 1;
    for (int i = Bits - 1; i >= 0; --i) {
      const bool bit = ((symbol >> i) & 1) != 0;
      coder.Bit(models_[node], bit);
      node = 2 * node + (bit ? 1 : 0);
    }
  }
  std::uint32_t Decode(BitDecoder& coder) {
    std::uint32_t node = 1;
    for (int i = 0; i < Bits; ++i) node = 2 * node + (coder.Bit(models_[node]) ? 1 : 0);
    return node - (1u << Bits);
  }

 private:
  std::array<BitModel, 1u << Bits> models_;
};

// The models of a segment; encoder and decoder do the same with them.
struct Models {
  static constexpr int kTop = 2;  // bits below a gap's leading one that are learned
  static constexpr int kLow = 8;  // last mantissa bits, zero on coarse grids

  Tree<6> length;
  std::array<Tree<kTop>, 64> top;  // by length
  BitModel wide;
  Tree<4> modulus;
  Tree<8> exponent;
  std::array<BitModel, kLow> low;
};

void EncodeGap(BitEncoder& coder, Models& models, std::uint64_t gap) {
  const int length = static_cast<int>(std::bit_width(gap));  // at most 63
  models.length.Encode(coder, static_cast<std::uint32_t>(length));
  int rest = std::max(length - 1, 0);
  if (rest >= Models::kTop) {
    rest -= Models::kTop;
    models.top[static_cast<std::size_t>(length)].Encode(coder,
                                                        static_cast<std::uint32_t>(gap >> rest) & ((1u << Models::kTop) - 1));
  }
  coder.Raw(gap, rest);
}

std::uint64_t DecodeGap(BitDecoder& coder, Models& models) {
  const std::uint32_t length = models.length.Decode(coder);
  if (length == 0) return 0;
  std::uint64_t gap = 1;
  int rest = static_cast<int>(length) - 1;
  if (rest >= Models::kTop) {
    gap = (gap << Models::kTop) | models.top[length].Decode(coder);
    rest -= Models::kTop;
  }
  return (gap << rest) | coder.Raw(rest);
}

void EncodeValue(BitEncoder& coder, Models& models, float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  coder.Raw(bits >> 31, 1);
  models.exponent.Encode(coder, (bits >> 23) & 0xff);
  coder.Raw((bits >> Models::kLow) & 0x7fff, 23 - Models::kLow);
  for (int i = Models::kLow - 1; i >= 0; --i) coder.Bit(models.low[static_cast<std::size_t>(i)], ((bits >> i) & 1) != 0);
}

float DecodeValue(BitDecoder& coder, Models& models) {
  std::uint32_t bits = static_cast<std::uint32_t>(coder.Raw(1)) << 8;
  bits |= models.exponent.Decode(coder);
  bits = (bits << 15) | static_cast<std::uint32_t>(coder.Raw(15));
  for (int i = Models::kLow - 1; i >= 0; --i)
    bits = (bits << 1) | (coder.Bit(models.low[static_cast<std::size_t>(i)]) ? 1u : 0u);
  return std::bit_cast<float>(bits);
}

void EncodeDecision(BitEncoder& coder, Models& models, const Decision& decision) {
  coder.Bit(models.wide, decision.wide);
  if (!decision.wide) return coder.Raw(decision.up ? 1 : 0, 1);
  ASSAY_CHECK(decision.modulus <= kMaxModulus);
  models.modulus.Encode(coder, decision.modulus);
  if (decision.modulus == 0) return EncodeValue(coder, models, decision.value);
  coder.Raw(decision.residue, decision.modulus);
}

// False for a modulus that there is not.
bool DecodeDecision(BitDecoder& coder, Models& models, Decision& decision) {
  decision.wide = coder.Bit(models.wide);
  if (!decision.wide) {
    decision.up = coder.Raw(1) != 0;
    return true;
  }
  decision.modulus = static_cast<std::uint8_t>(models.modulus.Decode(coder));
  if (decision.modulus > kMaxModulus) return false;
  if (decision.modulus == 0) {
    decision.value = DecodeValue(coder, models);
  } else {
    decision.residue = static_cast<std::uint32_t>(coder.Raw(decision.modulus));
  }
  return true;
}

}  // namespace

Bytes EncodeSegment(std::span<const Decision> decisions) {
  BitEncoder coder(4 * decisions.size());
  Models models;
  std::uint64_t next = decisions.front().position;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const std::uint64_t position = decisions[i].position;
    ASSAY_CHECK(position >= next);
    if (i > 0) EncodeGap(coder, models, position - next);
    next = position + 1;
    EncodeDecision(coder, models, decisions[i]);
  }
  Bytes coded = coder.Finish();
  ASSAY_CHECK(coded.size() <= kMaxSegmentBytes);
  return coded;
}

Status DecodeSegment(ByteSpan coded, std::uint64_t begin, std::uint64_t end, std::span<Decision> decisions) {
  BitDecoder coder(coded);
  Models models;
  std::uint64_t next = begin;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const std::uint64_t gap = i == 0 ? 0 : DecodeGap(coder, models);
    if (gap >= end - next) return Err("decision {} is not about one of elements {} to {}", i, begin, end);
    decisions[i].position = next + gap;
    next += gap + 1;
    if (!DecodeDecision(coder, models, decisions[i]))
      return Err("decision {} has a modulus of {} bits", i, decisions[i].modulus);
  }
  if (!coder.Whole()) return Err("cut off, or not the form in which its decisions are written");
  return {};
}

}  // namespace assay::rounding
