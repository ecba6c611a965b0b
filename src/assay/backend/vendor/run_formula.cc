// Ops by their formulas: the elements of each output in ranges, over the threads of the pool.
#include <algorithm>
#include <vector>

#include "assay/backend/vendor/context.h"
#include "assay/backend/vendor/put.h"
#include "assay/backend/vendor/rough.h"
#include "assay/ops/table.h"
#include "assay/rounding/round_values.h"

namespace assay::vendor {
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
};

// Elements [range) of an output, computed and not yet written.
class Pending {
 public:
  Pending(const KernelArgs& args, const Output& output, std::size_t index, Range range, Buffers& buffers)
      : output_(output), range_(range), bounds_(output.WantsBounds(range.begin, range.end)), buffers_(buffers) {
    const OpIndex op = args.op->def->index;
    if (bounds_ && Settles(args, index)) {
      settled_ = true;
      return;
    }
    const auto size = static_cast<std::size_t>(range.size());
    if (bounds_) {
      if (buffers.near.size() < size) buffers.near.resize(size);
      FormulaOf<Near>(op)(args, static_cast<int>(index), range, buffers.near.data());
    } else {
      if (buffers.plain.size() < size) buffers.plain.resize(size);
      FormulaOf<double>(op)(args, static_cast<int>(index), range, buffers.plain.data());
    }
  }
  void Write() {
    if (settled_) {
      output_.PutSettled(buffers_.plain.data(), range_.size(), range_.begin);
    } else if (bounds_) {
      PutAll(output_, buffers_.near.data(), range_.size(), range_.begin);
    } else {
      PutAll(output_, buffers_.plain.data(), range_.size(), range_.begin);
    }
  }

 private:
  // Computes plainly; whether rough bounds show that nothing in the range is close.
  bool Settles(const KernelArgs& args, std::size_t index) {
    const OpIndex op = args.op->def->index;
    const Rough rough = output_.TakesRough() ? RoughOf(op) : nullptr;
    if (rough == nullptr) return false;
    const auto size = static_cast<std::size_t>(range_.size());
    if (buffers_.plain.size() < size) buffers_.plain.resize(size);
    if (buffers_.rough.size() < size) buffers_.rough.resize(size);
    if (buffers_.rounded.size() < size) buffers_.rounded.resize(size);
    FormulaOf<double>(op)(args, static_cast<int>(index), range_, buffers_.plain.data());
    rough(args, static_cast<int>(index), range_, buffers_.plain.data(), buffers_.rough.data());
    return !rounding::RoundValuesAndTest(output_.grid(), buffers_.plain.data(), buffers_.rough.data(), range_.size(),
                                         buffers_.rounded.data());
  }

  const Output& output_;
  Range range_;
  bool bounds_;
  bool settled_ = false;
  Buffers& buffers_;
};

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
      Pending(args, output, k, range, buffers).Write();
    }
  });
}

}  // namespace

// An elementwise op's outputs may lie where its inputs are: all of a block is computed before any of it is written.
void RunElementsByFormula(const KernelArgs& args, std::span<const Output> outputs, Range range) {
  std::vector<Buffers> buffers(outputs.size());
  for (std::int64_t begin = range.begin; begin < range.end; begin += kPutBlock) {
    const Range block{begin, std::min(begin + kPutBlock, range.end)};
    std::vector<Pending> pending;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (args.out_type(k).dtype == DType::kF32) {
        pending.emplace_back(args, outputs[k], k, block, buffers[k]);
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

}  // namespace assay::vendor
