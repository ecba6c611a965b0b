#include "assay/coordinator/station.h"

#include <sys/stat.h>

#include <future>
#include <set>

#include "assay/coordinator/openapi.h"
#include "support/test_station.h"

namespace assay::coordinator {
namespace {

class StationStartTest : public StationTest {};
INSTANTIATE_TEST_SUITE_P(Engines, StationStartTest, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StationStartTest);

TEST_P(StationStartTest, TheFirstStartAloneShowsATokenAndEverythingStays) {
  struct stat info{};
  ASSERT_EQ(::stat(options_.store.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat((options_.store + "/coordinator.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  TestCaller client = As(AccountRole::kClient);
  const std::string id = Submit(client, 1);
  const std::string key = Coordinator();
  Restart();
  EXPECT_FALSE(station_->first_token());
  EXPECT_EQ(Coordinator(), key);
  EXPECT_EQ(Call(client.token()).StatusOf("GET", "/v1/orders/" + id), 200);
  EXPECT_EQ(Admin().StatusOf("GET", "/v1/admin/tokens"), 200);
}

TEST_P(StationStartTest, CoordinatorsThatStartAtOnceAreOne) {
  StationOptions options = options_;
  options.store = scratch_ / "shared/of/several";
  if (GetParam() == store::Engine::kPostgres) options.database = *store::Server().NewDatabase();
  std::vector<std::future<Result<std::unique_ptr<Station>>>> starting;
  for (int i = 0; i < 4; ++i) starting.push_back(std::async(std::launch::async, [&] { return Station::Open(options); }));
  int tokens = 0;
  std::set<std::string> keys;
  std::vector<std::unique_ptr<Station>> stations;
  for (auto& one : starting) {
    auto station = one.get();
    ASSERT_TRUE(station) << station.error().message;
    ASSERT_TRUE((*station)->Start());
    tokens += (*station)->first_token() ? 1 : 0;
    keys.insert((*station)->office().key.verify_key().ToString());
    stations.push_back(*std::move(station));
  }
  EXPECT_EQ(tokens, 1);
  EXPECT_EQ(keys.size(), 1);
}

TEST_P(StationStartTest, AStartThatCannotListenTakesNoTokenAway) {
  StationOptions options = options_;
  options.store = scratch_ / "unlucky";
  if (GetParam() == store::Engine::kPostgres) options.database = *store::Server().NewDatabase();
  options.listen = "203.0.113.1:1";  // of nobody here
  {
    const auto station = Station::Open(options);
    ASSERT_TRUE(station) << station.error().message;
    EXPECT_FALSE((*station)->Start());
    EXPECT_FALSE((*station)->first_token());
  }
  options.listen = "127.0.0.1:0";
  const auto station = Station::Open(options);
  ASSERT_TRUE(station) << station.error().message;
  ASSERT_TRUE((*station)->Start());
  EXPECT_TRUE((*station)->first_token());
}

TEST_P(StationStartTest, AFolderOfSomethingElseIsRefused) {
  StationOptions options = options_;
  options.store = scratch_ / "letters";
  ASSERT_TRUE(MakeDirectories(options.store));
  if (GetParam() == store::Engine::kPostgres) options.database = *store::Server().NewDatabase();
  EXPECT_FALSE(IsCoordinatorStore(options.store));
  ASSERT_TRUE(WriteFileAtomic(options.store + "/.hidden", AsBytes("x")));
  EXPECT_TRUE(Station::Open(options));
  options.store = scratch_ / "papers";
  ASSERT_TRUE(MakeDirectories(options.store));
  ASSERT_TRUE(WriteFileAtomic(options.store + "/letter.txt", AsBytes("x")));
  const auto refused = Station::Open(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("is not a coordinator's folder"), std::string::npos);
  EXPECT_FALSE(IsCoordinatorStore(options.store));
}

TEST_P(StationStartTest, ADatabaseBelongsToOneKey) {
  StationOptions options = options_;
  options.store = scratch_ / "elsewhere";
  if (options.database.empty()) options.database = options_.store + "/coordinator.db";
  const auto refused = Station::Open(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("belongs to the coordinator"), std::string::npos);
}

TEST_P(StationStartTest, WhatIsOpenNeedsNoToken) {
  TestCaller nobody = Call("");
  EXPECT_EQ(nobody.Read("GET", "/healthz"), Json({{"status", "ok"}}));
  const Json about = nobody.Read("GET", "/v1/coordinator");
  EXPECT_EQ(about["key"], Coordinator());
  EXPECT_EQ(about["version"], "test");
  const HttpResponse metrics = nobody.Send("GET", "/metrics");
  const std::string text(metrics.bytes().begin(), metrics.bytes().end());
  EXPECT_NE(text.find("assay_orders_open 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("assay_http_requests_total{method=\"GET\",path=\"/healthz\",status=\"200\"} 1\n"), std::string::npos)
      << text;
}

void CollectReferences(const Json& json, std::set<std::string>& references) {
  if (json.is_object() && json.contains("$ref")) references.insert(json["$ref"].get<std::string>());
  if (!json.is_structured()) return;
  for (const Json& part : json) CollectReferences(part, references);
}

TEST_P(StationStartTest, TheOpenApiDocumentHasEveryRouteAndEverySchema) {
  const Json document = Call("").Read("GET", "/openapi.json");
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items()) operations += methods.size();
  EXPECT_EQ(operations, station_->routes().rows().size());
  for (const auto& route : station_->routes().rows()) {
    std::string method = route->method;
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    ASSERT_TRUE(document["paths"].contains(route->path)) << route->path;
    ASSERT_TRUE(document["paths"][route->path].contains(method)) << route->path;
    const Json& operation = document["paths"][route->path][method];
    EXPECT_FALSE(operation["summary"].get<std::string>().empty()) << route->path;
    EXPECT_TRUE(operation["responses"].contains(std::to_string(route->status))) << route->path;
    EXPECT_EQ(operation.contains("security"), route->roles.open()) << route->path;
    for (std::size_t at = route->path.find('{'); at != std::string::npos; at = route->path.find('{', at + 1)) {
      const std::string name = route->path.substr(at + 1, route->path.find('}', at) - at - 1);
      bool found = false;
      for (const Json& parameter : operation["parameters"])
        found = found || (parameter["name"] == name && parameter["in"] == "path");
      EXPECT_TRUE(found) << route->path << " " << name;
    }
    std::set<std::string> headers;
    for (const Json& parameter : operation.value("parameters", Json::array()))
      if (parameter["in"] == "header") headers.insert(parameter["name"].get<std::string>());
    if (route->roles == kWorkers)
      EXPECT_EQ(headers, (std::set<std::string>{"Assay-Worker", "Assay-Time", "Assay-Signature"})) << route->path;
    else
      EXPECT_EQ(headers.contains("Last-Event-ID"), route->path.ends_with("/events")) << route->path;
    if (route->body == Route::Body::kJson) {
      const Json& schema = document["components"]["schemas"][route->request_schema];
      EXPECT_EQ(operation["requestBody"]["required"], schema.contains("required")) << route->path;
    }
  }
  std::set<std::string> references;
  CollectReferences(document, references);
  EXPECT_FALSE(references.empty());
  for (const std::string& reference : references) {
    ASSERT_TRUE(reference.starts_with("#/components/schemas/")) << reference;
    EXPECT_TRUE(document["components"]["schemas"].contains(reference.substr(21))) << reference;
  }
}

}  // namespace
}  // namespace assay::coordinator
