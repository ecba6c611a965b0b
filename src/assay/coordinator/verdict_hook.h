// VerdictHook: tells a program of the operator's how orders ended: `assay serve --on-verdict COMMAND` (docs/PLATFORM.md, "Deposits and payments").
//
// Every decision leaves a row in the transaction that makes it (BookOptions::announce_verdicts). A thread starts the command with the verdict as one line of JSON on
// its standard input; when it ends with status 0 the row goes, otherwise it is started again later. So it is told after the decision is durable, at least once, and
// perhaps more often, after a crash for instance: it has to remember the orders that it has seen. Of several coordinators one at a time tells of an order. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "assay/coordinator/bell.h"
#include "assay/coordinator/book.h"
#include "assay/coordinator/stillness.h"
#include "assay/store/clock.h"
#include "assay/store/database.h"

namespace assay::coordinator {

struct VerdictHookOptions {
  std::string command{};               // for /bin/sh -c
  std::int64_t timeout_ms = 60'000;    // after which the command is killed
  std::int64_t retry_ms = 10'000;      // after a failure
  std::int64_t look_ms = 2'000;        // between looks for verdicts where no bell rings
  std::int64_t patience_ms = 120'000;  // after which a coordinator that told of an order and fell silent is taken to be gone
  std::shared_ptr<store::Clock> clock = store::SystemClock();
  std::function<void(const std::string& line)> log{};
};

class VerdictHook {
 public:
  // All must outlive it.
  VerdictHook(store::Database& database, Book& book, Bell& bell, VerdictHookOptions options);
  ~VerdictHook();  // waits for the command that is running
  VerdictHook(const VerdictHook&) = delete;
  VerdictHook& operator=(const VerdictHook&) = delete;

 private:
  void Run();
  // The order of a row that nobody has taken, or whose holder is gone; it is taken.
  Result<std::string> Take();
  Status Tell(const std::string& order);
  Status Remove(const std::string& order);
  Status Leave(const std::string& order);

  store::Database& database_;
  Book& book_;
  Bell& bell_;
  const VerdictHookOptions options_;
  const std::string holder_;
  Stillness stillness_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// What the command is told: one line of JSON, ended by a line feed.
std::string VerdictText(const life::Life& life, const std::string& account);

// Runs the command with `input` on its standard input. An error: it did not end with status 0 in time; it and what it started are killed then.
Status RunCommand(const std::string& command, const std::string& input, std::int64_t timeout_ms);

}  // namespace assay::coordinator
