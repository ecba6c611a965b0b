#include "assay/net/event_stream.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace assay {
namespace {

void AppendField(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    if (c != '\r' && c != '\n' && (c != '\0' || name != "id")) out += c;  // a zero would make readers ignore an id
  }
  out += '\n';
}

}  // namespace

std::string EncodeEvent(const ServerEvent& event) {
  std::string out;
  if (!event.id.empty()) AppendField(out, "id", event.id);
  if (!event.type.empty()) AppendField(out, "event", event.type);
  std::string_view rest = event.data;
  for (;;) {
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    out += "data: ";
    out += rest.substr(0, end);
    out += '\n';
    if (end == rest.size()) break;
    rest.remove_prefix(end + (rest.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return out + "\n";
}

Result<bool> EventReader::Take(std::string_view piece, const std::function<bool(const ServerEvent& event)>& callback) {
  while (!piece.empty() && !failed_) {
    if (std::exchange(after_cr_, false) && piece.front() == '\n') {
      piece.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(piece.find_first_of("\r\n"), piece.size());
    failed_ = line_.size() + end + event_.data.size() > max_event_bytes_;
    if (failed_) break;
    line_ += piece.substr(0, end);
    if (end == piece.size()) break;
    after_cr_ = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    if (!std::exchange(begun_, true) && line_.starts_with("\xef\xbb\xbf")) line_.erase(0, 3);
    std::string line;
    line.swap(line_);
    if (!TakeLine(line, callback)) return false;
  }
  if (failed_) return Err("expected events of at most {} bytes", max_event_bytes_);
  return true;
}

bool EventReader::TakeLine(std::string_view line, const std::function<bool(const ServerEvent& event)>& callback) {
  if (line.empty()) {
    ServerEvent event;
    std::swap(event, event_);
    if (!std::exchange(has_data_, false)) return true;
    event.data.pop_back();
    event.id = last_id_;
    return callback(event);
  }
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon < line.size() ? line.substr(colon + 1) : std::string_view();
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    event_.data += value;
    event_.data += '\n';
    has_data_ = true;
  } else if (name == "event") {
    event_.type = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    last_id_ = value;
  } else if (name == "retry") {
    int retry_ms = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), retry_ms);
    if (error == std::errc() && end == value.data() + value.size() && retry_ms >= 0) retry_ms_ = retry_ms;
  }
  return true;
}

}  // namespace assay
