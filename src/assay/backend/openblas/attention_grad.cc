// attention_grad: for each key head, blocks of queries of its query heads against the keys that they see. A block's rows of dq are complete with it; dk and dv
// are totals to which every block adds its product, so that a block of queries is a block of their contraction.
#include <algorithm>
#include <cmath>

#include "assay/backend/openblas/attention_rows.h"
#include "assay/backend/openblas/context.h"
#include "assay/semantics/rounded/attention_bounds.h"
#include "assay/semantics/rounded/kept_difference.h"

namespace assay::rounded {
namespace {

using Geometry = ops::AttentionGeometry;

enum : std::size_t { kQ, kK, kV, kO, kLse, kDo, kRng };

struct Workspace {
  Workspace(Cutter cut, const Geometry& g, std::int64_t rows)
      : q(cut.Take<double>(rows * g.d)),
        go(cut.Take<double>(rows * g.d)),
        k(cut.Take<double>(g.tk * g.d)),
        v(cut.Take<double>(g.tk * g.d)),
        p(cut.Take<double>(rows * g.tk)),
        ds(cut.Take<double>(rows * g.tk)),
        dq(cut.Take<double>(rows * g.d)),
        dk(cut.Take<double>(g.tk * g.d)),
        dv(cut.Take<double>(g.tk * g.d)),
        keep(cut.Take<double>(g.tk)),
        q_norms(cut.Take<double>(rows)),
        do_norms(cut.Take<double>(rows)),
        k_norms(cut.Take<double>(g.tk)),
        v_norms(cut.Take<double>(g.tk)),
        k_squares(cut.Take<double>(g.d)),
        v_squares(cut.Take<double>(g.d)),
        q_squares(cut.Take<double>(g.d)),
        do_squares(cut.Take<double>(g.d)),
        f_squares(cut.Take<double>(g.tk)),
        h_squares(cut.Take<double>(g.tk)),
        dq_factors(cut.Take<double>(rows)),
        products(cut.Take<double>(g.d)),
        e(cut.Take<double>(g.d)),
        bytes(cut.used()) {}
  double *q, *go, *k, *v, *p, *ds, *dq, *dk, *dv, *keep, *q_norms, *do_norms, *k_norms, *v_norms;
  double *k_squares, *v_squares, *q_squares, *do_squares, *f_squares, *h_squares, *dq_factors, *products, *e;
  std::size_t bytes;
};

void AddSquares(const double* matrix, std::int64_t rows, std::int64_t d, double* squares) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < d; ++c) squares[c] += matrix[i * d + c] * matrix[i * d + c];
  }
}

// One key head of one sample.
class KeyHead {
 public:
  KeyHead(const KernelArgs& args, const Geometry& g, const QueryBlocks& blocks, std::span<const Output> outputs,
          const Blas& blas, const Workspace& work, std::int64_t b, std::int64_t head)
      : args_(args),
        g_(g),
        blocks_(blocks),
        outputs_(outputs),
        blas_(blas),
        w_(work),
        b_(b),
        head_(head),
        key_(numerics::MakeDrawKey(args.In<std::uint32_t>(kRng), g.stream)) {}

  void Run() {
    const auto at = [&](std::int64_t j) { return g_.KeyRow(b_, j, head_); };
    WidenHead(args_.In<float>(kK), 0, g_.tk, g_.d, at, w_.k, w_.k_norms);
    WidenHead(args_.In<float>(kV), 0, g_.tk, g_.d, at, w_.v, w_.v_norms);
    std::fill_n(w_.dk, g_.tk * g_.d, 0.0);
    std::fill_n(w_.dv, g_.tk * g_.d, 0.0);
    bounds_ = Wants();
    std::fill_n(w_.q_squares, g_.d, 0.0);
    std::fill_n(w_.do_squares, g_.d, 0.0);
    std::fill_n(w_.f_squares, g_.tk, 0.0);
    std::fill_n(w_.h_squares, g_.tk, 0.0);
    for (std::int64_t h = head_ * g_.group(); h < (head_ + 1) * g_.group(); ++h) {
      PrefixNorms k_prefix(w_.k, w_.k_norms, g_.d, w_.k_squares), v_prefix(w_.v, w_.v_norms, g_.d, w_.v_squares);
      for (std::int64_t i = 0; i < g_.tq; i += blocks_.rows) {
        Block(h, i, std::min(g_.tq, i + blocks_.rows), k_prefix, v_prefix);
      }
    }
    Finish(outputs_[1], w_.dk, w_.f_squares, w_.q_squares);
    Finish(outputs_[2], w_.dv, w_.h_squares, w_.do_squares);
  }

