// An HTTP/1.1 server for peers who may be hostile.
//
// One thread does all input and output and never waits for a peer; handlers run on worker threads, as many as the options say, and may
// take minutes. A connection holds one of `max_connections` places, for a bounded time unless its request is being handled. An idle one
// costs about 7 kB (`net_load`), and with TLS what OpenSSL takes besides, another at most `max_header_bytes` and the limit of its body
// besides its answer, or a megabyte where body or answer are transferred in pieces. A peer that breaks the protocol gets a 4xx answer or
// none. With certificate and key the server speaks TLS (1.2 or later) only.
//
// A Service (service.h) decides on each request when its header is there: refuses it before its body is read, sends its body to memory or to
// a sink, and gives it a handler, which may answer later (reply.h). A server of small messages needs no more than a Handler.
//
// Slow, idle and greedy peers do not keep others out. Connections are counted by address, or by the name that the service gives to a peer
// (places.h): where a peer or the server has no place left, a new connection takes that of one whose request is not being handled, of the
// peer that holds most. Requests take turns by peer (work_queue.h); those whose handler has returned without an answer hold a connection
// alone. What cannot be served gets 503 with Retry-After, which says nothing but "later": a client that repeats its request is served.
// Behind a proxy all peers that have no name have its address, and the limits for one peer should be those for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/net/http.h"
#include "assay/net/service.h"

namespace assay {

// What a server answers by itself, without the service: to what is no request, or cannot be served.
struct OwnReply {
  int status = 503;
  std::string_view why{};                // one line
  std::string_view peer{};               // HOST:PORT
  const HttpRequest* request = nullptr;  // null where its header has not been read
};

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // HOST:PORT; port 0 picks a free one
  int workers = 2;                     // handlers that run at the same time; one peer alone is given half of them
  std::size_t max_queued = 64;         // requests that wait for a worker
  // Should be more than the workers and the queue hold, which keep their places. At most half of the descriptors that the process may have,
  // whose limit (RLIMIT_NOFILE) a process of many connections raises before it starts a server.
  std::size_t max_connections = 256;
  std::size_t max_connections_per_peer = 64;
  std::size_t max_requests_per_peer = 16;  // that wait for a worker or have one
  std::size_t max_header_bytes = 8 << 10;
  std::size_t max_body_bytes = 16 << 20;
  int idle_timeout_ms = 30'000;    // from a connection's beginning, or an answer, to the first byte of a request
  int header_timeout_ms = 10'000;  // from the first byte of a request to the end of its header; the same for a TLS handshake
  int read_timeout_ms =
      60'000;  // from the first byte of a request to its last; of a body for a sink, as `slowest_bytes_per_s` says
  int write_timeout_ms = 60'000;  // for the whole answer, as `slowest_bytes_per_s` says
  // What is large has a second more for every so many bytes that have been transferred, and may not pause for longer than its timeout.
  int slowest_bytes_per_s = 64'000;
  int transfer_threads = 2;        // which wait for disks: sinks of bodies, files that are sent
  std::string certificate_file{};  // PEM, the chain from the server's own on; both files or neither
  std::string key_file{};          // PEM
  // Puts it into the form that the service's answers have; without it it is plain text. Called once for each, by any thread; must not wait or throw.
  // Retry-After is the server's.
  std::function<HttpResponse(const OwnReply& reply)> own_reply{};
};

class HttpServer {
 public:
  // Called on several worker threads at once. What it throws becomes a 500.
  using Handler = std::function<HttpResponse(HttpRequest request)>;

  // Asked first, on the thread of input and output: what can be answered without work or waiting is, however busy the workers are. It
  // must not throw.
  using AtOnce = std::function<std::optional<HttpResponse>(const HttpRequest& request)>;

  static Result<std::unique_ptr<HttpServer>> Start(const ServerOptions& options, Handler handler, AtOnce at_once = {});
  static Result<std::unique_ptr<HttpServer>> Serve(const ServerOptions& options, Service service);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  std::string url() const;  // "http://127.0.0.1:8080", of the address that is listened on

  // Stops listening, closes idle connections, cuts streams, sinks' bodies and files, finishes running handlers and sends their answers. What
  // waits for a worker, or has not been answered when the last handler has returned, gets 503.
  // May be called by any thread but a handler's, and again: every call returns when all is over.
  void Stop();

 private:
  class Impl;
  static Result<std::unique_ptr<HttpServer>> Begin(const ServerOptions& options, Service service, AtOnce at_once);
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
