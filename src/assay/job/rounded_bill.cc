#include "assay/job/rounded_bill.h"

#include <algorithm>
#include <bit>

#include "assay/job/limits.h"
#include "assay/merkle/tree.h"
#include "assay/ops/narrow.h"
#include "assay/rounding/decision_segment.h"
#include "assay/rounding/log_header.h"

namespace assay {
namespace {

constexpr std::uint64_t kFrame = 128;     // an answer without its body has less
constexpr std::uint64_t kReceipt = 4096;  // more than any has
constexpr std::uint64_t kEntry = 168;     // an entry of a log, a record of a step and a leaf of roundings have less
constexpr std::uint64_t kHash = 32, kExpanded = 64 * kHash, kExpandLevels = 6;
constexpr std::uint64_t kOpenedBlocks = 32;  // of an element that is computed from blocks
constexpr std::uint64_t kChunk = 4096;       // words told by one answer
constexpr std::uint64_t kEntriesAsked = 64;  // by one question
constexpr std::uint64_t kMaxBatchLeaves = static_cast<std::uint64_t>(kMaxBatchSamples) * (kMaxSampleBytes / kLeafBytes + 1);
constexpr std::uint64_t kSampleProofs = 8192;
constexpr std::uint64_t kMaxCompared = 8192;  // beyond that it is for an audit

std::uint64_t Ceil(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }
std::uint64_t Depth(std::uint64_t leaves) { return leaves < 2 ? 0 : static_cast<std::uint64_t>(std::bit_width(leaves - 1)); }

// One answer with so many neighbouring leaves of a tree.
std::uint64_t Leaves(std::uint64_t size, std::uint64_t bytes, std::uint64_t count = 1) {
  return count * (8 + bytes) + (count == 1 ? 1 : 2) * Depth(size) * kHash + kFrame;
}
// Both parties, down to a leaf.
std::uint64_t Descent(std::uint64_t size) { return 2 * Ceil(Depth(size), kExpandLevels) * (kExpanded + kFrame); }

std::uint64_t FloatElements(const OpInstance& op) {
  std::uint64_t elements = 0;
  for (const TensorType& type : op.out) elements += type.dtype == DType::kF32 ? static_cast<std::uint64_t>(type.elements()) : 0;
  return elements;
}

// Receipts; the first and the last entry; the first that differs, one that differs in more than roundings, found by halves, and those before them.
std::uint64_t ToEntry(std::uint64_t entries) {
  const std::uint64_t one = Leaves(entries, kEntry), two = Leaves(entries, kEntry, 2);
  return 2 * kReceipt + 4 * one + Descent(entries) + 4 * two + 2 * (Depth(entries) + 1) * one;
}
// The step in an entry, and its batch.
std::uint64_t ToStep(std::uint64_t covered) { return 2 * (kHash + kFrame) + Descent(covered) + 6 * Leaves(covered, kEntry); }
// The node in a step.
std::uint64_t ToNode(std::uint64_t nodes) { return 2 * (kHash + kFrame) + Descent(nodes); }

// What one party shows of its rounding log: the blocks of the table that a search by halves looks at, which is over once both ends lie in one, and a segment.
std::uint64_t LogOf(std::uint64_t covered, std::uint64_t elements) {
  const std::uint64_t segments = Ceil(elements, rounding::kSegment), table = segments * rounding::LogHeader::kEntryBytes;
  const std::uint64_t most = rounding::LogHeader::kBytes + table + segments * rounding::kMaxSegmentBytes;
  const std::uint64_t blocks = Ceil(most, kLeafBytes), segment_blocks = Ceil(rounding::kMaxSegmentBytes, kLeafBytes) + 1;
  constexpr std::uint64_t kMore = 8;  // the header, neighbours, and entries that lie in two blocks
  return Leaves(covered, kEntry) + (Depth(Ceil(table, kLeafBytes)) + kMore) * Leaves(blocks, kLeafBytes) +
         Leaves(blocks, kLeafBytes, segment_blocks);
}

}  // namespace

RoundedBill::RoundedBill(const Job& job, const Program& program) : program_(program) {
  const auto steps = static_cast<std::uint64_t>(job.steps), every = static_cast<std::uint64_t>(job.commit_every);
  const auto microbatches = static_cast<std::uint64_t>(program.microbatches);
  entries_ = 1 + Ceil(steps, every);
  const std::uint64_t covered = std::min(steps, every);  // steps of one entry
  nodes_ = microbatches * (program.micro.nodes().size() + program.micro.outputs().size()) + program.update.nodes().size();
  std::uint64_t elements = 0, record_bytes = 0;
  for (const Graph* graph : {&program.micro, &program.update}) {
    const std::uint64_t times = graph == &program.micro ? microbatches : 1;
    for (const Node& node : graph->nodes()) {
      const OpInstance op = graph->Instance(node);
      elements = std::min(rounding::kMaxElements, elements + times * FloatElements(op));
      record_bytes = std::max<std::uint64_t>(record_bytes, RecordBytes(op));
    }
  }
  to_node_ = ToEntry(entries_) + ToStep(covered) + ToNode(nodes_);
  logs_ = 2 * LogOf(covered, elements);
  // A batch that differs ends with one sample, an input with the records of both, of a node that it comes from, and with blocks of a batch.
  other_ = to_node_ + 3 * Leaves(nodes_, record_bytes) + 3 * Descent(kMaxBatchLeaves) +
           8 * Leaves(kMaxBatchLeaves, kLeafBytes) + MaxSourceBytes(job) + kSampleProofs;
}

std::uint64_t RoundedBill::Most(const OpInstance& op) const {
  std::uint64_t to_element = 0, opened = 0;
  for (const TensorType& type : op.out) {
    const std::uint64_t leaves = CountLeaves(type.bytes());
    to_element = std::max(to_element, Descent(leaves) + 2 * Leaves(leaves, kLeafBytes));
  }
  for (const TensorType& type : op.in) {
    opened = std::max(opened, kOpenedBlocks * Leaves(CountLeaves(type.bytes()), kLeafBytes));
  }
  const std::uint64_t words = ops::MaxOperandWords(op), chunks = Ceil(words, kChunk);
  const std::uint64_t told = 4 * words + chunks * kFrame + 2 * (chunks * kHash + kFrame);
  return to_node_ + 2 * Leaves(nodes_, RecordBytes(op)) + to_element + std::max(told, opened) + logs_;
}

std::uint64_t RoundedBill::EntriesCompared() const {
  std::uint64_t most = other_;
  for (const Graph* graph : {&program_.micro, &program_.update}) {
    for (const Node& node : graph->nodes()) most = std::max(most, Most(graph->Instance(node)));
  }
  if (most >= kMaxRoundedBytes) return 0;
  const std::uint64_t questions = (kMaxRoundedBytes - most) / (2 * Leaves(entries_, kEntry, kEntriesAsked));
  return std::min(kMaxCompared, questions * kEntriesAsked);
}

}  // namespace assay
