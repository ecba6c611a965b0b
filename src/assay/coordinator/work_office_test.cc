// Workers, and clients of sealed orders, as the API sees them.
#include "assay/coordinator/work_office.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "assay/base/base64.h"
#include "assay/life/fields.h"
#include "assay/life/ruling.h"
#include "assay/platform/request_signature.h"
#include "assay/seal/announcement.h"
#include "support/life_parties.h"
#include "support/test_station.h"

namespace assay::coordinator {
namespace {

using testkit::DigestOf;
using testkit::KeyOf;

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Work : public StationTest {
 protected:
  void Configure(StationOptions& options) override {
    options.lease_ms = 1'500;
    options.sweep_ms = 100;
    options.work.sweep_ms = 100;
    options.work.referee.threads = 0;
  }

  // A worker with a token of its own account.
  struct Hand {
    TestCaller caller;
    SigningKey key;
    ed25519::PublicKey coordinator;
    HttpResponse Send(const std::string& method, const std::string& path, const std::string& body, std::int64_t late_ms = 0) {
      return caller.Send(method, path, body, Sign(method, path, body, late_ms));
    }
    HttpHeaders Sign(const std::string& method, const std::string& path, const std::string& body,
                     std::int64_t late_ms = 0) const {
      return platform::SignRequest({.method = method,
                                    .target = path,
                                    .body = HashBytes(AsBytes(body)),
                                    .coordinator = coordinator,
                                    .token = HashBytes(AsBytes(caller.token()))},
                                   NowMs() - late_ms, key);
    }
    int Post(const std::string& path, const Json& body) { return Send("POST", path, body.dump()).status; }
    Json Poll(const Json& asked = {{"wait_ms", 0}}) { return TestCaller::JsonOf(Send("POST", "/v1/work", asked.dump())); }
  };
  ed25519::PublicKey CoordinatorPoint() { return station_->office().key.verify_key().point(); }
  Hand Worker(int number, bool registered = true) {
    const std::string name = "worker" + std::to_string(number);
    Hand hand{As(AccountRole::kProvider, name), KeyOf(name), CoordinatorPoint()};
    if (registered) {
      EXPECT_EQ(Register(hand, name), 200);
    }
    return hand;
  }
  static int Register(Hand& hand, const std::string& name) {
    const Announcement announced{.recipient = testkit::RecipientOf(name), .made = 1};
    return hand
        .Send("PUT", "/v1/workers",
              Json{{"hardware", {{"cpu", name}}}, {"recipient", SignAnnouncement(announced, hand.key)}}.dump())
        .status;
  }
  std::string SubmitSealed(TestCaller& client, const std::vector<int>& sealed) {
    const SigningKey key = KeyOf("client");
    life::Order order = *life::OpenOrder(OrderOf(client, 7), "order");
    for (const int worker : sealed) order.sealed.push_back(testkit::RecipientOf("worker" + std::to_string(worker)).ToString());
    order.reply = testkit::RecipientOf("client").ToString();
    for (life::OrderFile& file : order.files) file.bound = DigestOf("bound").hex();
    const Json answer = client.Read("POST", "/v1/orders", life::SignOrder(order, key));
    EXPECT_TRUE(answer.contains("id")) << answer.dump();
    return answer.value("id", "");
  }
  static std::string Under(const std::string& order, std::int64_t lease, const std::string& verb) {
    return "/v1/orders/" + order + "/leases/" + std::to_string(lease) + "/" + verb;
  }
  // A result of made-up receipts, which only a sealed order takes unseen.
  int Bring(Hand& hand, int number, const std::string& order, std::int64_t lease, int claim) {
    const std::string model = hand.caller.Upload("model of " + std::to_string(number));
    return hand.Post(Under(order, lease, "result"),
                     {{"receipt", testkit::ReceiptFile(number, claim)},
                      {"proof", Json::array()},
                      {"model", 10},
                      {"files", {{{"name", "model.safetensors"}, {"sha256", model}, {"bytes", 10}}}}});
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, Work, ::testing::ValuesIn(store::Engines(true)), store::EngineName);

// 403 would end a worker for good.
TEST_P(Work, AWorkerIsNotBlamedForWhatTheDatabaseRefusesOrHolds) {
  TestCaller client = As(AccountRole::kClient);
  const std::string order = Submit(client, 1);
  Hand worker = Worker(1);
  ASSERT_TRUE(worker.Poll().contains("lease"));
  const auto run = [&](const std::string& sql) {
    const auto database = OpenCoordinatorDatabase(options_.store, options_.database);
    ASSERT_TRUE(database) << database.error().message;
    const Status done = (*database)->Write([&](store::Transaction& t) { return t.RunScript(sql); });
    ASSERT_TRUE(done) << done.error().message;
  };
  const auto expect_broken = [&](const HttpResponse& response) {
    EXPECT_EQ(response.status, 500);
    EXPECT_EQ(TestCaller::JsonOf(response), Json({{"error", "the coordinator failed"}, {"code", "broken"}}));
  };
  Restart();  // nothing of the life is remembered
  Hand again = Worker(1);
  run("UPDATE entries SET text = 'x' WHERE n = 0");
  expect_broken(again.Send("POST", "/v1/work", R"({"wait_ms":0})"));
  run("ALTER TABLE leases RENAME TO elsewhere");
  expect_broken(again.Send("POST", "/v1/work", R"({"wait_ms":0})"));
  expect_broken(again.Send("POST", "/v1/orders/" + order + "/leases/1/renew", "{}"));
}

TEST_P(Work, AWorkerProvesItsKey) {
  Hand worker = Worker(1, false);
  EXPECT_EQ(worker.Send("POST", "/v1/work", "{}").status, 403) << "it is not registered";
  EXPECT_EQ(worker.caller.StatusOf("PUT", "/v1/workers", R"({"hardware":{}})"), 401) << "not signed";
  const HttpResponse late = worker.Send("PUT", "/v1/workers", R"({"hardware":{}})", 600'000);
  EXPECT_EQ(late.status, 401);
  EXPECT_FALSE(late.Header("Assay-Time").empty()) << "by which it can set its clock right";
  EXPECT_EQ(Register(worker, "worker1"), 200);
  EXPECT_EQ(Register(worker, "worker1"), 200) << "again";
  Hand thief{As(AccountRole::kProvider, "thief"), KeyOf("worker1"), CoordinatorPoint()};
  EXPECT_EQ(Register(thief, "worker1"), 409) << "another account's key";
  EXPECT_EQ(thief.Send("POST", "/v1/work", "{}").status, 403);
  EXPECT_EQ(worker.Send("PUT", "/v1/workers", Json{{"hardware", Json::object()}, {"recipient", "forged"}}.dump()).status, 422);
  // The signature is about this body and this target.
  const std::string body = "{}";
  const auto headers = worker.Sign("POST", "/v1/work", body);
  EXPECT_EQ(worker.caller.Send("POST", "/v1/work", body, headers).status, 200);
  EXPECT_EQ(worker.caller.Send("POST", "/v1/work", R"({"wait_ms":1})", headers).status, 401);
  EXPECT_EQ(worker.caller.Send("POST", "/v1/work", body, headers).status, 200) << "sent again it changes nothing";
  TestCaller client = As(AccountRole::kClient, "client");
  const Json workers = client.Read("GET", "/v1/workers");
  ASSERT_EQ(workers["workers"].size(), 1u);
  EXPECT_EQ(workers["workers"][0]["hardware"]["cpu"], "worker1");
  EXPECT_EQ(client.StatusOf("POST", "/v1/work", "{}"), 403) << "not its role";
}

// Whoever is sent a worker's request, as another coordinator is, can make nothing of it here.
TEST_P(Work, ASignedRequestIsForOneCoordinatorAndOneAccount) {
  const std::string body = R"({"hardware":{}})";
  Hand worker = Worker(1, false);
  TestCaller thief = As(AccountRole::kProvider, "thief");
  EXPECT_EQ(thief.Send("PUT", "/v1/workers", body, worker.Sign("PUT", "/v1/workers", body)).status, 401);
  worker.coordinator = KeyOf("another").verify_key().point();
  EXPECT_EQ(worker.Send("PUT", "/v1/workers", body).status, 401);
  worker.coordinator = CoordinatorPoint();
  EXPECT_EQ(worker.Send("PUT", "/v1/workers", body).status, 200);
}

TEST_P(Work, AKeyThatIsReleasedBelongsToWhoProvesItNext) {
  Hand wrong{As(AccountRole::kProvider, "wrong"), KeyOf("worker1"), CoordinatorPoint()};
  ASSERT_EQ(Register(wrong, "worker1"), 200);
  EXPECT_EQ(wrong.Send("POST", "/v1/work", "{}").status, 200);
  Hand right = Worker(1, false);
  EXPECT_EQ(Register(right, "worker1"), 409);
  const std::string release = Json{{"key", right.key.verify_key().ToString()}}.dump();
  EXPECT_EQ(right.caller.StatusOf("POST", "/v1/admin/workers/release", release), 403);
  EXPECT_EQ(Admin().StatusOf("POST", "/v1/admin/workers/release", "{}"), 400);
  EXPECT_EQ(Admin().StatusOf("POST", "/v1/admin/workers/release", release), 200);
  EXPECT_EQ(Admin().StatusOf("POST", "/v1/admin/workers/release", release), 404) << "it is nobody's by now";
  TestCaller client = As(AccountRole::kClient, "client");
  EXPECT_EQ(client.Read("GET", "/v1/workers")["workers"].size(), 0u);
  EXPECT_EQ(wrong.Send("POST", "/v1/work", "{}").status, 403);
  EXPECT_EQ(Register(right, "worker1"), 200);
  EXPECT_EQ(right.Send("POST", "/v1/work", "{}").status, 200);
  EXPECT_EQ(Register(wrong, "worker1"), 409);
  EXPECT_EQ(wrong.Send("POST", "/v1/work", "{}").status, 403);
  const Json workers = Admin().Read("GET", "/v1/admin/workers");
  ASSERT_EQ(workers["workers"].size(), 1u);
  EXPECT_EQ(workers["workers"][0]["account"], "worker1");
}

TEST_P(Work, APollWaitsForWorkAndIsWoken) {
  Hand worker = Worker(1);
  TestCaller client = As(AccountRole::kClient, "client");
  Json told;
  std::thread waiting([&] { told = worker.Poll({{"wait_ms", 20'000}}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto begun = std::chrono::steady_clock::now();
  const std::string order = Submit(client, 1);
  waiting.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  ASSERT_TRUE(told["lease"].is_object()) << told.dump();
  EXPECT_EQ(told["lease"]["order"], order);
  EXPECT_EQ(worker.Poll()["lease"], told["lease"]) << "the lease that it holds";
  // What it knows is no news; what becomes of it is.
  Json news;
  std::thread again([&] { news = worker.Poll({{"wait_ms", 20'000}, {"holding", {order}}}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(client.StatusOf("POST", "/v1/orders/" + order + "/cancel", "{}"), 200);
  again.join();
  EXPECT_EQ(news["decided"], Json::array({order})) << news.dump();
}

TEST_P(Work, SignsOfLifeKeepALeaseAndSilenceEndsIt) {
  Hand worker = Worker(1);
  TestCaller client = As(AccountRole::kClient, "client");
  const std::string order = Submit(client, 1);
  ASSERT_TRUE(worker.Poll()["lease"].is_object());
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(worker.Post(Under(order, 1, "telemetry"), {{"samples", {{{"step", i}}}}}), 200) << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  EXPECT_EQ(worker.Post(Under(order, 1, "renew"), Json::object()), 200);
  EXPECT_EQ(worker.Post(Under(order, 2, "renew"), Json::object()), 404);
  std::this_thread::sleep_for(std::chrono::milliseconds(4'000));
  const HttpResponse ended = worker.Send("POST", Under(order, 1, "renew"), "{}");
  EXPECT_EQ(ended.status, 409);
  EXPECT_EQ(CodeOf(ended), "ended");
  EXPECT_EQ(Bring(worker, 1, order, 1, 0), 409) << "a late worker is fenced off";
  const Json told = worker.Poll({{"wait_ms", 0}, {"holding", {order}}});
  EXPECT_EQ(told["cancelled"], Json::array({{{"order", order}, {"lease", 1}}})) << told.dump();
}

TEST_P(Work, CommitmentsNeedTheSignatureOfTheWorker) {
  Hand worker = Worker(1);
  TestCaller client = As(AccountRole::kClient, "client");
  const std::string order = Submit(client, 1);
  ASSERT_TRUE(worker.Poll()["lease"].is_object());
  const auto note = [&](const SigningKey& key) {
    return Json{{"note", SignCheckpoint({.origin = testkit::OriginOf(1), .size = 1, .root = DigestOf("root")}, key)},
                {"proof", Json::array()}};
  };
  EXPECT_EQ(worker.Post(Under(order, 1, "commit"), note(KeyOf("worker2"))), 422);
  EXPECT_EQ(worker.Post(Under(order, 1, "commit"), note(worker.key)), 200);
  EXPECT_EQ(worker.Post(Under(order, 1, "commit"), note(worker.key)), 200) << "replayed, it changes nothing";
  EXPECT_EQ(client.Read("GET", "/v1/orders/" + order)["size"], 3);
  EXPECT_EQ(worker.caller.StatusOf("POST", Under(order, 1, "commit"), note(worker.key).dump()), 401) << "an unsigned request";
  Hand other = Worker(2);
  EXPECT_EQ(other.Post(Under(order, 1, "commit"), note(other.key)), 404) << "another's lease";
  const Json lease = TestCaller::JsonOf(worker.Send("GET", "/v1/orders/" + order + "/leases/1", ""));
  EXPECT_TRUE(life::OpenOrder(lease.value("order", ""), "order")) << lease.dump();
  EXPECT_TRUE(lease["run"].is_null());
  EXPECT_EQ(lease["committed"], 1);
  EXPECT_EQ(worker.Post(Under(order, 1, "result"),
                        {{"receipt", testkit::ReceiptFile(1, 0)},
                         {"proof", Json::array()},
                         {"model", 3},
                         {"files", {{{"name", "model.safetensors"}, {"sha256", DigestOf("x").hex()}, {"bytes", 3}}}}}),
            422)
      << "a file that is not there";
  EXPECT_EQ(worker.Post(Under(order, 1, "give-back"), {{"why", "expired"}}), 400) << "that is not for a worker to say";
  EXPECT_EQ(worker.Post(Under(order, 1, "give-back"), {{"why", "failed"}, {"words", "no memory"}}), 200);
  EXPECT_EQ(worker.Post(Under(order, 1, "give-back"), {{"why", "failed"}, {"words", "no memory"}}), 200);
}

TEST_P(Work, TheClientOfASealedOrderAsksAndJudges) {
  Hand one = Worker(1), two = Worker(2), three = Worker(3);
  TestCaller client = As(AccountRole::kClient, "client"), stranger = As(AccountRole::kClient, "stranger");
  const std::string order = SubmitSealed(client, {1, 2});
  EXPECT_TRUE(three.Poll()["lease"].is_null()) << "it could not open it";
  const std::string at = "/v1/orders/" + order;
  const std::string question = Json{{"lease", 2}, {"kind", "answer"}, {"body", Base64(AsBytes("what"))}}.dump();
  ASSERT_TRUE(one.Poll()["lease"].is_object());
  ASSERT_TRUE(two.Poll()["lease"].is_object());
  ASSERT_EQ(Bring(one, 1, order, 1, 0), 200);
  EXPECT_EQ(client.StatusOf("POST", at + "/questions", question), 422) << "there is no dispute yet";
  ASSERT_EQ(Bring(two, 2, order, 2, 1), 200);
  EXPECT_EQ(Bring(two, 2, order, 2, 1), 200) << "again";
  EXPECT_EQ(client.Read("GET", at + "/runs/2")["files"].size(), 1u);
  EXPECT_EQ(stranger.StatusOf("POST", at + "/questions", question), 404);
  const std::string id = client.Read("POST", at + "/questions", question)["question"];
  EXPECT_EQ(client.StatusOf("GET", at + "/questions/" + id), 202);
  EXPECT_EQ(stranger.StatusOf("GET", at + "/questions/" + id), 404);
  HttpResponse answer;
  TestCaller reader = Call(client.token());
  std::thread waiting([&] { answer = reader.Send("GET", at + "/questions/" + id + "?wait_ms=20000"); });
  const Json told = two.Poll({{"wait_ms", 20'000}, {"holding", {order}}});
  ASSERT_EQ(told["questions"].size(), 1u) << told.dump();
  EXPECT_EQ(told["questions"][0]["id"], id);
  EXPECT_EQ(told["questions"][0]["body"], Base64(AsBytes("what")));
  EXPECT_EQ(one.Send("POST", "/v1/answers/" + id, "forged").status, 404) << "put to another";
  EXPECT_EQ(two.Send("POST", "/v1/answers/" + id, "that").status, 200);
  EXPECT_EQ(two.Send("POST", "/v1/answers/" + id, "twice").status, 200);
  waiting.join();
  EXPECT_EQ(std::string(answer.body.begin(), answer.body.end()), "that");
  ASSERT_EQ(client.StatusOf("POST", at + "/questions", question), 202) << "once more";
  EXPECT_EQ(two.Send("POST", "/v1/answers/" + id + "?error=not_open", "who are you").status, 200);
  EXPECT_EQ(reader.Send("GET", at + "/questions/" + id).Header("Assay-Answer"), "not_open");
  life::Life life;
  for (const std::string& text : life::TextsOf(client.Read("GET", at + "/life"), "entries"))
    ASSERT_TRUE(life.Apply(*life::ParseEntry(text, "entry")));
  const auto judged = [&](const std::vector<life::LeaseNumber>& convicted, const std::vector<life::LeaseNumber>& silent,
                          const std::string& evidence, const std::string& signer = "client") {
    life::Judged said{.among = {1, 2}, .convicted = convicted, .silent = silent, .decided = true, .words = ""};
    if (!evidence.empty()) said.evidence = {evidence};
    return Json{{"judged",
                 {{"among", said.among},
                  {"evidence", said.evidence},
                  {"convicted", convicted},
                  {"silent", silent},
                  {"outcome", "decided"},
                  {"words", ""},
                  {"signature", signer.empty() ? "" : life::SignRuling(life, said, KeyOf(signer))}}}}
        .dump();
  };
  // Whoever has a token of the account is not the client yet.
  EXPECT_EQ(client.StatusOf("POST", at + "/judged", judged({}, {2}, "", "")), 422);
  EXPECT_EQ(client.StatusOf("POST", at + "/judged", judged({}, {2}, "", "coordinator")), 422);
  // Nobody is convicted on a client's word.
  EXPECT_EQ(client.StatusOf("POST", at + "/judged", judged({2}, {}, DigestOf("nothing").hex())), 422);
  EXPECT_EQ(client.StatusOf("POST", at + "/judged", judged({2}, {}, client.Upload("no evidence"))), 422);
  EXPECT_EQ(stranger.StatusOf("POST", at + "/judged", judged({}, {2}, "")), 404);
  EXPECT_EQ(client.StatusOf("POST", at + "/judged", judged({}, {2}, "")), 200);
  EXPECT_EQ(client.StatusOf("POST", at + "/judged", judged({}, {2}, "")), 200) << "again";
  EXPECT_EQ(client.Read("GET", at)["verdict"], "refereed");
}

}  // namespace
}  // namespace assay::coordinator
