// ChessClock: the time that one provider has. It runs while at least one question is unanswered, once however many there are. Value type.
#pragma once

#include <cstdint>

namespace assay::dispute {

class ChessClock {
 public:
  // A bout begins with a full allowance whatever was left of the last. No question may be unanswered.
  void Wind(std::int64_t allowance_ms) { left_ms_ = allowance_ms; }
  void Ask(std::int64_t now_ms, std::int64_t extra_ms);
  void Settle(std::int64_t now_ms);  // one question was answered or withdrawn

  bool running() const { return unanswered_ > 0; }
  std::int64_t deadline_ms() const { return since_ms_ + left_ms_; }  // while it runs
  bool Expired(std::int64_t now_ms) const { return running() && now_ms > deadline_ms(); }
  std::int64_t left_ms() const { return left_ms_; }  // when it last stopped, or began to run
  int unanswered() const { return unanswered_; }

 private:
  std::int64_t left_ms_ = 0;
  std::int64_t since_ms_ = 0;
  int unanswered_ = 0;
};

}  // namespace assay::dispute
