// Server-sent events (text/event-stream of the HTML standard): how they are written, and read from a sender who may send anything.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "assay/base/result.h"

namespace assay {

inline constexpr std::string_view kEventStreamType = "text/event-stream";

struct ServerEvent {
  std::string id{};    // what a reader repeats as Last-Event-ID when it comes back; without line ends
  std::string type{};  // "message" where it is empty; without line ends
  std::string data{};  // line ends are all read as '\n'
  bool operator==(const ServerEvent&) const = default;
};

// Line ends within id and type, which would begin another field, are left out.
std::string EncodeEvent(const ServerEvent& event);

// Takes a stream in pieces of any size. One that has failed stays so. For one thread at a time.
class EventReader {
 public:
  // An event whose lines take more than `max_event_bytes` is an error.
  explicit EventReader(std::size_t max_event_bytes = 1 << 20) : max_event_bytes_(max_event_bytes) {}

  // Calls back for each event that is complete, until the callback returns false; then, and only then, the result is false.
  // Comments and what has no data give no event. Each event has the latest id that was sent, its own or one before.
  Result<bool> Take(std::string_view piece, const std::function<bool(const ServerEvent& event)>& callback);

  const std::string& last_id() const { return last_id_; }
  int retry_ms() const { return retry_ms_; }  // what the sender asks readers to wait before they come back; 0 where it does not

 private:
  bool TakeLine(std::string_view line, const std::function<bool(const ServerEvent& event)>& callback);

  const std::size_t max_event_bytes_;
  bool failed_ = false;
  bool after_cr_ = false;  // a '\n' would belong to the line end before
  bool begun_ = false;     // a byte order mark may stand before the first line alone
  std::string line_;
  ServerEvent event_;
  bool has_data_ = false;
  std::string last_id_;
  int retry_ms_ = 0;
};

}  // namespace assay
