// embedding embedding_grad by definition (docs/NUMERICS.md, section 5).
#include <algorithm>
#include <bit>

#include "assay/numerics/scalar.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/ref.h"
#include "assay/semantics/ref/rows.h"

namespace assay::ref {

void Ref_embedding(const KernelArgs& args, int, Range range) {
  const ops::MatrixView table = ops::LastAxisView(args.in_type(0));
  ForEachRow(range, table.cols, [&](std::int64_t position, std::int64_t begin, std::int64_t end) {
    const std::int32_t id = args.In<std::int32_t>(1)[position];
    float* y = args.Out<float>(0) + position * table.cols;
    if (id < 0 || id >= table.rows) {
      std::fill(y + begin, y + end, std::bit_cast<float>(numerics::kCanonicalNan));
    } else {
      const float* row = args.In<float>(0) + id * table.cols;
      std::copy(row + begin, row + end, y + begin);
    }
  });
}

void Ref_embedding_grad(const KernelArgs& args, int, Range range) {
  const std::int64_t positions = args.in_type(0).elements();
  const std::int64_t cols = args.out_type(0).shape[1];
  const std::int32_t* ids = args.In<std::int32_t>(0);
  const float* dy = args.In<float>(1);
  ForEachRow(range, cols, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    float* acc = args.Out<float>(0) + row * cols;
    std::fill(acc + begin, acc + end, 0.0f);
    for (std::int64_t p = 0; p < positions; ++p) {
      if (ids[p] != row) continue;
      for (std::int64_t c = begin; c < end; ++c) acc[c] = acc[c] + dy[p * cols + c];
    }
  });
}

}  // namespace assay::ref
