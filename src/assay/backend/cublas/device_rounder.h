// DeviceRounder: makes the sinks of a step's results, and tells the Rounder at the end of the step what came of them on the device.
#pragma once

#include <memory>
#include <vector>

#include "assay/backend/cublas/decision_fetcher.h"
#include "assay/backend/cublas/kernels.h"
#include "assay/rounding/rounder.h"
#include "assay/tensor/memory_space.h"

namespace assay::cublas {

class DeviceRounder final : public rounding::RoundedElsewhere {
 public:
  // Both must outlive it; it unhooks itself from the rounder.
  DeviceRounder(rounding::Rounder& rounder, MemorySpace& memory, cudaStream_t stream);
  ~DeviceRounder() override;

  // Where the outputs of an op go. `rounds`: results other than exact ones have positions. The sinks hold until the next op.
  std::vector<Sink> SinksFor(const KernelArgs& args, bool rounds);

  const numerics::Grid& grid() const { return rounder_.grid(); }

  // Throws DeviceError where there were more decisions than there is room for.
  void Finish(rounding::Rounder& rounder) override;

 private:
  void BeginStep();
  void BeginFollow();
  void Follow(Sink& sink, std::int64_t elements) const;
  // Memory that the device copies from and to at full speed. What was in it is lost.
  rounding::Decision* Staged(std::size_t count);

  rounding::Rounder& rounder_;
  MemorySpace& memory_;
  cudaStream_t stream_;
  std::uint64_t step_ = 0;  // of the rounder, for which the memory below is prepared
  std::int64_t ops_ = 0;    // of the step so far
  Allocation tally_, taken_, decisions_, flags_;
  std::unique_ptr<rounding::Decision, void (*)(void*)> staged_;
  std::size_t staged_count_ = 0;
  DecisionFetcher fetcher_;  // of a step that is recorded
};

// values[i] = grid.Round(values[i]), on the device.
void RoundInPlace(const numerics::Grid& grid, float* values, std::int64_t n, cudaStream_t stream);

}  // namespace assay::cublas
