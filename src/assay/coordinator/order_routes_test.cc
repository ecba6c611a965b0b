#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "support/test_service.h"
#include "support/test_station.h"

namespace assay::coordinator {
namespace {

class OrderRoutesTest : public StationTest {};
INSTANTIATE_TEST_SUITE_P(Engines, OrderRoutesTest, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OrderRoutesTest);

TEST_P(OrderRoutesTest, AnOrderIsSubmittedOnceHoweverOften) {
  TestCaller client = As(AccountRole::kClient);
  const std::string envelope = OrderOf(client, 1);
  const Json first = client.Read("POST", "/v1/orders", envelope);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders", envelope), 201);
  EXPECT_EQ(client.Read("POST", "/v1/orders", envelope), first);
  EXPECT_EQ(client.Read("GET", "/v1/orders")["orders"].size(), 1);
  const HttpResponse other = client.Send("POST", "/v1/orders", OrderOf(client, 1, "another job"));
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(CodeOf(other), "conflict");
  TestCaller stranger = As(AccountRole::kClient);
  EXPECT_EQ(stranger.StatusOf("POST", "/v1/orders", envelope), 409);
}

TEST_P(OrderRoutesTest, WhatIsNoOrderIsRefusedInWords) {
  TestCaller client = As(AccountRole::kClient);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders", "{}"), 422);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders", testkit::OrderOf({})), 422);  // for another coordinator
  std::string envelope = OrderOf(client, 1);
  envelope[envelope.size() / 2] ^= 1;
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders", envelope), 422);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders", std::string(300'000, 'x')), 413);
}

TEST_P(OrderRoutesTest, FilesHaveToBeThereAndTheAccounts) {
  TestCaller alice = As(AccountRole::kClient, "alice"), bob = As(AccountRole::kClient, "bob");
  const std::string envelope = OrderOf(alice, 1);
  const HttpResponse refused = bob.Send("POST", "/v1/orders", envelope);
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(TestCaller::JsonOf(refused)["error"].get<std::string>().find("job.toml"), std::string::npos);
  EXPECT_EQ(alice.StatusOf("POST", "/v1/orders", envelope), 201);
}

TEST_P(OrderRoutesTest, OrdersAreOfTheirAccountAlone) {
  TestCaller alice = As(AccountRole::kClient, "alice"), bob = As(AccountRole::kClient, "bob");
  const std::string id = Submit(alice, 1);
  for (const char* part : {"", "/life", "/events"}) EXPECT_EQ(bob.StatusOf("GET", "/v1/orders/" + id + part), 404) << part;
  EXPECT_EQ(bob.StatusOf("POST", "/v1/orders/" + id + "/cancel", "{}"), 404);
  EXPECT_EQ(bob.Read("GET", "/v1/orders")["orders"].size(), 0);
  TestCaller same = As(AccountRole::kClient, "alice");
  EXPECT_EQ(same.StatusOf("GET", "/v1/orders/" + id), 200);
  EXPECT_EQ(Admin().StatusOf("GET", "/v1/orders/" + id), 200);
  EXPECT_EQ(Admin().Read("GET", "/v1/admin/orders?state=open")["orders"][0]["account"], "alice");
}

TEST_P(OrderRoutesTest, ListsComeInPages) {
  TestCaller client = As(AccountRole::kClient);
  for (int i = 0; i < 5; ++i) Submit(client, i);
  const Json first = client.Read("GET", "/v1/orders?limit=3");
  ASSERT_EQ(first["orders"].size(), 3);
  const Json second = client.Read("GET", fmt::format("/v1/orders?limit=3&after={}", first["orders"][2]["seq"].get<int>()));
  EXPECT_EQ(second["orders"].size(), 2);
  for (const char* wrong : {"limit=0", "limit=1001", "after=-1", "after=x", "after=99999999999999999999", "limit="}) {
    EXPECT_EQ(client.StatusOf("GET", std::string("/v1/orders?") + wrong), 400) << wrong;
  }
}

TEST_P(OrderRoutesTest, TheLifeComesWithASignedHeadAndAProof) {
  TestCaller client = As(AccountRole::kClient);
  const std::string id = Submit(client, 1);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders/" + id + "/cancel", "{}"), 200);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders/" + id + "/cancel"), 200);
  const Json life = client.Read("GET", "/v1/orders/" + id + "/life");
  EXPECT_EQ(life["size"], 3);  // submitted, cancelled, decided
  EXPECT_EQ(life["entries"].size(), 3);
  EXPECT_NE(life["checkpoint"].get<std::string>().find("assay.life/" + id), std::string::npos);
  const Json rest = client.Read("GET", "/v1/orders/" + id + "/life?from=2");
  EXPECT_EQ(rest["entries"].size(), 1);
  EXPECT_FALSE(rest["proof"].empty());
  EXPECT_EQ(client.StatusOf("GET", "/v1/orders/" + id + "/life?from=4"), 422);
  const Json view = client.Read("GET", "/v1/orders/" + id);
  EXPECT_EQ(view["verdict"], "failed");
  EXPECT_EQ(view["size"], 3);
}

