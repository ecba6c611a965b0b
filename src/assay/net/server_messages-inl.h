// What a server reads from a connection and writes to it: the header of a request, that of an answer, and the end. Every step has its time,
// and whatever a peer sends or does not send, nothing here waits longer or holds more than the options say.
//
// Included by http_server.cc alone, because Boost takes long to compile.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "assay/base/quote.h"
#include "assay/net/http_server.h"
#include "assay/net/link-inl.h"
#include "assay/net/resolve.h"

namespace assay::net_internal {

using RequestParser = http::request_parser<http::buffer_body>;
using std::chrono::milliseconds;

constexpr milliseconds kLinger(1000);  // for a peer to read the last answer before its connection ends
constexpr int kRetryAfterSeconds = 1;

inline HttpRequest Convert(const http::request<http::buffer_body>& message, const std::string& peer) {
  HttpRequest request{.method = message.method_string(), .target = message.target(), .headers = {}, .body = {}, .peer = peer};
  for (const auto& field : message) request.headers.emplace_back(field.name_string(), field.value());
  return request;
}

// The server's own answers to one peer.
struct OwnWords {
  const ServerOptions& options;
  const std::string& peer;
  const HttpRequest* request = nullptr;

  HttpResponse Say(int status, std::string_view why) const {
    HttpResponse response = options.own_reply
                                ? options.own_reply({.status = status, .why = why, .peer = peer, .request = request})
                                : TextResponse(status, why);
    response.retry_after_s = status == 503 ? kRetryAfterSeconds : 0;
    return response;
  }
  HttpResponse Later(std::string_view why) const { return Say(503, why); }
  // To a request that could not be read; none where nobody waits for it.
  std::optional<HttpResponse> Complaint(const error_code& error) const {
    if (error == http::error::end_of_stream || error == http::error::partial_message) return {};
    if (error == http::error::header_limit) return Say(431, "the header is too large");
    if (error == http::error::body_limit) return Say(413, "the body is too large");
    if (IsHttpError(error)) return Say(400, "not a proper request");
    return {};
  }
};

// The time that a transfer in pieces may take: a peer may neither pause for long nor be slow for long. Time that was spent waiting for
// disks is not the peer's.
class Pace {
 public:
  Pace(int timeout_ms, int slowest_bytes_per_s) : timeout_(timeout_ms), slowest_bytes_per_s_(slowest_bytes_per_s) {}
  void Count(std::size_t bytes) { bytes_ += static_cast<std::int64_t>(bytes); }
  void Excuse(std::chrono::steady_clock::duration waited) { begun_ += waited; }
  SteadyTime Deadline() const {
    const SteadyTime in_all = begun_ + timeout_ + milliseconds(bytes_ * 1000 / slowest_bytes_per_s_);
    return std::min(in_all, std::chrono::steady_clock::now() + timeout_);
  }

 private:
  SteadyTime begun_ = std::chrono::steady_clock::now();
  milliseconds timeout_;
  int slowest_bytes_per_s_;
  std::int64_t bytes_ = 0;
};

// Why there is no telling where the request ends; empty where there is. Whoever stands between the peer and this server may tell otherwise, and would take a part of
// one request for another, so the connection is of no more use (RFC 9112, 6.3).
inline std::string_view FramingFault(const http::request<http::buffer_body>& message) {
  const auto codings = message.count(http::field::transfer_encoding);
  if (codings == 0) return {};
  if (codings > 1 || !beast::iequals(message[http::field::transfer_encoding], "chunked"))
    return "Transfer-Encoding: expected `chunked` and nothing else";
  if (message.count(http::field::content_length) != 0) return "Content-Length and Transfer-Encoding do not go together";
  return message.version() < 11 ? "Transfer-Encoding is for HTTP/1.1" : "";
}

// However slowly the bytes come, the time for a header is the same. `begun`: when the first byte was there.
inline asio::awaitable<error_code> ReadRequestHeader(Link& link, RequestParser& parser, const ServerOptions& options,
                                                     SteadyTime& begun) {
  parser.header_limit(static_cast<std::uint32_t>(options.max_header_bytes));
  parser.body_limit(boost::none);
  error_code error;
  if (link.unread().size() == 0) {
    link.tcp().expires_after(milliseconds(options.idle_timeout_ms));
    error = co_await ReadMore(link, parser, kIdleBytes);
  }
  begun = std::chrono::steady_clock::now();
  link.tcp().expires_at(begun + milliseconds(std::min(options.header_timeout_ms, options.read_timeout_ms)));
  if (!error) error = co_await ReadHeader(link, parser, options.max_header_bytes);
  co_return error;
}

// How the body of an answer is marked off.
struct Framing {
  enum class Body { kLength, kChunks, kToTheEnd };
  Body body = Body::kLength;
  std::uint64_t length = 0;
  bool keep_alive = true;
};

inline bool IsBare(int status) { return status == 204 || status == 304; }  // statuses that come without a body

inline bool IsOurs(std::string_view name) {
  const auto same = [&](std::string_view other) { return beast::iequals(name, other); };
  return same("connection") || same("content-length") || same("content-type") || same("retry-after") ||
         same("transfer-encoding");
}

// What keeps an answer of a handler from being sent; empty where nothing does.
inline std::string_view Fault(const HttpResponse& response) {
  if (response.status < 200 || response.status > 599) return "the handler gave no proper status";
  for (const auto& [name, value] : response.headers) {
    if (!IsHeader(name, value) || IsOurs(name)) return "the handler gave no proper header";
  }
  return {};
}

inline std::string ResponseHeader(const HttpResponse& response, const Framing& framing) {
  std::string header =
      fmt::format("HTTP/1.1 {} {}\r\nConnection: {}\r\n", response.status,
                  std::string_view(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)))),
                  framing.keep_alive ? "keep-alive" : "close");
  if (response.retry_after_s > 0) header += fmt::format("Retry-After: {}\r\n", response.retry_after_s);
  for (const auto& [name, value] : response.headers) header += fmt::format("{}: {}\r\n", name, value);
  if (!IsBare(response.status)) {
    header += fmt::format("Content-Type: {}\r\n", OneLine(response.content_type));
    if (framing.body == Framing::Body::kLength) header += fmt::format("Content-Length: {}\r\n", framing.length);
    if (framing.body == Framing::Body::kChunks) header += "Transfer-Encoding: chunked\r\n";
  }
  return header + "\r\n";
}

inline asio::awaitable<error_code> WriteResponse(Link& link, HttpResponse response, bool head, bool keep_alive,
                                                 const ServerOptions& options) {
  const std::string header =
      ResponseHeader(response, {.body = Framing::Body::kLength, .length = response.bytes().size(), .keep_alive = keep_alive});
  const auto size = static_cast<std::int64_t>(response.bytes().size());
  link.tcp().expires_after(milliseconds(options.write_timeout_ms + size * 1000 / options.slowest_bytes_per_s));
  const error_code error = co_await link.Write(header, IsBare(response.status) || head ? ByteSpan() : response.bytes());
  co_return error;
}

// Closing with bytes unread would reset the connection, and the peer might lose the answer: what it still sends is read, for a while.
inline asio::awaitable<void> Linger(beast::tcp_stream& stream) {
  error_code error;
  stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  stream.expires_after(kLinger);
  std::array<std::uint8_t, kPieceBytes> piece;
  while (!error) co_await stream.async_read_some(asio::buffer(piece), Into(error));
}

}  // namespace assay::net_internal
