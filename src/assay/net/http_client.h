// An HTTP/1.1 client of one server, for small messages, which does not trust the server.
//
// A call ends by its deadline, whatever the server sends or does not send, and holds no more than the limits of the options in memory.
// The connection is kept for the next call where the server agrees. No redirection is followed. Get and Post retry nothing: a call that
// fails may have reached the server, and only the caller knows whether it may be repeated; `later()` says whether that makes sense, and
// GetPatiently does it. Certificates are always verified.
//
// One call at a time; Cancel may come from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/net/http.h"

namespace assay {

struct ClientOptions {
  std::size_t max_header_bytes = 8 << 10;
  std::size_t max_response_bytes = 16 << 20;  // where a call names no limit of its own
  int connect_timeout_ms = 10'000;            // for name lookup, connection and TLS handshake, within the deadline of the call
  std::string ca_file{};                      // PEM: the certificates to trust instead of the system's
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

  // Whether the last call failed in a way that passes: the server answered 429 or 503, or it could not be reached, or cut the connection
  // before its answer was whole. Not after a deadline, an answer that is not one, or a certificate that is not trusted.
  bool later() const;

  // Whether the last call failed because what is there speaks another protocol than the URL says, or has a certificate that is not trusted.
  bool misplaced() const;

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
