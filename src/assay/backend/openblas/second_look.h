// SecondLook: where a log that is examined says something else than would have been written here, the element is evaluated again in double-double and held
// against the log by the test that disputes apply (rounding/by_log.h). Made before the op runs: an elementwise op may write over its inputs, and the look
// needs them.
//
// The arguments must outlive it. Not synchronised; the look itself uses the pool's threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"
#include "assay/rounding/rounder.h"
#include "assay/tensor/memory_space.h"

namespace assay::rounded {

class SecondLook {
 public:
  // `kept`: memory for inputs that the op writes over, reused from op to op.
  SecondLook(const KernelArgs& args, std::vector<Allocation>& kept);

  // After the op: refuses the first doubt of the rounder that does not hold; of a log that is amended all of them, whose elements are rounded as they are here. `firsts`: the positions of the outputs' first elements, where they have any.
  void Settle(rounding::Rounder& rounder, std::span<const std::optional<std::uint64_t>> firsts, ThreadPool& pool) const;

 private:
  const KernelArgs& args_;
  std::vector<const void*> in_;
};

}  // namespace assay::rounded
