#include "assay/coordinator/heartbeats.h"

namespace assay::coordinator {

Result<LeaseState> Heartbeats::Beat(const std::string& vkey, const std::string& order, life::LeaseNumber lease) {
  const std::tuple name(vkey, order, lease);
  const std::int64_t now = clock_->SteadyMs();
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = open_.find(name); known != open_.end() && now < known->second.until_ms) {
      beats_.insert(known->second.beat);
      return LeaseState::kOpen;
    }
  }
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  const Book::Beat beat{.point = point, .order = order, .lease = lease};
  ASSAY_ASSIGN(const LeaseState state, book_.StateOf(vkey, order, lease));
  const std::lock_guard lock(mutex_);
  if (state == LeaseState::kOpen) {
    open_[name] = {.until_ms = now + kTrustMs, .beat = beat};
    beats_.insert(beat);
  } else {
    open_.erase(name);
  }
  return state;
}

void Heartbeats::See(const std::string& point, bool written) {
  const std::int64_t now = clock_->SteadyMs();
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = seen_.try_emplace(point, now);
  if (!fresh && !written && now - at->second < kSeenMs) return;
  at->second = now;
  if (!written) saw_.insert(point);
}

void Heartbeats::Forget(const std::string& order) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](const auto& at) { return at.second.beat.order == order; });
}

Status Heartbeats::Flush() {
  std::set<Book::Beat> beats;
  std::set<std::string> saw;
  {
    const std::lock_guard lock(mutex_);
    beats.swap(beats_);
    saw.swap(saw_);
    const std::int64_t now = clock_->SteadyMs();
    std::erase_if(open_, [&](const auto& at) { return at.second.until_ms <= now; });
  }
  const Status written = book_.RenewAll({beats.begin(), beats.end()});
  const Status noted = book_.Saw({saw.begin(), saw.end()});
  const std::lock_guard lock(mutex_);
  if (!written) beats_.merge(beats);
  if (!noted) saw_.merge(saw);
  return written ? noted : written;
}

}  // namespace assay::coordinator
