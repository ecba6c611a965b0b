// Bodies that go to a sink, and files that are sent: in pieces, whatever their length, and with peers that lie about it or dawdle.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>

#include "support/raw_peer.h"
#include "support/test_service.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTimeoutMs = 10'000;

std::uint8_t ByteAt(std::uint64_t i) { return static_cast<std::uint8_t>(i * 31 + (i >> 12)); }

BodySource Pattern(std::uint64_t length) {
  return {.length = length, .read = [at = std::uint64_t{0}](std::span<std::uint8_t> into) mutable {
            for (std::uint8_t& byte : into) byte = ByteAt(at++);
            return Status();
          }};
}

// Counts what it gets, and looks at every byte of it.
struct Counter : BodySink {
  std::atomic<std::uint64_t> taken = 0, wrong = 0;
  std::atomic<std::size_t> first = 0, largest = 0;  // pieces
  std::uint64_t full_at = ~std::uint64_t{0};
  std::shared_future<void> go;

  std::optional<HttpResponse> Take(ByteSpan piece) override {
    if (go.valid()) go.wait();
    if (taken == 0) first = piece.size();
    largest = std::max(largest.load(), piece.size());
    for (const std::uint8_t byte : piece) wrong += byte == ByteAt(taken++) ? 0 : 1;
    if (taken > full_at) return TextResponse(507, "the disk is full");
    return {};
  }
};

Service Into(const std::shared_ptr<Counter>& sink, std::size_t limit = std::size_t{1} << 40) {
  return [sink, limit](const HttpRequest& head) {
    if (head.Header("Authorization") != "Bearer x" && head.target == "/private")
      return Course{.answer = TextResponse(401, "who?")};
    const auto count = [sink](const HttpRequest& request, Reply reply) {
      EXPECT_TRUE(request.body.empty());
      reply.Send(TextResponse(201, std::to_string(sink->taken)));
    };
    return Course{.handler = count, .max_body_bytes = limit, .sink = sink};
  };
}

std::string TextOf(const HttpResponse& response) { return {response.body.begin(), response.body.end()}; }

TEST(Body, GoesToASinkInPieces) {
  for (const std::uint64_t length : {0ULL, 1ULL, 262'143ULL, 262'144ULL, 262'145ULL, 20'000'000ULL}) {
    const auto sink = std::make_shared<Counter>();
    const auto server = ServeWith({}, Into(sink));
    const auto client = ClientOf(*server);
    const auto response = client->Upload({.method = "PUT", .path = "/"}, Pattern(length), kTimeoutMs);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 201);
    EXPECT_EQ(TextOf(*response), std::to_string(length) + "\n");
    EXPECT_EQ(sink->wrong, 0U);
    EXPECT_LE(sink->first, std::size_t{256} << 10) << "before the sink has agreed to anything";
    EXPECT_LE(sink->largest, std::size_t{1} << 20);
    // The connection serves on.
    EXPECT_EQ(client->Send({.method = "DELETE"}, {}, kTimeoutMs)->status, 201);
  }
}

