#include "assay/tracking/mlflow_client.h"

#include <cstdlib>

#include "assay/base/base64.h"
#include "assay/base/quote.h"
#include "assay/net/target.h"

namespace assay::tracking {
namespace {

constexpr std::string_view kPrefix = "/api/2.0/mlflow/";
constexpr std::size_t kMaxAnswer = 16 << 20;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Statuses after which MLflow's own clients send a request again.
bool Passes(int status) { return status == 408 || status == 429 || status >= 500; }

std::string TextOf(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

MlflowServer MlflowServer::FromEnvironment(const std::string& url) {
  MlflowServer server{.url = url};
  const std::string user = Environment("MLFLOW_TRACKING_USERNAME"), password = Environment("MLFLOW_TRACKING_PASSWORD");
  const std::string token = Environment("MLFLOW_TRACKING_TOKEN");
  if (!user.empty() && !password.empty()) {
    server.authorization = "Basic " + Base64(AsBytes(user + ":" + password));
  } else if (!token.empty()) {
    server.authorization = "Bearer " + token;
  }
  return server;
}

Result<std::unique_ptr<MlflowClient>> MlflowClient::Create(const MlflowServer& server) {
  std::string url = server.url;
  while (url.ends_with('/')) url.pop_back();
  if (!server.authorization.empty() && !IsHeader("Authorization", server.authorization))
    return Err("$MLFLOW_TRACKING_TOKEN: expected one line of visible characters");
  ASSAY_ASSIGN(auto http, HttpClient::Create(url, {.max_response_bytes = kMaxAnswer, .ca_file = server.ca_file}));
  return std::unique_ptr<MlflowClient>(new MlflowClient(server, std::move(http)));
}

MlflowResult<Json> MlflowClient::Get(const std::string& what, const std::vector<std::pair<std::string, std::string>>& query) {
  std::string path = std::string(kPrefix) + what;
  for (const auto& [name, value] : query)
    path += (&name == &query.front().first ? "?" : "&") + PercentEncode(name) + "=" + PercentEncode(value);
  return Call("GET", path, "");
}

MlflowResult<Json> MlflowClient::Post(const std::string& what, const Json& body) {
  return Call("POST", std::string(kPrefix) + what, body.dump(-1, ' ', false, Json::error_handler_t::replace));
}

MlflowResult<Json> MlflowClient::Call(const std::string& method, const std::string& path, const std::string& body) {
  HttpCall call{.method = method, .path = path};
  if (!server_.authorization.empty()) call.headers.emplace_back("Authorization", server_.authorization);
  if (!body.empty()) call.headers.emplace_back("Content-Type", "application/json");
  const auto response = http_->Send(call, AsBytes(body), server_.timeout_ms);
  // Whatever kept an answer away may be over the next time, but for a server that is none.
  if (!response) return tl::unexpected(MlflowError{.message = response.error().message, .passes = !http_->misplaced()});
  Json answer = Json::parse(response->bytes().begin(), response->bytes().end(), nullptr, false);
  if (response->status == 200 && answer.is_object()) return answer;
  MlflowError error{.code = TextOf(answer, "error_code"), .passes = Passes(response->status)};
  const std::string said = TextOf(answer, "message");
  error.message = fmt::format("{}: {}: status {}{}", server_.url, path.substr(0, path.find('?')), response->status,
                              said.empty() ? std::string() : fmt::format(", {} {}", error.code, Quote(said)));
  if (response->status == 200) error.message += ", and no JSON object: is this an MLflow server?";
  return tl::unexpected(std::move(error));
}

}  // namespace assay::tracking
