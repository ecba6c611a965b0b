#include "assay/net/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "assay/base/quote.h"
#include "assay/net/places.h"
#include "assay/net/resolve.h"
#include "assay/net/server_messages-inl.h"
#include "assay/net/url.h"
#include "assay/net/work_queue.h"

namespace assay {
namespace {

using namespace net_internal;
using asio::ip::tcp;

constexpr milliseconds kAcceptPause(100);  // after a failure to accept, which is mostly a lack of descriptors
constexpr int kRetryAfterSeconds = 1;
constexpr std::size_t kMaxLimit = std::size_t{1} << 31;  // of the options

using Doing = Places::Doing;

// A connection. Other coroutines of the thread of input and output may close its socket while it waits for its peer.
struct Session {
  Places::Id id;
  std::string address;  // of the peer, as the handler sees it
  std::string peer;     // as places and turns are counted
  Link link;
};

// A request on its way through a worker. `done` is never reached; cancelling it wakes the connection.
struct Handling {
  Handling(asio::io_context& io, HttpRequest r) : request(std::move(r)), done(io, asio::steady_timer::time_point::max()) {}
  HttpRequest request;
  HttpResponse response;
  asio::steady_timer done;
  bool finished = false;  // touched by the thread of input and output alone
};

std::string AddressOf(const tcp::endpoint& endpoint) {
  return HostPort{endpoint.address().to_string(), endpoint.port()}.ToString();
}

HttpResponse Later(std::string_view why) {
  HttpResponse response = TextResponse(503, why);
  response.retry_after_s = kRetryAfterSeconds;
  return response;
}

// Files that cannot be opened for want of a descriptor would stop the handler, which has work to do.
std::size_t DescriptorsForConnections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<std::size_t>::max();
  return std::max<std::size_t>(limit.rlim_cur / 2, 1);
}

Status CheckOptions(const ServerOptions& options) {
  if (options.workers < 1 || options.workers > 4096) return Err("server: expected 1 to 4096 workers, got {}", options.workers);
  if (options.max_connections < 1 || options.max_connections_per_peer < 1 || options.max_requests_per_peer < 1) {
    return Err("server: expected at least 1 connection, and 1 connection and 1 request of each peer");
  }
  if (options.max_header_bytes < 1 || options.max_header_bytes > kMaxLimit || options.max_body_bytes > kMaxLimit) {
    return Err("server: expected limits of at most {} bytes for headers and bodies", kMaxLimit);
  }
  if (std::min({options.idle_timeout_ms, options.header_timeout_ms, options.read_timeout_ms, options.write_timeout_ms}) < 1) {
    return Err("server: expected timeouts of at least 1 ms");
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return Err("server: expected a certificate file and a key file, or neither");
  }
  return {};
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const ServerOptions& options, Handler handler, AtOnce at_once)
      : options_(options),
        handler_(std::move(handler)),
        at_once_(std::move(at_once)),
        places_(std::min(options.max_connections, DescriptorsForConnections()), options.max_connections_per_peer),
        queue_({.threads = options.workers, .waiting = options.max_queued, .per_peer = options.max_requests_per_peer}) {}

  Status Start();
  void Stop();
  std::uint16_t port() const { return endpoint_.port(); }
  std::string url() const {
    return fmt::format("{}://{}", options_.key_file.empty() ? "http" : "https",
                       HostPort{endpoint_.address().to_string(), endpoint_.port()}.ToString());
  }

 private:
  Status LoadCertificate();
  Status Listen();
  Status Bind(const tcp::endpoint& endpoint);
  void Run();
  asio::awaitable<void> Accept();
  void Admit(tcp::socket socket);
  void TurnAway(tcp::socket& socket) const;
  void Open(tcp::socket socket, const tcp::endpoint& endpoint, std::string peer, Places::Id id);
  void Close(Places::Id id);
  asio::awaitable<void> Serve(std::shared_ptr<Session> session);
  Link LinkOn(tcp::socket socket);
  asio::awaitable<void> ServeRequests(Session& session);
  asio::awaitable<HttpResponse> Answer(HttpRequest request, const std::string& peer);
  HttpResponse CallHandler(HttpRequest request) const;

