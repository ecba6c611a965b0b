#include "assay/coordinator/door.h"

#include <fstream>
#include <sstream>

#include "support/raw_peer.h"
#include "support/test_station.h"

namespace assay::coordinator {
namespace {

class DoorTest : public StationTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DoorTest, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DoorTest);

TEST_P(DoorTest, WhoHasNoTokenOrABadOneIsRefused) {
  TestCaller nobody = Call("");
  const HttpResponse refused = nobody.Send("GET", "/v1/orders");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(CodeOf(refused), "unauthorized");
  EXPECT_EQ(refused.Header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(Call("assay_" + std::string(64, 'a')).StatusOf("GET", "/v1/orders"), 401);
  EXPECT_EQ(Call("assay_" + std::string(63, 'a')).StatusOf("GET", "/v1/orders"), 401);
  EXPECT_EQ(Call("something").StatusOf("GET", "/v1/orders"), 401);
  EXPECT_EQ(As(AccountRole::kClient).StatusOf("GET", "/v1/orders"), 200);
}

TEST_P(DoorTest, ATokenEndsWhenItExpiresOrIsRevoked) {
  const auto made = station_->office().tokens.Make(AccountRole::kClient, "", "", options_.clock->WallMs() + 300);
  ASSERT_TRUE(made);
  TestCaller client = Call(made->token);
  EXPECT_EQ(client.StatusOf("GET", "/v1/orders"), 200);
  options_.clock->SleepMs(400);
  EXPECT_EQ(client.StatusOf("GET", "/v1/orders"), 401);

  TestCaller admin = Admin();
  const Json token = admin.Read("POST", "/v1/admin/tokens", R"({"role":"client","name":"laptop"})");
  TestCaller other = Call(token["token"]);
  EXPECT_EQ(other.StatusOf("GET", "/v1/orders"), 200);
  const std::string id = token["id"];
  EXPECT_EQ(admin.StatusOf("DELETE", "/v1/admin/tokens/" + id), 200);
  EXPECT_EQ(other.StatusOf("GET", "/v1/orders"), 401);
  EXPECT_EQ(admin.StatusOf("DELETE", "/v1/admin/tokens/" + id), 200);
  EXPECT_EQ(admin.StatusOf("DELETE", "/v1/admin/tokens/0000000000000000"), 404);
  EXPECT_EQ(admin.StatusOf("DELETE", "/v1/admin/tokens/%27%20OR%201"), 404);
}

TEST_P(DoorTest, ARouteIsForItsRolesAndTheAdministrator) {
  EXPECT_EQ(As(AccountRole::kProvider).StatusOf("GET", "/v1/orders"), 403);
  EXPECT_EQ(As(AccountRole::kClient).StatusOf("GET", "/v1/admin/tokens"), 403);
  EXPECT_EQ(As(AccountRole::kAuditor).StatusOf("GET", "/v1/admin/workers"), 403);
  EXPECT_EQ(As(AccountRole::kClient).StatusOf("POST", "/v1/work", "{}"), 403);
  TestCaller admin = Admin();
  for (const char* path : {"/v1/orders", "/v1/admin/tokens", "/v1/admin/workers", "/v1/admin/orders?state=open"}) {
    EXPECT_EQ(admin.StatusOf("GET", path), 200) << path;
  }
  // The second time what is remembered decides.
  TestCaller provider = As(AccountRole::kProvider);
  EXPECT_EQ(provider.StatusOf("GET", "/v1/admin/tokens"), 403);
  EXPECT_EQ(provider.StatusOf("GET", "/v1/admin/tokens"), 403);
}

TEST_P(DoorTest, PathsHaveOneSpelling) {
  TestCaller client = As(AccountRole::kClient);
  const std::string id = Submit(client, 1);
  EXPECT_EQ(client.StatusOf("GET", "/v1/orders/" + id), 200);
  for (const char* trick :
       {"/v1/orders/../admin/tokens", "/v1//orders", "/v1/orders/%2e%2e/%2e%2e", "/v1/./orders", "/v1/orders/..%2f..%2fetc",
        "/v1/orders/%00", "/v1/orders/?after=1&after=2", "/v1/blobs/..%2fcoordinator.key", "/v1/blobs/../coordinator.key"}) {
    const int status = client.StatusOf("GET", trick);
    EXPECT_TRUE(status == 400 || status == 404) << trick << ": " << status;
  }
  EXPECT_EQ(client.StatusOf("GET", "/v1/orders/"), 404);
  EXPECT_EQ(client.StatusOf("GET", "/v1/Orders"), 404);
  const HttpResponse other = client.Send("PATCH", "/v1/orders");
  EXPECT_EQ(other.status, 405);
  EXPECT_EQ(other.Header("Allow"), "GET, POST");
}

TEST_P(DoorTest, BodiesAreBoundedAndHaveToBeJson) {
  TestCaller admin = Admin();
  const auto code = [&](std::string_view body) {
    const HttpResponse response = admin.Send("POST", "/v1/admin/tokens", body);
    return fmt::format("{} {}", response.status, CodeOf(response));
  };
  EXPECT_EQ(code(R"({"role":"client"})"), "201 ");
  EXPECT_EQ(code("{"), "400 bad_request");
  EXPECT_EQ(code("[]"), "400 bad_request");
  EXPECT_EQ(code("null"), "400 bad_request");
  EXPECT_EQ(code(R"({"role":"king"})"), "400 bad_request");
  EXPECT_EQ(code(R"({"role":7})"), "400 bad_request");
  EXPECT_EQ(code(R"({"role":"client","role":"admin"})"), "400 bad_request");
  EXPECT_EQ(code(R"({"role":"client","name":"a\u0000b"})"), "400 bad_request");
  EXPECT_EQ(code("{\"role\":\"client\",\"name\":\"\xff\"}"), "400 bad_request");
  EXPECT_EQ(code(R"({"role":"client","expires_ms":-1})"), "400 bad_request");
  EXPECT_EQ(code(R"({"role":"client","expires_ms":1e3})"), "400 bad_request");
  EXPECT_EQ(code(R"({"role":"client","account":"../x"})"), "422 refused");
  EXPECT_EQ(code("{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}"), "400 bad_request");
  EXPECT_EQ(code(std::string(100'000, ' ')), "413 too_large");
  EXPECT_EQ(admin.Send("POST", "/v1/admin/tokens", R"({"role":"client"})", {{"Content-Encoding", "gzip"}}).status, 415);
}

TEST_P(DoorTest, AnOversizedBodyIsRefusedBeforeItIsSent) {
  const std::uint16_t port =
      static_cast<std::uint16_t>(std::stoi(station_->url().substr(station_->url().find_last_of(':') + 1)));
  Admin().StatusOf("GET", "/v1/orders");  // the token is remembered from then on
  RawSocket peer = RawSocket::ConnectTo(port);
  EXPECT_TRUE(peer.Send("POST /v1/admin/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + admin_token_ +
                        "\r\nContent-Length: 1000000000\r\n\r\n"));
  EXPECT_NE(peer.Receive().find("413"), std::string::npos);
}

// What no route has seen has the form of all errors, and is counted and logged like them.
TEST_P(DoorTest, WhatTheServerSaysByItselfIsAnErrorLikeAllOthers) {
  const auto port = static_cast<std::uint16_t>(std::stoi(station_->url().substr(station_->url().rfind(':') + 1)));
  const RawSocket peer = RawSocket::ConnectTo(port);
  ASSERT_TRUE(peer.Send("this is no request\r\n\r\n"));
  const std::string garbage = peer.Receive();
  EXPECT_TRUE(garbage.starts_with("HTTP/1.1 400 ")) << garbage;
  EXPECT_NE(garbage.find("Content-Type: application/json\r\n"), std::string::npos) << garbage;
  EXPECT_TRUE(garbage.ends_with(R"({"error":"not a proper request","code":"bad_request"})")) << garbage;
  const RawSocket wordy = RawSocket::ConnectTo(port);
  ASSERT_TRUE(wordy.Send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(9 << 10, 'x') + "\r\n\r\n"));
  EXPECT_TRUE(wordy.Receive().starts_with("HTTP/1.1 431 "));

  const HttpResponse metrics = Admin().Send("GET", "/metrics");
  const std::string text(metrics.bytes().begin(), metrics.bytes().end());
  for (const char* status : {"400", "431"}) {
    const std::string line = fmt::format(R"(assay_http_requests_total{{method="",path="",status="{}"}} 1)", status);
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  station_.reset();  // the log is written
  std::ifstream file(options_.log);
  std::stringstream log;
  log << file.rdbuf();
  EXPECT_NE(log.str().find(R"("code":"bad_request","error":"not a proper request")"), std::string::npos) << log.str();
}

// A worker that is told so goes on, as after every failure that is not its own, and nobody reads the database's words.
TEST_P(DoorTest, AStatementThatTheDatabaseRefusesIsTheCoordinatorsFault) {
  TestCaller client = As(AccountRole::kClient);
  {
    const auto database = OpenCoordinatorDatabase(options_.store, options_.database);
    ASSERT_TRUE(database) << database.error().message;
    ASSERT_TRUE((*database)->Write([](store::Transaction& t) { return t.RunScript("DROP TABLE blob_rights"); }));
  }
  const HttpResponse response = client.Send("PUT", "/v1/blobs/" + HashBytes(AsBytes("x")).hex() + "?size=1", "x");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(TestCaller::JsonOf(response), Json({{"error", "the coordinator failed"}, {"code", "broken"}}));
  station_.reset();  // the log is written
  std::ifstream file(options_.log);
  std::stringstream log;
  log << file.rdbuf();
  EXPECT_NE(log.str().find("blob_rights"), std::string::npos) << log.str();
}

TEST_P(DoorTest, WhoKeepsGuessingHasToWaitAndNeighboursDoNot) {
  TestCaller client = As(AccountRole::kClient);
  EXPECT_EQ(client.StatusOf("GET", "/v1/orders"), 200);
  TestCaller guesser = Call("assay_" + std::string(64, 'b'));
  int status = 401;
  for (int i = 0; i < 1000 && status == 401; ++i) status = guesser.StatusOf("GET", "/v1/orders");
  EXPECT_EQ(status, 429);
  EXPECT_NE(guesser.Send("GET", "/v1/orders").Header("Retry-After"), "");
  EXPECT_EQ(client.StatusOf("GET", "/v1/orders"), 200);
}

TEST_P(DoorTest, TheLogHasEveryRequestAndNoSecret) {
  TestCaller client = As(AccountRole::kClient, "alice");
  const std::string id = Submit(client, 1);
  client.StatusOf("GET", "/v1/blobs/" + client.token());
  client.StatusOf("GET", "/v1/orders?after=" + client.token());
  client.StatusOf("GET", "/v1/blobs/x" + client.token() + client.token());
  station_.reset();
  std::ifstream file(options_.log);
  std::stringstream log;
  log << file.rdbuf();
  const std::string text = log.str();
  EXPECT_NE(text.find(R"("path":"/v1/orders","status":201)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("account":"alice")"), std::string::npos);
  EXPECT_EQ(text.find(client.token().substr(0, 20)), std::string::npos);
  EXPECT_EQ(text.find("payload"), std::string::npos);
  std::string line;
  for (std::istringstream lines(text); std::getline(lines, line);) EXPECT_TRUE(Json::accept(line)) << line;
}

class RateTest : public StationTest {
  void Configure(StationOptions& options) override { options.requests_per_s = 5; }
};
INSTANTIATE_TEST_SUITE_P(Engines, RateTest, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RateTest);

TEST_P(RateTest, OneTokenMaySendSoMuchAndOthersAreNotConcerned) {
  TestCaller greedy = As(AccountRole::kClient);
  int status = 200;
  for (int i = 0; i < 200 && status == 200; ++i) status = greedy.StatusOf("GET", "/v1/orders");
  EXPECT_EQ(status, 429);
  EXPECT_EQ(As(AccountRole::kClient).StatusOf("GET", "/v1/orders"), 200);
}

}  // namespace
}  // namespace assay::coordinator
