#include "assay/coordinator/answer.h"

#include <cerrno>
#include <system_error>

namespace assay::coordinator {

tl::unexpected<Failure> Later(int retry_after_s, std::string error, std::string detail) {
  return tl::unexpected(Failure{
      .status = 503, .code = "later", .error = std::move(error), .retry_after_s = retry_after_s, .detail = std::move(detail)});
}

bool IsFull(const Error& error) {
  return error.system && (error.message.find("disk is full") != std::string::npos ||
                          error.message.find(std::generic_category().message(ENOSPC)) != std::string::npos);
}

Failure FailureOf(const Error& error) {
  if (IsFull(error)) return Later(1, "the coordinator's disk is full; send the request again", error.message).value();
  if (error.system || error.unknown_outcome) {
    return Later(1, "the coordinator's machine or database failed; send the request again", error.message).value();
  }
  if (error.broken) return {.status = 500, .code = "broken", .error = "the coordinator failed", .detail = error.message};
  return {.status = 422, .code = "refused", .error = error.message};
}

std::string Compact(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

HttpResponse JsonText(int status, std::string_view text) {
  return {.status = status, .content_type = "application/json", .body = Bytes(text.begin(), text.end())};
}

HttpResponse JsonAnswer(int status, const Json& json) { return JsonText(status, Compact(json)); }

HttpResponse ToResponse(const Failure& failure) {
  HttpResponse response = JsonAnswer(failure.status, {{"error", failure.error}, {"code", failure.code}});
  response.retry_after_s = failure.retry_after_s;
  response.headers = failure.headers;
  return response;
}

HttpResponse ToMlflowResponse(const Failure& failure, bool there) {
  const auto code = [&] {
    switch (failure.status) {
      case 401: return "UNAUTHENTICATED";
      case 403: return "PERMISSION_DENIED";
      case 404: return there ? "RESOURCE_DOES_NOT_EXIST" : "ENDPOINT_NOT_FOUND";
      case 405: return "ENDPOINT_NOT_FOUND";
      case 429: return "REQUEST_LIMIT_EXCEEDED";
      case 503: return "TEMPORARILY_UNAVAILABLE";
      default: return failure.status >= 500 ? "INTERNAL_ERROR" : "INVALID_PARAMETER_VALUE";
    }
  };
  HttpResponse response = JsonAnswer(
      failure.status, {{"error_code", code()}, {"message", failure.error}, {"error", failure.error}, {"code", failure.code}});
  response.retry_after_s = failure.retry_after_s;
  response.headers = failure.headers;
  return response;
}

}  // namespace assay::coordinator
