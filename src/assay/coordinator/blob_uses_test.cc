#include "assay/coordinator/blob_uses.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/fake_clock.h"
#include "support/test_station.h"

namespace assay::coordinator {
namespace {

using testkit::DigestOf;

constexpr std::int64_t kDayMs = 24 * 3600 * 1000;

class Sweeping : public StationTest {
 protected:
  void Configure(StationOptions& options) override { options.clock = clock_; }

  Swept Sweep(std::int64_t age_ms, bool dry_run = false) {
    Swept all;
    for (int first = 0; first < 256; ++first) {
      const auto swept = SweepBlobs(station_->office().database, station_->office().blobs, static_cast<std::uint8_t>(first),
                                    clock_->WallMs() - age_ms, dry_run);
      EXPECT_TRUE(swept) << swept.error().message;
      all.blobs += swept->blobs;
      all.bytes += swept->bytes;
      all.kept += swept->kept;
    }
    return all;
  }
  bool Has(const std::string& hash) { return *station_->office().blobs.Has(*Digest::FromHex(hash)); }
  void Run(const std::string& sql) {
    const Status done = station_->office().database.Write([&](store::Transaction& t) { return t.RunScript(sql); });
    ASSERT_TRUE(done) << done.error().message;
  }
  std::int64_t UsedBy(const std::string& account) {
    return Admin().Read("GET", "/v1/admin/quotas/" + account)["blob_bytes_used"];
  }

