#include "assay/platform/api_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "assay/base/quote.h"
#include "assay/net/url.h"
#include "assay/platform/request_signature.h"

namespace assay::platform {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kIdleMs = 45'000;  // without a byte, of uploads, downloads and events: servers send a comment every 15 seconds
constexpr std::size_t kMaxWordsBytes = 2000;  // of an error's

std::string TextOf(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json ParseJson(const Bytes& body) { return Json::parse(body.begin(), body.end(), nullptr, false); }

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Result<std::unique_ptr<ApiClient>> ApiClient::Create(ApiOptions options) {
  while (options.server.ends_with('/')) options.server.pop_back();
  ASSAY_ASSIGN(const Url url, ParseUrl(options.server));
  if (url.target != "/") return Err("{}: expected a server's address without a path", OneLine(options.server));
  if (!options.token.empty() && !IsHeader("Authorization", "Bearer " + options.token))
    return Err("the token has characters that no token has");
  ASSAY_ASSIGN(auto http, HttpClient::Create(options.server,
                                             {.max_response_bytes = options.max_answer_bytes, .ca_file = options.ca_file}));
  return std::unique_ptr<ApiClient>(new ApiClient(std::move(options), std::move(http)));
}

std::int64_t ApiClient::NowMs() const {
  if (options_.now_ms) return options_.now_ms();
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

HttpHeaders ApiClient::Headers() const {
  if (options_.token.empty()) return {};
  return {{"Authorization", "Bearer " + options_.token}};
}

HttpHeaders ApiClient::SignedHeaders(std::string_view method, std::string_view path, ByteSpan body) const {
  HttpHeaders headers = Headers();
  if (options_.worker == nullptr || !options_.coordinator) return headers;
  const SignedRequest request{.method = method,
                              .target = path,
                              .body = HashBytes(body),
                              .coordinator = options_.coordinator->point(),
                              .token = HashBytes(AsBytes(options_.token))};
  for (auto& header : SignRequest(request, std::max<std::int64_t>(NowMs() + clock_offset_ms_, 0), *options_.worker)) {
    headers.push_back(std::move(header));
  }
  return headers;
}

void ApiClient::NoteWaiting(const ApiError& error) {
  if (!options_.on_wait || options_.patience_ms == 0 || std::exchange(waiting_, true)) return;
  // Messages begin with the address that was asked.
  std::string_view why = error.message;
  if (why.starts_with(options_.server)) why.remove_prefix(std::min(why.size(), why.find(": ", options_.server.size())));
  if (why.starts_with(": ")) why.remove_prefix(2);
  constexpr std::string_view kConnect = "cannot connect: ";
  std::string words(why.starts_with(kConnect) ? why.substr(kConnect.size()) : why);
  if (!words.empty() && words[0] >= 'A' && words[0] <= 'Z') words[0] = static_cast<char>(words[0] - 'A' + 'a');
  options_.on_wait(words);
}

// What an attempt came to: an answer of 2xx, or an error that says whether another attempt makes sense.
ApiResult<HttpResponse> ApiClient::Judge(Result<HttpResponse> response, bool timed_out) {
  ApiError error;
  if (!response) {
    error = ApiError(response.error());
    error.later = !cancelled() && (http_->later() || timed_out);
    if (error.later) NoteWaiting(error);
    return tl::unexpected(std::move(error));
  }
  if (response->status >= 200 && response->status < 300) {
    waiting_ = false;
    return *std::move(response);
  }
  const Json body = ParseJson(response->body);
  std::string words = OneLine(TextOf(body, "error"));
  if (words.size() > kMaxWordsBytes) words.resize(kMaxWordsBytes);
  if (words.empty()) words = fmt::format("answered with status {}", response->status);
  // The server says what a request has to look like; whoever typed a command has to know which of its words is wrong.
  if (response->status == 401 && !FindHeader(response->headers, "WWW-Authenticate").empty())
    words = "the token is not valid, was revoked or has expired (--token, $ASSAY_TOKEN)";
  error.message = fmt::format("{}: {}", options_.server, words);
  error.status = response->status;
  error.code = OneLine(TextOf(body, "code"));
  error.later = response->status == 429 || (response->status >= 500 && response->status != 501 && response->status != 507);
  error.headers = std::move(response->headers);
  if (error.later) {
    NoteWaiting(error);
  } else {
    waiting_ = false;
  }
  return tl::unexpected(std::move(error));
}

ApiResult<HttpResponse> ApiClient::Attempt(std::string_view method, std::string_view path, ByteSpan body,
                                           const CallTerms& terms, int left_ms) {
  HttpCall call{.method = std::string(method), .path = std::string(path), .headers = SignedHeaders(method, path, body)};
  if (!body.empty() || method == "POST" || method == "PUT") call.headers.emplace_back("Content-Type", terms.content_type);
  const int timeout_ms = std::min(terms.attempt_ms.value_or(options_.attempt_ms), std::max(left_ms, 1000));
  const auto start = steady_clock::now();
  Result<HttpResponse> response = http_->Send(call, body, timeout_ms);
  return Judge(std::move(response), steady_clock::now() - start >= milliseconds(timeout_ms));
}

// Whether the coordinator refused a request for its time alone and has said its own.
bool ApiClient::CorrectClock(const ApiError& error) {
  if (error.status != 401 || options_.worker == nullptr) return false;
  const auto time = ParseTime(FindHeader(error.headers, kTimeHeader));
  if (!time) return false;
  clock_offset_ms_ = *time - NowMs();
  return true;
}

ApiResult<HttpResponse> ApiClient::Send(std::string_view method, std::string_view path, ByteSpan body, const CallTerms& terms) {
  const milliseconds patience(terms.patience_ms.value_or(options_.patience_ms));
  const auto start = steady_clock::now();
  Backoff backoff(pause_, patience);
  bool corrected = false;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(
        start + std::max(patience, milliseconds(terms.attempt_ms.value_or(options_.attempt_ms))) - steady_clock::now());
    ApiResult<HttpResponse> answer = Attempt(method, path, body, terms, static_cast<int>(left.count()));
    if (answer) return answer;
    if (!corrected && CorrectClock(answer.error())) {
      corrected = true;
      continue;
    }
    if (!answer.error().later) return answer;
    int asked_s = 0;
    if (const auto text = FindHeader(answer.error().headers, "Retry-After"); !text.empty() && text.size() <= 4) {
      asked_s = static_cast<int>(ParseTime(text).value_or(0));
    }
    if (!backoff.Wait(std::chrono::seconds(asked_s))) return answer;
  }
}

namespace {

ApiResult<Json> ObjectOf(const ApiResult<HttpResponse>& answer, const std::string& server, std::string_view path) {
  if (!answer) return tl::unexpected(answer.error());
  Json json = ParseJson(answer->body);
  if (!json.is_object()) {
    ApiError error(Error{fmt::format("{}{}: expected a JSON object, got {} bytes of something else", server, OneLine(path),
                                     answer->body.size())});
    error.status = answer->status;
    return tl::unexpected(std::move(error));
  }
  return json;
}

}  // namespace

ApiResult<Json> ApiClient::Get(std::string_view path, const CallTerms& terms) {
  return ObjectOf(Send("GET", path, {}, terms), server(), path);
}

ApiResult<Json> ApiClient::Post(std::string_view path, const Json& body, const CallTerms& terms) {
  return ObjectOf(Send("POST", path, AsBytes(Dump(body)), terms), server(), path);
}

ApiResult<Json> ApiClient::Put(std::string_view path, const Json& body, const CallTerms& terms) {
  return ObjectOf(Send("PUT", path, AsBytes(Dump(body)), terms), server(), path);
}

ApiResult<HttpResponse> ApiClient::UploadOnce(std::string_view path, const BodySource& body) {
  const auto start = steady_clock::now();
  auto response = http_->Upload({.method = "PUT", .path = std::string(path), .headers = Headers()}, body, kIdleMs);
  return Judge(std::move(response), steady_clock::now() - start >= milliseconds(kIdleMs));
}

ApiResult<HttpResponse> ApiClient::DownloadOnce(std::string_view path, const HttpHeaders& headers, const HttpClient::Sink& sink,
                                                std::uint64_t max_bytes) {
  HttpHeaders all = Headers();
  all.insert(all.end(), headers.begin(), headers.end());
  const auto start = steady_clock::now();
  auto response =
      http_->Download({.method = "GET", .path = std::string(path), .headers = std::move(all)}, sink, max_bytes, kIdleMs);
  return Judge(std::move(response), steady_clock::now() - start >= milliseconds(kIdleMs));
}

ApiStatus ApiClient::Listen(std::string_view path, std::string last_id,
                            const std::function<bool(const ServerEvent& event)>& callback, const CallTerms& terms) {
  Backoff backoff(pause_, milliseconds(terms.patience_ms.value_or(options_.patience_ms)));
  for (;;) {
    HttpHeaders headers = Headers();
    if (!last_id.empty()) headers.emplace_back("Last-Event-ID", last_id);
    bool wanted = true;
    const auto take = [&](const ServerEvent& event) {
      backoff.Reset();
      waiting_ = false;
      if (!event.id.empty()) last_id = event.id;
      wanted = callback(event);
      return wanted;
    };
    const auto start = steady_clock::now();
    auto response = http_->Listen({.method = "GET", .path = std::string(path), .headers = std::move(headers)}, take, kIdleMs);
    if (!wanted) return {};
    const bool timed_out = steady_clock::now() - start >= milliseconds(kIdleMs);
    ApiResult<HttpResponse> answer = Judge(std::move(response), timed_out);
    if (!answer && !answer.error().later) return tl::unexpected(std::move(answer).error());
    // A stream that the server ends without an error is the same as one that breaks: it goes on elsewhere.
    if (!backoff.Wait()) {
      if (!answer) return tl::unexpected(std::move(answer).error());
      return tl::unexpected(ApiError(Error{fmt::format("{}: the events ended", server())}));
    }
  }
}

void ApiClient::Cancel() {
  pause_.Cancel();
  http_->Cancel();
}

}  // namespace assay::platform
