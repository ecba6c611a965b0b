#include "assay/sign/dsse.h"

#include <gtest/gtest.h>

#include "assay/merkle/sha256.h"

namespace assay {
namespace {

constexpr std::string_view kType = "application/vnd.in-toto+json";
constexpr std::string_view kPayload = R"({"_type":"https://in-toto.io/Statement/v1"})";

SigningKey Key() {
  ed25519::Seed seed{};
  for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<std::uint8_t>(i);
  return SigningKey("example.org/Trainer_1.a-b", seed);
}

Result<std::string> Open(std::string_view envelope) {
  return OpenEnvelope(envelope, kType, Key().verify_key(), "receipt.json");
}

// Computed from docs/formats/receipt.md by tests/vectors/log.py.
TEST(Dsse, Vector) {
  const std::string envelope =
      R"({"payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==",)"
      R"("payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"example.org/Trainer_1.a-b+5236f2f0",)"
      R"("sig":"Fo6jOXP9gw1yxFFqcxT3OROGg9MHJ9G2Ps2yCG4lrdJS8Yli9xdH78rzsGRdX7vN0BvZnteNGPg9F79CG51UDQ=="}]})"
      "\n";
  EXPECT_EQ(SignEnvelope(kType, kPayload, Key()), envelope);
  const auto payload = Open(envelope);
  ASSERT_TRUE(payload) << payload.error().message;
  EXPECT_EQ(*payload, kPayload);
}

// The example of the DSSE protocol page.
TEST(Dsse, SignedBytes) {
  EXPECT_EQ(EnvelopeMessage("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(Dsse, AnyPayloadComesBack) {
  std::string payload;
  for (int i = 0; i < 600; ++i) {
    EXPECT_EQ(*Open(SignEnvelope(kType, payload, Key())), payload);
    payload.push_back(static_cast<char>(i));
    if (i > 8) payload += payload.substr(0, 37);
    if (i > 40) break;
  }
}

TEST(Dsse, EveryChangeIsRefused) {
  const std::string envelope = SignEnvelope(kType, kPayload, Key());
  for (std::size_t bit = 0; bit < 8 * envelope.size(); ++bit) {
    std::string other = envelope;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << (bit % 8));
    EXPECT_FALSE(Open(other)) << other;
  }
  for (std::size_t i = 0; i < envelope.size(); ++i) {
    EXPECT_FALSE(Open(envelope.substr(0, i))) << i;
    EXPECT_FALSE(Open(std::string(envelope).insert(i, 1, ' '))) << i;
    EXPECT_FALSE(Open(std::string(envelope).erase(i, 1))) << i;
  }
  EXPECT_FALSE(Open(envelope + "\n"));
  EXPECT_FALSE(Open(envelope + envelope));
}

TEST(Dsse, ErrorsSayWhatIsWrong) {
  const SigningKey other("other", HashBytes(AsBytes("other")).bytes);
  EXPECT_EQ(Open("").error().message, "receipt.json: expected a DSSE envelope that begins with {\"payload\":\"");
  EXPECT_EQ(
      Open(SignEnvelope(kType, kPayload, other)).error().message,
      "receipt.json: expected a payload of type application/vnd.in-toto+json signed by example.org/Trainer_1.a-b+5236f2f0");
  EXPECT_FALSE(Open(SignEnvelope("text/plain", kPayload, Key())));
  // A key of the same name signed: the hash in the identity tells them apart.
  EXPECT_FALSE(Open(SignEnvelope(kType, kPayload, SigningKey("example.org/Trainer_1.a-b", HashBytes({}).bytes))));
  // The signature of another payload in this envelope.
  std::string mixed = SignEnvelope(kType, kPayload, Key());
  const std::string wrong = SignEnvelope(kType, "{}", Key());
  const std::size_t tail = 100;
  mixed.replace(mixed.size() - tail, tail, wrong.substr(wrong.size() - tail));
  EXPECT_EQ(Open(mixed).error().message,
            "receipt.json: the signature of example.org/Trainer_1.a-b+5236f2f0 does not fit the payload: the copy is damaged "
            "or was not made by that key");
}

}  // namespace
}  // namespace assay
