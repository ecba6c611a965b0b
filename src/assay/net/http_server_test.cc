#include "assay/net/http_server.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "assay/net/http_client.h"
#include "support/raw_peer.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTimeoutMs = 10'000;

std::unique_ptr<HttpServer> Serve(const ServerOptions& options, HttpServer::Handler handler) {
  auto server = HttpServer::Start(options, std::move(handler));
  if (!server) ADD_FAILURE() << server.error().message;
  return *std::move(server);
}

HttpResponse Echo(HttpRequest request) {
  return {.status = 200, .content_type = "application/x-echo", .body = std::move(request.body)};
}

std::unique_ptr<HttpClient> ClientOf(const HttpServer& server) { return *HttpClient::Create(server.url()); }

// Whether a request is served before long: a place that was lost may take a moment to become free.
bool IsServed(HttpClient& client) {
  const auto start = steady_clock::now();
  while (steady_clock::now() - start < milliseconds(kTimeoutMs)) {
    const auto response = client.Get("/", kTimeoutMs);
    if (response && response->status == 200) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

TEST(HttpServer, TheHandlerSeesTheRequest) {
  const auto server = Serve({}, [](const HttpRequest& request) {
    return TextResponse(201, fmt::format("{} {} {} {} {}", request.method, request.target, request.Header("x-thing"),
                                         request.body.size(), request.peer.starts_with("127.0.0.1:")));
  });
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("PUT /a?b HTTP/1.1\r\nHost: a\r\nX-Thing: 17\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxyz"));
  const std::string answer = peer.Receive();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 201 Created\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nPUT /a?b 17 3 true\n")) << answer;
}

TEST(HttpServer, OneConnectionServesManyRequestsAlsoPipelinedOnes) {
  std::atomic<int> handled = 0;
  const auto server = Serve({}, [&](const HttpRequest&) { return TextResponse(200, fmt::format("answer {}", ++handled)); });
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send(std::string(kGet) + std::string(kGet)));
  peer.Receive("answer 2\n");
  ASSERT_TRUE(peer.Send(kGet));
  EXPECT_NE(peer.Receive("answer 3\n").find("answer 3\n"), std::string::npos);
}

