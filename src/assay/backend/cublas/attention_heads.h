// Attention's operands as matrices of doubles, and the products between them, for the forward pass and its gradients.
//
// A key head has the queries of its group of query heads, one head after the other: [batch, key head, group * tq, d] for queries, [batch, key head, tk, d] for keys. Query
// row r of all is element r of lse, and the draw of its pair with key j is that of element r * tk + j. Functions enqueue work and do not wait.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "assay/backend/cublas/kernels.h"
#include "assay/numerics/sums.h"
#include "assay/ops/attention_geometry.h"

namespace assay::cublas::attention {

using Geometry = ops::AttentionGeometry;

// Contractions over keys are cut at multiples of this for every query, however many keys it sees.
inline constexpr std::int64_t kKeyBlock = 128;

// Counts that follow from the geometry.
struct Extents {
  explicit Extents(const Geometry& g)
      : heads(g.batch * g.hkv),
        queries(g.group() * g.tq),
        keys(g.tk),
        width(g.d),
        query_block(numerics::ContractionBlock(queries)),
        width_parts(CeilDiv(width, numerics::ContractionBlock(width))),
        key_parts(CeilDiv(keys, kKeyBlock)),
        query_parts(CeilDiv(queries, query_block)) {}

  std::int64_t heads, queries, keys, width;  // queries of one key head
  std::int64_t query_block;
  std::int64_t width_parts, key_parts, query_parts;  // blocks of the contractions

 private:
  static std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
};

// Key heads that are done at a time.
struct Chunk {
  std::int64_t first = 0, count = 0;
};
// How many key heads may be done at a time if one needs so many bytes; at least one.
std::int64_t HeadsOfChunk(std::int64_t heads, std::int64_t head_bytes);

// float [batch, length, heads, d] to double [batch, heads, length, d], and the norm of each row.
struct Widening {
  const float* from = nullptr;
  double* to = nullptr;
  double* norms = nullptr;
  std::int64_t heads = 0, length = 0;
};
void WidenHeads(std::span<const Widening> tensors, std::int64_t batch, std::int64_t d, cudaStream_t stream);

struct Floats {
  const float* values = nullptr;
  std::int64_t count = 0;
};
// *found becomes 1 if a value is infinite or not a number, otherwise 0.
void FindNonFinite(std::span<const Floats> tensors, int* found, cudaStream_t stream);

// Rows that share a prefix, as queries do on the CPU.
inline constexpr std::int64_t kPrefixRows = 64;
ASSAY_HD constexpr std::int64_t PrefixesOf(std::int64_t rows) { return (rows + kPrefixRows - 1) / kPrefixRows; }
// Of each matrix [rows, columns]: squares[b, c] = the sum of the squares of column c in the rows up to the end of block b.
void SquaresOfPrefixes(const double* matrices, std::int64_t count, std::int64_t rows, std::int64_t columns, double* squares,
                       cudaStream_t stream);

// Part p of a product, the sums of its block p, lies at to + p * (size of the products of all heads of the chunk). Operands are those of all heads; scores, weights and
// parts are those of the chunk.
//
// scores[queries, keys] = rows of `queries` times rows of `keys`
void MultiplyRows(const Extents& x, const Chunk& chunk, const double* queries, const double* keys, double* to,
                  const Cublas& blas);
// [queries, width] = weights[queries, keys] · keys[keys, width]
void SumOverKeys(const Extents& x, const Chunk& chunk, const double* weights, const double* keys, double* to,
                 const Cublas& blas);
// [keys, width] = weights' · queries[queries, width]
void SumOverQueries(const Extents& x, const Chunk& chunk, const double* weights, const double* queries, double* to,
                    const Cublas& blas);

}  // namespace assay::cublas::attention
