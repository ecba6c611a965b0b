// An HTTP/1.1 server for small messages from peers who may be hostile.
//
// One thread does all input and output and never waits for a peer; the handler runs on worker threads, as many as the options say, and may
// take minutes. A connection holds one of `max_connections` places, for a bounded time unless its request is being handled, and at most
// `max_header_bytes` + `max_body_bytes` of memory besides its answer. A peer that breaks the protocol gets a 4xx answer or none. With
// certificate and key the server speaks TLS (1.2 or later) only.
//
// Slow, idle and greedy peers do not keep others out. Connections are counted by address (places.h): where a peer or the server has no place
// left, a new connection takes that of one whose request is not being handled, of the peer that holds most. Requests take turns by
// address (work_queue.h). What cannot be served gets 503 with Retry-After, which says nothing but "later": a client that repeats its
// request is served. Behind a proxy all peers have its address, and the limits for one peer should be those for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "assay/base/result.h"
#include "assay/net/http.h"

namespace assay {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // HOST:PORT; port 0 picks a free one
  int workers = 2;                     // handlers that run at the same time; one peer alone is given half of them
  std::size_t max_queued = 64;         // requests that wait for a worker
  // Should be more than the workers and the queue hold, which keep their places. At most half of the descriptors that the process may have.
  std::size_t max_connections = 256;
  std::size_t max_connections_per_peer = 64;
  std::size_t max_requests_per_peer = 16;  // that wait for a worker or have one
  std::size_t max_header_bytes = 8 << 10;
  std::size_t max_body_bytes = 16 << 20;
  int idle_timeout_ms = 30'000;    // from a connection's beginning, or an answer, to the first byte of a request
  int header_timeout_ms = 10'000;  // from the first byte of a request to the end of its header; the same for a TLS handshake
  int read_timeout_ms = 60'000;    // from the first byte of a request to its last
  int write_timeout_ms = 60'000;   // for the whole answer, and a second more for every 64 kB of it
  std::string certificate_file{};  // PEM, the chain from the server's own on; both files or neither
  std::string key_file{};          // PEM
};

class HttpServer {
 public:
  // Called on several worker threads at once. What it throws becomes a 500.
  using Handler = std::function<HttpResponse(HttpRequest request)>;

  // Asked first, on the thread of input and output: what can be answered without work or waiting is, however busy the workers are. It
  // must not throw.
  using AtOnce = std::function<std::optional<HttpResponse>(const HttpRequest& request)>;

  static Result<std::unique_ptr<HttpServer>> Start(const ServerOptions& options, Handler handler, AtOnce at_once = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  std::string url() const;  // "http://127.0.0.1:8080", of the address that is listened on

  // Stops listening, closes idle connections, answers 503 to requests that wait, finishes running handlers and sends their answers.
  // May be called by any thread but a handler's, and again: every call returns when all is over.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