TEST(Body, ChunksGoToASinkAsWell) {
  const auto sink = std::make_shared<Counter>();
  const auto server = ServeWith({}, Into(sink));
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
  std::uint64_t at = 0;
  for (int i = 0; i < 50; ++i) {
    std::string chunk(10'000, 0);
    for (char& c : chunk) c = static_cast<char>(ByteAt(at++));
    ASSERT_TRUE(peer.Send("2710\r\n" + chunk + "\r\n"));
  }
  ASSERT_TRUE(peer.Send("0\r\n\r\n"));
  EXPECT_TRUE(peer.Receive("500000\n").ends_with("\r\n\r\n500000\n"));
  EXPECT_EQ(sink->wrong, 0U);
}

// The peer waits while the sink does: what is on the way is bounded.
TEST(Body, ASlowSinkHoldsThePeerBack) {
  std::promise<void> go;
  const auto sink = std::make_shared<Counter>();
  sink->go = go.get_future().share();
  const auto server = ServeWith({}, Into(sink));
  std::atomic<std::uint64_t> sent = 0;
  BodySource source = Pattern(200'000'000);
  source.read = [&sent, read = source.read](std::span<std::uint8_t> into) {
    sent += into.size();
    return read(into);
  };
  auto upload = std::async(std::launch::async,
                           [&] { return ClientOf(*server)->Upload({.method = "PUT", .path = "/"}, source, kTimeoutMs); });
  std::uint64_t before = 1;
  while (before != sent) {
    before = sent;
    std::this_thread::sleep_for(milliseconds(200));
  }
  EXPECT_LT(before, 50'000'000U);
  go.set_value();
  EXPECT_EQ(upload.get()->status, 201);
  EXPECT_EQ(sink->taken, 200'000'000U);
}

TEST(Body, IsRefusedBeforeItIsSent) {
  const auto sink = std::make_shared<Counter>();
  const auto server = ServeWith({}, Into(sink, 1000));
  const auto client = ClientOf(*server);
  BodySource source = Pattern(1001);
  bool read = false;
  source.read = [&](std::span<std::uint8_t>) {
    read = true;
    return Status();
  };
  EXPECT_EQ(client->Upload({.method = "PUT", .path = "/private"}, source, kTimeoutMs)->status, 401);
  const HttpCall allowed{.method = "PUT", .path = "/private", .headers = {{"Authorization", "Bearer x"}}};
  EXPECT_EQ(client->Upload(allowed, source, kTimeoutMs)->status, 413);
  EXPECT_FALSE(read);
  EXPECT_EQ(client->Upload(allowed, Pattern(1000), kTimeoutMs)->status, 201);
  // Peers that do not wait to be asked get their answer as well.
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("PUT /private HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc"));
  const std::string answer = peer.Receive();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST(Body, ASinkMayRefuseMidway) {
  const auto sink = std::make_shared<Counter>();
  sink->full_at = 1'000'000;
  const auto server = ServeWith({}, Into(sink));
  const auto response = ClientOf(*server)->Upload({.method = "PUT", .path = "/"}, Pattern(1'000'000'000), kTimeoutMs);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 507);
  EXPECT_LT(sink->taken, 2'000'000U);
}

TEST(Body, ShorterOrLongerThanItSays) {
  const auto sink = std::make_shared<Counter>();
  const auto server = ServeWith({}, Into(sink));
  {
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    ASSERT_TRUE(peer.Send("PUT / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc"));
    shutdown(peer.descriptor(), SHUT_WR);
    EXPECT_EQ(peer.Receive(), "");
  }
  // What is too much is the next request, and no proper one.
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcdefgh\r\n\r\n"));
  const std::string answers = peer.Receive();
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 201 ")) << answers;
  EXPECT_NE(answers.find("HTTP/1.1 400 "), std::string::npos) << answers;
  // And here it is one: pipelined.
  const RawSocket pipeline = RawSocket::ConnectTo(server->port());
  const std::string put = "PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
  ASSERT_TRUE(pipeline.Send(put + put + "PUT /private HTTP/1.1\r\nConnection: close\r\n\r\n"));
  const std::string all = pipeline.Receive();
  EXPECT_NE(all.find("HTTP/1.1 201 ", 1), std::string::npos) << all;
  EXPECT_NE(all.find("HTTP/1.1 401 "), std::string::npos) << all;
}

TEST(Body, ChunksThatAreNone) {
  for (const std::string_view chunk :
       {"zz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "fffffffffffffff0\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3 abc\r\n", "\r\n"}) {
    const auto server = ServeWith({.read_timeout_ms = 1000}, Into(std::make_shared<Counter>()));
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    ASSERT_TRUE(peer.Send("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(chunk)));
    const std::string answer = peer.Receive();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4")) << chunk << ": " << answer;
  }
}

TEST(Body, HeadersOfAHundredKilobytes) {
  const auto server = ServeWith({}, Into(std::make_shared<Counter>()));
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  peer.Send("PUT / HTTP/1.1\r\nContent-Length: 3\r\nX: " + std::string(100'000, 'x') + "\r\n\r\nabc");
  EXPECT_TRUE(peer.Receive().starts_with("HTTP/1.1 431 "));
}

// A byte now and then is not enough, nor is a pause after a quick beginning.
TEST(Body, SlowPeersLoseTheirPlace) {
  const auto server = ServeWith({.read_timeout_ms = 300, .slowest_bytes_per_s = 100'000}, Into(std::make_shared<Counter>()));
  const RawSocket dripping = RawSocket::ConnectTo(server->port());
  const RawSocket pausing = RawSocket::ConnectTo(server->port());
  const auto start = steady_clock::now();
  ASSERT_TRUE(pausing.Send("PUT / HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n" + std::string(1'000'000, 'x')));
  bool open = dripping.Send("PUT / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
  while (open && steady_clock::now() - start < milliseconds(kTimeoutMs)) {
    open = dripping.Send("x");
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(pausing.Receive(), "");
  EXPECT_FALSE(open);
  EXPECT_LT(steady_clock::now() - start, milliseconds(kTimeoutMs / 2));
}

TEST(Body, StopCutsUploads) {
  const auto server = ServeWith({}, Into(std::make_shared<Counter>()));
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"));
  EXPECT_TRUE(peer.Receive("\r\n\r\n").starts_with("HTTP/1.1 100 "));
  const auto start = steady_clock::now();
  server->Stop();
  EXPECT_LT(steady_clock::now() - start, milliseconds(kTimeoutMs / 2));
}

// A file of ByteAt, that is removed already.
FileRange TemporaryFile(std::uint64_t length, std::uint64_t offset, std::uint64_t of_range) {
  std::string name = "/tmp/assay_net_body_XXXXXX";
  const int descriptor = mkstemp(name.data());
  unlink(name.c_str());
  Bytes bytes(length);
  for (std::uint64_t i = 0; i < length; ++i) bytes[i] = ByteAt(i);
  EXPECT_EQ(write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(length));
  return {descriptor, offset, of_range};
}

Service Offering(const FileRange& range) {
  return [range](const HttpRequest& head) {
    if (head.target != "/") return Course{.answer = TextResponse(404, "no such thing")};
    const auto send = [range](const HttpRequest&, Reply reply) {
      reply.SendFile({.status = 206, .headers = {{"Content-Range", "bytes 5-"}}}, range);
    };
    return Course{.handler = send, .at_once = true};
  };
}

TEST(Body, FilesAreSentInPieces) {
  for (const std::uint64_t length : {0ULL, 1ULL, 262'144ULL, 262'145ULL, 20'000'000ULL}) {
    const auto server = ServeWith({}, Offering(TemporaryFile(length + 10, 5, length)));
    const auto client = ClientOf(*server);
    std::uint64_t at = 5, wrong = 0;
    const HttpClient::Sink sink = [&](const HttpResponse& head, ByteSpan piece) {
      EXPECT_EQ(head.Header("Content-Range"), "bytes 5-");
      for (const std::uint8_t byte : piece) wrong += byte == ByteAt(at++) ? 0 : 1;
      return Status();
    };
    const auto response = client->Download({.path = "/"}, sink, length, kTimeoutMs);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 206);
    EXPECT_EQ(at, 5 + length);
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(client->Send({.method = "HEAD", .path = "/"}, {}, kTimeoutMs)->Header("Content-Length"), std::to_string(length));
    EXPECT_EQ(TextOf(*client->Download({.path = "/other"}, sink, length, kTimeoutMs)), "no such thing\n");
  }
}

TEST(Body, DownloadsHaveLimitsAndMayBeEnded) {
  const auto server = ServeWith({}, Offering(TemporaryFile(1'000'000, 0, 1'000'000)));
  const auto client = ClientOf(*server);
  const auto ignore = [](const HttpResponse&, ByteSpan) { return Status(); };
  EXPECT_FALSE(client->Download({.path = "/"}, ignore, 999'999, kTimeoutMs));
  EXPECT_FALSE(client->later());
  const auto failing = [](const HttpResponse&, ByteSpan) -> Status { return Err("the disk is full"); };
  const auto failed = client->Download({.path = "/"}, failing, 1'000'000, kTimeoutMs);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().message.ends_with("the disk is full")) << failed.error().message;
  EXPECT_TRUE(client->Download({.path = "/"}, ignore, 1'000'000, kTimeoutMs));
}

// A file that is shorter than was said: the client can tell, and knows that trying again may help.
TEST(Body, FilesThatAreTooShort) {
  const auto server = ServeWith({}, Offering(TemporaryFile(500'000, 0, 1'000'000)));
  std::uint64_t taken = 0;
  const auto client = ClientOf(*server);
  const auto response = client->Download(
      {.path = "/"},
      [&](const HttpResponse&, ByteSpan piece) {
        taken += piece.size();
        return Status();
      },
      1'000'000, kTimeoutMs);
  EXPECT_FALSE(response);
  EXPECT_TRUE(client->later());
  EXPECT_LE(taken, 500'000U);
}

TEST(Body, ServersThatStallAreLeft) {
  const RawServer server([](const RawSocket& peer) {
    peer.Receive("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\ndata: x\n\n");
    peer.Receive();
  });
  const auto client = *HttpClient::Create(server.url());
  const auto start = steady_clock::now();
  int events = 0;
  const auto listened = client->Listen({.path = "/"}, [&](const ServerEvent&) { return ++events > 0; }, 200);
  ASSERT_FALSE(listened);
  EXPECT_TRUE(client->later()) << listened.error().message;
  EXPECT_EQ(events, 1);
  EXPECT_FALSE(client->Upload({.method = "PUT", .path = "/"}, Pattern(10), 200));
  EXPECT_LT(steady_clock::now() - start, milliseconds(kTimeoutMs / 2));
}

// A connection that ends before the server has said 100 is not waited on.
TEST(Body, UploadsThatAreCutBeforeTheyBegin) {
  const RawServer server([](const RawSocket& peer) { peer.Receive("\r\n\r\n"); });
  const auto client = *HttpClient::Create(server.url());
  const auto start = steady_clock::now();
  ASSERT_FALSE(client->Upload({.method = "PUT", .path = "/"}, Pattern(10), kTimeoutMs));
  EXPECT_TRUE(client->later());
  EXPECT_LT(steady_clock::now() - start, milliseconds(kTimeoutMs / 2));
}

TEST(Body, HeadersThatMayNotBeSent) {
  const auto client = *HttpClient::Create("http://127.0.0.1:1");
  for (const auto& [name, value] :
       HttpHeaders{{"X", "a\r\nY: b"}, {"X Y", "a"}, {"", "a"}, {"content-length", "1"}, {"Host", "b"}}) {
    const auto response = client->Send({.path = "/", .headers = {{name, value}}}, {}, kTimeoutMs);
    ASSERT_FALSE(response);
    EXPECT_NE(response.error().message.find("expected headers"), std::string::npos) << response.error().message;
  }
  EXPECT_FALSE(client->Send({.method = "GET / HTTP/1.1\r\n", .path = "/"}, {}, kTimeoutMs));
}

}  // namespace
}  // namespace assay
