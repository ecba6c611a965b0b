// HTTPS with certificates made here.
#ifdef ASSAY_HAVE_TLS
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <filesystem>

#include "assay/base/file.h"
#include "assay/net/http_client.h"
#include "assay/net/http_server.h"
#include "support/raw_peer.h"
#include "support/scratch.h"

namespace assay {
namespace {

using std::chrono::milliseconds;

constexpr int kTimeoutMs = 10'000;

template <class Write>
std::string Pem(const Write& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> out(BIO_new(BIO_s_mem()), BIO_free_all);
  EXPECT_EQ(write(out.get()), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// A folder with cert.pem, self-signed for `names`, and key.pem.
class Certificate {
 public:
  Certificate(const char* names, long valid_seconds) {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> x509(X509_new(), X509_free);
    X509_set_version(x509.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509.get()), -7200);
    X509_gmtime_adj(X509_getm_notAfter(x509.get()), valid_seconds);
    X509_set_pubkey(x509.get(), key.get());
    X509_NAME* subject = X509_get_subject_name(x509.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("assay test"), -1, -1, 0);
    X509_set_issuer_name(x509.get(), subject);
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names), X509_EXTENSION_free);
    X509_add_ext(x509.get(), extension.get(), -1);
    EXPECT_GT(X509_sign(x509.get(), key.get(), EVP_sha256()), 0);
    Save(file(), Pem([&](BIO* out) { return PEM_write_bio_X509(out, x509.get()); }));
    Save(key_file(),
         Pem([&](BIO* out) { return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr); }));
  }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;
  std::string file() const { return scratch_ / "cert.pem"; }
  std::string key_file() const { return scratch_ / "key.pem"; }

 private:
  static void Save(const std::string& path, const std::string& text) { EXPECT_TRUE(WriteFileAtomic(path, AsBytes(text))); }
  testkit::Scratch scratch_;
};

std::unique_ptr<HttpServer> Serve(const Certificate& certificate, ServerOptions options = {}) {
  options.certificate_file = certificate.file();
  options.key_file = certificate.key_file();
  auto server = HttpServer::Start(options, [](HttpRequest request) { return HttpResponse{.body = std::move(request.body)}; });
  if (!server) ADD_FAILURE() << server.error().message;
  return *std::move(server);
}

std::string ErrorOf(const std::string& url, const ClientOptions& options) {
  auto client = HttpClient::Create(url, options);
  if (!client) return client.error().message;
  const auto response = (*client)->Get("/", kTimeoutMs);
  return response ? fmt::format("status {}", response->status) : response.error().message;
}

TEST(Tls, RoundTrips) {
  const Certificate certificate("IP:127.0.0.1,DNS:localhost", 3600);
  const auto server = Serve(certificate);
  EXPECT_TRUE(server->url().starts_with("https://127.0.0.1:"));
  for (const std::string& url : {server->url(), fmt::format("https://localhost:{}", server->port())}) {
    const auto client = *HttpClient::Create(url, {.ca_file = certificate.file()});
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{3'000'000}}) {
      const auto response = client->Post("/", Bytes(size, 9), kTimeoutMs);
      ASSERT_TRUE(response) << response.error().message;
      EXPECT_EQ(response->body, Bytes(size, 9));
    }
  }
}

TEST(Tls, CertificatesThatAreNotTrusted) {
  const Certificate certificate("IP:127.0.0.1", 3600);
  const Certificate other("IP:127.0.0.1", 3600);
  const Certificate elsewhere("DNS:example.org,IP:127.0.0.2", 3600);
  const Certificate expired("IP:127.0.0.1", -3600);
  const std::string untrusted = "/: TLS: the server's certificate is not trusted: ";
  const auto server = Serve(certificate);
  EXPECT_EQ(ErrorOf(server->url(), {}), server->url() + untrusted + "self-signed certificate");
  EXPECT_TRUE(ErrorOf(server->url(), {.ca_file = other.file()}).starts_with(server->url() + untrusted));
  EXPECT_EQ(ErrorOf(server->url(), {.ca_file = certificate.file()}), "status 200");
  const auto wrong_name = Serve(elsewhere);
  EXPECT_TRUE(ErrorOf(wrong_name->url(), {.ca_file = elsewhere.file()}).starts_with(wrong_name->url() + "/: TLS: "))
      << ErrorOf(wrong_name->url(), {.ca_file = elsewhere.file()});
  const auto late = Serve(expired);
  EXPECT_EQ(ErrorOf(late->url(), {.ca_file = expired.file()}), late->url() + untrusted + "certificate has expired");
}

