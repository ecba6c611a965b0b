// attention_grad: for some heads at a time, scores and do·v by products, whose rows become weights p' and score gradients ds in place. dq is ds times k; dk and dv are sums over queries, of ds
// times q and of p' times do.
//
// A warp owns a query's row. Products are cut into blocks whose sums are added where they are read: over the width and over keys as in attention.cu, over the queries of a key head in blocks
// of ContractionBlock, one after the other.
#include <array>

#include "assay/backend/cublas/attention-inl.h"
#include "assay/backend/cublas/attention_formula.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/semantics/rounded/attention_bounds.h"
#include "assay/semantics/rounded/kept_difference.h"

namespace assay::cublas {
namespace attention {
namespace {

enum : std::size_t { kQ, kK, kV, kO, kLse, kDo, kRng };

// Room for the blocks' sums of dq, or of dk or dv: one after the other.
std::int64_t PartsOfHead(const Extents& x) {
  return std::max(x.key_parts * x.queries * x.width, x.query_parts * x.keys * x.width);
}

struct Workspace {
  Workspace(Cutter cut, const Extents& x, std::int64_t chunk, bool bounded, bool dropout)
      : q(cut.Take<double>(x.heads * x.queries * x.width)),
        k(cut.Take<double>(x.heads * x.keys * x.width)),
        v(cut.Take<double>(x.heads * x.keys * x.width)),
        go(cut.Take<double>(x.heads * x.queries * x.width)),
        q_norms(cut.Take<double>(x.heads * x.queries)),
        k_norms(cut.Take<double>(x.heads * x.keys)),
        v_norms(cut.Take<double>(x.heads * x.keys)),
        do_norms(cut.Take<double>(x.heads * x.queries)),
        k_squares(cut.Take<double>(bounded ? x.heads * PrefixesOf(x.keys) * x.width : 0)),
        q_columns(cut.Take<double>(bounded ? x.heads * x.width : 0)),
        do_columns(cut.Take<double>(bounded ? x.heads * x.width : 0)),
        p(cut.Take<double>(x.width_parts * chunk * x.queries * x.keys)),
        ds(cut.Take<double>(x.width_parts * chunk * x.queries * x.keys)),
        undropped(bounded && dropout ? cut.Take<double>(chunk * x.queries * x.keys) : p),
        parts(cut.Take<double>(chunk * PartsOfHead(x))),
        of_dq(cut.Take<double>(bounded ? chunk * x.queries : 0)),
        of_gradient(cut.Take<double>(bounded ? chunk * x.queries : 0)),
        of_weight(cut.Take<double>(bounded ? chunk * x.queries : 0)),
        of_kept(cut.Take<double>(bounded ? chunk * x.queries : 0)),
        of_key(cut.Take<double>(bounded ? chunk * x.keys : 0)),
        not_finite(cut.Take<int>(1)),
        bytes(cut.used()) {}

