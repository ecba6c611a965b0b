#include "assay/net/http_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#ifdef ASSAY_HAVE_TLS
#include <boost/asio/ssl/host_name_verification.hpp>
#endif

#include "assay/base/quote.h"
#include "assay/net/link-inl.h"
#include "assay/net/resolve.h"
#include "assay/net/url.h"

namespace assay {
namespace {

using namespace net_internal;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPause(250);            // between attempts
constexpr milliseconds kLongestPause(10'000);  // whatever the server asks for

// Faults of the connection, not of what was said on it.
bool IsCut(const error_code& error) {
#ifdef ASSAY_HAVE_TLS
  if (error == asio::ssl::error::stream_truncated) return true;
#endif
  return error == http::error::end_of_stream || error == http::error::partial_message || error == beast::error::timeout ||
         error == asio::error::eof || error.category() == asio::error::get_system_category();
}

// Zero where it is a date, or nothing.
int ParseRetryAfter(std::string_view text) {
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return error == std::errc() && end == text.data() + text.size() ? std::max(seconds, 0) : 0;
}

struct Call {
  std::string_view method;
  std::string target;
  ByteSpan body;
  SteadyTime deadline;
  SteadyTime connect_deadline;
  SteadyTime header_deadline;  // for the header of the answer
  Addresses addresses;         // where to connect; empty where the connection of the call before is used
};

}  // namespace

class HttpClient::Impl {
 public:
  Impl(Url base, const ClientOptions& options) : base_(std::move(base)), options_(options), resolver_(base_.server.host) {}

  Status Prepare();
  Result<HttpResponse> Run(std::string_view method, std::string_view path, ByteSpan body, int timeout_ms,
                           std::optional<std::size_t> max_bytes, int attempt_ms);
  Result<HttpResponse> RunPatiently(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes,
                                    int attempt_ms);
  bool later() const { return later_; }
  bool misplaced() const { return misplaced_; }
  void Cancel();

 private:
  bool Reusable();
  Result<HttpResponse> Perform(Call& call);
  asio::awaitable<Result<HttpResponse>> Talk(Call& call);
  asio::awaitable<Status> Connect(const Call& call);
  asio::awaitable<Status> Secure();
  asio::awaitable<Result<HttpResponse>> Exchange(const Call& call);
  std::string RequestHeader(const Call& call) const;
  Error Failure(std::string_view what, const error_code& error);
  void Pause(SteadyTime until);

