// The products of a layer, for the benchmarks of matmul on the CPU and on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::bench {

struct MatmulCase {
  std::string name;
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
};

// y = x·w and its gradients dx = dy·wᵀ and dw = xᵀ·dy; `tied` weights are stored [n, k].
inline void AddLayer(std::vector<MatmulCase>& cases, const std::string& name, std::int64_t rows, std::int64_t k, std::int64_t n,
                     bool tied) {
  cases.push_back({name + " y", rows, n, k, false, tied});
  cases.push_back({name + " dx", rows, k, n, false, !tied});
  cases.push_back(tied ? MatmulCase{name + " dw", n, k, rows, true, false} : MatmulCase{name + " dw", k, n, rows, true, false});
}

}  // namespace assay::bench
