// An HTTP/1.1 client of one server, which does not trust the server.
//
// Get, Post and Send are for small messages: a call ends by its deadline, whatever the server sends or does not send. Upload, Download and
// Listen transfer in pieces, for as long as something moves: they end when nothing has for their idle timeout. All of them hold no more than
// the limits of the options in memory. The connection is kept for the next call where the server agrees. No redirection is followed. Nothing
// is retried: a call that fails may have reached the server, and only the caller knows whether it may be repeated, resumed or continued;
// `later()` says whether that makes sense, and GetPatiently does it. Certificates are always verified.
//
// One call at a time; Cancel may come from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/net/event_stream.h"
#include "assay/net/file_range.h"
#include "assay/net/http.h"

namespace assay {

struct ClientOptions {
  std::size_t max_header_bytes = 8 << 10;
  std::size_t max_response_bytes = 16 << 20;  // where a call names no limit of its own
  int connect_timeout_ms = 10'000;            // for name lookup, connection and TLS handshake, within the deadline of the call
  std::string ca_file{};                      // PEM: the certificates to trust instead of the system's
};

// What is asked, but for a body.
struct HttpCall {
  std::string method = "GET";
  std::string path{};
  HttpHeaders headers{};  // Authorization, Range, Last-Event-ID, ...; not those that say how a message is sent
};

// A body of known length that is not held in memory.
struct BodySource {
  std::uint64_t length = 0;
  // Fills `into` with the next bytes, by the thread of the call; an error ends the call with it.
  std::function<Status(std::span<std::uint8_t> into)> read;

  static BodySource Of(FileRange range);
};

class HttpClient {
 public:
  // The paths of calls are appended to the URL's.
  static Result<std::unique_ptr<HttpClient>> Create(std::string_view url, const ClientOptions& options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any status that the server answers with is a response, not an error. Errors name the URL.
  // `max_bytes`: of the answer's body.
  Result<HttpResponse> Get(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes = {});
  Result<HttpResponse> Post(std::string_view path, ByteSpan body, int timeout_ms, std::optional<std::size_t> max_bytes = {});

  Result<HttpResponse> Send(const HttpCall& call, ByteSpan body, int timeout_ms, std::optional<std::size_t> max_bytes = {});

  // Sends nothing of the body before the server has agreed to it (100 Continue), and no more of it once the server has answered.
  Result<HttpResponse> Upload(const HttpCall& call, const BodySource& body, int idle_timeout_ms);

  // The body of an answer of 200 or 206 goes to the sink, that of any other is in the response. The sink is called by the thread of the call,
  // and sees the answer's header; an error of it ends the call. After a failure it has what came before: a Range header asks for the rest.
  using Sink = std::function<Status(const HttpResponse& head, ByteSpan piece)>;
  Result<HttpResponse> Download(const HttpCall& call, const Sink& sink, std::uint64_t max_bytes, int idle_timeout_ms);

  // Reads server-sent events until the server ends them or the callback returns false, which are both successes. The body of an answer
  // other than 200 is in the response, a 200 that is no stream of events is an error. To come back, a caller sends the id of its last event as Last-Event-ID.
  // `idle_timeout_ms` should be longer than the server's period of comments.
  Result<HttpResponse> Listen(const HttpCall& call, const std::function<bool(const ServerEvent& event)>& callback,
                              int idle_timeout_ms);

  // Whether the last call failed in a way that passes: the server answered 429 or 503, or it could not be reached, or cut the connection
  // before its answer was whole. Not after a deadline, an answer that is not one, or a certificate that is not trusted.
  bool later() const;

  // Whether the last call failed because what is there speaks another protocol than the URL says, or has a certificate that is not trusted.
  bool misplaced() const;

  // Whether the last call failed because the answer is longer than was allowed.
  bool overlong() const;

  // Get, again and again while `later()`, until `timeout_ms` is over; what came last is the result. Between attempts it waits for as long
  // as the server asks for, up to ten seconds, or else a quarter of a second. An attempt whose answer has not begun after `attempt_ms` is
  // made again, since a connection may be dead without a word.
  Result<HttpResponse> GetPatiently(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes = {},
                                    int attempt_ms = 20'000);

  // Ends the call under way, and every later one, with an error.
  void Cancel();

 private:
  class Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
