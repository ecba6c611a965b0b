// attention: the scores of some heads at a time by one product, their rows made weights in place, the weights times the values by another.
//
// A warp owns a query's row: its sum is one of lanes and then of the warp (LaneSum). Products over the width and over keys are cut into blocks whose sums are added where they are read.
#include <array>
#include <limits>

#include "assay/backend/cublas/attention-inl.h"
#include "assay/backend/cublas/attention_formula.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/semantics/rounded/attention_bounds.h"

namespace assay::cublas {
namespace attention {
namespace {

struct Workspace {
  Workspace(Cutter cut, const Extents& x, std::int64_t chunk, bool bounded)
      : q(cut.Take<double>(x.heads * x.queries * x.width)),
        k(cut.Take<double>(x.heads * x.keys * x.width)),
        v(cut.Take<double>(x.heads * x.keys * x.width)),
        q_norms(cut.Take<double>(x.heads * x.queries)),
        k_norms(cut.Take<double>(x.heads * x.keys)),
        v_norms(cut.Take<double>(x.heads * x.keys)),
        v_squares(cut.Take<double>(bounded ? x.heads * PrefixesOf(x.keys) * x.width : 0)),
        scores(cut.Take<double>(x.width_parts * chunk * x.queries * x.keys)),
        parts(cut.Take<double>(x.key_parts * chunk * x.queries * x.width)),
        sums(cut.Take<double>(chunk * x.queries)),
        of_column(cut.Take<double>(bounded ? chunk * x.queries : 0)),
        of_value(cut.Take<double>(bounded ? chunk * x.queries : 0)),
        not_finite(cut.Take<int>(1)),
        bytes(cut.used()) {}

  double *q, *k, *v, *q_norms, *k_norms, *v_norms;
  double* v_squares;  // of the columns of v up to the ends of blocks of keys
  double *scores, *parts;
  double *sums, *of_column, *of_value;  // of each query
  int* not_finite;
  std::size_t bytes;
};

// Query rows [first, first + rows) of all.
struct Forward {
  Geometry g;
  Dropout dropout;
  Workspace work;
  std::int64_t first, rows, width_parts;
  Sink o, lse;
};

// Scores become weights, those of hidden keys zero; dropout comes after the sum. A row's lse is complete.
template <bool kBounded>
__global__ void __launch_bounds__(kThreads) Weigh(const __grid_constant__ Forward a) {
  const Geometry& g = a.g;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const double scale = g.scale;
  const numerics::DrawKey key = a.dropout.Key();
  const std::int64_t warps = cuda::GlobalThreads<std::int64_t>() / 32;
  for (std::int64_t row = cuda::GlobalThread<std::int64_t>() / 32; row < a.rows; row += warps) {
    const std::int64_t query = a.first + row, n = g.Visible(query % g.tq);
    double* p = a.work.scores + row * g.tk;
    double most = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = lane; j < n; j += 32) {
      p[j] = AddParts(p + j, a.width_parts, a.rows * g.tk) * scale;
      most = fmax(most, p[j]);
    }
    most = WarpMax(most);
    LaneSum lanes;
    double squares = 0;
    for (std::int64_t j = lane; j < n; j += 32) {
      const double weight = exp(p[j] - most);
      const double kept = a.dropout.on ? weight * a.dropout.Keep(key, query * g.tk + j) : weight;
      lanes.Add(weight);
      squares += kept * kept;
      p[j] = kept;
    }
    for (std::int64_t j = n + lane; j < g.tk; j += 32) p[j] = 0;
    const double sum = WarpSum(lanes.Total()), log_sum = log(sum), lse = most + log_sum;
    if constexpr (kBounded) {
      const std::int64_t head = query / (g.group() * g.tq);
      const double largest = LargestOf(a.work.k_norms + head * g.tk, n, lane);
      const double rho = rounded::WeightError(g.d, std::fabs(scale) * a.work.q_norms[query] * largest, most);
      const rounded::ForwardBound bound =
          rounded::BoundForward(rho, a.dropout.on, n, numerics::ContractionDepth(n), sqrt(WarpSum(squares)), sum);
      if (lane == 0) {
        a.work.of_column[row] = bound.of_column;
        a.work.of_value[row] = bound.of_value;
        if (*a.work.not_finite == 0) a.lse.Put(query, lse, rounded::BoundLse(bound, log_sum, lse));
      }
    } else {
      if (lane == 0 && *a.work.not_finite == 0) a.lse.Put(query, lse);
    }
    if (lane == 0) a.work.sums[row] = sum;
  }
}

template <bool kBounded>
__global__ void __launch_bounds__(kThreads) RoundOutputs(const __grid_constant__ Forward a) {
  if (*a.work.not_finite != 0) return;
  const Geometry& g = a.g;
  const std::int64_t size = a.rows * g.d;
  for (std::int64_t at = cuda::GlobalThread<std::int64_t>(); at < size; at += cuda::GlobalThreads<std::int64_t>()) {
    const std::int64_t row = at / g.d, c = at % g.d, query = a.first + row;
    const std::int64_t i = query % g.tq, h = query / g.tq % g.hq, b = query / g.tq / g.hq, n = g.Visible(i);
    const double o = AddKeyParts(a.work.parts + at, n, size) / a.work.sums[row];
    const std::int64_t to = g.QueryRow(b, i, h) + c;
    if constexpr (kBounded) {
      const std::int64_t head = query / (g.group() * g.tq);
      const double column = sqrt(a.work.v_squares[(head * PrefixesOf(g.tk) + (n - 1) / kPrefixRows) * g.d + c]);
      a.o.Put(to, o, rounded::WithFloor(a.work.of_column[row] * column + a.work.of_value[row] * std::fabs(o)));
    } else {
      a.o.Put(to, o);
    }
  }
}

template <bool kBounded>
void RunChunk(const Forward& a, const Extents& x, const Chunk& chunk, Context& context) {
  MultiplyRows(x, chunk, a.work.q, a.work.k, a.work.scores, context.blas());
  Weigh<kBounded><<<cuda::GridFor(a.rows, kThreads / 32), kThreads, 0, context.stream()>>>(a);
  cuda::CheckLaunch("attention's weights");
  SumOverKeys(x, chunk, a.work.scores, a.work.v, a.work.parts, context.blas());
  RoundOutputs<kBounded><<<cuda::GridFor(a.rows * x.width, kThreads), kThreads, 0, context.stream()>>>(a);
  cuda::CheckLaunch("attention's outputs");
}

}  // namespace
}  // namespace attention

