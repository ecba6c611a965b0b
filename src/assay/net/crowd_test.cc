// A server under many connections that do nothing, little, or too much: an honest request is served within a second all the same.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "assay/net/http_client.h"
#include "assay/net/http_server.h"
#include "support/raw_peer.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kSoonMs = 1000;
constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

std::unique_ptr<HttpServer> Serve(const ServerOptions& options, HttpServer::Handler handler) {
  auto server = HttpServer::Start(options, std::move(handler));
  if (!server) ADD_FAILURE() << server.error().message;
  return *std::move(server);
}

HttpResponse Small(const HttpRequest&) { return TextResponse(200, "served"); }

// A request on a connection of its own, from 127.0.0.`host`.
std::string Ask(const HttpServer& server, int host, std::string_view request = kGet) {
  const RawSocket peer = RawSocket::ConnectTo(server.port(), host);
  const timeval limit{.tv_sec = kSoonMs / 1000, .tv_usec = 0};
  setsockopt(peer.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (!peer.Send(request)) return "cut";
  return peer.Receive("\r\n\r\n");
}

// Right after a burst of requests the queue may be full of them for a moment, and then says so.
void ExpectServed(const HttpServer& server, int host, const std::string& what) {
  const auto begun = steady_clock::now();
  std::string answer = Ask(server, host);
  while (answer.find("the server is busy") != std::string::npos && steady_clock::now() - begun < milliseconds(kSoonMs)) {
    std::this_thread::sleep_for(milliseconds(20));
    answer = Ask(server, host);
  }
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << what << ": " << answer;
  EXPECT_LT(steady_clock::now() - begun, milliseconds(kSoonMs)) << what;
}

std::vector<RawSocket> Crowd(const HttpServer& server, int count, int hosts, std::string_view words, bool wait = true) {
  std::vector<RawSocket> crowd;
  for (int i = 0; i < count; ++i) {
    crowd.push_back(RawSocket::ConnectTo(server.port(), 2 + i % hosts));
    crowd.back().Send(words);
    if (words == kGet && wait) crowd.back().Receive("served\n");
  }
  return crowd;
}

// Silent, in the middle of a header, of a body, and after an answer.
constexpr std::string_view kWords[] = {"", "GET / HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\nabc",
                                       kGet};

TEST(Crowd, IdleConnectionsOfOneAddress) {
  for (const std::string_view words : kWords) {
    const auto server = Serve({}, Small);
    const auto crowd = Crowd(*server, 600, 1, words);
    ExpectServed(*server, 1, "another address");
    ExpectServed(*server, 2, "the same address");
  }
}

TEST(Crowd, IdleConnectionsOfManyAddresses) {
  for (const std::string_view words : kWords) {
    const auto server = Serve({}, Small);
    const auto crowd = Crowd(*server, 600, 200, words);
    ExpectServed(*server, 1, "another address");
    ExpectServed(*server, 2, "one of the addresses");
  }
}

// A byte now and then, from peers that come again as soon as they are closed.
TEST(Crowd, DribblingConnections) {
  const auto server = Serve({.max_connections = 32}, Small);
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      while (!over) {
        const auto crowd = Crowd(*server, 16, 1 + t, "GET / HTTP/1.1\r\nX: ");
        for (int i = 0; i < 3 && !over; ++i) {
          for (const RawSocket& peer : crowd) peer.Send("x");
          std::this_thread::sleep_for(milliseconds(5));
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) ExpectServed(*server, 1, "under dribbling connections");
  over = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Crowd, PeersThatDoNotReadTheirAnswers) {
  const auto server = Serve({.max_queued = 8, .max_connections = 32}, [](const HttpRequest& request) {
    return HttpResponse{.status = 200, .content_type = "x/y", .body = Bytes(request.target == "/large" ? 4 << 20 : 1)};
  });
  for (const int hosts : {1, 32}) {
    const auto crowd = Crowd(*server, 64, hosts, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    ExpectServed(*server, 1, "another address");
    ExpectServed(*server, 2, "one of the addresses");
  }
}

// A connection that is in use is not the one to go, however many others come.
TEST(Crowd, AKeptConnectionLasts) {
  const auto server = Serve({.max_connections = 16}, Small);
  const RawSocket kept = RawSocket::ConnectTo(server->port());
  const auto crowd = Crowd(*server, 100, 1, "");
  ASSERT_TRUE(kept.Send(kGet));
  EXPECT_TRUE(kept.Receive("served\n").starts_with("HTTP/1.1 200 "));
}

// Handlers that wait until the test lets them go, but for requests of 127.0.0.1.
struct Slow {
  std::atomic<int> inside = 0;
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  HttpServer::Handler Handler() {
    return [this](const HttpRequest& request) {
      if (request.peer.starts_with("127.0.0.1:")) return Small(request);
      ++inside;
      gone.wait();
      return Small(request);
    };
  }
};

TEST(Crowd, SlowRequestsOfOneAddress) {
  Slow slow;
  const auto server = Serve({.workers = 4}, slow.Handler());
  const auto crowd = Crowd(*server, 100, 1, kGet, false);
  while (slow.inside < 2) std::this_thread::sleep_for(milliseconds(1));
  ExpectServed(*server, 1, "beside slow requests");
  EXPECT_EQ(slow.inside, 2);
  // It has what one peer may have; more are told to come later.
  std::string refused;
  for (const RawSocket& peer : crowd) {
    std::array<char, 256> piece;
    const ssize_t got = recv(peer.descriptor(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) refused.assign(piece.data(), static_cast<std::size_t>(got));
  }
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  EXPECT_NE(refused.find("\r\nRetry-After: 1\r\n"), std::string::npos) << refused;
  slow.go.set_value();
}

// All workers and the queue are taken, by as many addresses: what needs no work is answered all the same.
TEST(Crowd, WhatIsAnsweredAtOnce) {
  Slow slow;
  const auto at_once = [](const HttpRequest& request) {
    return request.target == "/document" ? std::optional(Small(request)) : std::nullopt;
  };
  const auto server = *HttpServer::Start({.workers = 2, .max_queued = 4}, slow.Handler(), at_once);
  const auto crowd = Crowd(*server, 20, 20, kGet, false);
  while (slow.inside < 2) std::this_thread::sleep_for(milliseconds(1));
  const std::string answer = Ask(*server, 50, "GET /document HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  slow.go.set_value();
}

// The queue is full of others' requests: one of those makes room, and the honest one is next.
TEST(Crowd, AFullQueue) {
  Slow slow;
  const auto server = Serve({.workers = 1, .max_queued = 8, .max_requests_per_peer = 5}, slow.Handler());
  const auto crowd = Crowd(*server, 30, 3, kGet, false);
  while (slow.inside < 1) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(50));
  const RawSocket honest = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(honest.Send(kGet));
  std::this_thread::sleep_for(milliseconds(50));
  slow.go.set_value();
  EXPECT_TRUE(honest.Receive("served\n").starts_with("HTTP/1.1 200 "));
}

// Workers behind one address, whom the service tells apart: each has the turns and the connections of a peer.
TEST(Crowd, NamedPeersOfOneAddress) {
  Slow slow;
  const auto handler = slow.Handler();
  const ServerOptions options{.workers = 4, .max_connections_per_peer = 8, .max_requests_per_peer = 2};
  const auto server = *HttpServer::Serve(options, [&](const HttpRequest& head) {
    return Course{.handler = [&](const HttpRequest& request, Reply reply) { reply.Send(handler(request)); },
                  .at_once = head.target == "/fast",
                  .peer = std::string(head.Header("X-Worker"))};
  });
  const auto ask = [](std::string_view target, int worker) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: a\r\nX-Worker: {}\r\n\r\n", target, worker);
  };
  // More connections than an address has, all of which stay.
  std::vector<RawSocket> workers;
  for (int i = 0; i < 100; ++i) {
    workers.push_back(RawSocket::ConnectTo(server->port()));
    ASSERT_TRUE(workers.back().Send(ask("/fast", i)));
    ASSERT_TRUE(workers.back().Receive("served\n").starts_with("HTTP/1.1 200 "));
  }
  // One that asks for too much keeps no other from its turn.
  std::vector<RawSocket> greedy;
  for (int i = 0; i < 6; ++i) {
    greedy.push_back(RawSocket::ConnectTo(server->port(), 2));
    ASSERT_TRUE(greedy.back().Send(ask("/", 0)));
  }
  while (slow.inside < 2) std::this_thread::sleep_for(milliseconds(1));
  for (std::size_t i = 1; i < workers.size(); ++i) {
    ASSERT_TRUE(workers[i].Send(ask("/", static_cast<int>(i))));
    EXPECT_TRUE(workers[i].Receive("served\n").starts_with("HTTP/1.1 200 "));
  }
  slow.go.set_value();
}

// Many connections in a row, each left at once, in all the ways a connection can be left.
TEST(Crowd, ConnectionsInALoop) {
  const auto server = Serve({.max_connections = 64}, Small);
  for (int i = 0; i < 3000; ++i) {
    const RawSocket peer = RawSocket::ConnectTo(server->port(), 2 + i % 50);
    if (i % 3 == 0) peer.ResetOnClose();
    if (i % 2 == 0) peer.Send(kGet.substr(0, static_cast<std::size_t>(i) % kGet.size()));
  }
  ExpectServed(*server, 1, "after 3000 connections");
}

}  // namespace
}  // namespace assay
