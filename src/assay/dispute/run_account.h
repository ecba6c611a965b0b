// RunAccount: the account of who has the run directory and the data, and can run its steps again.
//
// Over a whole dispute it runs at most two snapshot intervals of steps and traces two: the steps of one entry, whose states it is asked for; the way to
// the step that is disputed; that step for the hashes of all nodes, and once more for what one node read and wrote. What it keeps is bounded by Limits, beside two
// states and the newest of each sort. Not synchronised.
#pragma once

#include <memory>
#include <optional>

#include "assay/data/provable.h"
#include "assay/dispute/account.h"
#include "assay/dispute/bounded_cache.h"
#include "assay/dispute/docket.h"
#include "assay/dispute/rerunner.h"
#include "assay/dispute/terms.h"
#include "assay/dispute/traced_step.h"

namespace assay::dispute {

class RunAccount : public Account {
 public:
  struct Limits {
    std::size_t states = std::size_t{2} << 30;    // bytes of states kept between the disputed step and the entry before it
    std::size_t traces = std::size_t{512} << 20;  // of the hashes of traced steps
    std::size_t nodes = std::size_t{512} << 20;   // of what single nodes read and wrote
    std::size_t trees = std::size_t{256} << 20;   // of other trees
    std::size_t batches = std::size_t{64} << 20;  // of batches
    static Limits Of(std::size_t bytes);          // all of them together
  };

  // A finished run, its job with the data at hand, and where to run it. `conduct`: how it was run; null: as the job says. All but the limits must outlive it.
  static Result<std::unique_ptr<RunAccount>> Make(const RunDirectory& run, const PreparedJob& prepared, Backend& backend,
                                                  ThreadPool& pool, const Limits& limits, Conduct* conduct = nullptr);

  const Bytes& job() const override { return terms_.job_bytes(); }
  const Bytes& program() const override { return terms_.program_bytes(); }
  const std::string& receipt() const override { return receipt_; }
  Result<std::shared_ptr<const HashTree>> Tree(const TreeName& tree) override;
  Result<Bytes> Leaf(const TreeName& tree, std::uint64_t index) override;
  Result<SamplesAnswer> Samples(const SamplesQuestion& question) override;
  Result<std::vector<ref::Value>> Parts(const PartsQuestion& question) override;
  std::optional<Meter> NewMeter() const override;
  Work work() const override { return rerun_.work(); }

  // What it answers from.
  const RunDirectory& run() const { return site_.run; }
  const RunLog& run_log() const { return log_; }
  const Terms& terms() const { return terms_; }

  // What one bout takes at most, by the snapshots that the run has.
  Result<Budget> Bill() const;
  // The work of it for any run, from the steps between its entries and the most steps between its snapshots or entries.
  static Work BillOf(std::int64_t commit_every, std::int64_t interval);

 private:
  struct Site {
    const RunDirectory& run;
    const PreparedJob& prepared;
    Backend& backend;
    ThreadPool& pool;
  };
  RunAccount(const Site& site, Terms terms, RunLog log, std::string receipt, const Limits& limits, Conduct* conduct);

  // Trees whose leaves are records.
  Result<std::shared_ptr<const Listing>> List(const TreeName& tree);
  Result<std::vector<Bytes>> Records(const TreeName& tree);
  Result<std::vector<Bytes>> LogRecords() const;
  Result<std::vector<Bytes>> BatchRecords(std::int64_t entry);
  Result<std::vector<Bytes>> RoundingRecords(std::int64_t entry);
  Result<std::vector<Bytes>> WeightRecords() const;
  Result<std::vector<Bytes>> StateRecords(std::int64_t entry);
  Result<std::vector<Bytes>> StateEntries(std::int64_t step);
  Result<std::vector<Bytes>> BatchEntries(std::int64_t step);

  // Trees over tensors.
  Result<std::vector<Digest>> TensorLeaves(const TreeName& tree);
  Result<Bytes> RoundingLog(const TreeName& tree);
  Result<const Tensor*> Content(const TreeName& tree);  // until the next call

  Result<std::shared_ptr<const TracedStep>> Traced(std::int64_t step);
  Result<std::shared_ptr<const NodeCapture>> Captured(std::int64_t step, std::uint32_t node);
  Result<const std::vector<Tensor>*> BatchOf(std::int64_t step);  // in the order of the terms' fields

  Site site_;
  Terms terms_;
  RunLog log_;
  std::string receipt_;
  Conduct honest_;
  Rerunner rerun_;
  BoundedCache<TreeName, std::shared_ptr<const Listing>> lists_;
  std::shared_ptr<const Listing> weights_;  // null: the delivered file could not be read
  BoundedCache<TreeName, std::shared_ptr<const HashTree>> trees_;
  BoundedCache<std::int64_t, std::shared_ptr<const TracedStep>> traces_;
  BoundedCache<std::pair<std::int64_t, std::uint32_t>, std::shared_ptr<const NodeCapture>> captures_;
  BoundedCache<std::int64_t, std::vector<Tensor>> batches_;
  std::optional<BatchProver> prover_;
};

}  // namespace assay::dispute
