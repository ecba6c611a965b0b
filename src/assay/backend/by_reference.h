// An op by the reference, on all threads of a pool: what backends on the CPU do where they have nothing faster.
#pragma once

#include <algorithm>

#include "assay/base/thread_pool.h"
#include "assay/semantics/kernel_args.h"
#include "assay/semantics/ref/ref.h"

namespace assay {

inline void RunByReference(const KernelArgs& args, ThreadPool& pool) {
  constexpr std::int64_t kGrain = 1024;
  for (std::size_t k = 0; k < args.out.size(); ++k) {
    const std::int64_t n = args.out_type(k).elements();
    // One range per thread, because a range recomputes the statistics of its rows or columns.
    const std::int64_t grain = std::max(kGrain, (n + pool.threads() - 1) / pool.threads());
    pool.ParallelFor(n, grain, [&](std::int64_t begin, std::int64_t end, int) {
      ref::Compute(args.op->def->index, args, static_cast<int>(k), {begin, end});
    });
  }
}

}  // namespace assay