  const ServerOptions options_;
  const Handler handler_;
  const AtOnce at_once_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
#ifdef ASSAY_HAVE_TLS
  asio::ssl::context tls_{asio::ssl::context::tls_server};
#endif
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  tcp::endpoint endpoint_;
  // These three are of the thread of input and output alone. Who has lost its place is a session until its coroutine has ended.
  Places places_;
  std::map<Places::Id, Session*> sessions_;
  bool stopping_ = false;
  WorkQueue queue_;
  std::thread thread_;
  std::mutex stop_mutex_;
};

Status HttpServer::Impl::Start() {
  ASSAY_TRY(LoadCertificate());
  ASSAY_TRY(Listen());
  ASSAY_TRY(queue_.Start());
  asio::co_spawn(io_, Accept(), [](const std::exception_ptr&) {});
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    return Err("server: cannot start a thread: {}", error.code().message());
  }
  return {};
}

Status HttpServer::Impl::LoadCertificate() {
  if (options_.key_file.empty()) return {};
#ifdef ASSAY_HAVE_TLS
  error_code error;
  tls_.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_compression, error);
  if (error) return Err("TLS: {}", error.message());
  SSL_CTX_set_options(tls_.native_handle(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(tls_.native_handle(), SSL_SESS_CACHE_OFF);  // which strangers could fill
  tls_.use_certificate_chain_file(options_.certificate_file, error);
  if (error) return Err("{}: cannot load the certificate: {}", options_.certificate_file, OneLine(error.message()));
  tls_.use_private_key_file(options_.key_file, asio::ssl::context::pem, error);
  if (error)
    return Err("{}: cannot load the key of {}: {}", options_.key_file, options_.certificate_file, OneLine(error.message()));
  return {};
#else
  return Err("{}: this build has no TLS", options_.certificate_file);
#endif
}

Status HttpServer::Impl::Listen() {
  ASSAY_ASSIGN(const HostPort wanted, ParseHostPort(options_.listen));
  ASSAY_ASSIGN(const Addresses addresses, SystemLookup(wanted.host));
  Status status;
  for (const std::string& text : addresses) {
    error_code error;
    const auto address = asio::ip::make_address(text, error);
    if (error) continue;
    status = Bind({address, wanted.port});
    if (status) return status;
  }
  return status ? Err("{}: has no address to listen on", options_.listen) : status;
}

Status HttpServer::Impl::Bind(const tcp::endpoint& endpoint) {
  error_code error;
  error_code ignored;
  acceptor_.close(ignored);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) endpoint_ = acceptor_.local_endpoint(error);
  if (error) return Err("cannot listen on {}: {}", options_.listen, error.message());
  return {};
}

void HttpServer::Impl::Run() {
  for (;;) {
    try {
      io_.run();
      return;
    } catch (const std::exception&) {
      // Out of memory in one operation: the others go on.
      continue;
    }
  }
}

asio::awaitable<void> HttpServer::Impl::Accept() {
  while (!stopping_) {
    error_code error;
    tcp::socket socket = co_await acceptor_.async_accept(Into(error));
    if (stopping_) co_return;
    if (error) {
      pause_.expires_after(kAcceptPause);
      co_await pause_.async_wait(Into(error));
    } else {
      Admit(std::move(socket));
    }
  }
}

void HttpServer::Impl::Admit(tcp::socket socket) {
  error_code error;
  const tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return;  // It has left already.
  std::optional<Places::Admission> place;
  try {
    std::string peer = PeerOfAddress(endpoint.address().to_string());
    place = places_.Admit(peer);
    if (!place) return TurnAway(socket);
    if (place->dismissed) Close(*place->dismissed);
    Open(std::move(socket), endpoint, std::move(peer), place->id);
  } catch (const std::exception&) {
    // Out of memory: this connection is closed.
    if (place) places_.Leave(place->id);
  }
}

void HttpServer::Impl::Open(tcp::socket socket, const tcp::endpoint& endpoint, std::string peer, Places::Id id) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto session = std::make_shared<Session>(
      Session{.id = id, .address = AddressOf(endpoint), .peer = std::move(peer), .link = LinkOn(std::move(socket))});
  sessions_.emplace(id, session.get());
  try {
    asio::co_spawn(io_, Serve(session), [this, id](const std::exception_ptr&) {
      places_.Leave(id);
      sessions_.erase(id);
    });
  } catch (...) {
    sessions_.erase(id);
    throw;
  }
}

void HttpServer::Impl::Close(Places::Id id) {
  const auto session = sessions_.find(id);
  if (session != sessions_.end()) session->second->link.tcp().close();
}

