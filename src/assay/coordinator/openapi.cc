#include "assay/coordinator/openapi.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "assay/platform/request_signature.h"

namespace assay::coordinator {
namespace {

constexpr char kSchemas[] = "#/components/schemas/";

// What stands for {name} in paths.
Json SchemaOfPart(std::string_view name) {
  if (name == "sha" || name == "worker") return {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}};
  if (name == "order" || name == "question") return {{"type", "string"}, {"pattern", "^[0-9a-f]{32}$"}};
  if (name == "token") return {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}};
  if (name == "lease") return {{"type", "integer"}, {"minimum", 1}};
  return {{"type", "string"}};
}

std::string_view DescriptionOf(int status) {
  switch (status) {
    case 200: return "done";
    case 201: return "made, or there already";
    case 202: return "accepted, not finished";
    case 206: return "a part";
    case 304: return "as it is known";
    case 400: return "not a request of this API";
    case 401: return "no valid token";
    case 403: return "not for this role";
    case 404: return "not there, or another account's";
    case 409: return "what is there speaks against it";
    case 411: return "without a Content-Length";
    case 413: return "too large";
    case 416: return "beyond the end";
    case 422: return "refused";
    case 429: return "too often; Retry-After";
    case 503: return "later; Retry-After";
    case 507: return "no room";
    default: return "see the page";
  }
}

Json ContentOf(const std::string& schema) {
  if (schema.find('/') != std::string::npos) return {{schema, Json::object()}};
  return {{"application/json", {{"schema", {{"$ref", kSchemas + schema}}}}}};
}

Json ErrorAnswer(int status) { return {{"description", DescriptionOf(status)}, {"content", ContentOf("Error")}}; }

Json AnswersOf(const Route& route) {
  Json answers = Json::object();
  const auto success = [&](int status) {
    Json answer = {{"description", DescriptionOf(status)}};
    if (!route.response_schema.empty()) answer["content"] = ContentOf(route.response_schema);
    answers[std::to_string(status)] = std::move(answer);
  };
  success(route.status);
  for (const int status : route.statuses) {
    if (status < 400) {
      success(status);
    } else {
      answers[std::to_string(status)] = ErrorAnswer(status);
    }
  }
  std::vector<int> errors = {400, 404, 503};
  if (!route.roles.open()) errors.insert(errors.end(), {401, 403, 429});
  if (route.body != Route::Body::kNone) errors.insert(errors.end(), {413, 422});
  std::sort(errors.begin(), errors.end());
  for (const int status : errors) answers[std::to_string(status)] = ErrorAnswer(status);
  return answers;
}

std::string RolesOf(Roles roles) {
  std::string names;
  for (const AccountRole role : {AccountRole::kClient, AccountRole::kProvider, AccountRole::kAuditor, AccountRole::kAdmin}) {
    if (roles.Has(role)) names += (names.empty() ? "" : ", ") + std::string(Name(role));
  }
  return names;
}

// By which a worker proves its key.
constexpr std::array<QueryField, 3> kWorkerHeaders = {
    {{platform::kWorkerHeader, "string", "the worker's public key, NAME+HASH+DATA", true},
     {platform::kTimeHeader, "integer", "milliseconds since 1970, within five minutes of the coordinator's clock", true},
     {platform::kSignatureHeader, "string", "base64 of the Ed25519 signature over the request, see docs/formats/platform.md",
      true}}};

void AddParameter(Json& parameters, const QueryField& field, std::string_view where) {
  parameters.push_back({{"name", field.name},
                        {"in", where},
                        {"required", field.required},
                        {"description", field.what},
                        {"schema", {{"type", field.type}}}});
}

// A body of JSON may be absent where no field of it is required.
bool NeedsBody(const Route& route, const std::map<std::string, Json>& schemas) {
  if (route.body != Route::Body::kJson) return true;
  const auto schema = schemas.find(route.request_schema);
  return schema != schemas.end() && schema->second.contains("required");
}

Json ParametersOf(const Route& route) {
  Json parameters = Json::array();
  std::string_view rest = route.path;
  for (std::size_t at = rest.find('{'); at != std::string_view::npos; at = rest.find('{')) {
    rest = rest.substr(at + 1);
    const std::string_view name = rest.substr(0, rest.find('}'));
    parameters.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", SchemaOfPart(name)}});
  }
  for (const QueryField& field : route.query) AddParameter(parameters, field, "query");
  for (const QueryField& field : route.headers) AddParameter(parameters, field, "header");
  if (route.roles == kWorkers) {
    for (const QueryField& field : kWorkerHeaders) AddParameter(parameters, field, "header");
  }
  return parameters;
}

}  // namespace

Json OpenApiOf(const Routes& routes, const std::string& version) {
  Json paths = Json::object();
  for (const auto& route : routes.rows()) {
    std::string method = route->method;
    std::transform(method.begin(), method.end(), method.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    Json operation = {{"summary", route->summary}};
    if (route->roles.open()) {
      operation["security"] = Json::array();
    } else {
      operation["description"] = "For tokens of role " + RolesOf(route->roles) + ".";
    }
    Json parameters = ParametersOf(*route);
    if (!parameters.empty()) operation["parameters"] = std::move(parameters);
    if (route->body != Route::Body::kNone) {
      operation["requestBody"] = {
          {"required", NeedsBody(*route, routes.schemas())},
          {"content", ContentOf(route->request_schema.empty() ? "application/octet-stream" : route->request_schema)}};
      operation["x-max-bytes"] = route->max_body_bytes;
    }
    operation["responses"] = AnswersOf(*route);
    paths[route->path][method] = std::move(operation);
  }
  Json schemas = Json::object();
  for (const auto& [name, schema] : routes.schemas()) schemas[name] = schema;
  schemas["Error"] = {
      {"type", "object"},
      {"required", {"error", "code"}},
      {"properties", {{"error", {{"type", "string"}, {"description", "one line"}}}, {"code", {{"type", "string"}}}}}};
  return {
      {"openapi", "3.1.0"},
      {"info", {{"title", "Assay coordinator"}, {"version", version}, {"description", "docs/formats/platform.md says more."}}},
      {"security", Json::array({{{"token", Json::array()}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", std::move(schemas)},
        {"securitySchemes",
         {{"token", {{"type", "http"}, {"scheme", "bearer"}, {"bearerFormat", "assay_ and 64 hex digits"}}}}}}}};
}

}  // namespace assay::coordinator
