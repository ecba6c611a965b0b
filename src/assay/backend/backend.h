// Backend: the interface through which the executor runs ops on a device, one by one or in groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "assay/graph/op_def.h"
#include "assay/merkle/sha256.h"
#include "assay/semantics/kernel_args.h"
#include "assay/tensor/memory_space.h"

namespace assay {

// One argument of a node in a group: memory of the backend, or a slot that holds one value for each element while the group runs.
struct GroupArgument {
  static constexpr std::size_t kInMemory = SIZE_MAX;

  char* base = nullptr;  // element 0
  std::size_t slot = kInMemory;
  bool aligned = true;  // element i is read for element i of the group; otherwise the argument is read whole
  std::uint32_t element_bytes = 0;
};

struct GroupNode {
  const OpInstance* op = nullptr;
  std::vector<GroupArgument> in;
  std::vector<GroupArgument> out;
};

// A result that is kept in a slot and written when all nodes have run, because its place is still being read.
struct GroupFlush {
  std::size_t slot = 0;
  char* to = nullptr;
  std::uint32_t element_bytes = 0;
};

// Elementwise nodes with the same number of elements, run element by element, or block by block, in this order. What is only
// used inside the group never reaches memory.
struct Group {
  std::int64_t elements = 0;
  std::vector<GroupNode> nodes;
  std::vector<GroupFlush> flushes;
  std::size_t slots = 0;
};

// Work that a device has recorded and does again when asked, faster than it was asked for the first time.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void Replay() = 0;
};

class HostBackend;
namespace rounding {
class Rounder;
}

// A device that can run ops. Implementations give the same bytes; they differ in speed alone. One call at a time. Operands are in memory();
// work is done in the order asked for, at the latest when the host copies out of that memory.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual MemorySpace& memory() = 0;

  // Runs the whole op. Outputs do not overlap inputs, except that an elementwise op may have an output in the place of an aligned
  // input when in_place() says so.
  virtual void Run(const KernelArgs& args) = 0;
  virtual void RunGroup(const Group& group) = 0;
  virtual bool in_place() const = 0;

  // Hashes what lies in memory(), where it lies (assay/merkle/tree.h). Pieces are aligned to 64 bytes.
  virtual std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors) = 0;
  // Leaf hashes of many pieces, each hashed as it is when it is queued; Take waits, and gives those of all pieces since the last Take, in the
  // order of queueing.
  virtual void QueueLeafHashes(ByteSpan tensor) = 0;
  virtual std::vector<Digest> TakeLeafHashes() = 0;
  // Of one piece, when nothing is queued.
  std::vector<Digest> LeafHashes(ByteSpan tensor) {
    QueueLeafHashes(tensor);
    return TakeLeafHashes();
  }

  // Calls `work`, which only runs ops, and records it. Null where there is nothing to gain; `work` has not been called then.
  virtual std::unique_ptr<Recording> Record(const std::function<void()>& work) = 0;

  // Returns when everything that was asked for is done.
  virtual void Wait() = 0;

  // The most bytes of a device that were in use at one time; 0 where the memory is the host's.
  virtual std::size_t peak_bytes() const { return 0; }
  // What a device has left.
  virtual std::optional<std::size_t> free_bytes() const { return std::nullopt; }

  // For measuring what making digits takes: from here on contractions by digits (attention aside) make those of their operands and leave out the
  // products, or again do both. What they write meanwhile means nothing. False where a backend knows no such difference.
  virtual bool LeaveOutProducts(bool) { return false; }

  // What it rounds results with, if it is one that rounds (docs/ROUNDING.md).
  virtual rounding::Rounder* rounder() { return nullptr; }

  // This backend, if its memory is the host's.
  virtual HostBackend* AsHost() { return nullptr; }
};

}  // namespace assay
