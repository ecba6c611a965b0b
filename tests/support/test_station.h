// A coordinator on 127.0.0.1 for tests of its API, on a database of the test's own, and those who call it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "assay/coordinator/station.h"
#include "assay/net/http_client.h"
#include "support/engines.h"
#include "support/life_parties.h"

namespace assay::coordinator {

// One who calls with a token, or without.
class TestCaller {
 public:
  TestCaller(const std::string& url, std::string token) : http_(*HttpClient::Create(url)), token_(std::move(token)) {}

  HttpResponse Send(std::string_view method, const std::string& path, std::string_view body = {}, HttpHeaders headers = {}) {
    if (!token_.empty()) headers.emplace_back("Authorization", "Bearer " + token_);
    auto response = http_->Send({std::string(method), path, std::move(headers)}, AsBytes(body), 10'000);
    if (!response) {
      ADD_FAILURE() << response.error().message;
      return {.status = 0};
    }
    return *std::move(response);
  }
  int StatusOf(std::string_view method, const std::string& path, std::string_view body = {}) {
    return Send(method, path, body).status;
  }
  Json Read(std::string_view method, const std::string& path, std::string_view body = {}) {
    return JsonOf(Send(method, path, body));
  }
  static Json JsonOf(const HttpResponse& response) {
    return Json::parse(response.bytes().begin(), response.bytes().end(), nullptr, false);
  }
  // The hash of what is there then.
  std::string Upload(std::string_view bytes) {
    const std::string hash = HashBytes(AsBytes(bytes)).hex();
    EXPECT_EQ(StatusOf("PUT", "/v1/blobs/" + hash + "?size=" + std::to_string(bytes.size()), bytes), 201);
    return hash;
  }

  HttpClient& http() { return *http_; }
  const std::string& token() const { return token_; }

 private:
  std::unique_ptr<HttpClient> http_;
  std::string token_;
};

class StationTest : public ::testing::TestWithParam<store::Engine> {
 protected:
  void SetUp() override {
    options_.store = scratch_ / "store";
    options_.log = scratch_ / "log";
    options_.version = "test";
    options_.reserve_bytes = 0;
    if (GetParam() == store::Engine::kPostgres) {
      const auto url = store::Server().NewDatabase();
      ASSERT_TRUE(url) << url.error().message;
      options_.database = *url;
    }
    Configure(options_);
    Begin();
    ASSERT_TRUE(station_->first_token());
    admin_token_ = station_->first_token()->token;
  }
  virtual void Configure(StationOptions&) {}

  void Begin() {
    auto station = Station::Open(options_);
    ASSERT_TRUE(station) << station.error().message;
    station_ = *std::move(station);
    const Status started = station_->Start();
    ASSERT_TRUE(started) << started.error().message;
  }
  void Restart() {
    station_.reset();
    Begin();
  }

  TestCaller Call(const std::string& token) { return {station_->url(), token}; }
  TestCaller Admin() { return Call(admin_token_); }
  TestCaller As(AccountRole role, const std::string& account = "") {
    const auto made = station_->office().tokens.Make(role, account, "", 0);
    EXPECT_TRUE(made) << made.error().message;
    return Call(made->token);
  }
  std::string Coordinator() { return station_->office().key.verify_key().ToString(); }

  // An order of the client's, whose files it has uploaded.
  std::string OrderOf(TestCaller& client, int number, const std::string& job_file = "job") {
    const SigningKey key = testkit::KeyOf("client");
    const life::Order order{.id = testkit::DigestOf("order" + std::to_string(number)).hex().substr(0, 32),
                            .client = key.verify_key().ToString(),
                            .coordinator = Coordinator(),
                            .job = testkit::DigestOf("job"),
                            .files = {{.name = "job.toml",
                                       .sha256 = *Digest::FromHex(client.Upload(job_file)),
                                       .bytes = static_cast<std::int64_t>(job_file.size())}},
                            .made = 1'700'000'000};
    return life::SignOrder(order, key);
  }
  std::string Submit(TestCaller& client, int number) {
    const Json answer = client.Read("POST", "/v1/orders", OrderOf(client, number));
    EXPECT_TRUE(answer.contains("id")) << answer.dump();
    return answer.value("id", "");
  }

  testkit::Scratch scratch_;
  StationOptions options_;
  std::unique_ptr<Station> station_;
  std::string admin_token_;
};

inline std::string CodeOf(const HttpResponse& response) { return TestCaller::JsonOf(response).value("code", ""); }

}  // namespace assay::coordinator
