// Small forms of ops with a geometry of their own; see narrow.h. Internal to ops/.
#pragma once

#include <cstdint>

#include "assay/ops/narrow.h"

namespace assay::ops {

// narrow_contraction.cc: matmul conv2d conv2d_grad_x conv2d_grad_w, all as one row by one column.
Narrowed NarrowMatmul(const OpInstance& op, std::int64_t element);
Narrowed NarrowConv2d(const OpInstance& op, std::int64_t element);
Narrowed NarrowConv2dGradX(const OpInstance& op, std::int64_t element);
Narrowed NarrowConv2dGradW(const OpInstance& op, std::int64_t element);
std::int64_t MaxProducts(const OpInstance& op);  // of a row and a column

// narrow_attention.cc: one sequence, one head of keys and the heads of queries that look at it.
Narrowed NarrowAttention(const OpInstance& op, int output, std::int64_t element);
Narrowed NarrowAttentionGrad(const OpInstance& op, int output, std::int64_t element);
std::int64_t MaxAttentionWords(const OpInstance& op);

// narrow_pool.cc: one channel of one image.
Narrowed NarrowPool(const OpInstance& op, int output, std::int64_t element);
Narrowed NarrowPoolGrad(const OpInstance& op, std::int64_t element);
Narrowed NarrowGlobalPool(const OpInstance& op, std::int64_t element);

// Pieces that hold nothing are left out.
void AddPiece(Narrowed& narrowed, const InputRange& from, int input, std::int64_t to = 0);

// `length` neighbours.
inline InputRange RunOf(int input, std::int64_t begin, std::int64_t length) {
  return {.input = input, .begin = begin, .length = length, .stride = 0, .repeat = 1};
}
// `count` elements, `stride` apart.
inline InputRange StridedOf(int input, std::int64_t begin, std::int64_t stride, std::int64_t count) {
  return {.input = input, .begin = begin, .length = 1, .stride = stride, .repeat = count};
}

}  // namespace assay::ops
