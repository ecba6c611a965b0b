// ApiClient: a client of one coordinator (docs/formats/platform.md): bearer token, a worker's signature, repetition, errors in words.
//
// Every request of the API may be sent again. So while the coordinator cannot be reached, cuts the connection, is silent for too long or answers "later", a
// call is made again with growing pauses, until its patience is over. Any other refusal is an error with the coordinator's words, the status and the code.
// Answers are data from a party that is not trusted: bounded in size, and only read here.
//
// One call at a time; Cancel may come from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/net/http_client.h"
#include "assay/platform/backoff.h"
#include "assay/sign/key.h"

namespace assay::platform {

using Json = nlohmann::ordered_json;

// An Error that remembers what the coordinator answered.
struct ApiError : Error {
  ApiError() = default;
  ApiError(Error error) : Error(std::move(error)) {}  // NOLINT(google-explicit-constructor): any failure is one
  int status = 0;                                     // 0: there was no answer
  std::string code{};                                 // "ended", "conflict", ...; empty where the answer names none
  bool later = false;                                 // the patience was over before the trouble was
  HttpHeaders headers{};                              // of the answer
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;
using ApiStatus = ApiResult<void>;

struct ApiOptions {
  std::string server;                          // "http://host:port", without a path
  std::string token{};                         // empty: only what is open
  std::string ca_file{};                       // PEM: certificates to trust instead of the system's
  std::shared_ptr<const SigningKey> worker{};  // signs each request, where it is given and the coordinator is known
  std::optional<VerifyKey> coordinator{};      // whom the worker's requests are for
  int attempt_ms = 30'000;                     // for one attempt of a call
  int patience_ms = 60'000;                    // for all attempts of a call
  std::function<std::int64_t()> now_ms{};      // since 1970; the system's clock where it is empty
  std::size_t max_answer_bytes = 16 << 20;
  // Told once in every stretch of time in which the coordinator gives no answer, where there is patience: why. Whoever waits wants to know for what.
  std::function<void(const std::string& why)> on_wait{};
};

// What differs from the options in one call.
struct CallTerms {
  std::optional<int> attempt_ms{};  // a long poll takes as long as it asks for, and then some
  std::optional<int> patience_ms{};
  std::string content_type = "application/json";
};

class ApiClient {
 public:
  static Result<std::unique_ptr<ApiClient>> Create(ApiOptions options);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  const std::string& server() const { return options_.server; }
  const ApiOptions& options() const { return options_; }

  // Paths begin with "/v1/". Answers of 2xx are successes. A JSON answer is always an object.
  ApiResult<Json> Get(std::string_view path, const CallTerms& terms = {});
  ApiResult<Json> Post(std::string_view path, const Json& body, const CallTerms& terms = {});
  ApiResult<Json> Put(std::string_view path, const Json& body, const CallTerms& terms = {});
  // The same for bodies and answers that are no JSON.
  ApiResult<HttpResponse> Send(std::string_view method, std::string_view path, ByteSpan body, const CallTerms& terms = {});

  // One attempt each, unsigned, for what resumes in a way of its own (transfer.h). `later` of the error says whether to come back.
  ApiResult<HttpResponse> UploadOnce(std::string_view path, const BodySource& body);
  ApiResult<HttpResponse> DownloadOnce(std::string_view path, const HttpHeaders& headers, const HttpClient::Sink& sink,
                                       std::uint64_t max_bytes);

  // Server-sent events from after `last_id` on (empty: from the first). Comes back wherever the stream breaks or ends, until the callback returns false, which
  // is the success, or nothing has come for the patience. An event may be seen twice.
  ApiStatus Listen(std::string_view path, std::string last_id, const std::function<bool(const ServerEvent& event)>& callback,
                   const CallTerms& terms = {});

  // For the pauses of callers who repeat something themselves; ends with Cancel.
  Pause& pause() { return pause_; }
  // Ends the call under way, and every later one, with an error.
  void Cancel();
  bool cancelled() const { return pause_.cancelled(); }

 private:
  ApiClient(ApiOptions options, std::unique_ptr<HttpClient> http) : options_(std::move(options)), http_(std::move(http)) {}
  HttpHeaders Headers() const;
  HttpHeaders SignedHeaders(std::string_view method, std::string_view path, ByteSpan body) const;
  ApiResult<HttpResponse> Attempt(std::string_view method, std::string_view path, ByteSpan body, const CallTerms& terms,
                                  int left_ms);
  ApiResult<HttpResponse> Judge(Result<HttpResponse> response, bool timed_out);
  void NoteWaiting(const ApiError& error);
  bool CorrectClock(const ApiError& error);
  std::int64_t NowMs() const;

  const ApiOptions options_;
  std::unique_ptr<HttpClient> http_;
  bool waiting_ = false;              // the last attempt came to nothing, and on_wait was told
  std::int64_t clock_offset_ms_ = 0;  // the coordinator's clock less this machine's
  Pause pause_;
};

}  // namespace assay::platform
