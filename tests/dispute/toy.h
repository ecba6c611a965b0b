// A toy job for the game of many providers: states are numbers, a step is a chain of nodes, a node's output is the sum of two parts that its input gives. Its law has
// the shape of the real one (bisection of logs, of states, of traces; commitments that members of a group may make differently; a value's parts; one value
// recomputed), takes microseconds, and signs with a hash, so that many thousand disputes, and all disputes of a small size, can be played.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/dispute/law.h"
#include "assay/merkle/hash_tree.h"

namespace assay::dispute::toy {

struct Shape {
  std::int64_t steps = 8;
  std::int64_t every = 2;  // divides steps
  std::uint32_t nodes = 4;
  std::uint64_t entries() const { return static_cast<std::uint64_t>(steps / every) + 1; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

enum class Lie : std::uint8_t {
  kNone,
  kOutput,   // a node's output is not what its input gives
  kInput,    // a node was run on something else
  kResult,   // the state after a step is not its last node's output
  kStart,    // the starting state
  kReceipt,  // the receipt names another final state than the log
};
struct Fault {
  Lie lie = Lie::kNone;
  std::int64_t step = 1;              // of those about a step
  std::uint32_t node = 0;             // of those about a node
  std::uint32_t delta = 1;            // odd: the first part is false; even: the second
  std::optional<std::uint32_t> to{};  // of kResult: this very state, however far off it is
};

// What one party says its run was: everything after a fault follows from it. Trees that it was asked about are kept. Not synchronised.
class Run {
 public:
  Run(const Shape& shape, std::vector<Fault> faults);
  const Receipt& receipt() const { return receipt_; }
  std::uint32_t state(std::int64_t steps) const { return states_[static_cast<std::size_t>(steps)]; }
  // The body of its answer; an error: there is no such thing.
  Result<Bytes> Answer(const Question& question) const;

 private:
  const Fault* Has(Lie lie, std::int64_t step, std::uint32_t node) const;
  struct Listed {
    std::vector<Bytes> leaves;
    HashTree tree;
  };
  Result<std::vector<Bytes>> Leaves(const TreeName& tree) const;
  Result<const Listed*> List(const TreeName& tree) const;
  Shape shape_;
  std::vector<Fault> faults_;
  std::vector<std::uint32_t> states_;
  std::vector<std::vector<std::uint32_t>> in_, out_;  // [step][node]
  std::vector<Bytes> log_;
  Receipt receipt_;
  mutable std::map<TreeName, Listed> lists_;
};

// Keys are numbers, and a signature is a hash with the key in it. Nobody is kept from making another's: who plays a liar has to abstain.
VerifyKey KeyOf(std::uint32_t number);
Signature Sign(const Digest& question, ByteSpan body, const VerifyKey& key);
Signature SignAs(std::string_view what, ByteSpan bytes, const KeyPoint& key);  // openings, questions

// A receipt's file. `note` is no part of what it promises.
std::string ReceiptOf(const Run& run, std::uint32_t key, std::uint32_t note = 0);
Result<Claim> OpenReceipt(const std::string& file);
Claim ClaimOf(const Run& run, std::uint32_t key);

std::shared_ptr<const Law> ToyLaw(const Shape& shape, const LawOptions& options);
std::shared_ptr<const Law> ToyLaw(const Shape& shape, std::uint64_t nonce);

}  // namespace assay::dispute::toy
