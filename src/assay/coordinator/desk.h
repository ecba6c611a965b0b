// Desk: requests that wait for something to happen. They hold a connection each, and share one thread, which looks for news when the bell rings and otherwise
// every 200 ms, because another coordinator may have written some.
//
// Each waiter is asked whether the news is for it, and only then looks at the database itself: thousands may wait while little happens. Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "assay/coordinator/book.h"
#include "assay/coordinator/mailbox.h"
#include "assay/coordinator/responder.h"
#include "assay/store/clock.h"

namespace assay::coordinator {

// What has happened since the last time.
struct News {
  bool last = false;                   // the waiter's time is over: it has to answer
  bool wanted = false;                 // there are leases to give, and not the same as before
  std::set<std::string> holders{};     // where leases are wanted: workers (PointOf) that have one, and get no other
  std::set<std::string> addressees{};  // workers (PointOf) that have questions to answer
  std::set<std::string> changed{};     // orders that this process has changed
};

class Desk {
 public:
  // The answer, if the news is any to this waiter. Called by the desk's thread alone, once Wait has returned.
  using Look = std::function<std::optional<Answer>(const News& news)>;

  // All must outlive it.
  Desk(Book& book, Mailbox& mailbox, Bell& bell, std::shared_ptr<store::Clock> clock);
  ~Desk();  // answers everybody who waits as if their time were over
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // `heard`: how often the bell had been rung before the caller looked in vain.
  void Wait(std::int64_t wait_ms, std::uint64_t heard, Responder responder, Look look);
  // Something has happened to the order. Does not wait.
  void Changed(const std::string& order);
  std::size_t waiting();

 private:
  struct Waiter {
    std::int64_t until_ms = 0;
    bool at_once = false;  // something happened before it came
    Responder responder;
    Look look;
  };
  void Run();
  News Gather(std::set<std::string> changed);
  void Serve(const News& news, bool everybody);

  Book& book_;
  Mailbox& mailbox_;
  Bell& bell_;
  const std::shared_ptr<store::Clock> clock_;
  std::mutex mutex_;  // over what follows
  std::list<Waiter> waiters_;
  std::set<std::string> changed_;
  bool ending_ = false;
  std::string wants_;  // as they were the last time; of the desk's thread
  std::thread thread_;
};

}  // namespace assay::coordinator