  double *q, *k, *v, *go;
  double *q_norms, *k_norms, *v_norms, *do_norms;
  double* k_squares;               // of the columns of k up to the ends of blocks of keys
  double *q_columns, *do_columns;  // norms over the queries of a key head
  double *p, *ds;                  // scores and do·v at first
  double* undropped;               // p before dropout, for bounds
  double* parts;
  double *of_dq, *of_gradient, *of_weight, *of_kept;  // of each query: factors of the bounds
  double* of_key;                                     // of each key: the norm of f or h over its queries
  int* not_finite;
  std::size_t bytes;
};

// Query rows [first, first + rows) of all.
struct Backward {
  Geometry g;
  Dropout dropout;
  Workspace work;
  const float *o, *lse;
  double query_depth;  // of the contractions over queries
  std::int64_t first, rows, width_parts;
};

struct Place {
  std::int64_t b, h, i;
};
__device__ Place PlaceOf(const Geometry& g, std::int64_t query) {
  return {query / g.tq / g.hq, query / g.tq % g.hq, query % g.tq};
}

// Sums across the width of a row.
struct AcrossWidth {
  double value = 0;                 // do·o; of a query that sees one key, do·(keep·v - o)
  double norm_o = 0;                // of o
  double difference = 0, kept = 0;  // norms of keep·v - o and, where its bound needs it, keep·v
};

__device__ AcrossWidth SumAcross(const Backward& a, std::int64_t query, const double* v, double keep, int lane) {
  const Geometry& g = a.g;
  const Place at = PlaceOf(g, query);
  const bool one = g.Visible(at.i) == 1;
  const float* o = a.o + g.QueryRow(at.b, at.i, at.h);
  const double* go = a.work.go + query * g.d;
  const rounded::KeptDifference of(g.dropout);
  AcrossWidth sums;
  for (std::int64_t c = lane; c < g.d; c += 32) {
    const double y = o[c];
    sums.norm_o += y * y;
    if (!one) {
      sums.value += y * go[c];
      continue;
    }
    const double x = keep != 0 ? of.Of(v[c], y) : -y;
    sums.value += x * go[c];
    sums.difference += x * x;
    sums.kept += v[c] * v[c];
  }
  return {WarpSum(sums.value), sqrt(WarpSum(sums.norm_o)), sqrt(WarpSum(sums.difference)),
          of.exact() ? 0.0 : sqrt(WarpSum(sums.kept)) / of.rest()};
}

// What the row adds to the bounds. Norms are those of ds and of p before dropout.
__device__ void BoundRow(const Backward& a, std::int64_t row, std::int64_t n, const AcrossWidth& across, double norm_ds,
                         double norm_p, int lane) {
  const Geometry& g = a.g;
  const std::int64_t query = a.first + row, head = query / (g.group() * g.tq);
  const double largest_k = LargestOf(a.work.k_norms + head * g.tk, n, lane),
               largest_v = LargestOf(a.work.v_norms + head * g.tk, n, lane);
  if (lane != 0) return;
  const double u = numerics::kUnit, scale = g.scale, norm_do = a.work.do_norms[query];
  const double rho = rounded::WeightError(g.d, std::fabs(scale) * a.work.q_norms[query] * largest_k, a.lse[query]);
  const rounded::GradientBound bound =
      n == 1 ? rounded::BoundOneKey(rho, scale, g.d, norm_do, across.difference, across.kept)
             : rounded::BoundGradient(rho, scale, g.d, a.dropout.factor, norm_do, across.norm_o, largest_v);
  a.work.of_dq[row] =
      ((numerics::ContractionDepth(n) * u + bound.of_gradient) * norm_ds + bound.of_weight * norm_p) * rounded::kSlack;
  a.work.of_gradient[row] = a.query_depth * u + bound.of_gradient;
  a.work.of_weight[row] = bound.of_weight;
  a.work.of_kept[row] = a.query_depth * u + rounded::OfComputed(rounded::Dropped(rho, a.dropout.on));
}

// A row of scores becomes the weights that dv takes, a row of do·v the gradients of the scores; zero for hidden keys.
template <bool kBounded>
__global__ void __launch_bounds__(kThreads) WeighGradients(const __grid_constant__ Backward a) {
  const Geometry& g = a.g;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const double scale = g.scale;
  const numerics::DrawKey key = a.dropout.Key();
  const std::int64_t warps = cuda::GlobalThreads<std::int64_t>() / 32, part = a.rows * g.tk;
  for (std::int64_t row = cuda::GlobalThread<std::int64_t>() / 32; row < a.rows; row += warps) {
    const std::int64_t query = a.first + row, n = g.Visible(query % g.tq), head = query / (g.group() * g.tq);
    double* p = a.work.p + row * g.tk;
    double* ds = a.work.ds + row * g.tk;
    const double first_keep = n == 1 ? a.dropout.Keep(key, query * g.tk) : 1.0;
    const AcrossWidth across = SumAcross(a, query, a.work.v + head * g.tk * g.d, first_keep, lane);
    const double lse = a.lse[query];
    double squares_ds = 0, squares_p = 0;
    for (std::int64_t j = lane; j < n; j += 32) {
      const double keep = a.dropout.Keep(key, query * g.tk + j);
      const double weight = exp(AddParts(p + j, a.width_parts, part) * scale - lse);
      const double dp = AddParts(ds + j, a.width_parts, part);
      const double gradient = weight * (n == 1 ? across.value : (a.dropout.on ? dp * keep : dp) - across.value) * scale;
      ds[j] = gradient;
      p[j] = a.dropout.on ? weight * keep : weight;
      if constexpr (kBounded) {
        if (a.dropout.on) a.work.undropped[row * g.tk + j] = weight;
        squares_ds += gradient * gradient;
        squares_p += weight * weight;
      }
    }
    for (std::int64_t j = n + lane; j < g.tk; j += 32) p[j] = ds[j] = 0;
    if constexpr (kBounded) BoundRow(a, row, n, across, sqrt(WarpSum(squares_ds)), sqrt(WarpSum(squares_p)), lane);
  }
}

// Norms of columns, of every matrix of a batch: 32 columns a block, whose warps share the rows. term(batch, row, column) is an element.
template <class Term>
__global__ void __launch_bounds__(1024)
    ColumnNorms(const __grid_constant__ Term term, std::int64_t rows, std::int64_t columns, double* norms) {
  __shared__ double sums[32][33];
  const std::int64_t tiles = cuda::CeilDiv(columns, 32), batch = blockIdx.x / tiles, first = blockIdx.x % tiles * 32;
  const std::int64_t column = first + threadIdx.x, mine = first + threadIdx.y;
  double sum = 0;
  if (column < columns) {
    for (std::int64_t row = threadIdx.y; row < rows; row += 32) {
      const double x = term(batch, row, column);
      sum += x * x;
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  const double total = WarpSum(sums[threadIdx.x][threadIdx.y]);
  if (threadIdx.x == 0 && mine < columns) norms[batch * columns + mine] = sqrt(total);
}

template <class Term>
void NormsOfColumns(const Term& term, std::int64_t batch, std::int64_t rows, std::int64_t columns, double* norms,
                    cudaStream_t stream) {
  ColumnNorms<<<static_cast<unsigned>(batch * cuda::CeilDiv(columns, 32)), dim3(32, 32), 0, stream>>>(term, rows, columns,
                                                                                                      norms);
  cuda::CheckLaunch("ColumnNorms");
}

struct OfMatrix {
  const double* matrices;
  std::int64_t rows, columns;
  __device__ double operator()(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return matrices[(batch * rows + row) * columns + column];
  }
};

// f of dk and h of dv, where the query sees the key.
struct OfPairs {
  Geometry g;
  Workspace work;
  bool of_value;
  __device__ double operator()(std::int64_t head, std::int64_t query, std::int64_t key) const {
    if (key >= g.Visible(query % g.tq)) return 0;
    const std::int64_t row = head * g.group() * g.tq + query, pair = row * g.tk + key;
    if (of_value) return work.of_kept[row] * work.p[pair];
    return work.of_gradient[row] * std::fabs(work.ds[pair]) + work.of_weight[row] * work.undropped[pair];
  }
};

template <bool kBounded>
__global__ void __launch_bounds__(kThreads)
    RoundQueryGradients(const __grid_constant__ Backward a, const __grid_constant__ Sink dq) {
  if (*a.work.not_finite != 0) return;
  const Geometry& g = a.g;
  const std::int64_t size = a.rows * g.d;
  for (std::int64_t at = cuda::GlobalThread<std::int64_t>(); at < size; at += cuda::GlobalThreads<std::int64_t>()) {
    const std::int64_t row = at / g.d, c = at % g.d, query = a.first + row;
    const Place place = PlaceOf(g, query);
    const std::int64_t n = g.Visible(place.i), to = g.QueryRow(place.b, place.i, place.h) + c;
    const double y = AddKeyParts(a.work.parts + at, n, size);
    if constexpr (kBounded) {
      const std::int64_t head = query / (g.group() * g.tq);
      const double column = sqrt(a.work.k_squares[(head * PrefixesOf(g.tk) + (n - 1) / kPrefixRows) * g.d + c]);
      dq.Put(to, y, rounded::WithFloor(a.work.of_dq[row] * column));
    } else {
      dq.Put(to, y);
    }
  }
}

// dk or dv of the key heads of a chunk: the norm of a key's weights times that of a column.
template <bool kBounded>
__global__ void __launch_bounds__(kThreads)
    RoundKeyGradients(const __grid_constant__ Backward a, Chunk chunk, std::int64_t count, const double* columns,
                      const __grid_constant__ Sink to) {
  if (*a.work.not_finite != 0) return;
  const Geometry& g = a.g;
  const std::int64_t size = chunk.count * g.tk * g.d;
  for (std::int64_t at = cuda::GlobalThread<std::int64_t>(); at < size; at += cuda::GlobalThreads<std::int64_t>()) {
    const std::int64_t key = at / g.d, c = at % g.d, head = chunk.first + key / g.tk;
    const std::int64_t place = g.KeyRow(head / g.hkv, key % g.tk, head % g.hkv) + c;
    const double y = AddParts(a.work.parts + at, count, size);
    if constexpr (kBounded) {
      to.Put(place, y, rounded::WithFloor(a.work.of_key[key] * rounded::kSlack * columns[head * g.d + c]));
    } else {
      to.Put(place, y);
    }
  }
}

// dk from ds and q, or dv from p' and do.
template <bool kBounded>
void RunKeys(const Backward& a, const Extents& x, const Chunk& chunk, bool of_value, const Sink& sink, Context& context) {
  const Workspace& work = a.work;
  SumOverQueries(x, chunk, of_value ? work.p : work.ds, of_value ? work.go : work.q, work.parts, context.blas());
  if constexpr (kBounded) {
    NormsOfColumns(OfPairs{a.g, work, of_value}, chunk.count, x.queries, x.keys, work.of_key, context.stream());
  }
  RoundKeyGradients<kBounded><<<cuda::GridFor(chunk.count * x.keys * x.width, kThreads), kThreads, 0, context.stream()>>>(
      a, chunk, x.query_parts, of_value ? work.do_columns : work.q_columns, sink);
  cuda::CheckLaunch("attention's gradients of keys");
}

template <bool kBounded>
void RunChunk(const Backward& a, const Extents& x, const Chunk& chunk, std::span<const Sink> sinks, Context& context) {
  MultiplyRows(x, chunk, a.work.q, a.work.k, a.work.p, context.blas());
  MultiplyRows(x, chunk, a.work.go, a.work.v, a.work.ds, context.blas());
  WeighGradients<kBounded><<<cuda::GridFor(a.rows, kThreads / 32), kThreads, 0, context.stream()>>>(a);
  cuda::CheckLaunch("attention's gradients of scores");
  SumOverKeys(x, chunk, a.work.ds, a.work.k, a.work.parts, context.blas());
  RoundQueryGradients<kBounded><<<cuda::GridFor(a.rows * x.width, kThreads), kThreads, 0, context.stream()>>>(a, sinks[0]);
  cuda::CheckLaunch("attention's gradients of queries");
  RunKeys<kBounded>(a, x, chunk, false, sinks[1], context);
  RunKeys<kBounded>(a, x, chunk, true, sinks[2], context);
}

}  // namespace
}  // namespace attention

void Run_attention_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  using namespace attention;
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(kQ).shape, args.in_type(kK).shape);
  const Extents x(g);
  const bool bounded = sinks[0].bounded() || sinks[1].bounded() || sinks[2].bounded(), dropout = g.dropout > 0;
  const std::int64_t matrices = 2 * x.width_parts + (bounded && dropout ? 1 : 0);
  const std::int64_t most = HeadsOfChunk(x.heads, (matrices * x.queries * x.keys + PartsOfHead(x)) * 8);
  const std::size_t own = Workspace(Cutter(), x, most, bounded, dropout).bytes;
  char* memory = static_cast<char*>(context.Scratch(own + ScratchOfFormula(g, context)));
  const Workspace work(Cutter(memory), x, most, bounded, dropout);

