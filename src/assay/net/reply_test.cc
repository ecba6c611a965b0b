// Answers that are given later: by whom, when, and to peers that may have left.
#include "assay/net/reply.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "support/raw_peer.h"
#include "support/test_service.h"

namespace assay {
namespace {

using std::chrono::milliseconds;

constexpr int kTimeoutMs = 10'000;
constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

// Replies that a service keeps until the test takes them.
class Kept {
 public:
  Service Keeper(bool at_once = false) {
    return [this, at_once](const HttpRequest&) {
      return Course{.handler = [this](const HttpRequest&, Reply reply) { Put(std::move(reply)); }, .at_once = at_once};
    };
  }
  void Put(Reply reply) {
    const std::lock_guard guard(mutex_);
    replies_.push_back(std::move(reply));
    changed_.notify_all();
  }
  Reply Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !replies_.empty(); });
    Reply reply = std::move(replies_.back());
    replies_.pop_back();
    return reply;
  }
  std::size_t size() {
    const std::lock_guard guard(mutex_);
    return replies_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Reply> replies_;
};

TEST(Reply, IsGivenLaterByAnyThread) {
  for (const bool at_once : {false, true}) {
    Kept kept;
    const auto server = ServeWith({.workers = 1}, kept.Keeper(at_once));
    std::vector<RawSocket> peers;
    for (int i = 0; i < 10; ++i) {
      peers.push_back(RawSocket::ConnectTo(server->port()));
      ASSERT_TRUE(peers.back().Send(kGet));
    }
    // More wait than there are workers.
    ASSERT_TRUE(Eventually([&] { return kept.size() == 10; }));
    std::thread([&] {
      while (kept.size() != 0) EXPECT_TRUE(kept.Take().Send(TextResponse(200, "later")));
    }).join();
    for (const RawSocket& peer : peers) EXPECT_TRUE(peer.Receive("later\n").starts_with("HTTP/1.1 200 "));
    // The connection serves on, also with a request that came early.
    ASSERT_TRUE(peers[0].Send(std::string(kGet) + std::string(kGet)));
    EXPECT_TRUE(kept.Take().Send(TextResponse(200, "first")));
    EXPECT_TRUE(kept.Take().Send(TextResponse(200, "second")));
    EXPECT_NE(peers[0].Receive("second\n").find("first\n"), std::string::npos);
  }
}

TEST(Reply, IsAnsweredOnce) {
  Kept kept;
  const auto server = ServeWith({}, kept.Keeper());
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send(kGet));
  Reply reply = kept.Take();
  EXPECT_TRUE(reply.Send(TextResponse(201, "one")));
  EXPECT_FALSE(reply.Send(TextResponse(202, "two")));
  EXPECT_FALSE(reply.Begin({}).Write("three"));
  EXPECT_FALSE(reply.SendFile({}, *FileRange::Open("/dev/null", 0, 0)));
  EXPECT_TRUE(peer.Receive("one\n").starts_with("HTTP/1.1 201 "));
  ASSERT_TRUE(peer.Send(kGet));
  EXPECT_FALSE(reply.Send(TextResponse(203, "not for this one")));
  reply = kept.Take();
  EXPECT_TRUE(reply.Send(TextResponse(204, "")));
  EXPECT_TRUE(peer.Receive("\r\n\r\n").starts_with("HTTP/1.1 204 "));
}

TEST(Reply, DroppedOrThrownAwayIsA500) {
  const auto server = ServeWith({}, [](const HttpRequest& head) {
    if (head.target == "/nothing") return Course{};
    if (head.target == "/throw") return Course{.handler = [](const HttpRequest&, const Reply&) { throw 1; }};
    if (head.target == "/header") {
      return Course{.handler = [](const HttpRequest&, Reply reply) { reply.Send({.headers = {{"X", "a\r\nSet-Cookie: b"}}}); }};
    }
    return Course{.handler = [](const HttpRequest&, const Reply&) {}};
  });
  EXPECT_EQ(ClientOf(*server)->Get("/drop", kTimeoutMs)->status, 500);
  EXPECT_EQ(ClientOf(*server)->Get("/throw", kTimeoutMs)->status, 500);
  EXPECT_EQ(ClientOf(*server)->Get("/header", kTimeoutMs)->status, 500);
  EXPECT_EQ(ClientOf(*server)->Get("/nothing", kTimeoutMs)->status, 404);
}

TEST(Reply, KnowsWhenThePeerLeaves) {
  for (const bool reset : {false, true}) {
    Kept kept;
    const auto server = ServeWith({}, kept.Keeper());
    std::atomic<int> told = 0;
    auto peer = std::make_unique<RawSocket>(RawSocket::ConnectTo(server->port()));
    ASSERT_TRUE(peer->Send(kGet));
    Reply reply = kept.Take();
    reply.OnGone([&] { ++told; });
    EXPECT_FALSE(reply.gone());
    if (reset) peer->ResetOnClose();
    peer.reset();
    EXPECT_TRUE(Eventually([&] { return reply.gone() && told == 1; }));
    EXPECT_FALSE(reply.Send(TextResponse(200, "too late")));
    EXPECT_FALSE(reply.Begin({}).Write("too late"));
    reply.OnGone([&] { ++told; });
    EXPECT_EQ(told, 2);
  }
}

TEST(Reply, NobodyIsToldAfterTheAnswer) {
  Kept kept;
  std::atomic<int> told = 0;
  {
    const auto server = ServeWith({}, kept.Keeper());
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    ASSERT_TRUE(peer.Send(kGet));
    Reply reply = kept.Take();
    reply.OnGone([&] { ++told; });
    EXPECT_TRUE(reply.Send(TextResponse(200, "done")));
    peer.Receive("done\n");
  }
  EXPECT_EQ(told, 0);
}

TEST(Reply, OutlivesTheServer) {
  Kept kept;
  const RawSocket peer = [&] {
    const auto server = ServeWith({}, kept.Keeper());
    RawSocket connected = RawSocket::ConnectTo(server->port());
    connected.Send(kGet);
    EXPECT_TRUE(Eventually([&] { return kept.size() == 1; }));
    return connected;
  }();
  EXPECT_TRUE(peer.Receive().starts_with("HTTP/1.1 503 "));
  Reply reply = kept.Take();
  EXPECT_FALSE(reply.Send(TextResponse(200, "too late")));
}

TEST(Reply, HeadersOfTheAnswer) {
  const auto server = ServeWith({}, [](const HttpRequest&) {
    return Course{.answer = HttpResponse{.status = 401, .headers = {{"WWW-Authenticate", "Bearer"}, {"ETag", "\"1\""}}}};
  });
  const auto client = ClientOf(*server);
  const auto response = client->Get("/", kTimeoutMs);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 401);
  EXPECT_EQ(response->Header("www-authenticate"), "Bearer");
  EXPECT_EQ(response->Header("etag"), "\"1\"");
  const auto head = client->Send({.method = "HEAD"}, {}, kTimeoutMs);
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->Header("ETag"), "\"1\"");
}

}  // namespace
}  // namespace assay
