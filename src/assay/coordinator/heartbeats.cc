#include "assay/coordinator/heartbeats.h"

namespace assay::coordinator {

Result<LeaseState> Heartbeats::Beat(const std::string& vkey, const std::string& order, life::LeaseNumber lease) {
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  const Book::Beat beat{.point = point, .order = order, .lease = lease};
  const std::int64_t now = clock_->SteadyMs();
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = open_.find(beat); known != open_.end() && now < known->second) {
      beats_.insert(beat);
      return LeaseState::kOpen;
    }
  }
  ASSAY_ASSIGN(const LeaseState state, book_.StateOf(vkey, order, lease));
  const std::lock_guard lock(mutex_);
  if (state == LeaseState::kOpen) {
    open_[beat] = now + kTrustMs;
    beats_.insert(beat);
  } else {
    open_.erase(beat);
  }
  return state;
}

void Heartbeats::Forget(const std::string& order) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](const auto& at) { return at.first.order == order; });
}

Status Heartbeats::Flush() {
  std::set<Book::Beat> beats;
  {
    const std::lock_guard lock(mutex_);
    beats.swap(beats_);
    const std::int64_t now = clock_->SteadyMs();
    std::erase_if(open_, [&](const auto& at) { return at.second <= now; });
  }
  const Status written = book_.RenewAll({beats.begin(), beats.end()});
  if (!written) {
    const std::lock_guard lock(mutex_);
    beats_.merge(beats);
  }
  return written;
}

}  // namespace assay::coordinator
