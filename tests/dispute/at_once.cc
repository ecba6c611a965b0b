#include "at_once.h"

#include <algorithm>
#include <deque>

#include "assay/base/check.h"

namespace assay::dispute {

Record PlayAtOnce(std::shared_ptr<const Law> law, std::vector<Claim> claims, const std::vector<Says>& says) {
  Referee referee(std::move(law), std::move(claims), {.allowance_ms = 1000, .rerun_ms = 0, .patience_ms = 10});
  std::deque<Answered> messages;
  std::int64_t now_ms = 0;
  const auto feed = [&](const Event& event) {
    for (const Action& action : referee.Handle(event)) {
      const auto* send = std::get_if<Send>(&action);
      if (send == nullptr) continue;
      for (Bytes& message : says[send->provider](send->question, DecodeQuestion(send->question)->question)) {
        messages.push_back({send->provider, HashBytes(send->question), std::move(message), 0});
      }
    }
  };
  feed(Started{now_ms});
  while (!referee.done()) {
    if (messages.empty()) {
      const auto wake = referee.WakeAt();
      ASSAY_CHECK(wake.has_value());
      now_ms = std::max(now_ms, *wake);
      feed(Tick{now_ms});
      continue;
    }
    Answered message = std::move(messages.front());
    messages.pop_front();
    message.now_ms = now_ms;
    feed(message);
  }
  return referee.record();
}

}  // namespace assay::dispute
