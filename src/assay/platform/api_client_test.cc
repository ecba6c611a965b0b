#include "assay/platform/api_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "assay/net/http_server.h"
#include "assay/platform/request_signature.h"

namespace assay::platform {
namespace {

HttpResponse JsonResponse(int status, const std::string& text) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body.assign(text.begin(), text.end());
  return response;
}

std::unique_ptr<HttpServer> Serve(HttpServer::Handler handler) {
  auto server = HttpServer::Start({}, std::move(handler));
  if (!server) ADD_FAILURE() << server.error().message;
  return *std::move(server);
}

std::unique_ptr<ApiClient> ClientOf(ApiOptions options) {
  auto client = ApiClient::Create(std::move(options));
  if (!client) ADD_FAILURE() << client.error().message;
  return *std::move(client);
}

TEST(ApiClient, SendsItsTokenAndReadsObjects) {
  const auto server = Serve([](const HttpRequest& request) {
    if (request.Header("authorization") != "Bearer assay_x")
      return JsonResponse(401, R"({"error":"no token","code":"unauthorized"})");
    if (request.target == "/v1/revoked") {
      HttpResponse refused = JsonResponse(401, R"({"error":"expected a header","code":"unauthorized"})");
      refused.headers.emplace_back("WWW-Authenticate", "Bearer");
      return refused;
    }
    return JsonResponse(200, request.target == "/v1/list" ? "[1]" : R"({"target":")" + request.target + R"("})");
  });
  const auto client = ClientOf({.server = server->url() + "/", .token = "assay_x"});
  const auto answer = client->Get("/v1/x?y=1");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("target"), "/v1/x?y=1");
  EXPECT_FALSE(client->Get("/v1/list")) << "not an object";

  const auto revoked = client->Get("/v1/revoked");
  ASSERT_FALSE(revoked);
  EXPECT_EQ(revoked.error().message,
            server->url() + ": the token is not valid, was revoked or has expired (--token, $ASSAY_TOKEN)");