  std::array<Floats, 6> inputs;
  for (std::size_t k = 0; k < 6; ++k) inputs[k] = {args.In<float>(k), args.in_type(k).elements()};
  FindNonFinite(inputs, work.not_finite, context.stream());
  WidenHeads(std::array{Widening{args.In<float>(kQ), work.q, work.q_norms, g.hq, g.tq},
                        Widening{args.In<float>(kK), work.k, work.k_norms, g.hkv, g.tk},
                        Widening{args.In<float>(kV), work.v, work.v_norms, g.hkv, g.tk},
                        Widening{args.In<float>(kDo), work.go, work.do_norms, g.hq, g.tq}},
             g.batch, g.d, context.stream());
  if (bounded) {
    SquaresOfPrefixes(work.k, x.heads, x.keys, x.width, work.k_squares, context.stream());
    NormsOfColumns(OfMatrix{work.q, x.queries, x.width}, x.heads, x.queries, x.width, work.q_columns, context.stream());
    NormsOfColumns(OfMatrix{work.go, x.queries, x.width}, x.heads, x.queries, x.width, work.do_columns, context.stream());
  }
  for (std::int64_t head = 0; head < x.heads; head += most) {
    const Chunk chunk{head, std::min(most, x.heads - head)};
    const Backward backward{.g = g,
                            .dropout = Dropout(g, args.In<std::uint32_t>(kRng)),
                            .work = work,
                            .o = args.In<float>(kO),
                            .lse = args.In<float>(kLse),
                            .query_depth = rounded::QueryBlocks(g).depth,
                            .first = chunk.first * x.queries,
                            .rows = chunk.count * x.queries,
                            .width_parts = x.width_parts};
    bounded ? RunChunk<true>(backward, x, chunk, sinks, context) : RunChunk<false>(backward, x, chunk, sinks, context);
  }
  RunFormula_attention_grad(args, sinks, work.not_finite, memory + own, context);
}

}  // namespace assay::cublas
