#include "assay/platform/work_limits.h"

#include <gtest/gtest.h>

namespace assay::platform {
namespace {

TEST(Limits, TheLesserOfWhatIsAllowedAndOfferedCounts) {
  EXPECT_EQ(RoomFor({.memory = 5, .disk = 0, .seconds = 7}, {.memory = 3, .disk = 9}),
            (Room{.memory = 3, .disk = 9, .seconds = 7}));
  EXPECT_EQ(RoomFor({.memory = 5}, {}), (Room{.memory = 5}));
  EXPECT_EQ(RoomFor({.seconds = 5}, {.seconds = 3}), (Room{.seconds = 3}));
  EXPECT_EQ(RoomFor({}, {.seconds = 3}), (Room{.seconds = 3}));
}

TEST(Limits, WorkFitsOrSaysWhatIsMissing) {
  const Left left{.memory = 100, .disk = 100};
  EXPECT_TRUE(CheckRoom({.memory = 100, .disk = 100}, {}, left));
  EXPECT_TRUE(CheckRoom({.memory = 50, .disk = 50}, {.memory = 50, .disk = 50}, left));
  EXPECT_TRUE(CheckRoom({.memory = 51}, {.memory = 50}, left).error().message.starts_with("memory: the work takes"));
  EXPECT_EQ(CheckRoom({.memory = 41}, {.memory = 50}, left, {.memory = 10}).error().message,
            "memory: the work takes 51 bytes, and may take 50 bytes");
  EXPECT_TRUE(CheckRoom({.memory = 101}, {}, left).error().message.ends_with("are free here"));
  EXPECT_TRUE(CheckRoom({.disk = 41}, {.disk = 50}, left, {.disk = 10}).error().message.starts_with("disk: the work takes"));
  EXPECT_TRUE(CheckRoom({.disk = 101}, {}, left).error().message.ends_with("are free here"));
}

TEST(Limits, WhatIsExceededIsNamed) {
  EXPECT_FALSE(Exceeded({}, {.memory = 1 << 30, .disk = 1 << 30, .ms = 1 << 30}));
  const Room room{.memory = 10, .disk = 20, .seconds = 3};
  EXPECT_FALSE(Exceeded(room, {.memory = 10, .disk = 20, .ms = 2999}));
  EXPECT_TRUE(Exceeded(room, {.memory = 11})->starts_with("memory"));
  EXPECT_TRUE(Exceeded(room, {.disk = 21})->starts_with("disk"));
  EXPECT_TRUE(Exceeded(room, {.ms = 3000})->starts_with("time"));
}

TEST(Limits, SizesThatOverflowAreALot) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_GT(BytesOf({{.name = "a", .bytes = kHuge}, {.name = "b", .bytes = kHuge}}), std::int64_t{1} << 59);
}

}  // namespace
}  // namespace assay::platform