  const auto stranger = ClientOf({.server = server->url()});
  const auto refused = stranger->Get("/v1/x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 401);
  EXPECT_EQ(refused.error().code, "unauthorized");
  EXPECT_NE(refused.error().message.find("no token"), std::string::npos);
  EXPECT_FALSE(refused.error().later);
}

TEST(ApiClient, SaysOnceForWhatItWaits) {
  std::vector<std::string> told;
  std::atomic<int> asked = 0;
  const auto server = Serve([&](const HttpRequest&) {
    return ++asked % 3 == 0 ? JsonResponse(200, "{}") : JsonResponse(503, R"({"error":"restarting","code":"later"})");
  });
  ApiOptions options{.server = server->url(), .patience_ms = 60'000};
  options.on_wait = [&](const std::string& why) { told.push_back(why); };
  const auto client = ClientOf(options);
  EXPECT_TRUE(client->Get("/v1/x"));
  EXPECT_EQ(told, std::vector<std::string>{"restarting"}) << "two attempts in vain, one line";
  EXPECT_TRUE(client->Get("/v1/x"));
  EXPECT_EQ(told.size(), 2u) << "another time is told again";

  told.clear();
  options.server = "http://127.0.0.1:1";
  options.patience_ms = 500;
  EXPECT_FALSE(ClientOf(options)->Get("/v1/x"));
  EXPECT_EQ(told, std::vector<std::string>{"connection refused"});
  told.clear();
  options.patience_ms = 0;
  EXPECT_FALSE(ClientOf(options)->Get("/v1/x"));
  EXPECT_TRUE(told.empty()) << "nobody waits";
}

TEST(ApiClient, RepeatsWhatPassesAndNothingElse) {
  std::atomic<int> asked = 0;
  const auto server = Serve([&](const HttpRequest& request) {
    const int turn = ++asked;
    if (request.target == "/v1/refused") return JsonResponse(422, R"({"error":"no","code":"refused"})");
    if (request.target == "/v1/never") return JsonResponse(503, R"({"error":"later","code":"later"})");
    return turn < 3 ? JsonResponse(503, R"({"error":"later","code":"later"})") : JsonResponse(200, "{}");
  });
  const auto client = ClientOf({.server = server->url(), .patience_ms = 20'000});
  EXPECT_TRUE(client->Post("/v1/x", Json::object()));
  EXPECT_EQ(asked, 3);
  asked = 0;
  EXPECT_FALSE(client->Get("/v1/refused"));
  EXPECT_EQ(asked, 1) << "a refusal is an answer";
  asked = 0;
  const auto late = client->Get("/v1/never", {.patience_ms = 700});
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().later);
  EXPECT_GE(asked, 2);
}

TEST(ApiClient, SignsWithACorrectedClock) {
  ed25519::Seed seed{};
  seed.fill(3);
  const auto key = std::make_shared<const SigningKey>("worker", seed);
  constexpr std::int64_t kServerTime = 1'800'000'000'000;
  std::atomic<int> asked = 0;
  const auto server = Serve([&](const HttpRequest& request) {
    ++asked;
    const SignedRequest what{.method = request.method,
                             .target = request.target,
                             .body = HashBytes(request.body),
                             .coordinator = key->verify_key().point(),
                             .token = HashBytes(AsBytes("assay_t"))};
    const auto signer = VerifyRequest(what, request.headers, kServerTime);
    if (signer) return JsonResponse(200, R"({"signer":")" + signer->ToString() + R"("})");
    HttpResponse response = JsonResponse(401, R"({"error":"no","code":"unauthorized"})");
    if (signer.error().clock) response.headers.emplace_back(std::string(kTimeHeader), std::to_string(kServerTime));
    return response;
  });
  const auto client =
      ClientOf({.server = server->url(), .token = "assay_t", .worker = key, .coordinator = key->verify_key(), .now_ms = [] {
                  return std::int64_t{1'000'000};
                }});
  for (int i = 0; i < 2; ++i) {
    const auto answer = client->Post("/v1/work", {{"wait_ms", 1}});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->at("signer"), key->verify_key().ToString());
  }
  EXPECT_EQ(asked, 3) << "the clock is corrected once";
}

TEST(ApiClient, CancelEndsAWait) {
  const auto server = Serve([](const HttpRequest&) { return JsonResponse(503, "{}"); });
  const auto client = ClientOf({.server = server->url(), .patience_ms = 3'600'000});
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    client->Cancel();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(client->Get("/v1/x"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  canceller.join();
  EXPECT_FALSE(client->Get("/v1/x"));
}

TEST(ApiClient, RefusesAddressesThatAreNotServers) {
  EXPECT_FALSE(ApiClient::Create({.server = "http://127.0.0.1:1/path"}));
  EXPECT_FALSE(ApiClient::Create({.server = "127.0.0.1"}));
  EXPECT_FALSE(ApiClient::Create({.server = "http://127.0.0.1:1", .token = "a\r\nb"}));
}

TEST(ApiClient, EventsGoOnWhereTheyBroke) {
  std::atomic<int> connections = 0;
  const auto server = Serve([&](const HttpRequest& request) {
    ++connections;
    const std::string_view last = request.Header("last-event-id");
    const int from = last.empty() ? 0 : std::stoi(std::string(last)) + 1;
    HttpResponse response;
    response.content_type = std::string(kEventStreamType);
    const std::string text = EncodeEvent({.id = std::to_string(from), .type = "entry", .data = "x"});
    response.body.assign(text.begin(), text.end());  // one event, then the stream ends
    return response;
  });
  const auto client = ClientOf({.server = server->url()});
  std::string seen;
  const auto listened = client->Listen("/v1/events", "", [&](const ServerEvent& event) {
    seen += event.id;
    return event.id != "2";
  });
  ASSERT_TRUE(listened) << listened.error().message;
  EXPECT_EQ(seen, "012");
  EXPECT_EQ(connections, 3);
}

}  // namespace
}  // namespace assay::platform