void Run_attention(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  using namespace attention;
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const Extents x(g);
  const bool bounded = sinks[0].bounded() || sinks[1].bounded();
  const std::int64_t head_bytes = (x.width_parts * x.queries * x.keys + x.key_parts * x.queries * x.width) * 8;
  const std::int64_t most = HeadsOfChunk(x.heads, head_bytes);
  const std::size_t own = Workspace(Cutter(), x, most, bounded).bytes;
  char* memory = static_cast<char*>(context.Scratch(own + ScratchOfFormula(g, context)));
  const Workspace work(Cutter(memory), x, most, bounded);

  std::array<Floats, 3> inputs;
  for (std::size_t k = 0; k < 3; ++k) inputs[k] = {args.In<float>(k), args.in_type(k).elements()};
  FindNonFinite(inputs, work.not_finite, context.stream());
  WidenHeads(std::array{Widening{args.In<float>(0), work.q, work.q_norms, g.hq, g.tq},
                        Widening{args.In<float>(1), work.k, work.k_norms, g.hkv, g.tk},
                        Widening{args.In<float>(2), work.v, work.v_norms, g.hkv, g.tk}},
             g.batch, g.d, context.stream());
  if (bounded) SquaresOfPrefixes(work.v, x.heads, x.keys, x.width, work.v_squares, context.stream());
  for (std::int64_t head = 0; head < x.heads; head += most) {
    const Chunk chunk{head, std::min(most, x.heads - head)};
    const Forward forward{.g = g,
                          .dropout = Dropout(g, args.In<std::uint32_t>(3)),
                          .work = work,
                          .first = chunk.first * x.queries,
                          .rows = chunk.count * x.queries,
                          .width_parts = x.width_parts,
                          .o = sinks[0],
                          .lse = sinks[1]};
    bounded ? RunChunk<true>(forward, x, chunk, context) : RunChunk<false>(forward, x, chunk, context);
  }
  RunFormula_attention(args, sinks, work.not_finite, memory + own, context);
}

}  // namespace assay::cublas
