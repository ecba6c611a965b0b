#include "assay/backend/cublas/attention_formula.h"

#include <limits>

#include "assay/backend/cublas/attention-inl.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/semantics/rounded/kept_difference.h"

namespace assay::cublas::attention {
namespace {

using numerics::Exp;
using numerics::Log;

constexpr int kFormulaThreads = 128;
constexpr std::int64_t kMostScratch = std::int64_t{256} << 20;

__device__ double ValueOf(double x) { return x; }
__device__ double ValueOf(const Near& x) { return x.v; }

// One query of one head: (batch, head, time).
struct Query {
  std::int64_t b, h, i;
};

struct Inputs {
  Geometry g;
  Dropout dropout;
  const float *q, *k, *v, *o, *lse, *grad;
  const int* not_finite;
  void* scratch;
  std::int64_t scratch_terms;  // of a block
};

// The sum of a column's n terms; of one term, that term.
template <class T, class Term>
__device__ __noinline__ T ColumnSum(std::int64_t n, Term term) {
  if (n == 1) return term(0);
  return numerics::Sum<T>(n, term);
}

// As in semantics/rounded/formula_attention.cc, with the terms of a row in device memory. Its functions are called, not inlined: sums repeat their terms in the code.
template <class T>
struct Attention {
  __device__ explicit Attention(const Inputs& inputs)
      : in(inputs),
        g(inputs.g),
        key(inputs.dropout.Key()),
        factor(T(1.0f) / (T(1.0f) - T(g.dropout))),
        terms(static_cast<T*>(inputs.scratch) + blockIdx.x * inputs.scratch_terms) {}

  __device__ __noinline__ T Dot(const float* a, const float* b) const {
    return numerics::Contract<T>(g.d, [=](std::int64_t c) { return a[c]; }, [=](std::int64_t c) { return b[c]; });
  }
  __device__ const float* QueryRow(const float* x, const Query& at) const { return x + g.QueryRow(at.b, at.i, at.h); }
  __device__ const float* KeyRow(const float* x, const Query& at, std::int64_t j) const {
    return x + g.KeyRow(at.b, j, g.KeyHead(at.h));
  }
  __device__ T Score(const Query& at, std::int64_t j) const {
    return Dot(QueryRow(in.q, at), KeyRow(in.k, at, j)) * T(g.scale);
  }
  __device__ __noinline__ T Dropped(const T& x, const Query& at, std::int64_t j) const {
    if (!in.dropout.on) return x;
    return in.dropout.Keeps(key, g.Element(at.b, at.h, at.i, j)) ? x * factor : x * T(0.0f);
  }

  __device__ __noinline__ T Delta(const Query& at) const {
    const float *x = QueryRow(in.grad, at), *y = QueryRow(in.o, at);
    return numerics::Sum<T>(g.d, [=](std::int64_t c) { return T(x[c]) * T(y[c]); });
  }
  __device__ __noinline__ T Probability(const Query& at, std::int64_t j) const {
    return Exp(Score(at, j) - T(in.lse[g.Lse(at.b, at.h, at.i)]));
  }
  __device__ __noinline__ T OfScore(const Query& at, std::int64_t j, const T& delta) const {
    if (g.Visible(at.i) == 1) return Probability(at, j) * OneKey(at) * T(g.scale);
    const T dp = Dropped(Dot(QueryRow(in.grad, at), KeyRow(in.v, at, j)), at, j);
    return Probability(at, j) * (dp - delta) * T(g.scale);
  }
  // dp - delta of a query that sees one key, where the two nearly cancel.
  __device__ __noinline__ T OneKey(const Query& at) const {
    const float *x = QueryRow(in.grad, at), *y = QueryRow(in.o, at), *v = KeyRow(in.v, at, 0);
    const bool kept = !in.dropout.on || in.dropout.Keeps(key, g.Element(at.b, at.h, at.i, 0));
    const rounded::KeptDifference of(g.dropout);
    return numerics::Sum<T>(
        g.d, [=](std::int64_t c) { return T(x[c]) * (kept ? of.Of<T>(v[c], y[c]) : T(v[c]) * T(0.0f) - T(y[c])); });
  }

