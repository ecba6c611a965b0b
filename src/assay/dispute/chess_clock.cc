#include "assay/dispute/chess_clock.h"

#include "assay/base/check.h"

namespace assay::dispute {

void ChessClock::Ask(std::int64_t now_ms, std::int64_t extra_ms) {
  if (unanswered_++ == 0) since_ms_ = now_ms;
  left_ms_ += extra_ms;
}

void ChessClock::Settle(std::int64_t now_ms) {
  ASSAY_CHECK(unanswered_ > 0);
  if (--unanswered_ == 0) left_ms_ -= now_ms - since_ms_;
}

}  // namespace assay::dispute
