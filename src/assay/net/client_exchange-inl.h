// One request of a client and its answer, on a connection that is there.
//
// Included by http_client.cc alone, because Boost takes long to compile.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "assay/base/quote.h"
#include "assay/net/http_client.h"
#include "assay/net/link-inl.h"
#include "assay/net/resolve.h"

namespace assay::net_internal {

struct Call {
  const HttpCall& what;
  std::string target;
  ByteSpan body{};
  const BodySource* source = nullptr;      // instead of `body`
  const HttpClient::Sink* sink = nullptr;  // for the body of the answer
  std::uint64_t max_bytes = 0;             // of the answer's body
  std::uint64_t max_sink_bytes = 0;        // the same, where it goes to the sink
  SteadyTime deadline{};
  SteadyTime connect_deadline{};
  SteadyTime header_deadline{};                     // for the header of the answer
  std::optional<std::chrono::milliseconds> idle{};  // instead of the deadlines, from where the connection is there
  Addresses addresses{};                            // where to connect; empty where the connection of the call before is used
};

// What can be said of a failure.
struct Blame {
  bool later = false;
  bool misplaced = false;
  bool overlong = false;
};

// Whether there is something to read, an end included, or the connection is broken.
inline bool HasWord(Link& link) {
  char byte = 0;
  const auto got = recv(link.tcp().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

// Faults of the connection, not of what was said on it.
inline bool IsCut(const error_code& error) {
#ifdef ASSAY_HAVE_TLS
  if (error == asio::ssl::error::stream_truncated) return true;
#endif
  return error == http::error::end_of_stream || error == http::error::partial_message || error == beast::error::timeout ||
         error == asio::error::eof || error.category() == asio::error::get_system_category();
}

inline Error Failure(std::string_view what, const error_code& error, Blame& blame) {
  blame.later = IsCut(error);
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return {fmt::format("{}: the server closed the connection", what)};
  }
  if (error == beast::error::timeout) return {fmt::format("{}: timed out", what)};
#ifdef ASSAY_HAVE_TLS
  if (error.category() == asio::error::get_ssl_category()) {
    blame.misplaced = true;
    return {fmt::format("{}: {} (does the server speak https?)", what, OneLine(error.message()))};
  }
#endif
  if (IsHttpError(error)) {
    blame.misplaced = true;
    return {fmt::format("{}: not HTTP: {}", what, OneLine(error.message()))};
  }
  return {fmt::format("{}: {}", what, OneLine(error.message()))};
}

// Zero where it is a date, or nothing.
inline int ParseRetryAfter(std::string_view text) {
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return error == std::errc() && end == text.data() + text.size() ? std::max(seconds, 0) : 0;
}

class Exchange {
 public:
  Exchange(Link& link, const Call& call, const ClientOptions& options, std::string authority)
      : link_(link), call_(call), options_(options), authority_(std::move(authority)) {}

  asio::awaitable<Result<HttpResponse>> Run();
  const Blame& blame() const { return blame_; }
  bool keep_alive() const { return keep_alive_; }  // whether the connection serves for another call

 private:
  using ResponseParser = http::response_parser<http::buffer_body>;

  void Expire(SteadyTime deadline);
  std::string RequestHeader() const;
  void Renew();
  asio::awaitable<error_code> SendRequest();
  asio::awaitable<error_code> SendSource();
  HttpResponse ConvertHeader() const;
  asio::awaitable<Result<HttpResponse>> ReadAnswer();
  asio::awaitable<Status> ReadIntoSink(const HttpResponse& head);
  Error Fail(std::string_view what, const error_code& error);

  Link& link_;
  const Call& call_;
  const ClientOptions& options_;
  const std::string authority_;
  std::optional<ResponseParser> parser_;
  Status source_status_;
  Blame blame_;
  std::uint64_t limit_ = 0;  // of the answer's body
  bool keep_alive_ = false;
  bool body_sent_ = true;
  bool no_answer_ = false;  // the connection ended before the server said anything
};

inline asio::awaitable<Result<HttpResponse>> Exchange::Run() {
  const error_code write_error = co_await SendRequest();
  if (!source_status_) co_return tl::unexpected(std::move(source_status_).error());
  if (no_answer_) co_return tl::unexpected(Fail("no answer", write_error));
  // A server that refuses a request may answer, and close, before it has read all of it: the answer counts.
  Expire(call_.header_deadline);
  const error_code error = co_await ReadHeader(link_, *parser_, options_.max_header_bytes);
  if (error) co_return tl::unexpected(write_error ? Fail("cannot send", write_error) : Fail("no answer", error));
  Result<HttpResponse> response = co_await ReadAnswer();
  keep_alive_ = response && !write_error && body_sent_ && parser_->is_done() && parser_->keep_alive();
  co_return response;
}

inline void Exchange::Expire(SteadyTime deadline) {
  if (call_.idle) {
    link_.tcp().expires_after(*call_.idle);
  } else {
    link_.tcp().expires_at(deadline);
  }
}

inline std::string Exchange::RequestHeader() const {
  const HttpCall& what = call_.what;
  std::string header =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: assay\r\n", what.method, call_.target, authority_);
  for (const auto& [name, value] : what.headers) header += fmt::format("{}: {}\r\n", name, value);
  if (call_.source != nullptr || !call_.body.empty() || what.method == "POST" || what.method == "PUT" ||
      what.method == "PATCH") {
    if (FindHeader(what.headers, "Content-Type").empty()) header += "Content-Type: application/octet-stream\r\n";
    header += fmt::format("Content-Length: {}\r\n", call_.source != nullptr ? call_.source->length : call_.body.size());
  }
  if (call_.source != nullptr) header += "Expect: 100-continue\r\n";
  return header + "\r\n";
}

inline void Exchange::Renew() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(options_.max_header_bytes, 1U << 30)));
  parser_->body_limit(boost::none);  // which depends on the answer
  if (call_.what.method == "HEAD") parser_->skip(true);
}

