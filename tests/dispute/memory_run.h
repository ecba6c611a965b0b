// MemoryRun: a whole run of a small job kept in memory, every tensor of every step, as an account of it for disputes. Lies are hooks into the training and into what is said about it
// afterwards; whatever they do, the run commits to it and answers by it, so a liar is as consistent as a liar can be.
//
// Steps run op by op on the reference backend. Not synchronised; answers are computed from what is stored, so the same question gets the same answer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/dispute/account.h"
#include "assay/dispute/claim.h"
#include "assay/dispute/leaf_records.h"
#include "assay/dispute/terms.h"
#include "assay/run/log.h"
#include "assay/train/stepper.h"

namespace assay::dispute {

// What a trainer does other than the job says. Steps are counted from 1. Empty hooks are honest.
struct Lies {
  std::function<void(State& state)> start{};
  std::function<void(std::int64_t step, StepPlan& plan)> plan{};
  std::function<void(std::int64_t step, std::int64_t microbatch, std::span<Tensor> fields)> batch{};  // what is trained on
  bool admits_batches = false;  // commits to what it trained on; otherwise to the job's batches
  // The outputs of a node, just computed; later nodes read what it leaves there.
  std::function<void(std::int64_t step, std::size_t node, std::span<const std::span<std::uint8_t>> outputs)> node{};
  std::function<void(std::int64_t step, State& after)> after{};
  std::function<void(std::int64_t step, std::uint32_t& loss_bits)> loss{};
  // What is said about a node.
  std::function<void(std::int64_t step, NodeRecord& record)> record{};
  std::function<void(LogEntry& entry)> entry{};
  std::function<void(std::vector<Bytes>& weights)> weights{};  // what is delivered, in the order of the terms' weights
  std::function<void(Receipt& receipt)> receipt{};
  // The leaves of a tree that is asked about. What commits to it is up to the other lies.
  std::function<void(const TreeName& tree, std::vector<Bytes>& leaves)> leaves{};
  // Any answer, before it is given.
  std::function<void(const Question& question, Result<Bytes>& body)> answer{};
};

class MemoryRun : public Account {
 public:
  // `prepared` must outlive it.
  MemoryRun(const PreparedJob& prepared, const SigningKey& key, Lies lies);

  const Bytes& job() const override { return job_; }
  const Bytes& program() const override { return program_; }
  const std::string& receipt() const override { return receipt_; }
  Result<std::shared_ptr<const HashTree>> Tree(const TreeName& tree) override;
  Result<Bytes> Leaf(const TreeName& tree, std::uint64_t index) override;
  Result<SamplesAnswer> Samples(const SamplesQuestion& question) override;
  Result<std::vector<ref::Value>> Parts(const PartsQuestion& question) override;

  // AnswerFrom, with the lie about answers.
  Result<Bytes> Answer(const Question& question);

  const Terms& terms() const { return *terms_; }
  const std::vector<LogEntry>& entries() const { return log_; }

 private:
  struct StoredStep {
    std::vector<Bytes> before, after;         // state tensors
    std::vector<std::vector<Bytes>> used;     // by microbatch and batch input: what was trained on
    std::vector<std::vector<Bytes>> said;     // the same, what is committed to
    std::vector<std::vector<Bytes>> outputs;  // by node
    StepPlan plan;
    std::uint32_t loss_bits = 0;
    Digest after_root{}, batch_root{};
    std::vector<NodeRecord> records;
  };
  void RunStep(std::int64_t step, StepRunner& runner, State& state);
  void Commit(const SigningKey& key);
  Bytes InputBytes(const StoredStep& step, std::size_t node, std::size_t input) const;
  Bytes FieldBytes(const StoredStep& step, std::size_t field) const;
  Digest StateRootOf(const std::vector<Bytes>& state) const;
  Result<std::vector<Bytes>> LeavesOf(const TreeName& tree);

  const PreparedJob& prepared_;
  Lies lies_;
  Bytes job_, program_;
  std::string receipt_;
  std::unique_ptr<Terms> terms_;
  std::vector<Bytes> start_;
  std::vector<Bytes> weights_;  // delivered
  std::vector<StoredStep> steps_;
  std::vector<LogEntry> log_;
  std::map<std::string, std::pair<std::shared_ptr<const HashTree>, std::vector<Bytes>>> trees_;
};

}  // namespace assay::dispute
