// Ops by their formulas: the elements of each output in ranges, over the threads of the pool.
#include <algorithm>
#include <vector>

#include "assay/backend/openblas/context.h"
#include "assay/backend/openblas/put.h"
#include "assay/ops/table.h"
#include "assay/rounding/round_values.h"
#include "assay/semantics/rounded/rough.h"

namespace assay::rounded {
namespace {

// What a range is made of: elements that share what a formula computes for a row, or columns that it sums side by side.
struct Unit {
  std::int64_t elements = 1;
  bool costly = false;  // worth a thread of its own
};

Unit UnitOf(const KernelArgs& args, std::size_t output) {
  const TensorType& in = args.in_type(0);
  switch (args.op->def->index) {
    case op::softmax:
    case op::softmax_grad:
    case op::cross_entropy_grad:
    case op::layernorm:
    case op::layernorm_grad_x:
    case op::rmsnorm:
    case op::rmsnorm_grad_x: {
      const std::int64_t rows = in.shape.Product(0, in.shape.rank() - 1);
      const bool of_rows = args.out_type(output).elements() == rows && in.shape.Back(0) != 1;  // a statistic
      return {of_rows ? 1 : in.shape.Back(0), of_rows};
    }
    case op::attention:
    case op::attention_grad: return {args.out_type(output).shape.rank() == 4 ? in.shape.Back(0) : 1, true};
    case op::col_sum:
    case op::layernorm_grad_params:
    case op::rmsnorm_grad_gamma:
    case op::global_avg_pool: return {64, true};
    // A range looks through all ids.
    case op::embedding_grad: return {64 * args.out_type(output).shape.Back(0), true};
    case op::row_sum:
    case op::row_max:
    case op::cross_entropy:
    case op::conv2d:
    case op::conv2d_grad_x:
    case op::conv2d_grad_w:
    case op::matmul: return {1, true};
    default: return {};
  }
}

// Reused by the ranges of a thread.
struct Buffers {
  std::vector<double> plain;
  std::vector<double> rough;
  std::vector<float> rounded;
  std::vector<Near> near;

  // Values, and where rough bounds show whether any is close, those.
  void Fit(std::int64_t size, bool with_rough) {
    const auto n = static_cast<std::size_t>(size);
    if (plain.size() < n) plain.resize(n);
    if (with_rough && rough.size() < n) rough.resize(n);
    if (with_rough && rounded.size() < n) rounded.resize(n);
  }
};

// Elements [range) of an output, computed and not yet written.
class Pending {
 public:
  // `computed`: plain values are in the buffers, and rough bounds where the output takes them.
  Pending(const KernelArgs& args, const Output& output, std::size_t index, Range range, Buffers& buffers, bool computed)
      : output_(output), range_(range), bounds_(output.WantsBounds(range.begin, range.end)), buffers_(buffers) {
    const OpIndex op = args.op->def->index;
    const auto k = static_cast<int>(index);
    const Rough rough = bounds_ && output.TakesRough(range.begin, range.end) && !computed ? RoughOf(op) : nullptr;
    if (!computed && (rough != nullptr || !bounds_)) {
      buffers.Fit(range.size(), rough != nullptr);
      FormulaOf<double>(op)(args, k, range, buffers.plain.data());
      if (rough != nullptr) rough(args, k, range, buffers.plain.data(), buffers.rough.data());
    }
    if (!bounds_) return;
    settled_ = (computed || rough != nullptr) && IsSettled();
    if (settled_) return;
    const auto size = static_cast<std::size_t>(range.size());
    if (buffers.near.size() < size) buffers.near.resize(size);
    FormulaOf<Near>(op)(args, k, range, buffers.near.data());
  }
  void Write() {
    if (settled_) {
      output_.PutSettled(buffers_.rounded.data(), range_.size(), range_.begin);
    } else if (bounds_) {
      PutAll(output_, buffers_.near.data(), range_.size(), range_.begin);
    } else {
      PutAll(output_, buffers_.plain.data(), range_.size(), range_.begin);
    }
  }

