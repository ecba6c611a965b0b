// Server-sent events from a server that may send anything.
#include "assay/base/check.h"
#include "assay/net/event_stream.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

// `refused`: whether the stream was, after these events.
std::vector<ServerEvent> ReadIn(std::string_view text, std::size_t piece, bool& refused) {
  EventReader reader(1000);
  std::vector<ServerEvent> events;
  refused = false;
  for (std::size_t i = 0; i < text.size() && !refused; i += piece) {
    refused = !reader.Take(text.substr(i, piece), [&](const ServerEvent& event) {
      events.push_back(event);
      return true;
    });
  }
  return events;
}

}  // namespace

// However the stream is cut into pieces it is read the same, and what was read is read again as it was written.
void RunEvents(ByteSpan input) {
  bool refused = false, refused_byte_by_byte = false;
  const auto events = ReadIn(AsText(input), input.size() + 1, refused);
  ASSAY_CHECK(ReadIn(AsText(input), 1, refused_byte_by_byte) == events);
  ASSAY_CHECK(refused == refused_byte_by_byte);
  for (const ServerEvent& event : events) {
    bool refused_again = false;
    const auto again = ReadIn(EncodeEvent(event), 1000, refused_again);
    ASSAY_CHECK(refused_again || (again.size() == 1 && again[0] == event));
  }
}

std::vector<Bytes> EventsSeeds() {
  return {ToBytes(":\n\nid: 1\nevent: sample\ndata: {\"loss\": 2.5}\n\ndata: two\ndata: lines\n\n"),
          ToBytes("\xef\xbb\xbf"
                  "data:a\r\n\r\nretry: 1000\rdata\r\r")};
}

}  // namespace assay::fuzz
