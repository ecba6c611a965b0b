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
#include "assay/net/session-inl.h"
#include "assay/net/url.h"
#include "assay/net/work_queue.h"

namespace assay {
namespace {

using namespace net_internal;
using asio::ip::tcp;

constexpr milliseconds kAcceptPause(100);                // after a failure to accept, which is mostly a lack of descriptors
constexpr std::size_t kMaxLimit = std::size_t{1} << 31;  // of the options

std::string AddressOf(const tcp::endpoint& endpoint) {
  return HostPort{endpoint.address().to_string(), endpoint.port()}.ToString();
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
  if (options.slowest_bytes_per_s < 1) return Err("server: expected a slowest rate of at least 1 byte a second");
  if (options.transfer_threads < 1 || options.transfer_threads > 4096) {
    return Err("server: expected 1 to 4096 threads for transfers, got {}", options.transfer_threads);
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return Err("server: expected a certificate file and a key file, or neither");
  }
  return {};
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const ServerOptions& options, Service service, AtOnce at_once)
      : options_(options),
        places_(std::min(options.max_connections, DescriptorsForConnections()), options.max_connections_per_peer),
        queue_({.threads = options.workers, .waiting = options.max_queued, .per_peer = options.max_requests_per_peer}),
        transfers_({.threads = options.transfer_threads, .waiting = kMaxLimit, .per_peer = kMaxLimit}),
        common_{.options = options_,
                .service = std::move(service),
                .at_once = std::move(at_once),
                .io = io_,
                .places = places_,
                .workers = queue_,
                .transfers = transfers_,
                .close = [this](Places::Id id) { Close(id); }} {}

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
  Link LinkOn(tcp::socket socket);
  void Tell(bool giving_up);

  const ServerOptions options_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
#ifdef ASSAY_HAVE_TLS
  asio::ssl::context tls_{asio::ssl::context::tls_server};
#endif
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  tcp::endpoint endpoint_;
  // These two are of the thread of input and output alone. Who has lost its place is a session until its coroutine has ended.
  Places places_;
  std::map<Places::Id, Session*> sessions_;
  WorkQueue queue_;
  WorkQueue transfers_;
  Common common_;
  std::thread thread_;
  std::mutex stop_mutex_;
};

Status HttpServer::Impl::Start() {
  ASSAY_TRY(LoadCertificate());
  ASSAY_TRY(Listen());
  ASSAY_TRY(queue_.Start());
  ASSAY_TRY(transfers_.Start());
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
  SSL_CTX_set_mode(tls_.native_handle(), SSL_MODE_RELEASE_BUFFERS);          // of idle connections
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
  while (!common_.stopping) {
    error_code error;
    tcp::socket socket = co_await acceptor_.async_accept(Into(error));
    if (common_.stopping) co_return;
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
  const auto session = std::make_shared<Session>(common_, id, AddressOf(endpoint), std::move(peer), LinkOn(std::move(socket)));
  sessions_.emplace(id, session.get());
  try {
    // The session outlives its coroutine.
    asio::co_spawn(io_, session->Serve(), [this, id, session](const std::exception_ptr&) {
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
  if (session != sessions_.end()) session->second->Close();
}

// What fits into the empty buffer of a fresh connection, without waiting; a peer that speaks TLS is closed in silence.
void HttpServer::Impl::TurnAway(tcp::socket& socket) const {
  error_code ignored;
  const std::string peer = AddressOf(socket.remote_endpoint(ignored));
  const HttpResponse response = OwnWords{options_, peer}.Later("too many connections");
  const std::string header = ResponseHeader(response, {.length = response.bytes().size(), .keep_alive = false});
  const std::array<asio::const_buffer, 2> answer = {asio::buffer(header),
                                                    asio::buffer(response.bytes().data(), response.bytes().size())};
  socket.non_blocking(true, ignored);
  if (options_.key_file.empty()) socket.write_some(answer, ignored);
  socket.shutdown(tcp::socket::shutdown_both, ignored);
}

Link HttpServer::Impl::LinkOn(tcp::socket socket) {
#ifdef ASSAY_HAVE_TLS
  if (!options_.key_file.empty()) return Link(std::move(socket), tls_);
#endif
  return Link(std::move(socket));
}

// All connections that the server stops, or that it gives up what has not been answered.
void HttpServer::Impl::Tell(bool giving_up) {
  common_.stopping = true;
  common_.giving_up = giving_up;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (const auto& [id, session] : sessions_) session->Stop();
}

void HttpServer::Impl::Stop() {
  const std::lock_guard guard(stop_mutex_);
  if (!thread_.joinable()) return;
  asio::post(io_, [this] { Tell(false); });
  queue_.Stop();
  transfers_.Stop();
  asio::post(io_, [this] { Tell(true); });
  work_.reset();
  thread_.join();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { Stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Begin(const ServerOptions& options, Service service, AtOnce at_once) {
  ASSAY_TRY(CheckOptions(options));
  try {
    auto impl = std::make_unique<Impl>(options, std::move(service), std::move(at_once));
    ASSAY_TRY(impl->Start());
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
  } catch (const std::exception& error) {
    return Err("server on {}: {}", OneLine(options.listen), OneLine(error.what()));
  }
}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const ServerOptions& options, Handler handler, AtOnce at_once) {
  const auto shared = std::make_shared<const Handler>(std::move(handler));
  const auto answer = [shared](HttpRequest request, Reply reply) { reply.Send((*shared)(std::move(request))); };
  return Begin(options, [answer](const HttpRequest&) { return Course{.handler = answer}; }, std::move(at_once));
}

Result<std::unique_ptr<HttpServer>> HttpServer::Serve(const ServerOptions& options, Service service) {
  return Begin(options, std::move(service), {});
}

std::uint16_t HttpServer::port() const { return impl_->port(); }
std::string HttpServer::url() const { return impl_->url(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace assay