TEST_P(OrderRoutesTest, OpenOrdersAreBounded) {
  TestCaller client = As(AccountRole::kClient, "alice");
  EXPECT_EQ(Admin().StatusOf("PUT", "/v1/admin/quotas/alice", R"({"orders":1,"blob_bytes":1000})"), 200);
  const std::string id = Submit(client, 1);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders", OrderOf(client, 1)), 201);  // the same
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders", OrderOf(client, 2)), 507);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders/" + id + "/cancel"), 200);
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders", OrderOf(client, 2)), 201);
}

TEST_P(OrderRoutesTest, OrdersAtTheSameTimeAreCountedOneByOne) {
  TestCaller client = As(AccountRole::kClient, "alice");
  EXPECT_EQ(Admin().StatusOf("PUT", "/v1/admin/quotas/alice", R"({"orders":1,"blob_bytes":100000})"), 200);
  constexpr int kMany = 8;
  std::vector<std::string> envelopes;
  for (int i = 0; i < kMany; ++i) envelopes.push_back(OrderOf(client, i + 1));
  std::atomic<int> taken = 0, refused = 0;
  std::latch together(kMany);
  std::vector<std::thread> threads;
  for (const std::string& envelope : envelopes) {
    threads.emplace_back([&] {
      TestCaller caller(station_->url(), client.token());
      together.arrive_and_wait();
      const int status = caller.StatusOf("POST", "/v1/orders", envelope);
      ++(status == 201 ? taken : refused);
      EXPECT_TRUE(status == 201 || status == 507) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(refused, kMany - 1);
}

TEST_P(OrderRoutesTest, EventsGoOnAfterTheLastAndEndWithTheDecision) {
  TestCaller client = As(AccountRole::kClient);
  const std::string id = Submit(client, 1);
  const std::string path = "/v1/orders/" + id + "/events";
  std::vector<ServerEvent> events;
  std::thread later([&] {
    EXPECT_TRUE(Eventually([&] { return station_->office().hub.viewers() == 1; }));
    station_->office().hub.Publish(id, 1, {R"({"lease":1,"step":7})"});
    EXPECT_EQ(TestCaller(station_->url(), client.token()).StatusOf("POST", "/v1/orders/" + id + "/cancel"), 200);
  });
  const HttpHeaders authorized = {{"Authorization", "Bearer " + client.token()}};
  const auto listened = client.http().Listen(
      {"GET", path, authorized}, [&](const ServerEvent& event) { return events.push_back(event), true; }, 10'000);
  later.join();
  ASSERT_TRUE(listened) << listened.error().message;
  ASSERT_EQ(listened->status, 200);
  std::vector<std::string> entries, telemetry;
  for (const ServerEvent& event : events) (event.type == "entry" ? entries : telemetry).push_back(event.data);
  ASSERT_EQ(entries.size(), 3);
  EXPECT_NE(entries[0].find("\"submitted\""), std::string::npos);
  EXPECT_EQ(events.back().id, "2");
  EXPECT_EQ(telemetry, std::vector<std::string>{R"({"lease":1,"step":7})"});
  EXPECT_EQ(client.Read("GET", "/v1/orders/" + id)["progress"][0]["step"], 7);

  HttpHeaders again = authorized;
  again.emplace_back("Last-Event-ID", "0");
  events.clear();
  ASSERT_TRUE(client.http().Listen(
      {"GET", path, again}, [&](const ServerEvent& event) { return events.push_back(event), true; }, 10'000));
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].id, "1");
  EXPECT_EQ(client.Send("GET", path, {}, {{"Last-Event-ID", "x"}}).status, 400);
  EXPECT_TRUE(Eventually([&] { return station_->office().hub.viewers() == 0; }));
}

}  // namespace
}  // namespace assay::coordinator