 private:
  // One decision anywhere in the head asks for everything: columns and rows share their norms.
  bool Wants() const {
    for (std::int64_t j = 0; j < g_.tk; ++j) {
      const std::int64_t at = g_.KeyRow(b_, j, head_);
      if (outputs_[1].WantsBounds(at, at + g_.d) || outputs_[2].WantsBounds(at, at + g_.d)) return true;
    }
    for (std::int64_t i = 0; i < g_.tq; ++i) {
      const std::int64_t at = g_.QueryRow(b_, i, head_ * g_.group());
      if (outputs_[0].WantsBounds(at, at + g_.group() * g_.d)) return true;
    }
    return false;
  }

  void Block(std::int64_t h, std::int64_t begin, std::int64_t end, PrefixNorms& k_prefix, PrefixNorms& v_prefix) {
    const std::int64_t rows = end - begin, keys = g_.Visible(end - 1), d = g_.d;
    const auto at = [&](std::int64_t i) { return g_.QueryRow(b_, i, h); };
    WidenHead(args_.In<float>(kQ), begin, end, d, at, w_.q, w_.q_norms);
    WidenHead(args_.In<float>(kDo), begin, end, d, at, w_.go, w_.do_norms);
    BlockedGemm(blas_, true, rows, keys, d, numerics::ContractionBlock(d), w_.q, d, w_.k, d, w_.p, keys);
    BlockedGemm(blas_, true, rows, keys, d, numerics::ContractionBlock(d), w_.go, d, w_.v, d, w_.ds, keys);
    if (bounds_) {
      k_prefix.Extend(keys);
      v_prefix.Extend(keys);
      AddSquares(w_.q, rows, d, w_.q_squares);
      AddSquares(w_.go, rows, d, w_.do_squares);
    }
    const std::int64_t block = numerics::ContractionBlock(g_.Visible(begin));
    const double depth = std::max(KeysDepth(keys), static_cast<double>(std::min(block, keys) + (keys + block - 1) / block));
    for (std::int64_t i = 0; i < rows; ++i) Row(h, begin + i, i, keys, depth, k_prefix.largest(), v_prefix.largest());
    BlockedGemm(blas_, false, rows, d, keys, block, w_.ds, keys, w_.k, d, w_.dq, d);
    blas_.Gemm(true, false, keys, d, rows, w_.ds, keys, w_.q, d, 1.0, w_.dk, d);
    blas_.Gemm(true, false, keys, d, rows, w_.p, keys, w_.go, d, 1.0, w_.dv, d);
    for (std::int64_t i = 0; i < rows; ++i) {
      if (bounds_) {
        for (std::int64_t c = 0; c < d; ++c) w_.e[c] = WithFloor(w_.dq_factors[i] * k_prefix.Column(c));
      }
      outputs_[0].Put(w_.dq + i * d, bounds_ ? w_.e : nullptr, d, at(begin + i));
    }
  }

  // Turns a row of scores and a row of do·v into the weights that dv takes and the gradients of the scores; zero for hidden keys.
  void Row(std::int64_t h, std::int64_t i, std::int64_t row, std::int64_t keys, double depth, double largest_k,
           double largest_v) {
    const std::int64_t n = g_.Visible(i), d = g_.d;
    const float* o = args_.In<float>(kO) + g_.QueryRow(b_, i, h);
    const double lse = args_.In<float>(kLse)[g_.Lse(b_, h, i)], scale = g_.scale;
    double* p = w_.p + row * keys;
    double* ds = w_.ds + row * keys;
    if (g_.dropout > 0) KeepRow(g_, key_, g_.Element(b_, h, i, 0), n, w_.keep);
    OneKey one;
    if (n == 1) {
      one = DifferenceOfOneKey(row, o);
      p[0] = std::exp(p[0] * scale - lse);
      ds[0] = p[0] * one.value * scale;
    } else {
      for (std::int64_t c = 0; c < d; ++c) w_.products[c] = double{o[c]} * w_.go[row * d + c];
      const double delta = BlockSum(w_.products, d);
      if (g_.dropout > 0) {
        for (std::int64_t j = 0; j < n; ++j) ds[j] *= w_.keep[j];
      }
      for (std::int64_t j = 0; j < n; ++j) {
        p[j] = std::exp(p[j] * scale - lse);
        ds[j] = p[j] * (ds[j] - delta) * scale;
      }
    }
    std::fill(p + n, p + keys, 0.0);
    std::fill(ds + n, ds + keys, 0.0);
    // Where dropout keeps no key there is no do·v to be off.
    const bool none = g_.dropout > 0 && std::all_of(w_.keep, w_.keep + n, [](double keep) { return keep == 0; });
    if (bounds_) Bound(row, n, depth, lse, NormOfFloats(o), largest_k, none ? 0.0 : largest_v, one, p, ds);
    if (g_.dropout > 0) {
      for (std::int64_t j = 0; j < n; ++j) p[j] *= w_.keep[j];
    }
  }