 private:
  // Rounds; whether rough bounds show that nothing in the range is close.
  bool IsSettled() {
    double* y = buffers_.plain.data();
    for (std::int64_t i = 0; i < range_.size(); ++i) y[i] += 0.0;  // as Output::Put does
    return !rounding::RoundValuesAndTest(output_.grid(), y, buffers_.rough.data(), range_.size(), buffers_.rounded.data());
  }

  const Output& output_;
  Range range_;
  bool bounds_;
  bool settled_ = false;
  Buffers& buffers_;
};

// Computes those outputs of a range that need no more than plain values and rough bounds, where the op can do that at once. Says which.
std::vector<bool> ComputeTogether(const KernelArgs& args, std::span<const Output> outputs, Range range,
                                  std::vector<Buffers>& buffers) {
  std::vector<bool> computed(outputs.size(), false);
  const Together together = TogetherOf(args.op->def->index);
  if (together == nullptr) return computed;
  bool any = false, rough = false;
  std::vector<double*> y, e;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const bool bounds = outputs[k].WantsBounds(range.begin, range.end);
    computed[k] = !bounds || outputs[k].TakesRough(range.begin, range.end);
    any |= computed[k];
    rough |= bounds && computed[k];
  }
  if (!any) return computed;
  for (Buffers& b : buffers) {
    b.Fit(range.size(), rough);
    y.push_back(b.plain.data());
    if (rough) e.push_back(b.rough.data());
  }
  together(args, range, y, e);
  return computed;
}

void RunOutput(const KernelArgs& args, const Output& output, std::size_t k, ThreadPool& pool) {
  const std::int64_t n = args.out_type(k).elements();
  if (args.out_type(k).dtype != DType::kF32) {
    return pool.ParallelFor(n, 4 * kPutBlock, [&](std::int64_t begin, std::int64_t end, int) {
      RunExact(args, static_cast<int>(k), {begin, end});
    });
  }
  if (n == 0) return;
  const Unit unit = UnitOf(args, k);
  const std::int64_t units = (n + unit.elements - 1) / unit.elements, threads = pool.threads();
  const std::int64_t block = std::max<std::int64_t>(1, kPutBlock / unit.elements);  // units computed at a time
  std::int64_t grain = unit.costly ? 1 : 4 * block;
  grain = std::max(grain, std::min(block, (units + 4 * threads - 1) / (4 * threads)));
  pool.ParallelFor(units, grain, [&](std::int64_t begin, std::int64_t end, int) {
    Buffers buffers;
    for (std::int64_t u = begin; u < end; u += block) {
      const Range range{u * unit.elements, std::min(n, std::min(u + block, end) * unit.elements)};
      Pending(args, output, k, range, buffers, false).Write();
    }
  });
}

}  // namespace

// An elementwise op's outputs may lie where its inputs are: all of a block is computed before any of it is written.
void RunElementsByFormula(const KernelArgs& args, std::span<const Output> outputs, Range range) {
  std::vector<Buffers> buffers(outputs.size());
  for (std::int64_t begin = range.begin; begin < range.end; begin += kPutBlock) {
    const Range block{begin, std::min(begin + kPutBlock, range.end)};
    const std::vector<bool> computed = ComputeTogether(args, outputs, block, buffers);
    std::vector<Pending> pending;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (args.out_type(k).dtype == DType::kF32) {
        pending.emplace_back(args, outputs[k], k, block, buffers[k], computed[k]);
      } else {
        RunExact(args, static_cast<int>(k), block);
      }
    }
    for (Pending& p : pending) p.Write();
  }
}

void RunFormula(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  if (!args.op->def->elementwise) {
    for (std::size_t k = 0; k < outputs.size(); ++k) RunOutput(args, outputs[k], k, context.pool());
    return;
  }
  context.pool().ParallelFor(args.out_type(0).elements(), 4 * kPutBlock, [&](std::int64_t begin, std::int64_t end, int) {
    RunElementsByFormula(args, outputs, {begin, end});
  });
}

}  // namespace assay::rounded