  const Url base_;
  const ClientOptions options_;
  Resolver resolver_;
  std::atomic<bool> cancelled_ = false;
  bool later_ = false;
  bool misplaced_ = false;
  std::size_t max_bytes_ = 0;  // of the call under way
  asio::io_context io_{1};
#ifdef ASSAY_HAVE_TLS
  asio::ssl::context tls_{asio::ssl::context::tls_client};
#endif
  std::unique_ptr<Link> link_;
  asio::steady_timer pause_{io_};
};

Status HttpClient::Impl::Prepare() {
  if (!base_.tls) return {};
#ifdef ASSAY_HAVE_TLS
  error_code error;
  tls_.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_compression, error);
  if (!error) tls_.set_verify_mode(asio::ssl::verify_peer, error);
  if (!error) tls_.set_verify_callback(asio::ssl::host_name_verification(base_.server.host), error);
  if (error) return Err("{}: TLS: {}", base_.ToString(), error.message());
  if (options_.ca_file.empty()) {
    tls_.set_default_verify_paths(error);
  } else {
    tls_.load_verify_file(options_.ca_file, error);
  }
  if (error) return Err("{}: cannot load trusted certificates: {}", options_.ca_file, error.message());
  return {};
#else
  return Err("{}: this build has no TLS", base_.ToString());
#endif
}

// A connection on which there is something to read between calls has been closed by the server, or is out of step.
bool HttpClient::Impl::Reusable() {
  if (link_ == nullptr || link_->unread().size() != 0) return false;
  char byte = 0;
  const auto got = recv(link_->tcp().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

Result<HttpResponse> HttpClient::Impl::Run(std::string_view method, std::string_view path, ByteSpan body, int timeout_ms,
                                           std::optional<std::size_t> max_bytes, int attempt_ms) {
  std::string target = base_.target;
  while (!path.empty() && target.ends_with('/')) target.pop_back();
  target += path;
  const auto name = [&] { return fmt::format("{}://{}{}", base_.tls ? "https" : "http", base_.Authority(), target); };
  if (!IsTarget(target) || !(path.empty() || IsTarget(path))) {
    return Err("{}: expected a path of visible ASCII that begins with '/', got {}", base_.ToString(), Quote(path));
  }

  const SteadyTime start = steady_clock::now();
  const SteadyTime deadline = start + milliseconds(std::max(timeout_ms, 0));
  Call call{.method = method,
            .target = target,
            .body = body,
            .deadline = deadline,
            .connect_deadline = std::min(deadline, start + milliseconds(options_.connect_timeout_ms)),
            .header_deadline = std::min(deadline, start + milliseconds(attempt_ms)),
            .addresses = {}};
  later_ = misplaced_ = false;
  max_bytes_ = max_bytes.value_or(options_.max_response_bytes);
  Result<HttpResponse> result = Perform(call);
  if (result) {
    later_ = result->status == 429 || result->status == 503;
    return result;
  }
  link_.reset();
  const bool is_over = cancelled_ || steady_clock::now() >= deadline;
  later_ = later_ && !is_over;
  if (cancelled_) return Err("{}: cancelled", name());
  if (is_over) return Err("{}: no complete answer within {} ms", name(), timeout_ms);
  return Err("{}: {}", name(), result.error().message);
}

Result<HttpResponse> HttpClient::Impl::RunPatiently(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes,
                                                    int attempt_ms) {
  const SteadyTime deadline = steady_clock::now() + milliseconds(std::max(timeout_ms, 0));
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    Result<HttpResponse> result =
        Run("GET", path, {}, static_cast<int>(std::max<std::int64_t>(left, 0)), max_bytes, attempt_ms);
    if (!later_) return result;
    const milliseconds asked = result ? milliseconds(1000LL * result->retry_after_s) : milliseconds(0);
    const SteadyTime again = steady_clock::now() + (asked > milliseconds(0) ? std::min(asked, kLongestPause) : kPause);
    if (again >= deadline) return result;
    Pause(again);
  }
}

void HttpClient::Impl::Pause(SteadyTime until) {
  if (cancelled_) return;
  try {
    pause_.expires_at(until);
    pause_.async_wait([](const error_code&) {});
    io_.restart();
    io_.run();
  } catch (const std::exception&) {
    return;  // Out of memory: no pause.
  }
}

Result<HttpResponse> HttpClient::Impl::Perform(Call& call) {
  if (cancelled_) return Err("cancelled");
  if (!Reusable()) {
    link_.reset();
    ASSAY_ASSIGN(call.addresses, resolver_.Lookup(call.connect_deadline));
  }
  std::optional<Result<HttpResponse>> result;
  try {
    io_.restart();
    asio::co_spawn(io_, Talk(call), [&](const std::exception_ptr& thrown, Result<HttpResponse> got) {
      if (thrown) std::rethrow_exception(thrown);
      result = std::move(got);
    });
    io_.run();
  } catch (const std::exception& error) {
    return Err("{}", OneLine(error.what()));
  }
  if (!result) return Err("no result");
  return *std::move(result);
}

asio::awaitable<Result<HttpResponse>> HttpClient::Impl::Talk(Call& call) {
  if (link_ == nullptr) {
    Status connected = co_await Connect(call);
    if (!connected) co_return tl::unexpected(std::move(connected).error());
  }
  Result<HttpResponse> result = co_await Exchange(call);
  co_return result;
}

// Tries one address after the other; one that does not answer may use up its share of the time, not all of it.
asio::awaitable<Status> HttpClient::Impl::Connect(const Call& call) {
  Status status = Err("no address to connect to");
  for (std::size_t i = 0; i < call.addresses.size() && !cancelled_; ++i) {
#ifdef ASSAY_HAVE_TLS
    link_ = base_.tls ? std::make_unique<Link>(asio::ip::tcp::socket(io_), tls_)
                      : std::make_unique<Link>(asio::ip::tcp::socket(io_));
#else
    link_ = std::make_unique<Link>(asio::ip::tcp::socket(io_));
#endif
    const SteadyTime now = steady_clock::now();
    const auto share =
        std::max(call.connect_deadline - now, steady_clock::duration(0)) / static_cast<int>(call.addresses.size() - i);
    beast::tcp_stream& tcp = link_->tcp();
    tcp.expires_at(now + share);
    later_ = misplaced_ = false;  // whatever became of the address before
    error_code error;
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(call.addresses[i], error), base_.server.port);
    if (!error) co_await tcp.async_connect(endpoint, Into(error));
    if (error) {
      status = tl::unexpected(Failure("cannot connect", error));
      continue;
    }
    error_code ignored;
    tcp.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    tcp.socket().set_option(asio::socket_base::keep_alive(true), ignored);
    tcp.expires_at(call.connect_deadline);
    status = co_await Secure();
    co_return status;
  }
  co_return status;
}

asio::awaitable<Status> HttpClient::Impl::Secure() {
#ifdef ASSAY_HAVE_TLS
  if (SSL* ssl = link_->ssl(); ssl != nullptr) {
    error_code error;
    asio::ip::make_address(base_.server.host, error);
    const bool is_name = static_cast<bool>(error);  // addresses are not sent as server names
    if (is_name && SSL_set_tlsext_host_name(ssl, base_.server.host.c_str()) != 1)
      co_return Err("TLS: the server's name cannot be sent");
    error = co_await link_->Handshake(asio::ssl::stream_base::client);
    const long verified = SSL_get_verify_result(ssl);
    if (error && verified != X509_V_OK) {
      misplaced_ = true;
      co_return Err("TLS: the server's certificate is not trusted: {}", X509_verify_cert_error_string(verified));
    }
    if (error) co_return tl::unexpected(Failure("TLS", error));
  }
#endif
  co_return Status();
}

std::string HttpClient::Impl::RequestHeader(const Call& call) const {
  std::string header =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: assay\r\n", call.method, call.target, base_.Authority());
  if (call.method == "POST")
    header += fmt::format("Content-Type: application/octet-stream\r\nContent-Length: {}\r\n", call.body.size());
  return header + "\r\n";
}

asio::awaitable<Result<HttpResponse>> HttpClient::Impl::Exchange(const Call& call) {
  const std::string header = RequestHeader(call);
  link_->tcp().expires_at(call.header_deadline);
  const error_code write_error = co_await link_->Write(header, call.body);

  // A server that refuses a request may answer, and close, before it has read all of it: the answer counts.
  http::response_parser<http::buffer_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(options_.max_header_bytes, 1U << 30)));
  parser.body_limit(max_bytes_);
  error_code error = co_await Read(*link_, parser, nullptr, options_.max_header_bytes);
  if (error) co_return tl::unexpected(write_error ? Failure("cannot send", write_error) : Failure("no answer", error));

  HttpResponse response;
  response.status = static_cast<int>(parser.get().result_int());
  if (response.status < 200) co_return Err("status {} is not an answer", response.status);
  response.content_type = std::string(parser.get()[http::field::content_type]);
  response.retry_after_s = ParseRetryAfter(std::string(parser.get()[http::field::retry_after]));
  link_->tcp().expires_at(call.deadline);
  error = co_await Read(*link_, parser, &response.body, options_.max_header_bytes);
  if (error) co_return tl::unexpected(Failure("incomplete answer", error));
  if (write_error || !parser.keep_alive()) link_.reset();
  co_return response;
}