TEST(Tls, PlainAndEncryptedDoNotMix) {
  const Certificate certificate("IP:127.0.0.1", 3600);
  const auto secure = Serve(certificate);
  EXPECT_NE(ErrorOf(fmt::format("http://127.0.0.1:{}", secure->port()), {}), "status 200");
  const auto plain = *HttpServer::Start({}, [](const HttpRequest&) { return HttpResponse{}; });
  const std::string error = ErrorOf(fmt::format("https://127.0.0.1:{}", plain->port()), {.ca_file = certificate.file()});
  EXPECT_NE(error.find(": TLS: "), std::string::npos) << error;
  for (const std::string& url : {fmt::format("https://127.0.0.1:{}", plain->port()), secure->url()}) {
    const auto client = *HttpClient::Create(url, {});
    const auto response = client->Get("/", kTimeoutMs);
    ASSERT_FALSE(response);
    EXPECT_TRUE(client->misplaced()) << response.error().message;
    EXPECT_FALSE(client->later());
  }
}

TEST(Tls, HandshakesThatDoNotComeToAnEnd) {
  const Certificate certificate("IP:127.0.0.1", 3600);
  const auto server = Serve(certificate, {.max_connections = 1, .header_timeout_ms = 150});
  const RawSocket silent = RawSocket::ConnectTo(server->port());
  EXPECT_EQ(silent.Receive(), "");
  // The place becomes free a moment after the connection's end.
  std::string answer;
  for (int i = 0; i < 1000 && answer != "status 200"; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
    answer = ErrorOf(server->url(), {.ca_file = certificate.file()});
  }
  EXPECT_EQ(answer, "status 200");
}

// Silent ones, and ones that stop in the middle of a handshake, do not keep others out.
TEST(Tls, ManyHandshakesThatDoNotComeToAnEnd) {
  const Certificate certificate("IP:127.0.0.1", 3600);
  const auto server = Serve(certificate, {.max_connections = 64});
  for (const int hosts : {1, 100}) {
    std::vector<RawSocket> crowd;
    for (int i = 0; i < 200; ++i) {
      crowd.push_back(RawSocket::ConnectTo(server->port(), 2 + i % hosts));
      if (i % 2 == 0) crowd.back().Send(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
    }
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(ErrorOf(server->url(), {.ca_file = certificate.file()}), "status 200");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, milliseconds(2000));
  }
}

// A connection that is cut during the handshake may be tried again; a certificate that is not trusted will not become so.
TEST(Tls, WhatMayPass) {
  const Certificate certificate("IP:127.0.0.1", 3600);
  const RawServer cutting([](const RawSocket& peer) { peer.Receive("\x03\x03"); });
  const std::string url = "https" + cutting.url().substr(4);
  const auto cut = *HttpClient::Create(url, {.ca_file = certificate.file()});
  const auto response = cut->Get("/", kTimeoutMs);
  ASSERT_FALSE(response);
  EXPECT_TRUE(cut->later()) << response.error().message;
  const auto server = Serve(certificate);
  const auto untrusting = *HttpClient::Create(server->url(), {});
  EXPECT_FALSE(untrusting->Get("/", kTimeoutMs));
  EXPECT_FALSE(untrusting->later());
}

