#include "assay/run/receipt.h"

#include <gtest/gtest.h>

#include <functional>

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
          .weights = D("weights"),
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

TEST(Receipt, AFollowerNamesWhomItFollows) {
  const SigningKey key = SigningKey::Generate("test"), leader = SigningKey::Generate("example.org/leader");
  Receipt receipt = Example(key.verify_key());
  receipt.follows = {.signer = leader.verify_key().ToString(), .log_root = D("their log")};
  const auto opened = OpenReceipt(SignReceipt(receipt, key), key.verify_key(), "receipt.json");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, receipt);
  Receipt alone = receipt;
  alone.follows.reset();
  EXPECT_NE(DifferenceOf(receipt, alone).find(R"(says follows {"signer":"example.org/leader+)"), std::string::npos);
  for (const std::string nobody : {"", "leader", "example.org/leader+00000000+AAAA"}) {
    receipt.follows->signer = nobody;
    EXPECT_FALSE(ParseStatement(ToStatement(receipt), "s")) << nobody;
  }
}

// What a receipt says beyond the job's bits is no promise: validation losses change the file's hash, snapshots and names are the
// provider's own affair.
TEST(Receipt, OnlyOtherBitsOfAnExactJobUnderOneKeyContradict) {
  const ed25519::Seed seed = D("seed").bytes;
  const SigningKey key("test", seed), renamed("other-name", seed), stranger = SigningKey::Generate("test");
  const Receipt a = Example(key.verify_key());
  EXPECT_FALSE(Contradict(a, a, true));
  const std::vector<std::function<void(Receipt&)>> promised{
      [](Receipt& r) { r.log.root = D("x"); },         [](Receipt& r) { r.initial_state_root = D("x"); },
      [](Receipt& r) { r.final_state_root = D("x"); }, [](Receipt& r) { r.loss_bits ^= 1; },
      [](Receipt& r) { r.weights = D("x"); },
  };
  for (std::size_t i = 0; i < promised.size(); ++i) {
    Receipt b = a;
    promised[i](b);
    EXPECT_FALSE(SamePromise(a, b)) << i;
    EXPECT_TRUE(Contradict(a, b, true)) << i;
    EXPECT_FALSE(Contradict(a, b, false)) << i;
    b.signer = renamed.verify_key().ToString();
    EXPECT_TRUE(Contradict(a, b, true)) << i;
    b.signer = stranger.verify_key().ToString();
    EXPECT_FALSE(Contradict(a, b, true)) << i;
    b.signer = a.signer;
    b.job = D("x");
    EXPECT_FALSE(Contradict(a, b, true)) << i;
  }
  const std::vector<std::function<void(Receipt&)>> free{
      [](Receipt& r) { r.model = D("x"); },
      [](Receipt& r) { r.snapshot_every += 1; },
      [](Receipt& r) { r.log.origin = "x"; },
      [](Receipt& r) { r.follows = {.signer = "x", .log_root = {}}; },
      [&](Receipt& r) { r.signer = renamed.verify_key().ToString(); },
  };
  for (std::size_t i = 0; i < free.size(); ++i) {
    Receipt b = a;
    free[i](b);
    EXPECT_TRUE(SamePromise(a, b)) << i;
    EXPECT_FALSE(Contradict(a, b, true)) << i;
  }
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

// What readers of JSON in other languages read differently is no receipt, whoever signed it.
TEST(Receipt, NothingInItDependsOnTheReader) {
  const SigningKey key = SigningKey::Generate("test");
  const Receipt good = Example(key.verify_key());
  const auto opens = [&](const std::function<void(Receipt&)>& edit) {
    Receipt receipt = good;
    edit(receipt);
    return OpenReceipt(SignReceipt(receipt, key), key.verify_key(), "receipt").has_value();
  };
  EXPECT_TRUE(opens([](Receipt&) {}));
  for (const char* origin : {"x", "a.b_c-d/0"}) EXPECT_TRUE(opens([&](Receipt& r) { r.log.origin = origin; })) << origin;
  EXPECT_TRUE(opens([](Receipt& r) { r.log.origin.assign(129, 'x'); }));
  EXPECT_FALSE(opens([](Receipt& r) { r.log.origin.assign(130, 'x'); }));
  for (const char* origin : {"", "a b", "\xc3\xa9", "\xc2\x9b", "\xe2\x80\xae", "\x7f", "a\\u0041", "a+b"}) {
    EXPECT_FALSE(opens([&](Receipt& r) { r.log.origin = origin; })) << origin;
  }
  EXPECT_TRUE(opens([](Receipt& r) { r.snapshot_every = 4'294'967'295; }));
  EXPECT_FALSE(opens([](Receipt& r) { r.snapshot_every = 4'294'967'296; }));
  EXPECT_FALSE(opens([](Receipt& r) { r.snapshot_every = (std::int64_t{1} << 53) + 1; }));
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
  EXPECT_FALSE(ParseStatement(with("urn:assay:receipt:2", "urn:assay:receipt:1"), "s"));
  EXPECT_FALSE(ParseStatement(with("\"follows\":null", "\"follows\":{}"), "s"));
  EXPECT_FALSE(ParseStatement(with("\"follows\":null,", ""), "s"));
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
