#include "assay/net/http_client.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#ifdef ASSAY_HAVE_TLS
#include <boost/asio/ssl/host_name_verification.hpp>
#endif

#include "assay/base/quote.h"
#include "assay/net/client_exchange-inl.h"
#include "assay/net/resolve.h"
#include "assay/net/url.h"

namespace assay {
namespace {

using namespace net_internal;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPause(250);            // between attempts
constexpr milliseconds kLongestPause(10'000);  // whatever the server asks for

// Those that say how a message is sent are the client's own.
bool IsForbidden(std::string_view name) {
  const auto same = [&](std::string_view other) { return beast::iequals(name, other); };
  return same("connection") || same("content-length") || same("expect") || same("host") || same("transfer-encoding") ||
         same("user-agent");
}

Status CheckCall(const HttpCall& call) {
  for (const auto& [name, value] : call.headers) {
    if (!IsHeader(name, value) || IsForbidden(name)) return Err("expected headers that may be sent, got {}", Quote(name));
  }
  if (call.method.empty() || !std::ranges::all_of(call.method, [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return Err("expected a method, got {}", Quote(call.method));
  }
  return {};
}

// Times of one call.
struct Limits {
  int timeout_ms = 0;
  int attempt_ms = 0;
  bool idle = false;  // the timeout is for the time in which nothing moves
};

}  // namespace

class HttpClient::Impl {
 public:
  Impl(Url base, const ClientOptions& options) : base_(std::move(base)), options_(options), resolver_(base_.server.host) {}

  Status Prepare();
  // Calls and their limits, but for target and times.
  Call CallOf(const HttpCall& what, std::optional<std::size_t> max_bytes) const;
  Result<HttpResponse> Run(Call call, const Limits& limits);
  Result<HttpResponse> RunPatiently(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes,
                                    int attempt_ms);
  const Blame& blame() const { return blame_; }
  void Cancel();

 private:
  bool Reusable();
  Result<HttpResponse> Perform(Call& call);
  asio::awaitable<Result<HttpResponse>> Talk(Call& call);
  asio::awaitable<Status> Connect(const Call& call);
  asio::awaitable<Status> Secure();
  void Pause(SteadyTime until);

  const Url base_;
  const ClientOptions options_;
  Resolver resolver_;
  std::atomic<bool> cancelled_ = false;
  Blame blame_;
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
bool HttpClient::Impl::Reusable() { return link_ != nullptr && link_->unread().size() == 0 && !HasWord(*link_); }

Call HttpClient::Impl::CallOf(const HttpCall& what, std::optional<std::size_t> max_bytes) const {
  return {.what = what, .target = {}, .max_bytes = max_bytes.value_or(options_.max_response_bytes)};
}

Result<HttpResponse> HttpClient::Impl::Run(Call call, const Limits& limits) {
  const std::string& path = call.what.path;
  call.target = base_.target;
  while (!path.empty() && call.target.ends_with('/')) call.target.pop_back();
  call.target += path;
  const auto name = [&] { return fmt::format("{}://{}{}", base_.tls ? "https" : "http", base_.Authority(), call.target); };
  if (!IsTarget(call.target) || !(path.empty() || IsTarget(path))) {
    return Err("{}: expected a path of visible ASCII that begins with '/', got {}", base_.ToString(), Quote(path));
  }
  if (const Status proper = CheckCall(call.what); !proper) return Err("{}: {}", name(), proper.error().message);

  const SteadyTime start = steady_clock::now();
  const milliseconds timeout(std::max(limits.timeout_ms, 0));
  if (limits.idle) call.idle = timeout;
  call.deadline = limits.idle ? SteadyTime::max() : start + timeout;
  call.connect_deadline = std::min(call.deadline, start + milliseconds(options_.connect_timeout_ms));
  call.header_deadline = limits.idle ? SteadyTime::max() : std::min(call.deadline, start + milliseconds(limits.attempt_ms));
  blame_ = {};
  Result<HttpResponse> result = Perform(call);
  if (result) {
    blame_.later = result->status == 429 || result->status == 503;
    return result;
  }
  link_.reset();
  const bool is_over = cancelled_ || steady_clock::now() >= call.deadline;
  blame_.later = blame_.later && !is_over;
  if (cancelled_) return Err("{}: cancelled", name());
  if (is_over) return Err("{}: no complete answer within {} ms", name(), limits.timeout_ms);
  return Err("{}: {}", name(), result.error().message);
}

Result<HttpResponse> HttpClient::Impl::RunPatiently(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes,
                                                    int attempt_ms) {
  const SteadyTime deadline = steady_clock::now() + milliseconds(std::max(timeout_ms, 0));
  const HttpCall what{.method = "GET", .path = std::string(path)};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    Result<HttpResponse> result = Run(
        CallOf(what, max_bytes), {.timeout_ms = static_cast<int>(std::max<std::int64_t>(left, 0)), .attempt_ms = attempt_ms});
    if (!blame_.later) return result;
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
  Exchange exchange(*link_, call, options_, base_.Authority());
  Result<HttpResponse> result = co_await exchange.Run();
  blame_ = exchange.blame();
  if (!exchange.keep_alive()) link_.reset();
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
    blame_ = {};  // whatever became of the address before
    error_code error;
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(call.addresses[i], error), base_.server.port);
    if (!error) co_await tcp.async_connect(endpoint, Into(error));
    if (error) {
      status = tl::unexpected(Failure("cannot connect", error, blame_));
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
      blame_.misplaced = true;
      co_return Err("TLS: the server's certificate is not trusted: {}", X509_verify_cert_error_string(verified));
    }
    if (error) co_return tl::unexpected(Failure("TLS", error, blame_));
  }
#endif
  co_return Status();
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
  return Send({.method = "GET", .path = std::string(path)}, {}, timeout_ms, max_bytes);
}

Result<HttpResponse> HttpClient::Post(std::string_view path, ByteSpan body, int timeout_ms,
                                      std::optional<std::size_t> max_bytes) {
  return Send({.method = "POST", .path = std::string(path)}, body, timeout_ms, max_bytes);
}

Result<HttpResponse> HttpClient::Send(const HttpCall& call, ByteSpan body, int timeout_ms,
                                      std::optional<std::size_t> max_bytes) {
  Call sent = impl_->CallOf(call, max_bytes);
  sent.body = body;
  return impl_->Run(std::move(sent), {.timeout_ms = timeout_ms, .attempt_ms = timeout_ms});
}

Result<HttpResponse> HttpClient::Upload(const HttpCall& call, const BodySource& body, int idle_timeout_ms) {
  Call sent = impl_->CallOf(call, {});
  sent.source = &body;
  return impl_->Run(std::move(sent), {.timeout_ms = idle_timeout_ms, .idle = true});
}

Result<HttpResponse> HttpClient::Download(const HttpCall& call, const Sink& sink, std::uint64_t max_bytes,
                                          int idle_timeout_ms) {
  Call sent = impl_->CallOf(call, {});
  sent.sink = &sink;
  sent.max_sink_bytes = max_bytes;
  return impl_->Run(std::move(sent), {.timeout_ms = idle_timeout_ms, .idle = true});
}

Result<HttpResponse> HttpClient::Listen(const HttpCall& call, const std::function<bool(const ServerEvent& event)>& callback,
                                        int idle_timeout_ms) {
  EventReader reader;
  std::optional<HttpResponse> stopped;
  const Sink sink = [&](const HttpResponse& head, ByteSpan piece) -> Status {
    if (!head.content_type.starts_with(kEventStreamType)) {
      return Err("expected {}, got {}", kEventStreamType, Quote(head.content_type));
    }
    ASSAY_ASSIGN(const bool more, reader.Take({reinterpret_cast<const char*>(piece.data()), piece.size()}, callback));
    if (more) return {};
    stopped = head;
    return Err("stopped");
  };
  Result<HttpResponse> result = Download(call, sink, std::numeric_limits<std::uint64_t>::max(), idle_timeout_ms);
  if (stopped) return *std::move(stopped);
  return result;
}

BodySource BodySource::Of(FileRange range) {
  const std::uint64_t length = range.length();
  return {.length = length, .read = [range = std::move(range), at = std::uint64_t{0}](std::span<std::uint8_t> into) mutable {
            Status status = range.Read(at, into.data(), into.size());
            at += into.size();
            return status;
          }};
}

bool HttpClient::later() const { return impl_->blame().later; }

bool HttpClient::misplaced() const { return impl_->blame().misplaced; }

bool HttpClient::overlong() const { return impl_->blame().overlong; }

Result<HttpResponse> HttpClient::GetPatiently(std::string_view path, int timeout_ms, std::optional<std::size_t> max_bytes,
                                              int attempt_ms) {
  return impl_->RunPatiently(path, timeout_ms, max_bytes, std::max(attempt_ms, 1));
}

void HttpClient::Cancel() { impl_->Cancel(); }

}  // namespace assay
