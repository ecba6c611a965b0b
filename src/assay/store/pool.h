// Pool: the sessions of a database that are open at a time, each lent to one thread. Thread safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "assay/store/session.h"

namespace assay::store {

class Pool {
 public:
  // At most `places` sessions; one is opened when it is needed for the first time, or when the one in its place was lost.
  Pool(int places, SessionFactory open, std::unique_ptr<Session> first = nullptr);

  // A session that goes back at the end, unless it was dropped.
  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<Session> session) : pool_(&pool), session_(std::move(session)) {}
    Loan(Loan&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), session_(std::move(other.session_)) {}
    Loan& operator=(Loan&&) = delete;
    ~Loan() {
      if (pool_ != nullptr) pool_->Return(std::move(session_));
    }
    Session& session() { return *session_; }
    void Drop() { session_.reset(); }  // it cannot go on

   private:
    Pool* pool_;
    std::unique_ptr<Session> session_;
  };

  // Waits for a place in real time, no longer than `wait_ms`. A fault of kind kConflict where none became free.
  Attempt<Loan> Take(std::int64_t wait_ms);

 private:
  void Return(std::unique_ptr<Session> session);

  std::mutex mutex_;
  std::condition_variable returned_;
  int free_places_;
  std::vector<std::unique_ptr<Session>> idle_;  // as many as there are free places at most
  SessionFactory open_;
};

}  // namespace assay::store
