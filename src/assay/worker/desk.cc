#include "assay/worker/desk.h"

#include <algorithm>

namespace assay::worker {
namespace {

constexpr std::int64_t kPollMs = 25'000;
constexpr std::int64_t kChallengeMs = 2'000;  // a lease of an order that is held does not end a poll before its time
constexpr std::size_t kMaxHolding = 256;

}  // namespace

WorkRequest Desk::Request(const std::vector<std::string>& held) {
  WorkRequest request{.wait_ms = !asked_before_          ? 0
                                 : refuted_ && !working_ ? kChallengeMs
                                                         : kPollMs,
                      .fresh = !(once_ && first_) || refuted_};
  std::set<std::string> wanted;  // in any case
  if (working_) wanted.insert(working_->order);
  if (once_ && first_) wanted.insert(*first_);
  std::vector<std::string> others;
  for (const std::string& order : held) {
    if (!wanted.contains(order)) others.push_back(order);
  }
  request.holding.assign(wanted.begin(), wanted.end());
  if (offset_ >= others.size()) offset_ = 0;
  const std::size_t count = std::min(others.size(), kMaxHolding - wanted.size());
  for (std::size_t i = 0; i < count; ++i) request.holding.push_back(others[(offset_ + i) % others.size()]);
  offset_ += count;
  return request;
}

Desk::Steps Desk::Take(const WorkReply& reply) {
  asked_before_ = true;
  Steps steps;
  for (const LeaseName& lease : reply.cancelled) {
    if (working_ == lease) {
      steps.stop = lease;
    } else {
      steps.drop.push_back(lease);
    }
  }
  for (const std::string& order : reply.decided) {
    if (!working_ || working_->order != order) {
      steps.forget.push_back(order);
      if (once_ && first_ == order && !working_) steps.end = true;
    } else {
      steps.stop = working_;
    }
  }
  for (const Question& question : reply.questions) {
    if (asked_.insert(question.id).second) steps.questions.push_back(question);
  }
  if (working_ && reply.lease && reply.lease->name != *working_) steps.stop = working_;
  if (!working_ && !steps.end) {
    steps.abandon_unfinished = true;
    if (reply.lease) {
      working_ = reply.lease->name;
      steps.begin = reply.lease;
      refuted_ = false;
      if (!first_) first_ = reply.lease->name.order;
    }
  }
  return steps;
}

void Desk::Ended(WorkEnd end) {
  working_.reset();
  refuted_ = end == WorkEnd::kRefuted;
}

}  // namespace assay::worker
