// The CUDA backend: a kernel for every op, the same bytes as the reference. Compute capability 8.0 and newer.
//
// A build without CUDA has no such backend; a build with it runs on machines without a GPU and says so when one is asked for. What goes wrong on the
// device later (it fell off the bus, a kernel was refused) throws DeviceError; too little memory throws OutOfMemory.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "assay/backend/backend.h"
#include "assay/base/result.h"

namespace assay::cuda {

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::size_t total_bytes = 0, free_bytes = 0;
  int driver_version = 0, runtime_version = 0;  // 13000 is 13.0
};

// The device that MakeCudaBackend takes. An error says what is missing: a GPU, a driver, one that is new enough.
Result<DeviceInfo> FindDevice();

struct Tuning;
// `tuning` is for tests; the default leaves every choice to the launchers.
Result<std::unique_ptr<Backend>> MakeCudaBackend();
Result<std::unique_ptr<Backend>> MakeCudaBackend(const Tuning& tuning);

}  // namespace assay::cuda
