#include "assay/store/aside.h"

#include <system_error>

namespace assay::store {

Aside::~Aside() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Aside::Run(const std::function<Status()>& own, const std::function<void()>& other) {
  const bool begun = Begin(other);
  Status done = own();
  if (!begun) {
    other();
    return done;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return work_ == nullptr; });
  taken_ = false;
  return done;
}

bool Aside::Begin(const std::function<void()>& other) {
  const std::lock_guard lock(mutex_);
  if (taken_) return false;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Loop(); });
    } catch (const std::system_error&) {
      return false;
    }
  }
  taken_ = true;
  work_ = &other;
  changed_.notify_all();
  return true;
}

void Aside::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || work_ != nullptr; });
    if (work_ == nullptr) return;
    const std::function<void()>& work = *work_;
    lock.unlock();
    work();
    lock.lock();
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace assay::store
