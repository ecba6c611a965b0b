// Desk: what a worker does next, by what the coordinator answers and what its own hands report. A state machine without threads, files or network, so that a
// simulation can drive it.
//
// At most one lease is worked on. Questions are handed on once, however often they come. Not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/worker/link.h"

namespace assay::worker {

// How the work under a lease came to its end.
enum class WorkEnd : std::uint8_t {
  kDelivered,  // the run is with the coordinator, and will be answered for
  kReported,   // the audit is
  kRefuted,    // the audit is, and refutes: a challenge may follow
  kOver,       // lost, given back or failed: nothing is kept
  kLeft,       // to be taken up again by a later process
};

class Desk {
 public:
  // `once`: ends when the order of the first lease is decided.
  explicit Desk(bool once) : once_(once) {}

  // `held`: the orders of which something is on disk.
  WorkRequest Request(const std::vector<std::string>& held);

  struct Steps {
    std::optional<GivenLease> begin{};
    std::optional<LeaseName> stop{};    // the work under way: its lease is over
    std::vector<LeaseName> drop{};      // leases that have ended without a result
    std::vector<Question> questions{};  // to be answered
    std::vector<std::string> forget{};  // orders whose files may go
    bool abandon_unfinished = false;    // whatever is unfinished on disk is nobody's any more, but for what is begun here
    bool end = false;                   // nothing is left to do
    bool nothing_new() const { return !begin && !stop && questions.empty() && forget.empty() && !end; }
  };
  Steps Take(const WorkReply& reply);

  void Ended(WorkEnd end);
  void Answered(const std::string& question) { asked_.erase(question); }

  const std::optional<LeaseName>& working() const { return working_; }

 private:
  const bool once_;
  bool asked_before_ = false;
  bool refuted_ = false;    // an audit; its challenge is expected
  std::size_t offset_ = 0;  // where the next part of a long list begins
  std::optional<LeaseName> working_{};
  std::optional<std::string> first_{};  // the order of the first lease
  std::set<std::string> asked_{};       // questions that are being answered
};

}  // namespace assay::worker
