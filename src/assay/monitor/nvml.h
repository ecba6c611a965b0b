// Nvml: what NVIDIA's management library tells of the GPU that this process computes on. The library is part of the driver; it is looked for when the program
// runs, and nothing is missing where it is not there.
//
// One caller at a time.
#pragma once

#include <memory>
#include <string>

#include "assay/monitor/record.h"

namespace assay::monitor {

// What does not change of a GPU.
struct GpuIdentity {
  std::string name{}, uuid{};            // empty where it is not told
  std::int64_t memory_total = kNotTold;  // bytes
  std::int64_t index = 0;                // among the machine's
  friend bool operator==(const GpuIdentity&, const GpuIdentity&) = default;
};

class Nvml {
 public:
  // Null where there is no driver or no GPU. `library`: another file than the driver's own, for tests. The GPU is the first that CUDA_VISIBLE_DEVICES names, by its
  // number or its UUID; the first of all where it names none.
  static std::unique_ptr<Nvml> Open(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  const GpuIdentity& identity() const { return identity_; }
  GpuFigures Read() const;

 private:
  struct Calls;
  explicit Nvml(std::unique_ptr<Calls> calls);
  std::unique_ptr<Calls> calls_;
  void* device_ = nullptr;
  GpuIdentity identity_;
};

}  // namespace assay::monitor
