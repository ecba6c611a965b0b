#include "assay/net/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "assay/net/http_server.h"
#include "support/raw_peer.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTimeoutMs = 10'000;

std::unique_ptr<HttpClient> ClientOf(const std::string& url, const ClientOptions& options = {}) {
  auto client = HttpClient::Create(url, options);
  if (!client) ADD_FAILURE() << client.error().message;
  return *std::move(client);
}

// Answers every request of a connection with the same bytes, then closes.
std::function<void(RawSocket)> Say(std::string answer) {
  return [answer = std::move(answer)](const RawSocket& peer) {
    peer.Receive("\r\n\r\n");
    peer.Send(answer);
  };
}

std::string ErrorOf(const std::string& url, int timeout_ms = kTimeoutMs, const ClientOptions& options = {}) {
  const auto response = ClientOf(url, options)->Get("/x", timeout_ms);
  return response ? fmt::format("status {}", response->status) : response.error().message;
}

TEST(HttpClient, RoundTripsAndPaths) {
  const auto server = *HttpServer::Start({}, [](HttpRequest request) {
    HttpResponse response =
        TextResponse(request.method == "POST" ? 200 : 404, request.target + " " + std::string(request.Header("host")));
    response.body.insert(response.body.end(), request.body.begin(), request.body.end());
    return response;
  });
  const auto client = ClientOf(server->url() + "/base/");
  const Bytes zeros(1000);
  const auto posted = client->Post("/x?y", zeros, kTimeoutMs);
  ASSERT_TRUE(posted) << posted.error().message;
  EXPECT_EQ(posted->status, 200);
  EXPECT_EQ(posted->content_type, "text/plain; charset=utf-8");
  const std::string line = fmt::format("/base/x?y 127.0.0.1:{}\n", server->port());
  EXPECT_EQ(std::string(posted->body.begin(), posted->body.end()), line + std::string(1000, '\0'));
  EXPECT_EQ(client->Get("/x", kTimeoutMs)->status, 404);
  EXPECT_EQ(client->Get("", kTimeoutMs)->status, 404);
  EXPECT_EQ(client->Post("/", {}, kTimeoutMs)->status, 200);
  for (const char* bad : {"x", "/a b", "/a\r\nX: y", "/#"}) {
    const auto response = client->Get(bad, kTimeoutMs);
    ASSERT_FALSE(response) << bad;
    EXPECT_NE(response.error().message.find("/base/: expected a path"), std::string::npos) << response.error().message;
  }
}

