#include "assay/rounding/decision_log.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "assay/base/check.h"
#include "assay/rounding/range_coder.h"

namespace assay::rounding {
namespace {

constexpr std::string_view kTag = "assay/rounding/1";

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

// The models of a log; encoder and decoder do the same with them.
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

}  // namespace

Bytes EncodeDecisions(std::span<const Decision> decisions, std::uint64_t elements) {
  ASSAY_CHECK(elements <= kMaxElements);
  ByteWriter out;
  out.String(kTag);
  out.U64(elements);
  out.U64(decisions.size());
  if (decisions.empty()) return out.Take();
  BitEncoder coder;
  auto models = std::make_unique<Models>();
  std::uint64_t next = 0;
  for (const Decision& decision : decisions) {
    ASSAY_CHECK(decision.position >= next && decision.position < elements);
    EncodeGap(coder, *models, decision.position - next);
    next = decision.position + 1;
    coder.Bit(models->wide, decision.wide);
    if (decision.wide) {
      ASSAY_CHECK(decision.modulus <= kMaxModulus);
      models->modulus.Encode(coder, decision.modulus);
      if (decision.modulus == 0) {
        EncodeValue(coder, *models, decision.value);
      } else {
        coder.Raw(decision.residue, decision.modulus);
      }
    } else {
      coder.Raw(decision.up ? 1 : 0, 1);
    }
  }
  out.Raw(coder.Finish());
  return out.Take();
}

Result<DecisionLog> DecodeDecisions(ByteSpan bytes, std::string_view what) {
  ByteReader in(bytes, what);
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: not a log of roundings (expected {})", what, kTag);
  DecisionLog log;
  ASSAY_ASSIGN(log.elements, in.U64());
  ASSAY_ASSIGN(const std::uint64_t count, in.U64());
  if (log.elements > kMaxElements) return Err("{}: {} elements are more than a step can have", what, log.elements);
  // Every decision has at least one bit of even odds.
  if (count > 8 * std::uint64_t{in.remaining()} || count > log.elements) {
    return Err("{}: {} bytes cannot hold {} decisions about {} elements", what, in.remaining(), count, log.elements);
  }
  ASSAY_ASSIGN(const ByteSpan coded, in.Raw(in.remaining()));
  BitDecoder coder(coded);
  auto models = std::make_unique<Models>();
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Decision decision;
    const std::uint64_t gap = DecodeGap(coder, *models);
    if (coder.exhausted() || gap >= log.elements - next) {
      return Err("{}: decision {} of {} is cut off or not about one of {} elements", what, i, count, log.elements);
    }
    decision.position = next + gap;
    next = decision.position + 1;
    decision.wide = coder.Bit(models->wide);
    if (decision.wide) {
      const std::uint32_t modulus = models->modulus.Decode(coder);
      if (modulus > kMaxModulus) return Err("{}: decision {} of {} has a modulus of {} bits", what, i, count, modulus);
      decision.modulus = static_cast<std::uint8_t>(modulus);
      if (modulus == 0) {
        decision.value = DecodeValue(coder, *models);
      } else {
        decision.residue = static_cast<std::uint32_t>(coder.Raw(static_cast<int>(modulus)));
      }
    } else {
      decision.up = coder.Raw(1) != 0;
    }
    log.decisions.push_back(decision);
  }
  // One list of decisions has one form.
  const Bytes again = EncodeDecisions(log.decisions, log.elements);
  if (!std::ranges::equal(again, bytes)) return Err("{}: not the form in which {} decisions are written", what, count);
  return log;
}

}  // namespace assay::rounding
