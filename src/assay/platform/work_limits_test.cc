#include "assay/platform/work_limits.h"

#include <gtest/gtest.h>

#include "assay/backend/host.h"

namespace assay::platform {
namespace {

// Is planned for; nothing is run on it.
class Planned final : public HostBackend {
 public:
  Planned(ThreadPool& pool, bool on_host, bool in_place) : HostBackend(pool), on_host_(on_host), in_place_(in_place) {}
  std::string_view name() const override { return "planned"; }
  void Run(const KernelArgs&) override { FAIL(); }
  void RunElements(const KernelArgs&, std::int64_t, std::int64_t) override { FAIL(); }
  bool in_place() const override { return in_place_; }
  HostBackend* AsHost() override { return on_host_ ? this : nullptr; }

 private:
  bool on_host_, in_place_;
};

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

// Whoever orders does not know who will work: what is asked of every worker is what one with a device needs, not what the reference does.
TEST(Limits, WhatEveryWorkerNeedsIsWhatOneWithADeviceNeeds) {
  PreparedJob prepared;
  prepared.job.model = MlpConfig{.inputs = 64, .classes = 4, .hidden = {64, 64}};
  prepared.job.batch = {.microbatch = 512, .microbatches = 2};
  prepared.program = BuildProgram(prepared.job.model, prepared.job.optimizer, prepared.job.batch);
  ThreadPool pool(1);
  Planned device(pool, false, true), host(pool, true, true), reference(pool, true, false);
  for (const char* const weights : {"", "weights.safetensors"}) {
    prepared.job.init_weights = weights;
    const Needs least = LeastNeedsOf(prepared, true), on_host = HostNeedsOf(prepared, true);
    EXPECT_EQ(least.memory, NeedsOf(prepared, device, true).memory);
    EXPECT_EQ(on_host.memory, NeedsOf(prepared, host, true).memory);
    EXPECT_LT(least.memory, on_host.memory);
    EXPECT_LT(on_host.memory, NeedsOf(prepared, reference, true).memory);
    EXPECT_EQ(least.disk, NeedsOf(prepared, host, true).disk);
    EXPECT_EQ(on_host.disk, least.disk);
  }
}

TEST(Limits, SizesThatOverflowAreALot) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_GT(BytesOf({{.name = "a", .bytes = kHuge}, {.name = "b", .bytes = kHuge}}), std::int64_t{1} << 59);
}

}  // namespace
}  // namespace assay::platform