Error HttpClient::Impl::Failure(std::string_view what, const error_code& error) {
  later_ = IsCut(error);
  if (error == http::error::body_limit) return {fmt::format("the answer is larger than {} bytes", max_bytes_)};
  if (error == http::error::header_limit)
    return {fmt::format("the answer's header is larger than {} bytes", options_.max_header_bytes)};
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return {fmt::format("{}: the server closed the connection", what)};
  }
  if (error == beast::error::timeout) return {fmt::format("{}: timed out", what)};
#ifdef ASSAY_HAVE_TLS
  if (error.category() == asio::error::get_ssl_category()) {
    misplaced_ = true;
    return {fmt::format("{}: {} (does the server speak https?)", what, OneLine(error.message()))};
  }
#endif
  if (IsHttpError(error)) {
    misplaced_ = true;
    return {fmt::format("{}: not HTTP: {}", what, OneLine(error.message()))};
  }
  return {fmt::format("{}: {}", what, OneLine(error.message()))};
}

void HttpClient::Impl::Cancel() {
  cancelled_ = true;
  resolver_.Cancel();
  try {
    asio::post(io_, [this] {
      if (link_ != nullptr) link_->tcp().close();
      pause_.cancel();
    });
  } catch (const std::exception&) {
    // Out of memory: the call ends at its deadline.
    return;
  }
}

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::Create(std::string_view url, const ClientOptions& options) {
  ASSAY_ASSIGN(Url base, ParseUrl(url));
  try {
    auto impl = std::make_unique<Impl>(std::move(base), options);
    ASSAY_TRY(impl->Prepare());
    return std::unique_ptr<HttpClient>(new HttpClient(std::move(impl)));
  } catch (const std::exception& error) {
    return Err("{}: {}", OneLine(url), OneLine(error.what()));
  }
}

Result<HttpResponse> HttpClient::Get(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes) {
  return impl_->Run("GET", path, {}, timeout_ms, max_bytes, timeout_ms);
}

Result<HttpResponse> HttpClient::Post(std::string_view path, ByteSpan body, int timeout_ms,
                                      std::optional<std::size_t> max_bytes) {
  return impl_->Run("POST", path, body, timeout_ms, max_bytes, timeout_ms);
}

bool HttpClient::later() const { return impl_->later(); }

bool HttpClient::misplaced() const { return impl_->misplaced(); }

Result<HttpResponse> HttpClient::GetPatiently(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes,
                                              int attempt_ms) {
  return impl_->RunPatiently(path, timeout_ms, max_bytes, std::max(attempt_ms, 1));
}

void HttpClient::Cancel() { impl_->Cancel(); }

}  // namespace assay
