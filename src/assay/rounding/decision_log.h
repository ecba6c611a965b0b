// The log of a step's decisions as bytes: gaps between positions and the decisions themselves, entropy-coded in segments (docs/formats/rounding.md). Pure functions.
//
// Segments are coded and decoded on the threads of a pool, if there is one; what comes of it is the same.
#pragma once

#include <cstdint>
#include <future>
#include <span>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/rounding/decision.h"
#include "assay/rounding/log_header.h"

namespace assay::rounding {

// `decisions` ascend by position, all below `elements`, which is at most kMaxElements.
Bytes EncodeDecisions(std::span<const Decision> decisions, std::uint64_t elements, ThreadPool* pool = nullptr);

// The same for decisions that come a few at a time: what fills a segment is coded at once, by a thread of its own.
class DecisionLogWriter {
 public:
  // They ascend, and beyond those before.
  void Add(std::span<const Decision> decisions);
  std::uint64_t count() const { return count_; }
  // What EncodeDecisions gives for all of them. Nothing can be added then.
  Bytes Finish(std::uint64_t elements);

 private:
  void Code(std::vector<Decision> segment);

  std::vector<std::future<Bytes>> coded_;
  std::vector<std::uint64_t> firsts_;  // positions
  std::vector<Decision> pending_;      // not coded yet
  std::uint64_t count_ = 0;
};

struct DecisionLog {
  std::uint64_t elements = 0;  // with a bound, in the whole step
  std::vector<Decision> decisions;
};
// Accepts exactly what EncodeDecisions writes. Bytes may come from anyone: memory is at most some hundred times their number (a decision takes at least a bit).
Result<DecisionLog> DecodeDecisions(ByteSpan bytes, std::string_view what, ThreadPool* pool = nullptr);

}  // namespace assay::rounding
