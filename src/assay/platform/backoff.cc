#include "assay/platform/backoff.h"

#include <algorithm>
#include <random>

namespace assay::platform {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortest(250);
constexpr milliseconds kLongest(10'000);
constexpr milliseconds kLongestAsked(60'000);

}  // namespace

bool Pause::Wait(milliseconds length) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, length, [&] { return cancelled_; });
}

void Pause::Cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

bool Pause::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

Backoff::Backoff(Pause& pause, milliseconds patience)
    : pause_(pause), patience_(patience), since_(std::chrono::steady_clock::now()) {}

bool Backoff::Wait(milliseconds asked) {
  const milliseconds longest = std::min(kLongest, kShortest * (1 << std::min(failures_, 6)));
  ++failures_;
  std::random_device random;
  const auto chance = static_cast<std::int64_t>(random()) % (longest.count() / 2 + 1);
  const milliseconds length = std::max(longest - milliseconds(chance), std::min(asked, kLongestAsked));
  if (std::chrono::steady_clock::now() + length > since_ + patience_) return false;
  return pause_.Wait(length);
}

void Backoff::Reset() {
  failures_ = 0;
  since_ = std::chrono::steady_clock::now();
}

}  // namespace assay::platform