TEST(HttpServer, ChunkedBodiesAndExpectations) {
  const auto server = Serve({}, Echo);
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(peer.Receive("\r\n\r\n").starts_with("HTTP/1.1 100 Continue\r\n"));
  ASSERT_TRUE(peer.Send("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
  EXPECT_TRUE(peer.Receive().ends_with("\r\n\r\nabcde"));
}

TEST(HttpServer, HeadAndStatusesWithoutABody) {
  const auto server = Serve({}, [](const HttpRequest& request) {
    HttpResponse response = TextResponse(request.target == "/empty" ? 204 : 200, "body");
    return response;
  });
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /empty HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  const std::string answer = peer.Receive();
  EXPECT_NE(answer.find("Content-Length: 5\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("HTTP/1.1 204 No Content\r\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("body"), std::string::npos) << answer;
}

TEST(HttpServer, DocumentsThatManyAskFor) {
  const auto document = std::make_shared<const Bytes>(16'000'000, 7);
  const auto server = Serve({}, [&](const HttpRequest&) { return HttpResponse{.document = document}; });
  EXPECT_EQ(ClientOf(*server)->Get("/", kTimeoutMs)->body, *document);
  // Slow readers hold it, not copies of it.
  std::vector<RawSocket> readers;
  for (int i = 0; i < 20; ++i) {
    readers.push_back(RawSocket::ConnectTo(server->port()));
    ASSERT_TRUE(readers.back().Send(kGet));
    EXPECT_EQ(recv(readers.back().descriptor(), std::array<char, 1>().data(), 1, MSG_PEEK), 1);
  }
  EXPECT_GT(document.use_count(), 1);
}

TEST(HttpServer, WhatAHandlerDoesWrongIsA500) {
  const auto server = Serve({}, [](const HttpRequest& request) -> HttpResponse {
    if (request.target == "/throw") throw std::runtime_error("no");
    return {.status = 42, .content_type = "", .body = {}};
  });
  const auto client = ClientOf(*server);
  EXPECT_EQ(client->Get("/throw", kTimeoutMs)->status, 500);
  EXPECT_EQ(client->Get("/status", kTimeoutMs)->status, 500);
}

TEST(HttpServer, ManyConnectionsAtOnce) {
  const auto server = Serve({.workers = 4, .max_queued = 1000, .max_requests_per_peer = 1000}, Echo);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 48; ++t) {
    threads.emplace_back([&, t] {
      const auto client = ClientOf(*server);
      for (int i = 0; i < 20; ++i) {
        const Bytes body(static_cast<std::size_t>(t * 1000 + i), static_cast<std::uint8_t>(t + i));
        const auto response = client->Post("/", body, kTimeoutMs);
        good += response && response->status == 200 && response->body == body ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 48 * 20);
}

TEST(HttpServer, BodiesUpToTheLimit) {
  const auto server = Serve({.max_body_bytes = 100'000}, Echo);
  const auto client = ClientOf(*server);
  EXPECT_EQ(client->Post("/", Bytes(100'000, 7), kTimeoutMs)->body, Bytes(100'000, 7));
  const auto refused = client->Post("/", Bytes(100'001, 7), kTimeoutMs);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->status, 413);
  const auto far = client->Post("/", Bytes(30'000'000, 7), kTimeoutMs);
  ASSERT_TRUE(far) << far.error().message;
  EXPECT_EQ(far->status, 413);
  // The same without a length that announces it.
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 11; ++i) peer.Send("2710\r\n" + std::string(10'000, 'x') + "\r\n");
  EXPECT_TRUE(peer.Receive().starts_with("HTTP/1.1 413 "));
}

// Bytes that nobody wants any more do not reset the connection, which could cost the peer its answer.
TEST(HttpServer, PeersMayGoOnSendingAfterARefusal) {
  const auto server = Serve({.max_body_bytes = 10}, Echo);
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"));
  EXPECT_TRUE(peer.Receive().starts_with("HTTP/1.1 413 "));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(peer.Send("x"));
    std::this_thread::sleep_for(milliseconds(10));
  }
}

TEST(HttpServer, HeadersBeyondTheLimit) {
  const auto server = Serve({.max_header_bytes = 1000}, Echo);
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  peer.Send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  EXPECT_TRUE(peer.Receive().starts_with("HTTP/1.1 431 "));
}

TEST(HttpServer, GarbageIsABadRequest) {
  const auto server = Serve({}, Echo);
  const std::string_view kGarbage[] = {"\x16\x03\x01\x02\x01\x01\xfc\x03\x03",
                                       "hello\r\n\r\n",
                                       "GET / HTTP/9.9\r\n\r\n",
                                       "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                                       "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                                       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                                       "GET / HTTP/1.1\r\n: x\r\n\r\n"};
  for (const std::string_view garbage : kGarbage) {
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    ASSERT_TRUE(peer.Send(garbage));
    EXPECT_TRUE(peer.Receive().starts_with("HTTP/1.1 400 ")) << garbage;
  }
  EXPECT_EQ(ClientOf(*server)->Get("/", kTimeoutMs)->status, 200);
}

// What follows such a header would be a body to one reader and the next request to another: it is neither.
TEST(HttpServer, RequestsWhoseEndIsInDoubtEndTheConnection) {
  std::atomic<int> handled = 0;
  const auto server = Serve({}, [&](HttpRequest request) {
    ++handled;
    return Echo(std::move(request));
  });
  const std::string_view kInner = "GET /inner HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string_view kDoubtful[] = {"Transfer-Encoding: xchunked",
                                        "Transfer-Encoding: identity",
                                        "Transfer-Encoding: chunked, identity",
                                        "Transfer-Encoding: gzip",
                                        "Transfer-Encoding: gzip, chunked",
                                        "Transfer-Encoding: chunked;a=b",
                                        "Transfer-Encoding:",
                                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                                        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
                                        "Transfer-Encoding: chunked\r\nContent-Length: 5",
                                        "Content-Length: 5\r\nTransfer-Encoding: chunked",
                                        "Content-Length: 0\r\nTransfer-Encoding: identity",
                                        "X: a\r\n b",
                                        "X: a\r\n\tb",
                                        "Transfer-Encoding:\r\n chunked",
                                        "Content-Length:\r\n 0"};
  for (const std::string_view header : kDoubtful) {
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    ASSERT_TRUE(peer.Send(fmt::format("POST / HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n{}", header, kInner)));
    const std::string answers = peer.Receive();
    EXPECT_TRUE(answers.starts_with("HTTP/1.1 400 ")) << header << "\n" << answers;
    EXPECT_EQ(answers.rfind("HTTP/1.1 "), 0U) << header << ": there are two answers\n" << answers;
    EXPECT_NE(answers.find("Connection: close"), std::string::npos) << header;
  }
  const RawSocket old = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(old.Send("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(old.Receive().starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(handled, 0);
}

// Whatever the server answers by itself has the form that it is given.
TEST(HttpServer, ItsOwnRepliesHaveTheServicesForm) {
  ServerOptions options{.max_connections = 4, .max_connections_per_peer = 2, .max_body_bytes = 10};
  std::atomic<int> said = 0;
  options.own_reply = [&](const OwnReply& own) {
    ++said;
    const std::string text = fmt::format("<{} of {}>", own.why, own.request == nullptr ? "" : own.request->target);
    return HttpResponse{.status = own.status, .content_type = "application/x-own", .body = Bytes(text.begin(), text.end())};
  };
  std::promise<void> release;
  const auto released = release.get_future().share();
  const auto server = Serve(options, [&](HttpRequest request) {
    if (request.target == "/held") released.wait();
    if (request.target == "/throw") throw std::runtime_error("no");
    if (request.target == "/header") return HttpResponse{.headers = {{"X", "a\r\nSet-Cookie: b"}}};
    return Echo(std::move(request));
  });
  const auto said_to = [&](std::string_view text) {
    const RawSocket peer = RawSocket::ConnectTo(server->port());
    EXPECT_TRUE(peer.Send(text));
    return peer.Receive();
  };
  const std::string garbage = said_to("no request\r\n\r\n");
  EXPECT_TRUE(garbage.starts_with("HTTP/1.1 400 ") && garbage.ends_with("<not a proper request of >")) << garbage;
  EXPECT_NE(garbage.find("Content-Type: application/x-own\r\n"), std::string::npos) << garbage;
  const std::string large = said_to("PUT /large HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n");
  EXPECT_TRUE(large.starts_with("HTTP/1.1 413 ") && large.ends_with("<the body is too large of /large>")) << large;
  const std::string thrown = said_to("GET /throw HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(thrown.starts_with("HTTP/1.1 500 ") && thrown.ends_with("<the request was dropped of /throw>")) << thrown;
  EXPECT_NE(thrown.find("Content-Type: application/x-own\r\n"), std::string::npos) << thrown;
  const std::string improper = said_to("GET /header HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(improper.starts_with("HTTP/1.1 500 ") && improper.ends_with("<the handler gave no proper header of /header>"))
      << improper;
  EXPECT_EQ(said, 4);
  // Its two connections are at work: nobody can be sent away for a third.
  std::vector<RawSocket> held;
  for (int i = 0; i < 2; ++i) {
    held.push_back(RawSocket::ConnectTo(server->port()));
    ASSERT_TRUE(held.back().Send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n"));
  }
  std::string full;
  const auto start = steady_clock::now();
  while (full.find("503") == std::string::npos && steady_clock::now() - start < milliseconds(kTimeoutMs)) full = said_to(kGet);
  EXPECT_TRUE(full.starts_with("HTTP/1.1 503 ") && full.ends_with("<too many connections of >")) << full;
  EXPECT_NE(full.find("Retry-After: 1\r\n"), std::string::npos) << full;
  release.set_value();
}

TEST(HttpServer, PeersThatLeaveMidway) {
  std::atomic<int> handled = 0;
  const auto server = Serve({}, [&](HttpRequest request) {
    ++handled;
    return Echo(std::move(request));
  });
  for (const std::string_view part : {"", "GET", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc"}) {
    for (const bool reset : {false, true}) {
      const RawSocket peer = RawSocket::ConnectTo(server->port());
      if (reset) peer.ResetOnClose();
      ASSERT_TRUE(peer.Send(part));
    }
  }
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(ClientOf(*server)->Get("/", kTimeoutMs)->status, 200);
}

TEST(HttpServer, PeersThatDoNotReadTheirAnswer) {
  const auto server = Serve({.max_connections = 1, .write_timeout_ms = 100}, [](const HttpRequest& request) {
    return HttpResponse{.status = 200, .content_type = "x/y", .body = Bytes(request.target == "/large" ? 32 << 20 : 1)};
  });
  const RawSocket peer = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(peer.Send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n"));
  // The place is free again although the peer holds on.
  EXPECT_TRUE(IsServed(*ClientOf(*server)));
}

// A byte now and then does not prolong the time for a request; neither does silence.
TEST(HttpServer, SlowPeersLoseTheirPlace) {
  const auto server = Serve({.max_connections = 2, .idle_timeout_ms = 150, .read_timeout_ms = 150}, Echo);
  const RawSocket silent = RawSocket::ConnectTo(server->port());
  const RawSocket dripping = RawSocket::ConnectTo(server->port());
  const auto start = steady_clock::now();
  bool open = dripping.Send("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
  while (open && steady_clock::now() - start < milliseconds(kTimeoutMs)) {
    open = dripping.Send("x");
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_FALSE(open);
  EXPECT_EQ(silent.Receive(), "");
  EXPECT_LT(steady_clock::now() - start, milliseconds(kTimeoutMs / 2));
  EXPECT_TRUE(IsServed(*ClientOf(*server)));
}

// Handlers that wait until the test lets them go.
struct Gate {
  std::atomic<int> inside = 0;
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  HttpServer::Handler Handler() {
    return [this](const HttpRequest&) {
      ++inside;
      gone.wait();
      return TextResponse(200, "done");
    };
  }
  void AwaitInside(int count) const {
    while (inside < count) std::this_thread::sleep_for(milliseconds(1));
  }
};

// One that waits gives way to a new one; one whose request is being handled does not.
TEST(HttpServer, ConnectionsBeyondTheLimit) {
  Gate gate;
  const auto server = Serve({.max_connections = 1}, gate.Handler());
  const RawSocket waiting = RawSocket::ConnectTo(server->port());
  const RawSocket handled = RawSocket::ConnectTo(server->port());
  EXPECT_EQ(waiting.Receive(), "");
  ASSERT_TRUE(handled.Send(kGet));
  gate.AwaitInside(1);
  const std::string refused = RawSocket::ConnectTo(server->port()).Receive();
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  EXPECT_NE(refused.find("\r\nRetry-After: 1\r\n"), std::string::npos) << refused;
  gate.go.set_value();
  EXPECT_TRUE(handled.Receive("done\n").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServer, HeadersThatDoNotComeToAnEnd) {
  const auto server = Serve({.header_timeout_ms = 150}, Echo);
  const auto start = steady_clock::now();
  const RawSocket header = RawSocket::ConnectTo(server->port());
  const RawSocket body = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(body.Send("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n"));
  for (bool open = true; open && steady_clock::now() - start < milliseconds(kTimeoutMs);) {
    open = header.Send("x");
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_LT(steady_clock::now() - start, milliseconds(kTimeoutMs / 2));
  // The body has more time.
  ASSERT_TRUE(body.Send("x"));
  EXPECT_TRUE(body.Receive("\r\n\r\nx").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServer, RequestsBeyondTheQueueAreRefused) {
  Gate gate;
  const auto server = Serve({.workers = 1, .max_queued = 1}, gate.Handler());
  const auto ask = [&] { return ClientOf(*server)->Get("/", kTimeoutMs); };
  auto first = std::async(std::launch::async, ask);
  gate.AwaitInside(1);
  // Of two more, one waits and one is refused, whichever comes first.
  auto second = std::async(std::launch::async, ask);
  auto third = std::async(std::launch::async, ask);
  while (second.wait_for(milliseconds(1)) != std::future_status::ready &&
         third.wait_for(milliseconds(1)) != std::future_status::ready) {
  }
  gate.go.set_value();
  EXPECT_EQ(first.get()->status, 200);
  const int one = second.get()->status;
  const int other = third.get()->status;
  EXPECT_EQ(std::min(one, other), 200);
  EXPECT_EQ(std::max(one, other), 503);
}

TEST(HttpServer, StopFinishesWhatRunsAndRefusesWhatWaits) {
  Gate gate;
  const auto server = Serve({.workers = 1}, gate.Handler());
  const RawSocket idle = RawSocket::ConnectTo(server->port());
  const RawSocket running = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(running.Send(kGet));
  gate.AwaitInside(1);
  const RawSocket waiting = RawSocket::ConnectTo(server->port());
  ASSERT_TRUE(waiting.Send(kGet));
  std::thread stopper([&] { server->Stop(); });
  std::thread another([&] { server->Stop(); });
  EXPECT_EQ(idle.Receive(), "");
  // Its request was in the queue or had not been read yet.
  const std::string refused = waiting.Receive();
  EXPECT_TRUE(refused.empty() || refused.starts_with("HTTP/1.1 503 ")) << refused;
  gate.go.set_value();
  const std::string answer = running.Receive();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("done\n")) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  stopper.join();
  another.join();
  const auto late = ClientOf(*server)->Get("/", kTimeoutMs);
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("Connection refused"), std::string::npos) << late.error().message;
}

// Requests that were answered were answered whole, those that came too late fail, and nobody waits for long.
TEST(HttpServer, StopUnderLoad) {
  for (int round = 0; round < 5; ++round) {
    const auto server = Serve({}, Echo);
    std::atomic<bool> over = false;
    std::atomic<int> answered = 0, spoilt = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const Bytes body(1000, static_cast<std::uint8_t>('a' + t));
        const auto client = ClientOf(*server);
        while (!over) {
          const auto answer = client->Post("/", body, kTimeoutMs);
          if (!answer || answer->status == 503) continue;  // it was too late
          ++(answer->status == 200 && answer->body == body ? answered : spoilt);
        }
      });
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (answered < 20 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
    const auto asked = std::chrono::steady_clock::now();
    server->Stop();
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(10));
    const auto late = ClientOf(*server)->Post("/", Bytes(1000), kTimeoutMs);
    EXPECT_FALSE(late && late->status == 200);
    over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(answered, 20);
    EXPECT_EQ(spoilt, 0);
  }
}

TEST(HttpServer, AnAddressInUse) {
  const auto server = Serve({}, Echo);
  const auto second = HttpServer::Start({.listen = fmt::format("127.0.0.1:{}", server->port())}, Echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, fmt::format("cannot listen on 127.0.0.1:{}: Address already in use", server->port()));
}

TEST(HttpServer, OptionsThatMakeNoSense) {
  EXPECT_FALSE(HttpServer::Start({.listen = "127.0.0.1"}, Echo));
  EXPECT_FALSE(HttpServer::Start({.listen = "192.0.2.1:0"}, Echo));  // not an address of this machine
  EXPECT_FALSE(HttpServer::Start({.workers = 0}, Echo));
  EXPECT_FALSE(HttpServer::Start({.max_connections = 0}, Echo));
  EXPECT_FALSE(HttpServer::Start({.idle_timeout_ms = 0}, Echo));
  EXPECT_FALSE(HttpServer::Start({.certificate_file = "a"}, Echo));
}

}  // namespace
}  // namespace assay
