// Account: one party's account of its own run, as far as it can be asked about it. The honest one (run_account.h) re-runs training from the nearest snapshot; what
// liars do in tests are other accounts.
//
// Not synchronised. Steps and trees are named as in question.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/dispute/answer.h"
#include "assay/dispute/meter.h"
#include "assay/dispute/question.h"
#include "assay/merkle/hash_tree.h"

namespace assay::dispute {

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
  virtual Work work() const { return {}; }  // what answering has cost so far
  // For a dispute that begins. None: what it costs is read off work().
  virtual std::optional<Meter> NewMeter() const { return std::nullopt; }
};

// The body of the answer to a question, from an account. An error: it has to be refused.
Result<Bytes> AnswerFrom(Account& account, const Question& question);

}  // namespace assay::dispute
