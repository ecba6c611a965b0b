#include "assay/semantics/rounded/formula.h"

#include <array>
#include <cstring>

#include "assay/base/check.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/layout.h"
#include "assay/semantics/rounded/max_pool.h"

namespace assay::rounded {
namespace {

void RunPlacesOfMaxima(const KernelArgs& args, Range range) {
  const ops::PoolGeometry g = ops::PoolGeometryOf(args.attrs(), args.in_type(0).shape, args.out_type(0).shape);
  const float* x = args.In<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    args.Out<std::int32_t>(1)[i] = static_cast<std::int32_t>(MaxOf(g, x, i / g.channels, i % g.channels).pixel);
  }
}

void RunLayout(const KernelArgs& args, Layout layout, Range range) {
  const auto size = static_cast<std::int64_t>(SizeOf(args.out_type(0).dtype));
  char* out = args.Out<char>(0) + range.begin * size;
  ForEachMovedRun(*args.op, layout, range, [&](const MovedRun& run) {
    char* to = out + run.to * size;
    if (run.input == MovedRun::kZeros) {
      std::memset(to, 0, static_cast<std::size_t>(run.length * size));
      return;
    }
    const char* from = args.In<char>(static_cast<std::size_t>(run.input)) + run.from * size;
    for (std::int64_t i = 0; i < run.length; ++i) {
      std::memcpy(to + i * size, from + i * run.step * size, static_cast<std::size_t>(size));
    }
  });
}

}  // namespace

template <class T>
Formula<T> FormulaOf(OpIndex op) {
  static constexpr std::array<Formula<T>, op::kCount> kFormulas = {
#define ASSAY_OP(name, wire_id, version, kind, results) &Formula_##name<T>,
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
  };
  return kFormulas[op];
}

template Formula<double> FormulaOf<double>(OpIndex op);
template Formula<Near> FormulaOf<Near>(OpIndex op);
template Formula<True> FormulaOf<True>(OpIndex op);

void RunExact(const KernelArgs& args, int output, Range range) {
  switch (args.op->def->index) {
    case op::max_pool2d: ASSAY_CHECK(output == 1); return RunPlacesOfMaxima(args, range);
    case op::transpose: return RunLayout(args, Layout::kTranspose, range);
    case op::slice: return RunLayout(args, Layout::kSlice, range);
    case op::pad: return RunLayout(args, Layout::kPad, range);
    case op::concat: return RunLayout(args, Layout::kConcat, range);
    default: CheckFailed("an op whose outputs may hold integers", __FILE__, __LINE__);
  }
}

}  // namespace assay::rounded
