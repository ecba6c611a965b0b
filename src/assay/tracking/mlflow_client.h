// MlflowClient: calls of the REST API of an MLflow tracking server, as its own clients make them: GET with a query, POST with JSON, a bearer token.
//
// Nothing is retried here. One call at a time; Cancel may come from any thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "assay/base/result.h"
#include "assay/net/http_client.h"

namespace assay::tracking {

using Json = nlohmann::ordered_json;

struct MlflowServer {
  std::string url{};            // where /api/2.0/mlflow begins
  std::string authorization{};  // the header's value; empty: none
  std::string ca_file{};
  int timeout_ms = 20'000;  // of one call

  // With what MLflow's own clients take from the environment: MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN.
  static MlflowServer FromEnvironment(const std::string& url);
};

struct MlflowError {
  std::string code{};     // RESOURCE_DOES_NOT_EXIST; empty where the server gave none
  std::string message{};  // names the server
  bool passes = false;    // the same call may succeed later: the server is away or busy
};
template <class T>
using MlflowResult = tl::expected<T, MlflowError>;

class MlflowClient {
 public:
  static Result<std::unique_ptr<MlflowClient>> Create(const MlflowServer& server);

  // `what`: "runs/get".
  MlflowResult<Json> Get(const std::string& what, const std::vector<std::pair<std::string, std::string>>& query);
  MlflowResult<Json> Post(const std::string& what, const Json& body);
  void Cancel() { http_->Cancel(); }

 private:
  MlflowClient(MlflowServer server, std::unique_ptr<HttpClient> http) : server_(std::move(server)), http_(std::move(http)) {}
  MlflowResult<Json> Call(const std::string& method, const std::string& path, const std::string& body);

  const MlflowServer server_;
  const std::unique_ptr<HttpClient> http_;
};

}  // namespace assay::tracking
