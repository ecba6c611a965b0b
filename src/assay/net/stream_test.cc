// Answers without an end, and those who read them: attentively, too slowly, or not at all.
#include <atomic>
#include <mutex>
#include <vector>

#include "assay/net/event_stream.h"
#include "support/raw_peer.h"
#include "support/test_service.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTimeoutMs = 10'000;
constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

// Every request becomes a viewer of the same events.
struct Channel {
  std::mutex mutex;
  std::vector<ReplyStream> viewers;
  StreamTerms terms;

  Service ToService() {
    return [this](const HttpRequest&) {
      const auto view = [this](const HttpRequest&, Reply reply) {
        const std::lock_guard guard(mutex);
        viewers.push_back(
            reply.Begin({.content_type = std::string(kEventStreamType), .headers = {{"Cache-Control", "no-store"}}}, terms));
      };
      return Course{.handler = view, .at_once = true};
    };
  }
  // Those who are left.
  std::size_t Send(std::string_view text) {
    const std::lock_guard guard(mutex);
    std::erase_if(viewers, [&](ReplyStream& viewer) { return !viewer.Write(text); });
    return viewers.size();
  }
  bool AwaitViewers(std::size_t count) {
    return Eventually([&] {
      const std::lock_guard guard(mutex);
      return viewers.size() == count;
    });
  }
};

TEST(Stream, EventsReachTheClientAsTheyAreSent) {
  Channel channel;
  const auto server = ServeWith({}, channel.ToService());
  std::vector<ServerEvent> seen;
  std::mutex mutex;
  std::thread listener([&] {
    const auto response = ClientOf(*server)->Listen(
        {.path = "/"},
        [&](const ServerEvent& event) {
          const std::lock_guard guard(mutex);
          seen.push_back(event);
          return event.data != "last";
        },
        kTimeoutMs);
    EXPECT_TRUE(response && response->status == 200 && response->Header("cache-control") == "no-store");
  });
  ASSERT_TRUE(channel.AwaitViewers(1));
  for (std::size_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(channel.Send(EncodeEvent({.id = std::to_string(i), .data = "event"})), 1U);
    // Each of them comes although none follows.
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard guard(mutex);
      return seen.size() == i;
    }));
  }
  channel.Send(EncodeEvent({.data = "last"}));
  listener.join();
  EXPECT_EQ(seen[4], (ServerEvent{.id = "5", .data = "event"}));
  // It left, which is noticed without a further event.
  EXPECT_TRUE(Eventually([&] { return channel.viewers[0].gone(); }));
  EXPECT_FALSE(channel.viewers[0].fell_behind());
}

TEST(Stream, AListenerMayBeCancelled) {
  Channel channel;
  const auto server = ServeWith({}, channel.ToService());
  const auto client = ClientOf(*server);
  std::thread listener([&] {
    const auto response = client->Listen({.path = "/"}, [](const ServerEvent&) { return true; }, kTimeoutMs);
    ASSERT_FALSE(response);
    EXPECT_NE(response.error().message.find("cancelled"), std::string::npos) << response.error().message;
  });
  ASSERT_TRUE(channel.AwaitViewers(1));
  const auto begun = steady_clock::now();
  client->Cancel();
  listener.join();
  EXPECT_LT(steady_clock::now() - begun, milliseconds(kTimeoutMs / 2));
  EXPECT_TRUE(Eventually([&] { return channel.viewers[0].gone(); }));
}

TEST(Stream, FinishedOnesEndProperlyAndDroppedOnesDoNot) {
  Channel channel;
  const auto server = ServeWith({}, channel.ToService());
  for (const bool finish : {true, false}) {
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    ASSERT_TRUE(peer.Send(kGet));
    ASSERT_TRUE(channel.AwaitViewers(1));
    channel.Send("hello");
    if (finish) channel.viewers[0].Finish();
    EXPECT_EQ(channel.viewers[0].Write("more"), !finish);
    channel.viewers.clear();
    const std::string answer = finish ? peer.Receive("0\r\n\r\n") : peer.Receive();
    EXPECT_EQ(answer.ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), finish) << answer;
    EXPECT_NE(answer.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
    if (!finish) continue;
    // The connection serves on.
    ASSERT_TRUE(peer.Send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(peer.Receive("\r\n\r\n").starts_with("HTTP/1.1 200 "));
    ASSERT_TRUE(channel.AwaitViewers(1));
    EXPECT_TRUE(Eventually([&] { return channel.viewers[0].gone(); }));
    channel.viewers.clear();
  }
}

TEST(Stream, PeersThatDoNotKnowChunks) {
  Channel channel;
  const auto server = ServeWith({}, channel.ToService());
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("GET / HTTP/1.0\r\n\r\n"));
  ASSERT_TRUE(channel.AwaitViewers(1));
  channel.Send("hello");
  channel.viewers[0].Finish();
  const std::string answer = peer.Receive();
  EXPECT_TRUE(answer.ends_with("\r\n\r\nhello")) << answer;
}

