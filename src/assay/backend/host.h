// HostBackend: what backends that compute on the CPU share. Groups run block by block on the threads of a pool.
#pragma once

#include <utility>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"

namespace assay {

class HostBackend : public Backend {
 public:
  // The pool (may be shared) must outlive the backend.
  explicit HostBackend(ThreadPool& pool) : pool_(pool) {}

  // Runs elements [begin, end) of an elementwise op on the calling thread. Aligned inputs and all outputs point at element `begin`;
  // the other inputs point at their element 0.
  virtual void RunElements(const KernelArgs& args, std::int64_t begin, std::int64_t end) = 0;

  MemorySpace& memory() override { return HostMemory(); }
  void RunGroup(const Group& group) override;
  std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors) override;
  void QueueLeafHashes(ByteSpan tensor) override;
  std::vector<Digest> TakeLeafHashes() override { return std::exchange(leaves_, {}); }
  std::unique_ptr<Recording> Record(const std::function<void()>&) override { return nullptr; }
  void Wait() override {}
  HostBackend* AsHost() override { return this; }

  ThreadPool& pool() const { return pool_; }

 private:
  ThreadPool& pool_;
  Allocation scratch_;          // the slots of every thread
  std::vector<Digest> leaves_;  // queued and not yet taken
};

}  // namespace assay
