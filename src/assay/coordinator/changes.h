// Changes: who in this process wants to know that something has happened to an order. Listeners are added before anything happens, and must not wait. Thread safe.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace assay::coordinator {

class Changes {
 public:
  using Listener = std::function<void(const std::string& order)>;
  void Listen(Listener listener) {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(std::move(listener));
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    listeners_.clear();
  }
  void Tell(const std::string& order) {
    const std::lock_guard lock(mutex_);
    for (const Listener& listener : listeners_) listener(order);
  }

 private:
  std::mutex mutex_;
  std::vector<Listener> listeners_;
};

}  // namespace assay::coordinator