// What fits into the empty buffer of a fresh connection, without waiting; a peer that speaks TLS is closed in silence.
void HttpServer::Impl::TurnAway(tcp::socket& socket) const {
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
  error_code ignored;
  socket.non_blocking(true, ignored);
  if (options_.key_file.empty()) socket.write_some(asio::buffer(kAnswer), ignored);
  socket.shutdown(tcp::socket::shutdown_both, ignored);
}

Link HttpServer::Impl::LinkOn(tcp::socket socket) {
#ifdef ASSAY_HAVE_TLS
  if (!options_.key_file.empty()) return Link(std::move(socket), tls_);
#endif
  return Link(std::move(socket));
}

asio::awaitable<void> HttpServer::Impl::Serve(std::shared_ptr<Session> session) {
#ifdef ASSAY_HAVE_TLS
  session->link.tcp().expires_after(milliseconds(options_.header_timeout_ms));
  const error_code error = co_await session->link.Handshake(asio::ssl::stream_base::server);
  if (error) co_return;
#endif
  co_await ServeRequests(*session);
}

asio::awaitable<void> HttpServer::Impl::ServeRequests(Session& session) {
  bool keep_alive = true;
  while (keep_alive && !stopping_) {
    RequestParser parser;
    Bytes body;
    const error_code error = co_await ReadRequest(session.link, parser, body, options_);
    std::optional<HttpResponse> response;
    if (error) {
      response = Complaint(error);
      if (!response) co_return;
      keep_alive = false;
    } else {
      places_.Set(session.id, Doing::kBusy);
      session.link.tcp().expires_never();
      response = co_await Answer(Convert(parser.get(), std::move(body), session.address), session.peer);
      keep_alive = parser.keep_alive() && !stopping_;
    }
    const bool head = !error && parser.get().method() == http::verb::head;
    places_.Set(session.id, Doing::kSending);
    const error_code lost =
        co_await WriteResponse(session.link, *std::move(response), head, keep_alive, options_.write_timeout_ms);
    if (lost) co_return;
    places_.Set(session.id, Doing::kWaiting);
  }
  places_.Set(session.id, Doing::kLeaving);
  co_await Linger(session.link.tcp());
}

asio::awaitable<HttpResponse> HttpServer::Impl::Answer(HttpRequest request, const std::string& peer) {
  if (at_once_) {
    if (std::optional<HttpResponse> response = at_once_(request)) co_return *std::move(response);
  }
  const auto handling = std::make_shared<Handling>(io_, std::move(request));
  const bool queued = queue_.TryPush(peer, [this, handling](WorkQueue::Turn turn) {
    switch (turn) {
      case WorkQueue::Turn::kRun: handling->response = CallHandler(std::move(handling->request)); break;
      case WorkQueue::Turn::kDisplaced: handling->response = Later("the server is busy"); break;
      case WorkQueue::Turn::kStopping: handling->response = Later("the server is stopping"); break;
    }
    asio::post(io_, [handling] {
      handling->finished = true;
      handling->done.cancel();
    });
  });
  if (!queued) co_return Later("the server is busy");
  error_code ignored;
  while (!handling->finished) co_await handling->done.async_wait(Into(ignored));
  co_return std::move(handling->response);
}

HttpResponse HttpServer::Impl::CallHandler(HttpRequest request) const {
  try {
    return handler_(std::move(request));
  } catch (...) {
    return TextResponse(500, "the handler failed");
  }
}

void HttpServer::Impl::Stop() {
  const std::lock_guard guard(stop_mutex_);
  if (!thread_.joinable()) return;
  asio::post(io_, [this] {
    stopping_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    for (const auto& [id, session] : sessions_) {
      if (!places_.IsAtWork(id)) session->link.tcp().close();
    }
  });
  queue_.Stop();
  work_.reset();
  thread_.join();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { Stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const ServerOptions& options, Handler handler, AtOnce at_once) {
  ASSAY_TRY(CheckOptions(options));
  try {
    auto impl = std::make_unique<Impl>(options, std::move(handler), std::move(at_once));
    ASSAY_TRY(impl->Start());
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
  } catch (const std::exception& error) {
    return Err("server on {}: {}", OneLine(options.listen), OneLine(error.what()));
  }
}

std::uint16_t HttpServer::port() const { return impl_->port(); }
std::string HttpServer::url() const { return impl_->url(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace assay
