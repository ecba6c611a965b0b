// Account: one party's account of its own run, as far as it can be asked about it. The honest one (run_account.h) re-runs training from the nearest snapshot; what
// liars do in tests are other accounts.
//
// Not synchronised. Steps and trees are named as in question.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/dispute/answer.h"
#include "assay/dispute/question.h"
#include "assay/merkle/hash_tree.h"

namespace assay::dispute {

// What answering has cost so far.
struct Work {
  std::int64_t steps_run = 0;
  std::int64_t steps_traced = 0;
  std::int64_t batches_loaded = 0;
  friend bool operator==(const Work&, const Work&) = default;
};

class Account {
 public:
  virtual ~Account() = default;

  // What the run is about: the encodings that its job id binds, and the signed receipt.
  virtual const Bytes& job() const = 0;
  virtual const Bytes& program() const = 0;
  virtual const std::string& receipt() const = 0;

  // All nodes of a tree; shared with the account's cache. An error: this run has no such tree, or it cannot be made here.
  virtual Result<std::shared_ptr<const HashTree>> Tree(const TreeName& tree) = 0;
  virtual Result<Bytes> Leaf(const TreeName& tree, std::uint64_t index) = 0;
  virtual Result<SamplesAnswer> Samples(const SamplesQuestion& question) = 0;
  virtual Result<std::vector<ref::Value>> Parts(const PartsQuestion& question) = 0;
  virtual Work work() const { return {}; }
};

// The body of the answer to a question, from an account. An error: it has to be refused.
Result<Bytes> AnswerFrom(Account& account, const Question& question);

}  // namespace assay::dispute
