// PairedBackend: a OpenBLAS backend in one of two processes that run the same steps op by op. The leader shows each op's results to the follower, who
// compares its own with them and goes on with the leader's, so that both compute every op from the same inputs.
//
// An op's results lie in the channel's memory one after the other: values, bounds, what they were rounded to; those without bounds only the last.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "assay/backend/host.h"
#include "assay/backend/openblas/output.h"
#include "channel.h"
#include "differences.h"

namespace assay::observe {

enum class Role { kLeader, kFollower };

// What the op takes in the channel.
std::size_t ChannelBytes(const OpInstance& op);

class PairedBackend final : public Backend {
 public:
  // All must outlive it. The backend is one that was made with these hooks.
  PairedBackend(HostBackend& backend, rounded::TestHooks& hooks, Role role, Channel& channel);
  ~PairedBackend() override;

  const std::map<std::string, Differences>& differences() const { return differences_; }  // of the follower

  // Ends the process if the other one is gone.
  void Run(const KernelArgs& args) override;
  void RunGroup(const Group& group) override;

  std::string_view name() const override { return backend_.name(); }
  MemorySpace& memory() override { return backend_.memory(); }
  bool in_place() const override { return backend_.in_place(); }
  std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors) override { return backend_.TensorRoots(tensors); }
  void QueueLeafHashes(ByteSpan tensor) override { backend_.QueueLeafHashes(tensor); }
  std::vector<Digest> TakeLeafHashes() override { return backend_.TakeLeafHashes(); }
  std::unique_ptr<Recording> Record(const std::function<void()>&) override { return nullptr; }
  void Wait() override {}
  rounding::Rounder* rounder() override { return backend_.rounder(); }
  HostBackend* AsHost() override { return &backend_; }

 private:
  struct Shown {
    double *y = nullptr, *e = nullptr;  // null where there is no bound
    char* rounded = nullptr;
    std::int64_t elements = 0;
    std::size_t bytes = 0;  // of rounded
  };
  static std::vector<Shown> Lay(const OpInstance& op, char* memory, std::size_t& used);
  void See(std::size_t output, std::int64_t at, std::span<const double> y, std::span<const double> e);
  void Adopt(const KernelArgs& args);

  HostBackend& backend_;
  rounded::TestHooks& hooks_;
  const Role role_;
  Channel& channel_;
  std::vector<Shown> shown_;  // by the op that runs
  std::atomic<std::int64_t> seen_ = 0;
  std::mutex mutex_;  // of what follows while an op runs
  Differences op_;
  std::map<std::string, Differences> differences_;
};

}  // namespace assay::observe