TEST(HttpClient, KeepsItsConnectionAndNoticesWhenItWasClosed) {
  std::atomic<int> connections = 0;
  std::atomic<int> closed = 0;
  const RawServer server([&](RawSocket peer) {
    ++connections;
    {
      const RawSocket closing(std::move(peer));
      for (int i = 0; i < 3 && !closing.Receive("\r\n\r\n").empty(); ++i)
        closing.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
    ++closed;
  });
  const auto client = ClientOf(server.url());
  for (int i = 0; i < 9; ++i) {
    const auto response = client->Get("/", kTimeoutMs);
    ASSERT_TRUE(response) << i << ": " << response.error().message;
    while (closed < (i + 1) / 3) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(connections, 3);
}

TEST(HttpClient, AnswersWithoutALength) {
  const RawServer server(Say("HTTP/1.1 200 OK\r\n\r\nto the end"));
  const auto response = ClientOf(server.url())->Get("/", kTimeoutMs);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(std::string(response->body.begin(), response->body.end()), "to the end");
}

TEST(HttpClient, LimitsOfAnAnswer) {
  const ClientOptions options{.max_header_bytes = 1000, .max_response_bytes = 5000};
  const RawServer announced(Say("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"));
  EXPECT_EQ(ErrorOf(announced.url(), kTimeoutMs, options), announced.url() + "/x: the answer is larger than 5000 bytes");
  const RawServer endless([](const RawSocket& peer) {
    peer.Send("HTTP/1.1 200 OK\r\n\r\n");
    while (peer.Send(std::string(1000, 'x'))) {
    }
  });
  EXPECT_EQ(ErrorOf(endless.url(), kTimeoutMs, options), endless.url() + "/x: the answer is larger than 5000 bytes");
  const RawServer chunks([](const RawSocket& peer) {
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (peer.Send("1\r\nx\r\n")) {
    }
  });
  EXPECT_EQ(ErrorOf(chunks.url(), kTimeoutMs, options), chunks.url() + "/x: the answer is larger than 5000 bytes");
  const RawServer header([](const RawSocket& peer) {
    peer.Send("HTTP/1.1 200 OK\r\n");
    while (peer.Send("X: y\r\n")) {
    }
  });
  EXPECT_EQ(ErrorOf(header.url(), kTimeoutMs, options), header.url() + "/x: the answer's header is larger than 1000 bytes");
  EXPECT_EQ(ClientOf(chunks.url(), options)->Get("/x", kTimeoutMs, 7).error().message,
            chunks.url() + "/x: the answer is larger than 7 bytes");
  const RawServer exact(Say("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + std::string(5000, 'x')));
  EXPECT_EQ(ErrorOf(exact.url(), kTimeoutMs, options), "status 200");
}

// Bytes that keep coming do not prolong a call.
TEST(HttpClient, DrippingServers) {
  for (const char* start : {"", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"}) {
    const RawServer server([&](const RawSocket& peer) {
      for (bool open = peer.Send(start); open; open = peer.Send(*start == '\0' ? "" : "x")) {
        std::this_thread::sleep_for(milliseconds(10));
        if (*start == '\0') return static_cast<void>(peer.Receive());
      }
    });
    const auto begun = steady_clock::now();
    EXPECT_EQ(ErrorOf(server.url(), 150), server.url() + "/x: no complete answer within 150 ms");
    const auto took = steady_clock::now() - begun;
    EXPECT_GE(took, milliseconds(150));
    EXPECT_LT(took, milliseconds(2000));
  }
}

TEST(HttpClient, ServersThatAreNotServers) {
  const RawServer garbage(Say("SSH-2.0-OpenSSH_9.2\r\n\r\n"));
  EXPECT_TRUE(ErrorOf(garbage.url()).starts_with(garbage.url() + "/x: no answer: not HTTP: ")) << ErrorOf(garbage.url());
  const RawServer closing(Say(""));
  EXPECT_EQ(ErrorOf(closing.url()), closing.url() + "/x: no answer: the server closed the connection");
  const RawServer partial(Say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_EQ(ErrorOf(partial.url()), partial.url() + "/x: incomplete answer: the server closed the connection");
  const RawServer resetting([](const RawSocket& peer) {
    peer.ResetOnClose();
    peer.Receive("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
    std::this_thread::sleep_for(milliseconds(50));
  });
  EXPECT_EQ(ErrorOf(resetting.url()), resetting.url() + "/x: incomplete answer: Connection reset by peer");
  const RawServer informing(Say("HTTP/1.1 100 Continue\r\n\r\n"));
  EXPECT_EQ(ErrorOf(informing.url()), informing.url() + "/x: status 100 is not an answer");
  EXPECT_EQ(ErrorOf("http://127.0.0.1:1"), "http://127.0.0.1:1/x: cannot connect: Connection refused");
}

// An answer that comes before the request has been sent, with the rest of the request never read.
TEST(HttpClient, EarlyRefusals) {
  const RawServer server([](const RawSocket& peer) {
    peer.Receive("\r\n\r\n");
    peer.Send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    shutdown(peer.descriptor(), SHUT_WR);
    peer.Receive();
  });
  const auto response = ClientOf(server.url())->Post("/", Bytes(10'000'000), kTimeoutMs);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 413);
}

TEST(HttpClient, WhatMayPass) {
  const auto later = [](const std::string& url) {
    const auto client = ClientOf(url);
    static_cast<void>(client->Get("/x", 300));
    return client->later();
  };
  EXPECT_TRUE(later("http://127.0.0.1:1"));  // nobody listens
  const auto answers = [&](const std::string& text) {
    const RawServer server(Say(text));
    return later(server.url());
  };
  EXPECT_TRUE(answers("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(answers("HTTP/1.1 429 Busy\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(answers(""));
  EXPECT_TRUE(answers("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_FALSE(answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(answers("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(answers("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(answers("garbage\r\n\r\n"));
  const RawServer resetting([](const RawSocket& peer) {
    peer.ResetOnClose();
    peer.Receive("\r\n\r\n");
  });
  EXPECT_TRUE(later(resetting.url()));
  const RawServer silent([](const RawSocket& peer) { peer.Receive(); });
  EXPECT_FALSE(later(silent.url()));  // the time was the caller's
}

TEST(HttpClient, PatienceWithServersThatAreBusy) {
  std::atomic<int> calls = 0;
  const RawServer server([&](const RawSocket& peer) {
    peer.Receive("\r\n\r\n");
    switch (calls++) {
      case 0:
        return static_cast<void>(
            peer.Send("HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
      case 1: return;                                    // cut
      case 2: return static_cast<void>(peer.Receive());  // no word
      case 3: return static_cast<void>(peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"));
      default: return static_cast<void>(peer.Send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"));
    }
  });
  const auto begun = steady_clock::now();
  const auto response = ClientOf(server.url())->GetPatiently("/x", kTimeoutMs, {}, 300);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(calls, 5);
  EXPECT_GE(steady_clock::now() - begun, milliseconds(1000 + 250 + 300 + 250 + 250));
}

// An answer that has begun may take the time that is left.
TEST(HttpClient, PatienceWithLongAnswers) {
  std::atomic<int> calls = 0;
  const RawServer server([&](const RawSocket& peer) {
    ++calls;
    peer.Receive("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(milliseconds(50));
      peer.Send("x");
    }
  });
  const auto response = ClientOf(server.url())->GetPatiently("/x", kTimeoutMs, {}, 200);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body.size(), 10U);
  EXPECT_EQ(calls, 1);
}

TEST(HttpClient, PatienceEnds) {
  const auto begun = steady_clock::now();
  const auto refused = ClientOf("http://127.0.0.1:1")->GetPatiently("/x", 600);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "http://127.0.0.1:1/x: cannot connect: Connection refused");
  EXPECT_GE(steady_clock::now() - begun, milliseconds(500));
  EXPECT_LT(steady_clock::now() - begun, milliseconds(3000));

  const RawServer busy(Say("HTTP/1.1 503 Busy\r\nRetry-After: 999999\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_EQ(ClientOf(busy.url())->GetPatiently("/x", 600)->status, 503);

  std::atomic<int> calls = 0;
  const RawServer absent([&](const RawSocket& peer) {
    ++calls;
    Say("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")(RawSocket(dup(peer.descriptor())));
  });
  EXPECT_EQ(ClientOf(absent.url())->GetPatiently("/x", 600)->status, 404);
  EXPECT_EQ(calls, 1);
}

TEST(HttpClient, CancelEndsPatience) {
  const auto client = ClientOf("http://127.0.0.1:1");
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    client->Cancel();
  });
  const auto begun = steady_clock::now();
  const auto response = client->GetPatiently("/x", 60'000);
  canceller.join();
  EXPECT_FALSE(response);
  EXPECT_LT(steady_clock::now() - begun, milliseconds(5000));
}

TEST(HttpClient, CancelEndsACallAndAllLaterOnes) {
  const RawServer server([](const RawSocket& peer) { peer.Receive("no such bytes"); });
  const auto client = ClientOf(server.url());
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    client->Cancel();
  });
  const auto begun = steady_clock::now();
  const auto response = client->Get("/x", 60'000);
  canceller.join();
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message, server.url() + "/x: cancelled");
  EXPECT_FALSE(client->Get("/x", 60'000));
  EXPECT_LT(steady_clock::now() - begun, milliseconds(5000));
}

TEST(HttpClient, BadUrls) {
  EXPECT_FALSE(HttpClient::Create("localhost:80"));
  if (TlsAvailable()) return;
  const auto client = HttpClient::Create("https://localhost");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().message, "https://localhost/: this build has no TLS");
}

}  // namespace
}  // namespace assay
