// attention: for each head, blocks of queries against the keys that they see: scores and outputs by matrix products, the weights row by row.
#include <cmath>

#include "assay/backend/openblas/attention_rows.h"
#include "assay/backend/openblas/context.h"
#include "assay/semantics/rounded/attention_bounds.h"

namespace assay::rounded {
namespace {

using Geometry = ops::AttentionGeometry;

constexpr std::int64_t kQueryRows = 64;

struct Workspace {
  Workspace(Cutter cut, const Geometry& g)
      : q(cut.Take<double>(kQueryRows * g.d)),
        k(cut.Take<double>(g.tk * g.d)),
        v(cut.Take<double>(g.tk * g.d)),
        p(cut.Take<double>(kQueryRows * g.tk)),
        o(cut.Take<double>(kQueryRows * g.d)),
        keep(cut.Take<double>(g.tk)),
        q_norms(cut.Take<double>(kQueryRows)),
        k_norms(cut.Take<double>(g.tk)),
        v_norms(cut.Take<double>(g.tk)),
        k_squares(cut.Take<double>(g.d)),
        v_squares(cut.Take<double>(g.d)),
        v_columns(cut.Take<double>(g.d)),
        sums(cut.Take<double>(kQueryRows)),
        lse(cut.Take<double>(kQueryRows)),
        lse_e(cut.Take<double>(kQueryRows)),
        e(cut.Take<double>(g.d)),
        bytes(cut.used()) {}
  double *q, *k, *v, *p, *o, *keep, *q_norms, *k_norms, *v_norms, *k_squares, *v_squares, *v_columns, *sums, *lse, *lse_e, *e;
  std::size_t bytes;
};

// One query head of one sample.
class Head {
 public:
  Head(const KernelArgs& args, const Geometry& g, std::span<const Output> outputs, const Blas& blas, const Workspace& work,
       std::int64_t b, std::int64_t h)
      : args_(args),
        g_(g),
        outputs_(outputs),
        blas_(blas),
        w_(work),
        b_(b),
        h_(h),
        key_(numerics::MakeDrawKey(args.In<std::uint32_t>(3), g.stream)) {}

  void Run(std::int64_t begin, std::int64_t end) {
    const auto at = [&](std::int64_t j) { return g_.KeyRow(b_, j, g_.KeyHead(h_)); };
    const std::int64_t keys = g_.Visible(end - 1);
    WidenHead(args_.In<float>(1), 0, keys, g_.d, at, w_.k, w_.k_norms);
    WidenHead(args_.In<float>(2), 0, keys, g_.d, at, w_.v, w_.v_norms);
    PrefixNorms k_prefix(w_.k, w_.k_norms, g_.d, w_.k_squares), v_prefix(w_.v, w_.v_norms, g_.d, w_.v_squares);
    for (std::int64_t i = begin; i < end; i += kQueryRows) Block(i, std::min(end, i + kQueryRows), k_prefix, v_prefix);
  }

 private:
  bool Wants(std::int64_t begin, std::int64_t end) const {
    if (outputs_[1].WantsBounds(g_.Lse(b_, h_, begin), g_.Lse(b_, h_, end - 1) + 1)) return true;
    for (std::int64_t i = begin; i < end; ++i) {
      if (outputs_[0].WantsBounds(g_.QueryRow(b_, i, h_), g_.QueryRow(b_, i, h_) + g_.d)) return true;
    }
    return false;
  }

  void Block(std::int64_t begin, std::int64_t end, PrefixNorms& k_prefix, PrefixNorms& v_prefix) {
    const std::int64_t rows = end - begin, keys = g_.Visible(end - 1);
    WidenHead(args_.In<float>(0), begin, end, g_.d, [&](std::int64_t i) { return g_.QueryRow(b_, i, h_); }, w_.q, w_.q_norms);
    BlockedGemm(blas_, true, rows, keys, g_.d, numerics::ContractionBlock(g_.d), w_.q, g_.d, w_.k, g_.d, w_.p, keys);
    for (std::int64_t i = 0; i < rows; ++i) Weights(begin + i, keys, w_.p + i * keys, w_.sums[i], w_.lse[i]);
    const std::int64_t block = numerics::ContractionBlock(g_.Visible(begin));
    BlockedGemm(blas_, false, rows, g_.d, keys, block, w_.p, keys, w_.v, g_.d, w_.o, g_.d);
    const bool bounds = Wants(begin, end);
    if (bounds) {
      k_prefix.Extend(keys);
      v_prefix.Extend(keys);
      for (std::int64_t c = 0; c < g_.d; ++c) w_.v_columns[c] = v_prefix.Column(c);
    }
    const double depth = std::max(KeysDepth(keys), static_cast<double>(std::min(block, keys) + (keys + block - 1) / block));
    for (std::int64_t i = 0; i < rows; ++i) Finish(begin + i, i, keys, bounds, depth, k_prefix.largest());
    outputs_[1].Put(w_.lse, bounds ? w_.lse_e : nullptr, rows, g_.Lse(b_, h_, begin));
  }

