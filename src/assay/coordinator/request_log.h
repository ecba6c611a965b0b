// RequestLog: one line of JSON for every request and every event that an operator should know of. Never a token, a header or a body.
//
// Lines are handed over to a thread, so that a slow disk or a full pipe delays no answer. Where it falls far behind lines are left out, and a line says how many.
// Thread safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "assay/base/result.h"
#include "assay/coordinator/answer.h"

namespace assay::coordinator {

class RequestLog {
 public:
  // `path`: appended to; empty: standard error; "-": nowhere.
  static Result<std::unique_ptr<RequestLog>> Open(const std::string& path);
  ~RequestLog();  // what is waiting is written first
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // `line` is given the time as its first field.
  void Write(const Json& line);
  // {"event": name, "error": what}
  void Event(std::string_view name, std::string_view what);

 private:
  explicit RequestLog(int descriptor, bool owned);
  void Run();

  static constexpr std::size_t kMostWaiting = 16'384;

  const int descriptor_;  // -1: nowhere
  const bool owned_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::uint64_t left_out_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

// Without the secret part of anything that looks like a token.
std::string Redacted(std::string_view text);
// The path of a target, without its query.
std::string LoggedPath(std::string_view target);

}  // namespace assay::coordinator