TEST(Stream, SilenceIsBrokenByComments) {
  Channel channel;
  channel.terms.keep_alive_ms = 20;
  const auto server = ServeWith({}, channel.ToService());
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send(kGet));
  EXPECT_NE(peer.Receive("3\r\n:\n\n\r\n3\r\n:\n\n\r\n").find("3\r\n:\n\n\r\n3\r\n:\n\n\r\n"), std::string::npos);
}

TEST(Stream, AViewerThatNeverReadsIsDropped) {
  Channel channel;
  channel.terms.max_queued_bytes = 100'000;
  const auto server = ServeWith({}, channel.ToService());
  const RawSocket lazy = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(lazy.Send(kGet));
  ASSERT_TRUE(channel.AwaitViewers(1));
  std::atomic<bool> told = false;
  channel.viewers[0].OnGone([&] { told = true; });
  const std::string piece(10'000, 'x');
  std::size_t sent = 0;
  // Slowly enough for the server to pass on what buffers of the system take, so that it is stuck in sending when the rest comes.
  while (sent < (std::size_t{256} << 20) && channel.viewers[0].Write(piece)) {
    sent += piece.size();
    if (sent % 50'000 == 0) std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_LT(sent, std::size_t{256} << 20);
  EXPECT_TRUE(channel.viewers[0].fell_behind());
  EXPECT_TRUE(channel.viewers[0].gone());
  EXPECT_TRUE(Eventually([&] { return told.load(); }));
}

// One that pauses for good and is sent little loses its place in time as well.
TEST(Stream, WritesHaveTheirTime) {
  Channel channel;
  channel.terms.max_queued_bytes = 64 << 20;
  const auto server = ServeWith({.write_timeout_ms = 200, .slowest_bytes_per_s = 1 << 30}, channel.ToService());
  const RawSocket lazy = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(lazy.Send(kGet));
  ASSERT_TRUE(channel.AwaitViewers(1));
  EXPECT_EQ(channel.Send(std::string(32 << 20, 'x')), 1U);
  EXPECT_TRUE(Eventually([&] { return channel.viewers[0].gone(); }));
  EXPECT_FALSE(channel.viewers[0].fell_behind());
}

// The others do not notice a viewer that does not read.
TEST(Stream, SlowViewersDoNotHoldUpOthers) {
  Channel channel;
  const auto server = ServeWith({}, channel.ToService());
  const RawSocket lazy = RawSocket::ConnectTo(server->port(), 2);
  ASSERT_TRUE(lazy.Send(kGet));
  ASSERT_TRUE(channel.AwaitViewers(1));
  std::atomic<int> seen = 0;
  std::thread listener(
      [&] { ClientOf(*server)->Listen({.path = "/"}, [&](const ServerEvent&) { return ++seen < 2000; }, kTimeoutMs); });
  ASSERT_TRUE(channel.AwaitViewers(2));
  const std::string event = EncodeEvent({.data = std::string(10'000, 'x')});
  for (int i = 0; i < 2000; ++i) {
    channel.Send(event);
    while (i - seen > 10) std::this_thread::yield();
  }
  listener.join();
  EXPECT_EQ(seen, 2000);
}

TEST(Stream, StopWithAThousandOpen) {
  Channel channel;
  std::vector<RawSocket> peers;
  const auto server = ServeWith({.max_connections = 2000, .max_connections_per_peer = 2000}, channel.ToService());
  for (int i = 0; i < 1000; ++i) {
    peers.push_back(RawSocket::ConnectTo(server->port()));
    ASSERT_TRUE(peers.back().Send(kGet));
  }
  ASSERT_TRUE(channel.AwaitViewers(1000));
  EXPECT_EQ(channel.Send("hello"), 1000U);
  std::atomic<bool> over = false;
  std::thread sender([&] {
    while (!over) channel.Send("more");
  });
  const auto begun = steady_clock::now();
  server->Stop();
  EXPECT_LT(steady_clock::now() - begun, milliseconds(kTimeoutMs / 2));
  over = true;
  sender.join();
  EXPECT_EQ(channel.Send("nobody"), 0U);
  EXPECT_FALSE(peers.back().Receive().ends_with("0\r\n\r\n"));
}

}  // namespace
}  // namespace assay
