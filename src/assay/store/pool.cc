#include "assay/store/pool.h"

namespace assay::store {

Pool::Pool(int places, SessionFactory open, std::unique_ptr<Session> first) : free_places_(places), open_(std::move(open)) {
  if (first != nullptr) idle_.push_back(std::move(first));
}

Attempt<Pool::Loan> Pool::Take(std::int64_t wait_ms) {
  std::unique_ptr<Session> session;
  {
    std::unique_lock lock(mutex_);
    if (!returned_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return free_places_ > 0; })) {
      return tl::unexpected(Fault{{"every connection was in use", true}, Fault::Kind::kConflict});
    }
    --free_places_;
    if (!idle_.empty()) {
      session = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  // Opened outside the lock, since that takes time; the place is held meanwhile.
  if (session == nullptr) {
    auto opened = open_();
    if (!opened) {
      Return(nullptr);
      return tl::unexpected(std::move(opened).error());
    }
    session = std::move(*opened);
  }
  return Loan(*this, std::move(session));
}

void Pool::Return(std::unique_ptr<Session> session) {
  {
    const std::lock_guard lock(mutex_);
    if (session != nullptr) idle_.push_back(std::move(session));
    ++free_places_;
  }
  returned_.notify_one();
}

}  // namespace assay::store