  const Inputs& in;
  const Geometry& g;
  const numerics::DrawKey key;
  const T factor;
  T* const terms;
};

__device__ Query QueryOf(const Geometry& g, std::int64_t row) { return {row / (g.hq * g.tq), row / g.tq % g.hq, row % g.tq}; }

// The block's threads share a row's terms, and then its columns.
template <class T>
__device__ void OutputRow(const Attention<T>& a, const Query& at, const Sink& o, const Sink& lse) {
  const Geometry& g = a.g;
  const std::int64_t n = g.Visible(at.i);
  T* p = a.terms;
  for (std::int64_t j = threadIdx.x; j < n; j += blockDim.x) p[j] = a.Score(at, j);
  __syncthreads();
  double m = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < n; ++j) {
    const double s = ValueOf(p[j]);
    m = s > m || s != s ? s : m;
  }
  __syncthreads();
  for (std::int64_t j = threadIdx.x; j < n; j += blockDim.x) p[j] = Exp(p[j] - T(m));
  __syncthreads();
  const T sum = numerics::Sum<T>(n, [=](std::int64_t j) { return p[j]; });
  for (std::int64_t c = threadIdx.x; c < g.d; c += blockDim.x) {
    const auto term = [&](std::int64_t j) { return a.Dropped(p[j], at, j) * T(a.KeyRow(a.in.v, at, j)[c]); };
    o.Put(g.QueryRow(at.b, at.i, at.h) + c, ColumnSum<T>(n, term) / sum);
  }
  if (threadIdx.x == 0) lse.Put(g.Lse(at.b, at.h, at.i), T(m) + Log(sum));
}

template <class T>
__device__ void QueryGradientRow(const Attention<T>& a, const Query& at, const Sink& dq) {
  const Geometry& g = a.g;
  const std::int64_t n = g.Visible(at.i);
  const T delta = a.Delta(at);
  T* w = a.terms;
  for (std::int64_t j = threadIdx.x; j < n; j += blockDim.x) w[j] = a.OfScore(at, j, delta);
  __syncthreads();
  for (std::int64_t c = threadIdx.x; c < g.d; c += blockDim.x) {
    const auto term = [&](std::int64_t j) { return w[j] * T(a.KeyRow(a.in.k, at, j)[c]); };
    dq.Put(g.QueryRow(at.b, at.i, at.h) + c, ColumnSum<T>(n, term));
  }
}

// A row of dk, or of dv: `head` is a key head.
template <class T>
__device__ void KeyGradientRow(const Attention<T>& a, bool of_value, std::int64_t b, std::int64_t head, std::int64_t j,
                               const Sink& to) {
  const Geometry& g = a.g;
  const std::int64_t first = g.FirstQuery(j), each = g.tq - first, n = g.group() * each;
  const auto query = [&](std::int64_t k) { return Query{b, head * g.group() + k / each, first + k % each}; };
  T* w = a.terms;
  for (std::int64_t k = threadIdx.x; k < n; k += blockDim.x) {
    const Query at = query(k);
    w[k] = of_value ? a.Dropped(a.Probability(at, j), at, j) : a.OfScore(at, j, a.Delta(at));
  }
  __syncthreads();
  const float* rows = of_value ? a.in.grad : a.in.q;
  for (std::int64_t c = threadIdx.x; c < g.d; c += blockDim.x) {
    const auto term = [&](std::int64_t k) { return w[k] * T(a.QueryRow(rows, query(k))[c]); };
    to.Put(g.KeyRow(b, j, head) + c, ColumnSum<T>(n, term));
  }
}

template <class T>
__global__ void __launch_bounds__(kFormulaThreads)
    ForwardByFormula(const __grid_constant__ Inputs in, const __grid_constant__ Sink o, const __grid_constant__ Sink lse) {
  if (*in.not_finite == 0) return;
  const Attention<T> a(in);
  for (std::int64_t row = blockIdx.x; row < in.g.batch * in.g.hq * in.g.tq; row += gridDim.x) {
    OutputRow(a, QueryOf(in.g, row), o, lse);
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kFormulaThreads)
    BackwardByFormula(const __grid_constant__ Inputs in, const __grid_constant__ Sink dq, const __grid_constant__ Sink dk,
                      const __grid_constant__ Sink dv) {
  if (*in.not_finite == 0) return;
  const Attention<T> a(in);
  const Geometry& g = in.g;
  const std::int64_t queries = g.batch * g.hq * g.tq, keys = g.batch * g.hkv * g.tk;
  for (std::int64_t row = blockIdx.x; row < queries + 2 * keys; row += gridDim.x) {
    if (row < queries) {
      QueryGradientRow(a, QueryOf(g, row), dq);
    } else {
      const std::int64_t key = (row - queries) % keys;
      const bool of_value = row - queries >= keys;
      KeyGradientRow(a, of_value, key / (g.hkv * g.tk), key / g.tk % g.hkv, key % g.tk, of_value ? dv : dk);
    }
    __syncthreads();
  }
}

std::int64_t TermsOf(const Geometry& g) { return std::max(g.tk, g.group() * g.tq); }

// So many blocks that every multiprocessor has work, if their terms find room.
std::int64_t BlocksFor(const Geometry& g, const Context& context) {
  return std::clamp<std::int64_t>(kMostScratch / (TermsOf(g) * static_cast<std::int64_t>(sizeof(Near))), 1,
                                  4 * context.multiprocessors());
}

Inputs InputsOf(const KernelArgs& args, std::size_t rng, const int* not_finite, void* scratch) {
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const bool grad = rng == 6;
  return {.g = g,
          .dropout = Dropout(g, args.In<std::uint32_t>(rng)),
          .q = args.In<float>(0),
          .k = args.In<float>(1),
          .v = args.In<float>(2),
          .o = grad ? args.In<float>(3) : nullptr,
          .lse = grad ? args.In<float>(4) : nullptr,
          .grad = grad ? args.In<float>(5) : nullptr,
          .not_finite = not_finite,
          .scratch = scratch,
          .scratch_terms = TermsOf(g)};
}

}  // namespace

std::size_t ScratchOfFormula(const Geometry& g, const Context& context) {
  return static_cast<std::size_t>(BlocksFor(g, context) * TermsOf(g)) * sizeof(Near);
}

void RunFormula_attention(const KernelArgs& args, std::span<const Sink> sinks, const int* not_finite, void* scratch,
                          Context& context) {
  const Inputs in = InputsOf(args, 3, not_finite, scratch);
  const bool bounded = sinks[0].bounded() || sinks[1].bounded();
  const auto kernel = bounded ? ForwardByFormula<Near> : ForwardByFormula<double>;
  kernel<<<static_cast<unsigned>(BlocksFor(in.g, context)), kFormulaThreads, 0, context.stream()>>>(in, sinks[0], sinks[1]);
  cuda::CheckLaunch("attention by its formula");
}

void RunFormula_attention_grad(const KernelArgs& args, std::span<const Sink> sinks, const int* not_finite, void* scratch,
                               Context& context) {
  const Inputs in = InputsOf(args, 6, not_finite, scratch);
  const bool bounded = sinks[0].bounded() || sinks[1].bounded() || sinks[2].bounded();
  const auto kernel = bounded ? BackwardByFormula<Near> : BackwardByFormula<double>;
  kernel<<<static_cast<unsigned>(BlocksFor(in.g, context)), kFormulaThreads, 0, context.stream()>>>(in, sinks[0], sinks[1],
                                                                                                    sinks[2]);
  cuda::CheckLaunch("attention_grad by its formula");
}

}  // namespace assay::cublas::attention
