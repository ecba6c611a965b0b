#include "assay/coordinator/rate.h"

#include <algorithm>

namespace assay::coordinator {

RateLimit::Bucket& RateLimit::Refilled(const std::string& name, std::int64_t now_ms) {
  if (buckets_.size() >= kMostNames && !buckets_.contains(name)) {
    // A bucket that is full again is as good as none.
    std::erase_if(buckets_, [&](const auto& at) {
      return at.second.left + per_second_ * static_cast<double>(now_ms - at.second.at_ms) / 1000 >= burst_;
    });
    if (buckets_.size() >= kMostNames) buckets_.erase(buckets_.begin());
  }
  const auto [at, is_new] = buckets_.try_emplace(name, Bucket{burst_, now_ms});
  Bucket& bucket = at->second;
  if (!is_new && now_ms > bucket.at_ms) {
    bucket.left = std::min(burst_, bucket.left + per_second_ * static_cast<double>(now_ms - bucket.at_ms) / 1000);
    bucket.at_ms = now_ms;
  }
  return bucket;
}

int RateLimit::Wait(const Bucket& bucket) const {
  if (bucket.left >= 1) return 0;
  return 1 + static_cast<int>(std::min(3600.0, (1 - bucket.left) / per_second_));
}

int RateLimit::Take(const std::string& name, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  Bucket& bucket = Refilled(name, now_ms);
  const int wait = Wait(bucket);
  if (wait == 0) bucket.left -= 1;
  return wait;
}

int RateLimit::Look(const std::string& name, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  return Wait(Refilled(name, now_ms));
}

}  // namespace assay::coordinator
