// The extents and attributes of attention and attention_grad, and who sees whom; derived once for the rules and every kernel.
//
// q, o, do, dq are [batch, tq, hq, d]; k, v, dk, dv are [batch, tk, hkv, d]; lse is [batch, hq, tq]. Value type.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/graph/op_def.h"

namespace assay::ops {

struct AttentionGeometry {
  std::int64_t batch = 0, tq = 0, tk = 0, hq = 0, hkv = 0, d = 0;
  bool causal = false;
  float scale = 0, dropout = 0;
  std::uint32_t stream = 0;
  std::int64_t first_draw =
      0;  // of the first pair; that of an op is 0, that of one cut out of it (narrow.h) where the op has it

  constexpr std::int64_t group() const { return hq / hkv; }  // query heads per key head
  constexpr std::int64_t KeyHead(std::int64_t h) const { return h / group(); }
  // Query i sees keys [0, Visible(i)); at least one.
  constexpr std::int64_t Visible(std::int64_t i) const { return causal ? i + tk - tq + 1 : tk; }
  // Key j is seen by queries [FirstQuery(j), tq).
  constexpr std::int64_t FirstQuery(std::int64_t j) const { return causal ? std::max<std::int64_t>(0, j - (tk - tq)) : 0; }

  constexpr std::int64_t QueryRow(std::int64_t b, std::int64_t i, std::int64_t h) const { return ((b * tq + i) * hq + h) * d; }
  constexpr std::int64_t KeyRow(std::int64_t b, std::int64_t j, std::int64_t h) const { return ((b * tk + j) * hkv + h) * d; }
  constexpr std::int64_t Lse(std::int64_t b, std::int64_t h, std::int64_t i) const { return (b * hq + h) * tq + i; }
  // Of the probability of key j for query i, as its random draw counts it.
  constexpr std::int64_t Element(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return first_draw + Lse(b, h, i) * tk + j;
  }
};

// `q` and `k` are the types of inputs 0 and 1 of either op. The sixth attribute, behind that of digits, is that of an op that was cut out of another;
// programs have none.
inline AttentionGeometry GeometryOfAttention(const Attrs& attrs, const Shape& q, const Shape& k) {
  return {.batch = q[0],
          .tq = q[1],
          .tk = k[1],
          .hq = q[2],
          .hkv = k[2],
          .d = q[3],
          .causal = attrs.Int(0) != 0,
          .scale = attrs.Float(1),
          .dropout = attrs.Float(2),
          .stream = static_cast<std::uint32_t>(attrs.Int(3)),
          .first_draw = attrs.size() > 5 ? attrs.Int(5) : 0};
}

}  // namespace assay::ops
