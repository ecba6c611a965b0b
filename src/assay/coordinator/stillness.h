// Stillness: whether something that should move has not moved for a while, by this process's own steady clock.
//
// Coordinators that share a database share no clock, and any of theirs may be wrong or jump. So nothing is dated in the database that ends by time: whoever holds
// a lease moves its counter, and whoever looks on remembers when it saw the counter last move. A process that was started anew has seen nothing yet, and waits
// its time. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace assay::coordinator {

class Stillness {
 public:
  // Whether `counter` of `name` has been this number for `patience_ms`, of which `now_ms`, a steady clock's time, is the end.
  bool Still(const std::string& name, std::int64_t counter, std::int64_t now_ms, std::int64_t patience_ms);
  // Names that have not been asked about for `patience_ms` are forgotten.
  void Forget(std::int64_t now_ms, std::int64_t patience_ms);

 private:
  struct Seen {
    std::int64_t counter = 0;
    std::int64_t since_ms = 0;
    std::int64_t asked_ms = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Seen> seen_;
};

}  // namespace assay::coordinator
