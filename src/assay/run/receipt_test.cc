#include "assay/run/receipt.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Digest D(std::string_view text) { return HashBytes(AsBytes(text)); }

Receipt Example(const VerifyKey& signer) {
  return {.model = D("model"),
          .job = D("job"),
          .trajectory = D("trajectory"),
          .program = D("program"),
          .data = D("data"),
          .steps = 123,
          .commit_every = 10,
          .snapshot_every = 100,
          .log = {.origin = "test/" + D("job").hex(), .size = 14, .root = D("log")},
          .initial_state_root = D("initial"),
          .final_state_root = D("final"),
          .loss_bits = 0x0000abcd,
          .signer = signer.ToString()};
}

TEST(Receipt, RoundTrips) {
  const SigningKey key = SigningKey::Generate("test");
  const Receipt receipt = Example(key.verify_key());
  const std::string file = SignReceipt(receipt, key);
  EXPECT_EQ(file, SignReceipt(receipt, key)) << "signing is deterministic";
  const auto opened = OpenReceipt(file, key.verify_key(), "receipt.json");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, receipt);
}

TEST(Receipt, DifferencesAreNamed) {
  const Receipt run = Example(SigningKey::Generate("test").verify_key());
  EXPECT_EQ(DifferenceOf(run, run), "");
  Receipt said = run;
  said.steps = 5;
  EXPECT_EQ(DifferenceOf(said, run), "says steps 5, the run has 123");
  said.data = D("other");
  EXPECT_EQ(DifferenceOf(said, run), "says data " + D("other").hex() + ", the run has " + D("data").hex());
  said = run;
  said.loss_bits = 1;
  EXPECT_EQ(DifferenceOf(said, run), "says another loss than the run's log");
}

TEST(Receipt, EveryFlippedByteIsRefused) {
  const SigningKey key = SigningKey::Generate("test");
  const std::string file = SignReceipt(Example(key.verify_key()), key);
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string bad = file;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(OpenReceipt(bad, key.verify_key(), "receipt.json")) << i;
    EXPECT_FALSE(OpenReceipt(file.substr(0, i), key.verify_key(), "receipt.json")) << i;
  }
}

TEST(Receipt, StatementsInAnyOtherFormAreRefused) {
  const SigningKey key = SigningKey::Generate("test");
  const std::string good = ToStatement(Example(key.verify_key()));
  ASSERT_TRUE(ParseStatement(good, "s"));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_FALSE(ParseStatement(with("\"steps\":123", "\"steps\": 123"), "s"));
  EXPECT_FALSE(ParseStatement(with("\"steps\":123", "\"steps\":\"123\""), "s"));
  EXPECT_FALSE(ParseStatement(with("\"steps\":123", "\"steps\":1.23e2"), "s"));
  EXPECT_FALSE(ParseStatement(with("\"steps\":123", "\"steps\":0"), "s"));
  EXPECT_FALSE(ParseStatement(with("\"steps\":123", "\"steps\":-1"), "s"));
  EXPECT_FALSE(ParseStatement(with("\"steps\":123", "\"steps\":123,\"steps\":123"), "s"));
  EXPECT_FALSE(ParseStatement(with("0000abcd", "abcd"), "s"));
  EXPECT_FALSE(ParseStatement(with("0000abcd", "0000ABCD"), "s"));
  EXPECT_FALSE(ParseStatement(with("urn:assay:receipt:1", "urn:assay:receipt:2"), "s"));
  EXPECT_FALSE(ParseStatement(with("model.safetensors", "other.safetensors"), "s"));
  EXPECT_FALSE(ParseStatement(good + " ", "s"));
  EXPECT_FALSE(ParseStatement("", "s"));
  EXPECT_FALSE(ParseStatement("[]", "s"));
}

TEST(Receipt, MustBeSignedByTheKeyThatItNames) {
  const SigningKey key = SigningKey::Generate("test"), other = SigningKey::Generate("test");
  const std::string file = SignReceipt(Example(other.verify_key()), key);
  EXPECT_FALSE(OpenReceipt(file, key.verify_key(), "receipt.json"));
  EXPECT_FALSE(OpenReceipt(SignReceipt(Example(key.verify_key()), key), other.verify_key(), "receipt.json"));
}

}  // namespace
}  // namespace assay
