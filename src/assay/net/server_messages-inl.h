// What a server reads from a connection and writes to it: one request, one response, and the end. Every step has its time, and whatever a
// peer sends or does not send, nothing here waits longer or holds more than the options say.
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

namespace assay::net_internal {

using RequestParser = http::request_parser<http::buffer_body>;
using std::chrono::milliseconds;

constexpr milliseconds kLinger(1000);  // for a peer to read the last answer before its connection ends
constexpr std::int64_t kSlowestBytesPerMs = 64;

inline HttpRequest Convert(const http::request<http::buffer_body>& message, Bytes body, const std::string& peer) {
  HttpRequest request{
      .method = message.method_string(), .target = message.target(), .headers = {}, .body = std::move(body), .peer = peer};
  for (const auto& field : message) request.headers.emplace_back(field.name_string(), field.value());
  return request;
}

// The answer to a request that could not be read; none where nobody waits for it.
inline std::optional<HttpResponse> Complaint(const error_code& error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message) return {};
  if (error == http::error::header_limit) return TextResponse(431, "the header is too large");
  if (error == http::error::body_limit) return TextResponse(413, "the body is too large");
  if (error.category() == http::make_error_code(http::error::bad_method).category())
    return TextResponse(400, "not a proper request");
  return {};
}

// However slowly the bytes come, the time for a header and that for a request are the same.
inline asio::awaitable<error_code> ReadRequest(Link& link, RequestParser& parser, Bytes& body, const ServerOptions& options) {
  parser.header_limit(static_cast<std::uint32_t>(options.max_header_bytes));
  parser.body_limit(options.max_body_bytes);
  error_code error;
  if (link.unread().size() == 0) {
    link.tcp().expires_after(milliseconds(options.idle_timeout_ms));
    error = co_await ReadMore(link, parser);
  }
  const auto begun = std::chrono::steady_clock::now();
  link.tcp().expires_at(begun + milliseconds(std::min(options.header_timeout_ms, options.read_timeout_ms)));
  if (!error) error = co_await Read(link, parser, nullptr, options.max_header_bytes);
  link.tcp().expires_at(begun + milliseconds(options.read_timeout_ms));
  if (!error && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    error = co_await link.Write("HTTP/1.1 100 Continue\r\n\r\n", {});
  }
  if (!error) error = co_await Read(link, parser, &body, options.max_header_bytes);
  co_return error;
}

inline asio::awaitable<error_code> WriteResponse(Link& link, HttpResponse response, bool head, bool keep_alive,
                                                 int timeout_ms) {
  if (response.status < 200 || response.status > 599) response = TextResponse(500, "the handler gave no proper status");
  std::string header =
      fmt::format("HTTP/1.1 {} {}\r\nConnection: {}\r\n", response.status,
                  std::string_view(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)))),
                  keep_alive ? "keep-alive" : "close");
  if (response.retry_after_s > 0) header += fmt::format("Retry-After: {}\r\n", response.retry_after_s);
  const bool bare = response.status == 204 || response.status == 304;  // statuses that come without a body
  if (!bare)
    header +=
        fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", OneLine(response.content_type), response.bytes().size());
  header += "\r\n";
  const auto size = static_cast<std::int64_t>(response.bytes().size());
  link.tcp().expires_after(milliseconds(timeout_ms + size / kSlowestBytesPerMs));
  const error_code error = co_await link.Write(header, bare || head ? ByteSpan() : response.bytes());
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
