// Meter: what answering costs a provider that keeps no more than the newest of each sort: a state, the states of one entry, one traced step, one captured node, one batch. It counts as
// RunAccount does, which keeps more where it has room, so this is the most that answering can cost. It knows of one dispute's questions alone: what others ask in between, and what
// has to be done again for that, is not counted. Not synchronised.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "assay/dispute/question.h"
#include "assay/dispute/work.h"

namespace assay::dispute {

class Meter {
 public:
  // Entries are `every` steps apart. `snapshots`: the steps after which there is a state at hand, ascending; null: after each entry.
  Meter(std::int64_t steps, std::int64_t every, std::shared_ptr<const std::vector<std::int64_t>> snapshots = nullptr)
      : steps_(steps), every_(every), snapshots_(std::move(snapshots)) {}

  const Work& work() const { return work_; }
  void Answer(const Question& question);  // whatever it names; what the job does not have costs nothing

 private:
  bool HasStep(std::int64_t step) const { return step >= 1 && step <= steps_; }
  bool HasEntry(std::int64_t entry) const { return entry >= 1 && entry <= (steps_ + every_ - 1) / every_; }
  void Tree(const TreeName& tree, bool content);
  void GoTo(std::int64_t step);
  void State(std::int64_t step);
  void Observe(std::int64_t step);
  void States(std::int64_t entry);
  void Trace(std::int64_t step);
  void Capture(std::int64_t step, std::uint32_t node);
  void Batches(std::int64_t entry);
  void Batch(std::int64_t step);

  std::int64_t steps_, every_;
  std::shared_ptr<const std::vector<std::int64_t>> snapshots_;
  std::optional<std::int64_t> at_, before_;  // states at hand: where it stands, and before the step that was observed last
  std::optional<std::int64_t> states_, trace_, batches_, batch_, state_;
  std::optional<std::pair<std::int64_t, std::uint32_t>> capture_;
  Work work_;
};

}  // namespace assay::dispute
