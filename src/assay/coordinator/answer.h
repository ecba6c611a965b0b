// Answer: what a route says to a request, and the errors of the API (docs/formats/platform.md). Value types; pure functions.
//
// A failure says to the caller what it may know. What the machine or the database said goes to the log alone (`detail`).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "assay/base/result.h"
#include "assay/net/http.h"

namespace assay::coordinator {

using Json = nlohmann::ordered_json;

struct Failure {
  int status = 400;
  std::string code{};   // "bad_request"
  std::string error{};  // one line
  int retry_after_s = 0;
  HttpHeaders headers{};
  std::string detail{};  // for the log
};

template <class T>
using Outcome = tl::expected<T, Failure>;
using Answer = Outcome<HttpResponse>;

inline tl::unexpected<Failure> Fail(int status, std::string code, std::string error) {
  return tl::unexpected(Failure{.status = status, .code = std::move(code), .error = std::move(error)});
}
template <class... Args>
tl::unexpected<Failure> BadRequest(fmt::format_string<Args...> format, Args&&... args) {
  return Fail(400, "bad_request", fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
tl::unexpected<Failure> NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return Fail(404, "not_found", fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
tl::unexpected<Failure> Refused(fmt::format_string<Args...> format, Args&&... args) {
  return Fail(422, "refused", fmt::format(format, std::forward<Args>(args)...));
}
tl::unexpected<Failure> Later(int retry_after_s, std::string error, std::string detail = {});

// An error of the layers below: 503 where the machine or the database failed, or nobody knows whether it was done; 500 where the coordinator itself is at
// fault; otherwise 422, in its words.
Failure FailureOf(const Error& error);
// Whether an error says that there is no room left on a disk.
bool IsFull(const Error& error);
template <class T>
Outcome<T> OrFail(Result<T> result) {
  if (!result) return tl::unexpected(FailureOf(result.error()));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(result);
  }
}

std::string Compact(const Json& json);
HttpResponse JsonAnswer(int status, const Json& json);
HttpResponse JsonText(int status, std::string_view text);  // of JSON that is written already
HttpResponse ToResponse(const Failure& failure);
// The same for clients of MLflow's API: with error_code and message, beside what our own clients read. `there`: there is such a route.
HttpResponse ToMlflowResponse(const Failure& failure, bool there);

}  // namespace assay::coordinator
