// Forged: a party to a dispute about any job at all, of any size, without a run: every tensor is zero, every tree is made up around that and leads to the roots that it
// should lead to, so all that it says proves itself. A liar differs in one place. Nobody here says the truth; what counts is that a referee comes to an end.
//
// Trees of tensors are never laid out: those of zeros are alike. Not synchronised.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "assay/dispute/answer.h"
#include "assay/dispute/claim.h"
#include "assay/dispute/terms.h"
#include "assay/merkle/hash_tree.h"

namespace assay::dispute {

// The data of which all forged jobs have samples: generated, so that their root needs no bytes.
GeneratedDescriptor ForgedData();
Digest ForgedDataRoot();

// What else a forger does otherwise. Empty: nothing.
struct Forgeries {
  std::function<void(const TreeName& tree, std::uint64_t index, Bytes& leaf)>
      leaf{};                            // of tensors: of their first and last leaf
  std::map<std::int64_t, Bytes> logs{};  // rounding logs by step
  std::function<void(Receipt& receipt)> receipt{};
};

class Forged {
 public:
  // `lie`: the tree whose first leaf is another for this party; none: the honest side of the table. A lie about a node's output or input is one about the trace of
  // its step. `terms` must outlive it.
  Forged(const Terms& terms, std::optional<TreeName> lie, Forgeries forgeries = {})
      : terms_(terms), lie_(lie), forgeries_(std::move(forgeries)) {}

  // Of jobs with at most so many entries and nodes; others take too long to make up.
  static constexpr std::uint64_t kMaxList = 1 << 11;
  static bool CanForge(const Terms& terms);

  Claim MakeClaim();
  Receipt MakeReceipt();
  Result<Bytes> Answer(const Question& question);

 private:
  struct AnswerMaker;
  bool IsTensor(const TreeName& tree) const;
  bool HasLie(const TreeName& tree) const { return lie_ && *lie_ == tree; }
  Bytes Leaf(const TreeName& tree, std::uint64_t index);
  Bytes PlainLeaf(const TreeName& tree, std::uint64_t index);
  Digest Root(const TreeName& tree);
  // The hash over the leaves of a node of the tree.
  Digest Node(const TreeName& tree, LeafSpan span);
  Hashes Prove(const TreeName& tree, LeafSpan range);
  const HashTree& List(const TreeName& tree);
  std::uint64_t SizeOf(const TreeName& tree) const;
  bool IsAfterLie(std::int64_t step) const;

  const Terms& terms_;
  std::optional<TreeName> lie_;
  Forgeries forgeries_;
  std::map<TreeName, std::pair<std::vector<Bytes>, HashTree>> lists_;
  std::map<std::uint64_t, Digest> zeros_;  // hash over so many whole leaves of zeros
};

struct ForgedGames {
  std::size_t played = 0;
  std::size_t convicted = 0;  // of these, those in which somebody was found guilty; the others are undecided
  ForgedGames& operator+=(const ForgedGames& more);
};
// Disputes of every sort about the job, each to its end; none about jobs that cannot be forged. A dispute that does not end is a failed check.
ForgedGames PlayForged(const Terms& terms);

// Small jobs on such data, and what goes with them.
Job SmallMlp();
Job SmallGpt2();
JobInputs ForgedInputs();
Bytes ProgramOf(const Job& job);
// Of one microbatch with this loss and a state that does not change.
Program WithLoss(const std::function<ValueId(GraphBuilder&, ValueId features)>& loss, std::vector<StateSpec> state,
                 TensorType features);

}  // namespace assay::dispute