inline asio::awaitable<error_code> Exchange::SendRequest() {
  const std::string header = RequestHeader();
  Renew();
  Expire(call_.header_deadline);
  error_code error = co_await link_.Write(header, call_.body);
  if (!error && call_.source != nullptr) error = co_await SendSource();
  co_return error;
}

// Where the server does not say 100, what it has said is the answer, and is in the parser.
inline asio::awaitable<error_code> Exchange::SendSource() {
  body_sent_ = false;
  error_code error = co_await ReadHeader(link_, *parser_, options_.max_header_bytes);
  no_answer_ = error.failed();  // and none will come: reading on would wait for the timeout
  if (error || parser_->get().result_int() != 100) co_return error;
  Renew();
  Bytes piece;
  for (std::uint64_t sent = 0; sent < call_.source->length; sent += piece.size()) {
    if (HasWord(link_)) co_return error;
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kTransferBytes, call_.source->length - sent)));
    source_status_ = call_.source->read(piece);
    if (!source_status_) co_return error;
    Expire(call_.deadline);
    error = co_await link_.Write({}, piece);
    if (error) co_return error;
  }
  body_sent_ = true;
  co_return error;
}

inline HttpResponse Exchange::ConvertHeader() const {
  const auto& message = parser_->get();
  HttpResponse response;
  response.status = static_cast<int>(message.result_int());
  response.content_type = std::string(message[http::field::content_type]);
  response.retry_after_s = ParseRetryAfter(std::string(message[http::field::retry_after]));
  for (const auto& field : message) response.headers.emplace_back(field.name_string(), field.value());
  return response;
}

inline asio::awaitable<Result<HttpResponse>> Exchange::ReadAnswer() {
  HttpResponse response = ConvertHeader();
  if (response.status < 200) co_return Err("status {} is not an answer", response.status);
  const bool is_for_sink = call_.sink != nullptr && (response.status == 200 || response.status == 206);
  limit_ = is_for_sink ? call_.max_sink_bytes : call_.max_bytes;
  if (call_.what.method != "HEAD" && parser_->content_length().value_or(0) > limit_) {
    co_return tl::unexpected(Fail("incomplete answer", http::error::body_limit));
  }
  parser_->body_limit(limit_);
  if (is_for_sink) {
    Status taken = co_await ReadIntoSink(response);
    if (!taken) co_return tl::unexpected(std::move(taken).error());
    co_return response;
  }
  Expire(call_.deadline);
  const error_code error = co_await ReadBody(link_, *parser_, response.body, options_.max_header_bytes);
  if (error) co_return tl::unexpected(Fail("incomplete answer", error));
  co_return response;
}

inline asio::awaitable<Status> Exchange::ReadIntoSink(const HttpResponse& head) {
  Bytes piece(kTransferBytes);
  for (;;) {
    Expire(call_.deadline);
    error_code error;
    const std::size_t got = co_await ReadBodySome(link_, *parser_, std::span(piece), options_.max_header_bytes, error);
    if (error) co_return tl::unexpected(Fail("incomplete answer", error));
    if (got == 0) co_return Status();
    Status taken = (*call_.sink)(head, ByteSpan(piece).first(got));
    if (!taken) co_return taken;
  }
}

inline Error Exchange::Fail(std::string_view what, const error_code& error) {
  blame_.overlong = error == http::error::body_limit || error == http::error::header_limit;
  if (error == http::error::body_limit) {
    return {fmt::format("the answer is larger than {} bytes", limit_)};
  }
  if (error == http::error::header_limit) {
    return {fmt::format("the answer's header is larger than {} bytes", options_.max_header_bytes)};
  }
  return Failure(what, error, blame_);
}

}  // namespace assay::net_internal
