#include "assay/coordinator/stillness.h"

namespace assay::coordinator {

bool Stillness::Still(const std::string& name, std::int64_t counter, std::int64_t now_ms, std::int64_t patience_ms) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = seen_.try_emplace(name, Seen{counter, now_ms, now_ms});
  Seen& seen = at->second;
  if (seen.counter != counter) seen = {counter, now_ms, now_ms};
  seen.asked_ms = now_ms;
  return !is_new && now_ms - seen.since_ms >= patience_ms;
}

void Stillness::Forget(std::int64_t now_ms, std::int64_t patience_ms) {
  const std::lock_guard lock(mutex_);
  std::erase_if(seen_, [&](const auto& at) { return now_ms - at.second.asked_ms >= patience_ms; });
}

}  // namespace assay::coordinator
