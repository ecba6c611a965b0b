// Bytes and connections that no honest peer would send: neither side holds more memory than its limits say, and both stay in service.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "assay/net/http_client.h"
#include "assay/net/http_server.h"
#include "support/raw_peer.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTimeoutMs = 10'000;
constexpr std::size_t kFar = std::size_t{64} << 20;  // more than buffers of the system take
constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

std::unique_ptr<HttpServer> Serve(const ServerOptions& options = {}) {
  auto server = HttpServer::Start(options, [](HttpRequest request) { return HttpResponse{.body = std::move(request.body)}; });
  if (!server) ADD_FAILURE() << server.error().message;
  return *std::move(server);
}

// Whether the peer answers or closes before it has taken `kFar` bytes of this.
bool IsCutShort(const RawSocket& peer, const std::string& piece) {
  char byte = 0;
  for (std::size_t sent = 0; sent < kFar; sent += piece.size()) {
    if (!peer.Send(piece) || recv(peer.descriptor(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0) return true;
  }
  return false;
}

std::string Times(int count, std::string_view text) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

struct Endless {
  std::string_view what, first;
  std::string piece;
};

std::vector<Endless> EndlessBodies() {
  return {{"chunk extension", "1;x=", std::string(10'000, 'x')},
          {"chunk size", "0", std::string(10'000, '0')},
          {"trailer without end", "0\r\nX: ", std::string(10'000, 'x')},
          {"trailer of many lines", "0\r\n", Times(1000, "X: y\r\n")},
          {"chunk without line end", "1\r\nabcdef", std::string(10'000, 'x')},
          {"chunks with extensions", "", Times(10, "1;" + std::string(1000, 'x') + "\r\nx\r\n")}};
}

TEST(Abuse, ServersStopReadingWhatDoesNotEnd) {
  for (const Endless& endless : EndlessBodies()) {
    const auto server = Serve({.max_body_bytes = 10'000});
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    ASSERT_TRUE(peer.Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(endless.first)));
    const auto begun = steady_clock::now();
    EXPECT_TRUE(IsCutShort(peer, endless.piece)) << endless.what;
    EXPECT_LT(steady_clock::now() - begun, milliseconds(kTimeoutMs / 2)) << endless.what;
  }
}

TEST(Abuse, ClientsStopReadingWhatDoesNotEnd) {
  for (const Endless& endless : EndlessBodies()) {
    std::atomic<bool> cut_short = false;
    {
      const RawServer server([&](const RawSocket& peer) {
        peer.Receive("\r\n\r\n");
        peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(endless.first));
        cut_short = IsCutShort(peer, endless.piece);
      });
      auto client = *HttpClient::Create(server.url(), {.max_response_bytes = 10'000});
      const auto response = client->Get("/x", kTimeoutMs);
      EXPECT_FALSE(response) << endless.what;
      EXPECT_FALSE(client->later()) << endless.what;
    }
    EXPECT_TRUE(cut_short) << endless.what;
  }
}

TEST(Abuse, HeadersOfAllShapes) {
  const auto server = Serve();
  for (const auto& [first, piece] : {std::pair{std::string("GET /"), std::string(10'000, 'x')},
                                     std::pair{std::string("GET / HTTP/1.1\r\n"), Times(1000, "A: b\r\n")},
                                     std::pair{std::string("GET / HTTP/1.1\r\nX:"), std::string(10'000, ' ')},
                                     std::pair{std::string("GET / HTTP/1.1\r\nX: y\r\n"), Times(1000, " folded\r\n")},
                                     std::pair{std::string(), Times(1000, "\r\n")}}) {
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    ASSERT_TRUE(peer.Send(first));
    EXPECT_TRUE(IsCutShort(peer, piece)) << first;
  }
}

// A peer may say all it has to say, close its side, and still be answered.
TEST(Abuse, HalfClosedConnections) {
  const auto server = Serve();
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send(std::string(kGet) + std::string(kGet)));
  shutdown(peer.descriptor(), SHUT_WR);
  const std::string answers = peer.Receive();
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 200 ")) << answers;
  EXPECT_NE(answers.rfind("HTTP/1.1 200 "), 0U) << answers;
  const RawSocket partial = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(partial.Send(kGet.substr(0, 10)));
  shutdown(partial.descriptor(), SHUT_WR);
  EXPECT_EQ(partial.Receive(), "");
}

// Requests without end, whose answers nobody reads: they wait in the peer's own buffers, not here.
TEST(Abuse, PipelinesThatAreNotRead) {
  const auto server = Serve({.write_timeout_ms = 500});
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  const std::string many = Times(1000, kGet);
  bool open = true;
  for (std::size_t sent = 0; open && sent < kFar; sent += many.size()) open = peer.Send(many);
  EXPECT_FALSE(open);
  EXPECT_TRUE((*HttpClient::Create(server->url()))->Get("/", kTimeoutMs));
}

TEST(Abuse, ConnectionsLeaveDescriptorsForOthers) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto server = Serve({.max_connections = 10'000, .max_connections_per_peer = 10'000});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<RawSocket> crowd;
  for (int i = 0; i < 150; ++i) crowd.push_back(RawSocket::ConnectTo(server->port()));
  // Half of 200 may stay; the oldest had to go.
  const auto begun = steady_clock::now();
  EXPECT_EQ(crowd.front().Receive(), "");
  EXPECT_EQ(crowd[49].Receive(), "");
  EXPECT_LT(steady_clock::now() - begun, milliseconds(kTimeoutMs / 2));
  ASSERT_TRUE(crowd[50].Send(kGet));
  EXPECT_TRUE(crowd[50].Receive("\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace assay
