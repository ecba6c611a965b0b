// Aside: a second thread for work that can be done beside the caller's own, for whoever asks first; the others do both themselves, one after the other.
//
// The thread is started when it is first needed, and a machine that gives none is no failure. Thread safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "assay/base/result.h"

namespace assay::store {

class Aside {
 public:
  Aside() = default;
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // Runs both, at the same time where the second thread is free, and returns when both are done. Neither may throw.
  Status Run(const std::function<Status()>& own, const std::function<void()>& other);

 private:
  bool Begin(const std::function<void()>& other);
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;  // what the thread does, or is to do
  bool taken_ = false;                           // somebody waits for the thread's work
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace assay::store
