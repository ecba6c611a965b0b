// LaunchTimer: a backend that measures every launch on a device and otherwise does what the one behind it does.
//
// A launch is recorded several times over and replayed, so that what asking for it costs is left out. Launches in place are repeated in place: the state
// that comes of it is good for timing alone. The backend behind must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/cli/step_parts.h"

namespace assay::cli {

// Launches of the same ops on the same shapes.
struct LaunchTiming {
  std::string what;  // "matmul f32[8192, 768] f32[768, 3072]"
  std::int64_t launches = 0;
  StepPart part = StepPart::kOther;
  double seconds = 0;        // of all of them
  double digit_seconds = 0;  // of these, to make digits of operands
  double flops = 0, bytes = 0;
};

class LaunchTimer final : public Backend {
 public:
  explicit LaunchTimer(Backend& backend) : backend_(backend) {}

  std::string_view name() const override { return backend_.name(); }
  MemorySpace& memory() override { return backend_.memory(); }
  void Run(const KernelArgs& args) override;
  void RunGroup(const Group& group) override;
  bool in_place() const override { return backend_.in_place(); }
  std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors) override { return backend_.TensorRoots(tensors); }
  void QueueLeafHashes(ByteSpan tensor) override { backend_.QueueLeafHashes(tensor); }
  std::vector<Digest> TakeLeafHashes() override { return backend_.TakeLeafHashes(); }
  std::unique_ptr<Recording> Record(const std::function<void()>&) override { return nullptr; }
  void Wait() override { backend_.Wait(); }

  std::vector<LaunchTiming> Timings() const;  // slowest first
  void Reset() { timings_.clear(); }

 private:
  LaunchTiming& Time(const std::string& what, StepPart part, double flops, double bytes, const std::function<void()>& launch);
  double BestSeconds(const std::function<void()>& launch);

  Backend& backend_;
  std::map<std::string, LaunchTiming> timings_;
};

}  // namespace assay::cli
