// Question: what a referee asks a provider about its run (docs/formats/dispute.md). Value types; pure functions.
//
// Everything that a provider commits to is a leaf of some RFC 6962 tree whose size the job fixes. A question is about one such tree: its root where
// no signature binds it yet, some of its inner hashes, or some of its leaves with a proof; or about the samples of a batch, or the parts of one value.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/merkle/frontier.h"
#include "assay/merkle/sha256.h"
#include "assay/semantics/ref/derivation.h"

namespace assay::dispute {

enum class TreeKind : std::uint8_t {
  kLog = 1,          // the run's log; leaves are entries
  kBatches = 2,      // `at` an entry: the batch roots of the steps that it covers, 32 bytes each
  kStates = 3,       // `at` an entry: a StepRecord for each step that it covers
  kTrace = 4,        // `at` a step: a NodeRecord for each node
  kState = 5,        // the state after `at` steps: an entry for each tensor (docs/formats/state.md)
  kStateTensor = 6,  // tensor `index` of that state, in blocks of 4 KiB
  kBatch = 7,        // the batch of step `at`: an entry for each field (docs/formats/data.md)
  kBatchField = 8,   // field `index` of it, all microbatches, in blocks of 4 KiB
  kInput = 9,        // input `index` of node `node` of step `at`, in blocks of 4 KiB
  kOutput = 10,      // output `index` of it
  kRoundings = 11,   // `at` an entry: a RoundingLeaf for the rounding log of each step that it covers
  kWeights = 12,     // an entry for each of the weight tensors that the receipt promises
  kRoundingLog =
      13,  // the rounding log of step `at`, in blocks of 4 KiB; its size is not the job's, but in a leaf of kRoundings
};

// Steps are counted from 1: step s leads from the state after s - 1 steps to that after s. Fields that a kind does not use are 0.
struct TreeName {
  TreeKind kind{};
  std::int64_t at = 0;
  std::uint32_t node = 0;
  std::uint32_t index = 0;
  friend bool operator==(const TreeName&, const TreeName&) = default;
  friend auto operator<=>(const TreeName&, const TreeName&) = default;
};

// The root of a kStates or kTrace tree. Nothing bound it before: members of a group may answer differently.
struct CommitQuestion {
  TreeName tree;
  friend bool operator==(const CommitQuestion&, const CommitQuestion&) = default;
};

// The hashes of Frontier(span, kExpandLevels).
struct ExpandQuestion {
  TreeName tree;
  LeafSpan span;
  friend bool operator==(const ExpandQuestion&, const ExpandQuestion&) = default;
};

// The leaves of these spans, ascending and apart, and a range proof for each.
struct LeavesQuestion {
  TreeName tree;
  std::vector<LeafSpan> spans;
  friend bool operator==(const LeavesQuestion&, const LeavesQuestion&) = default;
};

// The data behind samples [begin, end) of the batch of `step`, proven against the job's data root.
struct SamplesQuestion {
  std::int64_t step = 0;
  std::uint64_t begin = 0, end = 0;
  friend bool operator==(const SamplesQuestion&, const SamplesQuestion&) = default;
};

// The parts of the value at `path` in the derivation of one element of an output. Members of a group may answer differently.
struct PartsQuestion {
  std::int64_t step = 0;
  std::uint32_t node = 0;
  std::uint32_t output = 0;
  std::int64_t element = 0;
  ref::Path path{};
  friend bool operator==(const PartsQuestion&, const PartsQuestion&) = default;
};

using Question = std::variant<CommitQuestion, ExpandQuestion, LeavesQuestion, SamplesQuestion, PartsQuestion>;

inline constexpr int kExpandLevels = 6;             // so that an answer has at most 64 hashes
inline constexpr std::size_t kMaxSpans = 64;        // of one question
inline constexpr std::size_t kMaxLeavesAsked = 64;  // in all spans
inline constexpr std::size_t kMaxPath = 16;
inline constexpr std::size_t kMaxQuestionBytes = 2048;

// Whether a true answer proves itself against what the provider has signed before, so that anyone of a group may give it.
bool ProvesItself(const Question& question);

// The bytes that are sent, hashed and signed over; `dispute` binds them to the job, the claims and this dispute.
Bytes Encode(const Digest& dispute, const Question& question);
struct AddressedQuestion {
  Digest dispute{};
  Question question;
};
// Accepts exactly what Encode writes, within the limits above.
Result<AddressedQuestion> DecodeQuestion(ByteSpan bytes);

// "leaves 3..5 of output 0 of node 17 of step 42"
std::string Describe(const Question& question);

}  // namespace assay::dispute
