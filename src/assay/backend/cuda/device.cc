// Errors, memory and what launchers share.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "assay/backend/cuda/cuda.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/memory.h"
#include "assay/base/allowance.h"

namespace assay::cuda {
namespace {

// How much is allocated, and was at most.
class Ledger {
 public:
  void Add(void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_[data] = bytes;
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  void Remove(void* data) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(data);
    if (found == sizes_.end()) return;
    now_ -= found->second;
    sizes_.erase(found);
  }
  std::size_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t now_ = 0, peak_ = 0;
};

Ledger& TheLedger() {
  static Ledger ledger;
  return ledger;
}

std::string AmountOf(std::size_t bytes) { return Amount(static_cast<std::int64_t>(bytes)); }

}  // namespace

void* Allocate(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, std::max<std::size_t>(bytes, 1));
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // it would be reported by the next launch
    std::size_t free = 0, total = 0;
    static_cast<void>(cudaMemGetInfo(&free, &total));
    throw OutOfMemory(fmt::format("out of GPU memory: {} more are needed, {} of {} are free", AmountOf(bytes), AmountOf(free),
                                  AmountOf(total)));
  }
  Check(status, "allocating GPU memory");
  TheLedger().Add(data, bytes);
  return data;
}

void Release(void* data) noexcept {
  TheLedger().Remove(data);
  static_cast<void>(cudaFree(data));
}

void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw DeviceError(fmt::format("GPU: {}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status)));
}

void CheckLaunch(const char* kernel) { Check(cudaGetLastError(), kernel); }

Context::Context(cudaStream_t stream, const cudaDeviceProp& device, const Tuning& tuning)
    : stream_(stream),
      multiprocessors_(device.multiProcessorCount),
      max_shared_bytes_(device.sharedMemPerBlockOptin),
      tuning_(tuning) {}

Context::~Context() {
  if (scratch_ != nullptr) Release(scratch_);
  for (void* piece : recorded_) Release(piece);
}

void* Context::Scratch(std::size_t bytes) {
  if (scratch_ == nullptr || bytes > scratch_bytes_) {
    if (scratch_ != nullptr && in_recording_) recorded_.push_back(scratch_);
    if (scratch_ != nullptr && !in_recording_) Release(scratch_);
    scratch_ = nullptr;
    scratch_ = Allocate(bytes);
    scratch_bytes_ = bytes;
    in_recording_ = false;
  }
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  Check(cudaStreamIsCapturing(stream_, &status), "asking whether a step is being recorded");
  if (status != cudaStreamCaptureStatusNone) in_recording_ = true;
  return scratch_;
}

void* DeviceMemory::Allocate(std::size_t bytes) { return cuda::Allocate(bytes); }
void DeviceMemory::Free(void* data) noexcept { Release(data); }

std::size_t PeakBytes() { return TheLedger().peak(); }

void DeviceMemory::Zero(void* data, std::size_t bytes) {
  if (bytes != 0) Check(cudaMemsetAsync(data, 0, bytes, stream_), "clearing GPU memory");
}

void DeviceMemory::CopyIn(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copying to the GPU");
  // Pageable memory has been read when the call returns only if the copy was staged; the caller may change it at once.
  Check(cudaStreamSynchronize(stream_), "copying to the GPU");
}

void DeviceMemory::CopyOut(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copying from the GPU");
  Check(cudaStreamSynchronize(stream_), "computing on the GPU");
}

void DeviceMemory::CopyInside(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0 && to != from)
    Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copying on the GPU");
}

}  // namespace assay::cuda