  // Scores become weights, those of hidden keys zero; dropout comes after the sum. `shift` is the largest score.
  void Weights(std::int64_t i, std::int64_t keys, double* p, double& sum, double& shift) const {
    const std::int64_t n = g_.Visible(i);
    const double scale = g_.scale;
    double most = p[0] * scale;
    for (std::int64_t j = 0; j < n; ++j) {
      p[j] *= scale;
      most = std::max(most, p[j]);
    }
    for (std::int64_t j = 0; j < n; ++j) p[j] = std::exp(p[j] - most);
    std::fill(p + n, p + keys, 0.0);
    sum = BlockSum(p, n);
    shift = most;
    if (g_.dropout > 0) {
      KeepRow(g_, key_, g_.Element(b_, h_, i, 0), n, w_.keep);
      for (std::int64_t j = 0; j < n; ++j) p[j] *= w_.keep[j];
    }
  }

  void Finish(std::int64_t i, std::int64_t row, std::int64_t keys, bool bounds, double depth, double largest_key) const {
    double* o = w_.o + row * g_.d;
    const double sum = w_.sums[row], shift = w_.lse[row], log_sum = std::log(sum);
    for (std::int64_t c = 0; c < g_.d; ++c) o[c] /= sum;
    w_.lse[row] = shift + log_sum;
    if (bounds) {
      const double rho = WeightError(g_.d, std::fabs(g_.scale) * w_.q_norms[row] * largest_key, shift);
      const double weights = NormOf(w_.p + row * keys, g_.Visible(i));
      const ForwardBound bound = BoundForward(rho, g_.dropout > 0, g_.Visible(i), depth, weights, sum);
      for (std::int64_t c = 0; c < g_.d; ++c) {
        w_.e[c] = WithFloor(bound.of_column * w_.v_columns[c] + bound.of_value * std::fabs(o[c]));
      }
      w_.lse_e[row] = BoundLse(bound, log_sum, w_.lse[row]);
    }
    outputs_[0].Put(o, bounds ? w_.e : nullptr, g_.d, g_.QueryRow(b_, i, h_));
  }

  const KernelArgs& args_;
  const Geometry& g_;
  std::span<const Output> outputs_;
  const Blas& blas_;
  const Workspace& w_;
  const std::int64_t b_, h_;
  const numerics::DrawKey key_;
};

}  // namespace

void Run_attention(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  for (std::size_t k : {0u, 1u, 2u}) {
    if (!AllFinite(args.In<float>(k), args.in_type(k).elements())) return RunFormula(args, outputs, context);
  }
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  // Few heads for many threads are cut by queries.
  const std::int64_t heads = g.batch * g.hq, threads = context.pool().threads();
  const std::int64_t cuts =
      threads == 1 ? 1 : std::min((2 * threads + heads - 1) / heads, (g.tq + kQueryRows - 1) / kQueryRows);
  const std::int64_t share = (g.tq + cuts - 1) / cuts;
  const std::size_t bytes = Workspace(Cutter(), g).bytes;
  context.pool().ParallelFor(heads * cuts, 1, [&](std::int64_t begin, std::int64_t end, int worker) {
    const Workspace work(Cutter(context.Scratch(worker, bytes)), g);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t head = item / cuts, first = item % cuts * share, last = std::min(g.tq, first + share);
      if (first < last) Head(args, g, outputs, context.blas(), work, head / g.hq, head % g.hq).Run(first, last);
    }
  });
}

}  // namespace assay::rounded