  std::shared_ptr<testkit::FakeClock> clock_ = std::make_shared<testkit::FakeClock>();
};
INSTANTIATE_TEST_SUITE_P(Engines, Sweeping, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Sweeping);

TEST_P(Sweeping, WhatNoOrderNeedsGoesWhenItIsOldAndTheRestStays) {
  TestCaller client = As(AccountRole::kClient, "alice");
  const std::string wanted = client.Upload("wanted by nobody"), again = client.Upload("sent again");
  Submit(client, 1);  // with a file "job"
  EXPECT_EQ(UsedBy("alice"), 16 + 10 + 3);
  EXPECT_EQ(Sweep(kDayMs).blobs, 0) << "they are young";
  clock_->Pass(2 * kDayMs);
  client.Upload("sent again");
  const std::string fresh = client.Upload("fresh");
  const Swept counted = Sweep(kDayMs, true);
  EXPECT_EQ(counted.blobs, 1);
  EXPECT_EQ(counted.bytes, 16);
  EXPECT_EQ(counted.kept, 3);
  EXPECT_TRUE(Has(wanted)) << "it was only counted";
  EXPECT_EQ(Sweep(kDayMs).blobs, 1);
  EXPECT_FALSE(Has(wanted));
  EXPECT_TRUE(Has(again));
  EXPECT_TRUE(Has(fresh));
  EXPECT_TRUE(Has(HashBytes(AsBytes("job")).hex()));
  EXPECT_EQ(UsedBy("alice"), 10 + 3 + 5) << "it counts no more";
  EXPECT_EQ(client.StatusOf("GET", "/v1/blobs/" + wanted), 404);
  EXPECT_EQ(client.Upload("wanted by nobody"), wanted) << "and may come back";
  EXPECT_TRUE(Has(wanted));
}

TEST_P(Sweeping, EvidenceFilesOfRunsAndUploadsOfThoseAtWorkStay) {
  TestCaller client = As(AccountRole::kClient, "alice"), worker = As(AccountRole::kProvider, "bob");
  const std::string order = Submit(client, 1);
  const std::string brought = worker.Upload("a run's file"), proof = worker.Upload("evidence"),
                    working = worker.Upload("not yet");
  Run(fmt::format("INSERT INTO run_files (order_id, lease, name, sha256, bytes) VALUES ('{}', 1, 'a', '{}', 12)", order,
                  brought));
  Run(fmt::format("INSERT INTO blob_uses (hash, order_id) VALUES ('{}', '{}')", proof, order));
  Run("INSERT INTO workers (point, vkey, account, made, seen, hardware, recipient, clean, evidence) "
      "VALUES ('p', 'v', 'bob', 0, 0, '', '', 0, '')");
  Run(fmt::format("INSERT INTO leases (order_id, number, worker, account, open, beat) VALUES ('{}', 1, 'p', 'bob', 1, 0)",
                  order));
  clock_->Pass(2 * kDayMs);
  EXPECT_EQ(Sweep(kDayMs).blobs, 0);
  Run("UPDATE leases SET open = 0");
  EXPECT_EQ(Sweep(kDayMs).blobs, 1);
  EXPECT_FALSE(Has(working));
  EXPECT_TRUE(Has(brought) && Has(proof));
}

// Of orders that an older coordinator wrote it is not known what they need, until it is looked up.
TEST_P(Sweeping, OldOrdersKeepTheirFiles) {
  TestCaller client = As(AccountRole::kClient);
  Submit(client, 1);
  client.Upload("unneeded");
  Run("DELETE FROM blob_uses");
  Run("UPDATE orders SET noted = 0");
  clock_->Pass(2 * kDayMs);
  EXPECT_EQ(Sweep(kDayMs).blobs, 1);
  EXPECT_TRUE(Has(HashBytes(AsBytes("job")).hex()));
}

// A client that submits files of long ago while two coordinators sweep: whatever is accepted as an order has its file, and whatever is not can be sent again.
TEST_P(Sweeping, AnOrderThatIsAcceptedHasItsFiles) {
  std::atomic<bool> ending = false;
  std::vector<std::thread> sweepers;
  auto second = Station::Open(options_);
  ASSERT_TRUE(second) << second.error().message;
  for (Office* office : {&station_->office(), &(*second)->office()}) {
    sweepers.emplace_back([&, office] {
      for (int first = 0; !ending; first = (first + 1) % 256) {
        const auto swept =
            SweepBlobs(office->database, office->blobs, static_cast<std::uint8_t>(first), clock_->WallMs() - kDayMs, false);
        EXPECT_TRUE(swept) << swept.error().message;
      }
    });
  }
  TestCaller client = As(AccountRole::kClient);
  int accepted = 0;
  for (int i = 0; i < 150; ++i) {
    const std::string file = "job" + std::to_string(i);
    const std::string order = OrderOf(client, i, file);
    clock_->Pass(2 * kDayMs);
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(i % 7));
    const HttpResponse answer = client.Send("POST", "/v1/orders", order);
    EXPECT_TRUE(answer.status == 201 || answer.status == 422) << answer.status;
    if (answer.status != 201) continue;
    ++accepted;
    EXPECT_TRUE(Has(HashBytes(AsBytes(file)).hex())) << file;
  }
  ending = true;
  for (std::thread& sweeper : sweepers) sweeper.join();
  EXPECT_GT(accepted, 0);
  RecordProperty("accepted", accepted);
  for (int i = 0; i < 150; ++i) {
    const std::string hash = HashBytes(AsBytes("job" + std::to_string(i))).hex();
    const auto needed = station_->office().database.Read(
        [&](store::Transaction& t) { return t.Run("SELECT 1 FROM blob_uses WHERE hash = $1", {hash}); });
    ASSERT_TRUE(needed);
    EXPECT_TRUE(needed->empty() || Has(hash)) << i;
  }
}

TEST_P(Sweeping, IsForAdministratorsAndWithinBounds) {
  const std::string body = R"({"first":0,"older_than_ms":3600000})";
  EXPECT_EQ(As(AccountRole::kClient).StatusOf("POST", "/v1/admin/sweep", body), 403);
  TestCaller admin = Admin();
  EXPECT_EQ(admin.Read("POST", "/v1/admin/sweep", body), Json({{"blobs", 0}, {"bytes", 0}, {"kept", 0}}));
  EXPECT_EQ(admin.StatusOf("POST", "/v1/admin/sweep", R"({"first":256,"older_than_ms":3600000})"), 400);
  EXPECT_EQ(admin.StatusOf("POST", "/v1/admin/sweep", R"({"first":0,"older_than_ms":3599999})"), 400);
  EXPECT_EQ(admin.StatusOf("POST", "/v1/admin/sweep", R"({"first":0,"older_than_ms":3600000,"dry_run":1})"), 400);
  EXPECT_EQ(admin.StatusOf("POST", "/v1/admin/sweep", R"({"first":0})"), 400);
}

}  // namespace
}  // namespace assay::coordinator