// All that a plain connection carries. A reading that a word interrupts leaves the connection as it was.
TEST(Tls, StreamsAndTransfers) {
  struct Sum : BodySink {
    std::size_t taken = 0;
    std::optional<HttpResponse> Take(ByteSpan piece) override {
      taken += piece.size();
      return {};
    }
  };
  const Certificate certificate("IP:127.0.0.1", 3600);
  std::vector<std::thread> senders;
  const auto server = *HttpServer::Serve(
      {.certificate_file = certificate.file(), .key_file = certificate.key_file()}, [&](const HttpRequest& head) {
        const auto sum = std::make_shared<Sum>();
        if (head.method == "PUT") {
          const auto count = [sum](const HttpRequest&, Reply reply) {
            reply.Send(TextResponse(200, std::to_string(sum->taken)));
          };
          return Course{.handler = count, .max_body_bytes = 1 << 30, .sink = sum};
        }
        const auto view = [&](const HttpRequest&, Reply reply) {
          senders.emplace_back([reply = std::move(reply)]() mutable {
            std::this_thread::sleep_for(milliseconds(20));
            ReplyStream stream = reply.Begin({.content_type = std::string(kEventStreamType)});
            for (int i = 0; i < 100; ++i) {
              stream.Write(EncodeEvent({.data = std::to_string(i)}));
              if (i % 10 == 0) std::this_thread::sleep_for(milliseconds(1));
            }
            stream.Finish();
          });
        };
        return Course{.handler = view, .at_once = true};
      });
  const auto client = *HttpClient::Create(server->url(), {.ca_file = certificate.file()});
  for (int round = 0; round < 3; ++round) {
    int events = 0;
    const auto count = [&](const ServerEvent& event) { return event.data == std::to_string(events++); };
    const auto listened = client->Listen({.path = "/"}, count, kTimeoutMs);
    ASSERT_TRUE(listened) << listened.error().message;
    EXPECT_EQ(events, 100);
    const BodySource zeros{.length = 5'000'000, .read = [](std::span<std::uint8_t>) { return Status(); }};
    const auto uploaded = client->Upload({.method = "PUT", .path = "/"}, zeros, kTimeoutMs);
    ASSERT_TRUE(uploaded) << uploaded.error().message;
    EXPECT_EQ(std::string(uploaded->body.begin(), uploaded->body.end()), "5000000\n");
  }
  for (std::thread& sender : senders) sender.join();
}

TEST(Tls, StopClosesIdleConnections) {
  const Certificate certificate("IP:127.0.0.1", 3600);
  const auto server = Serve(certificate);
  const auto client = *HttpClient::Create(server->url(), {.ca_file = certificate.file()});
  EXPECT_TRUE(client->Get("/", kTimeoutMs));
  server->Stop();
  EXPECT_FALSE(client->Get("/", kTimeoutMs));
}

TEST(Tls, FilesThatCannotBeLoaded) {
  const Certificate certificate("IP:127.0.0.1", 3600);
  const Certificate other("IP:127.0.0.1", 3600);
  const auto handler = [](const HttpRequest&) { return HttpResponse{}; };
  const auto absent = HttpServer::Start({.certificate_file = "/absent", .key_file = certificate.key_file()}, handler);
  ASSERT_FALSE(absent);
  EXPECT_TRUE(absent.error().message.starts_with("/absent: cannot load the certificate: ")) << absent.error().message;
  const auto mismatch = HttpServer::Start({.certificate_file = certificate.file(), .key_file = other.key_file()}, handler);
  ASSERT_FALSE(mismatch);
  EXPECT_TRUE(mismatch.error().message.starts_with(other.key_file() + ": cannot load the key of ")) << mismatch.error().message;
  const auto client = HttpClient::Create("https://127.0.0.1", {.ca_file = "/absent"});
  ASSERT_FALSE(client);
  EXPECT_TRUE(client.error().message.starts_with("/absent: cannot load trusted certificates: ")) << client.error().message;
}

}  // namespace
}  // namespace assay
#endif
