#include "assay/net/event_stream.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

using Events = std::vector<ServerEvent>;

// The stream in pieces of `size` bytes.
Events ReadIn(std::string_view text, std::size_t size) {
  EventReader reader;
  Events events;
  for (std::size_t i = 0; i < text.size(); i += size) {
    const auto more = reader.Take(text.substr(i, size), [&](const ServerEvent& event) {
      events.push_back(event);
      return true;
    });
    EXPECT_TRUE(more && *more);
  }
  return events;
}

TEST(EventStream, WhatIsWrittenIsRead) {
  const Events events = {{.id = "1", .type = "sample", .data = "{\"loss\": 2.5}"},
                         {.id = "2", .type = {}, .data = "two\nlines\n"},
                         {.id = "3", .type = "empty", .data = ""},
                         {.id = "4", .type = {}, .data = " : data: x"}};
  std::string text;
  for (const ServerEvent& event : events) text += ":\n\n" + EncodeEvent(event);
  for (const std::size_t size : {1UL, 2UL, 7UL, 1000UL}) EXPECT_EQ(ReadIn(text, size), events) << size;
}

TEST(EventStream, LineEndsAndFieldsOfAllKinds) {
  const std::string_view text =
      "\xef\xbb\xbf: comment\r\ndata:a\r\ndata: b\r\r\nevent: gone\r\n\r\nid: 7\ndata\n\nid\nunknown: x\ndata: c\n\ndata: "
      "unfinished\n";
  const Events expected = {{.data = "a\nb"}, {.id = "7", .data = ""}, {.data = "c"}};
  for (const std::size_t size : {1UL, 2UL, 3UL, 1000UL}) EXPECT_EQ(ReadIn(text, size), expected) << size;
}

TEST(EventStream, NothingEscapesFromAField) {
  const Events events = ReadIn(EncodeEvent({.id = "1\ndata: forged\n\n", .type = "a\r\nb", .data = "x\r\nid: 9"}), 1000);
  EXPECT_EQ(events, (Events{{.id = "1data: forged", .type = "ab", .data = "x\nid: 9"}}));
}

TEST(EventStream, RetryAndTheLastId) {
  EventReader reader;
  const auto ignore = [](const ServerEvent&) { return true; };
  ASSERT_TRUE(reader.Take("retry: 1500\nid: a\n\nretry: x\nretry: -1\nid: b\n", ignore));
  EXPECT_EQ(reader.retry_ms(), 1500);
  EXPECT_EQ(reader.last_id(), "b");
}

TEST(EventStream, EventsWithoutEnd) {
  for (const std::string_view piece : {"xxxxxxxxxx", "data: x\n"}) {
    EventReader reader(1000);
    const auto ignore = [](const ServerEvent&) { return true; };
    Result<bool> more = true;
    for (int i = 0; i < 1000 && more; ++i) more = reader.Take(piece, ignore);
    EXPECT_FALSE(more) << piece;
    EXPECT_FALSE(reader.Take("\n", ignore));
  }
}

TEST(EventStream, TheReaderMayStop) {
  EventReader reader;
  const auto more = reader.Take("data: 1\n\ndata: 2\n\n", [](const ServerEvent& event) {
    EXPECT_EQ(event.data, "1");
    return false;
  });
  ASSERT_TRUE(more);
  EXPECT_FALSE(*more);
}

}  // namespace
}  // namespace assay