  // Of a query that sees one key: do·(keep·v - o), and what its bound needs.
  struct OneKey {
    double value = 0, difference = 0, kept = 0;
  };
  OneKey DifferenceOfOneKey(std::int64_t row, const float* o) const {
    const bool kept = !(g_.dropout > 0) || w_.keep[0] != 0;
    const KeptDifference of(g_.dropout);
    double difference = 0, squares = 0;
    for (std::int64_t c = 0; c < g_.d; ++c) {
      const double x = kept ? of.Of(w_.v[c], double{o[c]}) : -double{o[c]};
      w_.products[c] = x * w_.go[row * g_.d + c];
      difference += x * x;
      squares += w_.v[c] * w_.v[c];
    }
    return {BlockSum(w_.products, g_.d), std::sqrt(difference), of.exact() ? 0.0 : std::sqrt(squares) / of.rest()};
  }

  double NormOfFloats(const float* x) const {
    double sum = 0;
    for (std::int64_t c = 0; c < g_.d; ++c) sum += double{x[c]} * x[c];
    return std::sqrt(sum);
  }

  // What the row adds to the bounds; p is still without dropout.
  void Bound(std::int64_t row, std::int64_t n, double depth, double lse, double norm_o, double largest_k, double largest_v,
             const OneKey& one, const double* p, const double* ds) const {
    const bool dropout = g_.dropout > 0;
    const double u = numerics::kUnit;
    const double rho = WeightError(g_.d, std::fabs(g_.scale) * w_.q_norms[row] * largest_k, lse);
    const double keep = dropout ? KeepFactor(g_) : 1.0;
    const GradientBound bound = n == 1 ? BoundOneKey(rho, g_.scale, g_.d, w_.do_norms[row], one.difference, one.kept)
                                       : BoundGradient(rho, g_.scale, g_.d, keep, w_.do_norms[row], norm_o, largest_v);
    w_.dq_factors[row] = ((depth * u + bound.of_gradient) * NormOf(ds, n) + bound.of_weight * NormOf(p, n)) * kSlack;
    const double of_gradient = blocks_.depth * u + bound.of_gradient;
    const double of_kept = blocks_.depth * u + OfComputed(Dropped(rho, dropout));
    for (std::int64_t j = 0; j < n; ++j) {
      const double f = of_gradient * std::fabs(ds[j]) + bound.of_weight * p[j];
      const double kept = of_kept * (dropout ? p[j] * w_.keep[j] : p[j]);
      w_.f_squares[j] += f * f;
      w_.h_squares[j] += kept * kept;
    }
  }

  // Rounds dk or dv: the norm of a key's weights times that of a column.
  void Finish(const Output& output, double* total, const double* weights, double* columns) const {
    for (std::int64_t c = 0; c < g_.d; ++c) columns[c] = std::sqrt(columns[c]);
    for (std::int64_t j = 0; j < g_.tk; ++j) {
      const double factor = std::sqrt(weights[j]) * kSlack;
      for (std::int64_t c = 0; c < g_.d; ++c) w_.e[c] = WithFloor(factor * columns[c]);
      output.Put(total + j * g_.d, bounds_ ? w_.e : nullptr, g_.d, g_.KeyRow(b_, j, head_));
    }
  }

  const KernelArgs& args_;
  const Geometry& g_;
  const QueryBlocks& blocks_;
  std::span<const Output> outputs_;
  const Blas& blas_;
  const Workspace& w_;
  const std::int64_t b_, head_;
  const numerics::DrawKey key_;
  bool bounds_ = false;
};

}  // namespace

void Run_attention_grad(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  for (std::size_t k : {kQ, kK, kV, kO, kLse, kDo}) {
    if (!AllFinite(args.In<float>(k), args.in_type(k).elements())) return RunFormula(args, outputs, context);
  }
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(kQ).shape, args.in_type(kK).shape);
  const QueryBlocks blocks(g);
  const std::size_t bytes = Workspace(Cutter(), g, blocks.rows).bytes;
  context.pool().ParallelFor(g.batch * g.hkv, 1, [&](std::int64_t begin, std::int64_t end, int worker) {
    const Workspace work(Cutter(context.Scratch(worker, bytes)), g, blocks.rows);
    for (std::int64_t item = begin; item < end; ++item) {
      KeyHead(args, g, blocks, outputs, context.blas(), work, item / g.hkv, item % g.hkv).Run();
    }
  });
}

}  // namespace assay::rounded
