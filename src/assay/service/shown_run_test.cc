#include "assay/service/shown_run.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "assay/base/file.h"
#include "assay/merkle/tiles.h"
#include "assay/run/rounding_logs.h"
#include "support/scratch.h"

namespace assay::service {
namespace {

class ShownRunTest : public ::testing::Test {
 protected:
  // 600 steps with an entry every other one; the last log is longer than a part.
  void SetUp() override {
    directory_ = scratch_ / "shown-run";
    RoundingLogs logs = RoundingLogs::Open(directory_).value();
    log_.Append(log_.Next(0, {}, {}, 0, RoundingRootOfSteps({})));
    for (std::int64_t step = 2; step <= 600; step += 2) {
      for (const std::int64_t s : {step - 1, step}) logs.Add(s, LogOf(s));
      log_.Append(log_.Next(step, HashBytes({}), {}, 7, RoundingRootOfSteps(logs.Leaves(step - 2, step).value())));
    }
    ASSERT_TRUE(logs.Write());
    shown_ = ShownRun::Open(directory_, log_).value();
  }
  static Bytes LogOf(std::int64_t step) {
    return Bytes(step == 600 ? ShownPaths::kPartBytes + 5 : static_cast<std::size_t>(step), static_cast<std::uint8_t>(step));
  }
  HttpResponse Get(const std::string& path, const std::string& method = "GET") {
    const auto response = shown_->Respond({.method = method, .target = path, .headers = {}, .body = {}, .peer = {}});
    return response.value_or(HttpResponse{.status = 0});
  }
  testkit::Scratch scratch_;
  std::string directory_;
  RunLog log_{Digest{}};
  std::unique_ptr<ShownRun> shown_;
};

TEST_F(ShownRunTest, TheLogInParts) {
  std::vector<Bytes> all;
  for (const auto& [part, count] : {std::pair{0u, 256u}, std::pair{1u, 45u}}) {
    const HttpResponse response = Get(ShownPaths::Log(part));
    ASSERT_EQ(response.status, 200);
    const std::vector<Bytes> entries = ParseBundle(response.body, count, "part").value();
    all.insert(all.end(), entries.begin(), entries.end());
  }
  ASSERT_EQ(all.size(), log_.entries().size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], Encode(log_.entries()[i]));
}

TEST_F(ShownRunTest, RoundingLogsAndTheirLeaves) {
  for (int again = 0; again < 2; ++again) {
    const HttpResponse leaves = Get(ShownPaths::Leaves(300, 0));
    ASSERT_EQ(leaves.status, 200);
    ASSERT_EQ(leaves.body.size(), 80u);
    EXPECT_EQ(DecodeRoundingLeaf(ByteSpan(leaves.body).first(40)).value(), RoundingLeafOf(LogOf(599)));
    EXPECT_EQ(DecodeRoundingLeaf(ByteSpan(leaves.body).last(40)).value(), RoundingLeafOf(LogOf(600)));
  }
  EXPECT_EQ(Get(ShownPaths::RoundingLog(599, 0)).body, LogOf(599));
  Bytes joined = Get(ShownPaths::RoundingLog(600, 0)).body;
  EXPECT_EQ(joined.size(), ShownPaths::kPartBytes);
  const Bytes rest = Get(ShownPaths::RoundingLog(600, 1)).body;
  joined.insert(joined.end(), rest.begin(), rest.end());
  EXPECT_EQ(joined, LogOf(600));
}

TEST_F(ShownRunTest, NothingElse) {
  for (const char* path : {"/v1/log/2",
                           "/v1/log/",
                           "/v1/log/x",
                           "/v1/log/0/",
                           "/v1/log/0x1",
                           "/v1/log/-1",
                           "/v1/log/99999999999999999999",
                           "/v1/log/18446744073709551615",
                           "/v1/roundings/0/0",
                           "/v1/roundings/301/0",
                           "/v1/roundings/1/1",
                           "/v1/roundings/1",
                           "/v1/roundings/1/18446744073709551615",
                           "/v1/rounding-log/0/0",
                           "/v1/rounding-log/601/0",
                           "/v1/rounding-log/1/1",
                           "/v1/rounding-log/1",
                           "/v1/rounding-log/600/2",
                           "/v1/rounding-log/18446744073709551615/0",
                           "/v1/rounding-log/600/17592186044416",
                           "/v1/rounding-log/600/18446744073709551615",
                           "/v1/rounding-log/../0"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
  EXPECT_EQ(Get("/v1/log/0", "POST").status, 405);
  for (const char* path : {"/v1/log", "/v1/receipt", "/v1/answer", "/", ""}) EXPECT_EQ(Get(path).status, 0) << path;
}

// Nobody is told what went wrong, and nothing false is handed out as this run's.
TEST_F(ShownRunTest, ADamagedCopyIsNotShown) {
  const std::string path = directory_ + "/steps-0000000001-0000000600.bin";
  Bytes bytes = ReadFile(path, 1 << 24).value();
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomic(path, bytes));
  testing::internal::CaptureStderr();
  EXPECT_EQ(Get(ShownPaths::Leaves(300, 0)).status, 503);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("this copy is damaged"), std::string::npos);
  EXPECT_EQ(Get(ShownPaths::Leaves(299, 0)).status, 200);
}

}  // namespace
}  // namespace assay::service
