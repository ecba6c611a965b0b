#include "assay/platform/request_signature.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::platform {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;

SigningKey KeyOf(std::uint8_t byte) {
  ed25519::Seed seed{};
  seed.fill(byte);
  return SigningKey("worker", seed);
}

void SetHeader(HttpHeaders& headers, std::string_view name, std::string value) {
  for (auto& header : headers) {
    if (header.first == name) header.second = value;
  }
}

TEST(RequestSignature, SignsTheDocumentedBytes) {
  ed25519::PublicKey coordinator{};
  coordinator.fill(0xab);
  const SignedRequest request{.method = "POST",
                              .target = "/v1/work?x=1",
                              .body = HashBytes(AsBytes("{}")),
                              .coordinator = coordinator,
                              .token = HashBytes(AsBytes("assay_1"))};
  EXPECT_EQ(
      RequestMessage(request, kNow),
      "assay/worker/2\nPOST\n/v1/work?x=1\n1700000000000\n44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n"
      "abababababababababababababababababababababababababababababababab\n" +
          HashBytes(AsBytes("assay_1")).hex() + "\n");
}

TEST(RequestSignature, RoundTrips) {
  const SigningKey key = KeyOf(7);
  const SignedRequest request{.method = "POST", .target = "/v1/work", .body = HashBytes(AsBytes("{}"))};
  const HttpHeaders headers = SignRequest(request, kNow, key);
  for (const std::int64_t now : {kNow, kNow + kMaxSkewMs, kNow - kMaxSkewMs}) {
    const auto signer = VerifyRequest(request, headers, now);
    ASSERT_TRUE(signer) << signer.error().message;
    EXPECT_EQ(*signer, key.verify_key());
  }
}

TEST(RequestSignature, RefusesWhatWasNotSigned) {
  const SigningKey key = KeyOf(7);
  const SignedRequest request{.method = "POST", .target = "/v1/work", .body = HashBytes(AsBytes("{}"))};
  const HttpHeaders headers = SignRequest(request, kNow, key);
  const auto refused = [](const SignedRequest& asked, const HttpHeaders& with, std::int64_t now = kNow) {
    const auto signer = VerifyRequest(asked, with, now);
    return !signer && !signer.error().clock && !signer.error().message.empty();
  };
  SignedRequest other = request;
  other.method = "PUT";
  EXPECT_TRUE(refused(other, headers));
  other = request;
  other.target = "/v1/work?";
  EXPECT_TRUE(refused(other, headers));
  other = request;
  other.body = HashBytes(AsBytes("{ }"));
  EXPECT_TRUE(refused(other, headers));
  other = request;
  other.coordinator[31] ^= 1;
  EXPECT_TRUE(refused(other, headers)) << "by another coordinator";
  other = request;
  other.token.bytes[0] ^= 1;
  EXPECT_TRUE(refused(other, headers)) << "under another account's token";

  for (const auto& [name, value] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {kWorkerHeader, KeyOf(8).verify_key().ToString()},
           {kWorkerHeader, "worker"},
           {kWorkerHeader, ""},
           {kTimeHeader, std::to_string(kNow + 1)},
           {kTimeHeader, "0" + std::to_string(kNow)},
           {kTimeHeader, "-1"},
           {kTimeHeader, "99999999999999999999"},
           {kTimeHeader, ""},
           {kSignatureHeader, ""},
           {kSignatureHeader, "AAAA"},
       }) {
    HttpHeaders edited = headers;
    SetHeader(edited, name, value);
    EXPECT_TRUE(refused(request, edited)) << name << ": " << value;
  }
  EXPECT_TRUE(refused(request, {}));
}

TEST(RequestSignature, AKnownKeyIsNoExcuseForTheSignature) {
  const SigningKey key = KeyOf(7);
  const SignedRequest request{.method = "POST", .target = "/v1/work", .body = HashBytes(AsBytes("{}"))};
  const HttpHeaders headers = SignRequest(request, kNow, key);
  const auto signer = VerifyRequest(request, headers, kNow, key.verify_key());
  ASSERT_TRUE(signer) << signer.error().message;
  EXPECT_EQ(*signer, key.verify_key());
  EXPECT_FALSE(VerifyRequest(request, headers, kNow, KeyOf(8).verify_key()));
  SignedRequest other = request;
  other.method = "PUT";
  EXPECT_FALSE(VerifyRequest(other, headers, kNow, key.verify_key()));
}

TEST(RequestSignature, TellsAWrongClockFromEverythingElse) {
  const SigningKey key = KeyOf(7);
  const SignedRequest request{.method = "GET", .target = "/v1/work", .body = HashBytes({})};
  const HttpHeaders headers = SignRequest(request, kNow, key);
  for (const std::int64_t now : {kNow + kMaxSkewMs + 1, kNow - kMaxSkewMs - 1}) {
    const auto signer = VerifyRequest(request, headers, now);
    ASSERT_FALSE(signer);
    EXPECT_TRUE(signer.error().clock) << signer.error().message;
  }
}

}  // namespace
}  // namespace assay::platform
