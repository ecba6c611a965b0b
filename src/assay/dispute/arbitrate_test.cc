// Whoever sends what is no answer, in the time of the referee's clocks.
#include "assay/dispute/arbitrate.h"

#include <gtest/gtest.h>

#include <chrono>

#include "assay/run/receipt.h"
#include "support/finished_run.h"

namespace assay::dispute {
namespace {

// A provider that answers with what `say` makes of the signed answer.
class TestPeer : public Peer {
 public:
  using Say = std::function<Bytes(ByteSpan question, Bytes body)>;
  TestPeer(std::string name, std::string receipt, RunAccount& account, Say say)
      : name_(std::move(name)), receipt_(std::move(receipt)), account_(account), say_(std::move(say)) {}
  std::string name() const override { return name_; }
  FromPeer<std::string> Receipt(std::int64_t) override { return receipt_; }
  FromPeer<Bytes> Job(std::int64_t) override { return account_.job(); }
  FromPeer<Bytes> Program(std::int64_t) override { return account_.program(); }
  FromPeer<void> Open(ByteSpan, std::int64_t) override { return {}; }
  FromPeer<Bytes> Answer(ByteSpan question, std::int64_t) override {
    const auto addressed = DecodeQuestion(question);
    if (!addressed) return tl::unexpected(PeerError{PeerError::Kind::kNever, addressed.error().message});
    auto body = AnswerFrom(account_, addressed->question);
    if (!body) return tl::unexpected(PeerError{PeerError::Kind::kNever, body.error().message});
    return say_(question, std::move(*body));
  }
  void Cancel() override {}

 private:
  std::string name_, receipt_;
  RunAccount& account_;
  Say say_;
};

struct Hearing {
  Result<Arbitration> result = Err("not held");
  double seconds = 0;
};

// An honest provider, and one of the same run that claims another loss and says what it is told to. It has an hour for each answer.
Hearing Hear(const TestPeer::Say& say) {
  TestRun run(RunShape{.steps = 3});
  const SigningKey liar = TestKey(9);
  const auto honest = run.Account(), other = run.Account();
  auto claim = OpenClaim(honest->receipt(), "receipt");
  EXPECT_TRUE(claim);
  claim->receipt.loss_bits ^= 1;
  claim->receipt.signer = liar.verify_key().ToString();
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(std::make_unique<TestPeer>("honest", honest->receipt(), *honest, [&](ByteSpan question, Bytes body) {
    return Encode(Sign(question, std::move(body), run.key));
  }));
  peers.push_back(std::make_unique<TestPeer>("other", SignReceipt(claim->receipt, liar), *other, say));
  const auto began = std::chrono::steady_clock::now();
  Hearing hearing;
  hearing.result = Arbitrate(std::move(peers), {.clocks = {.allowance_ms = 3'600'000, .rerun_ms = 3'600'000}});
  hearing.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return hearing;
}

void ExpectNotHeard(const Hearing& hearing, const std::string& why) {
  ASSERT_TRUE(hearing.result) << hearing.result.error().message;
  const Record& record = hearing.result->record;
  EXPECT_EQ(record.providers[0].standing, Standing::kStanding) << record.providers[0].why;
  EXPECT_EQ(record.providers[1].standing, Standing::kUnheard) << record.providers[1].why;
  EXPECT_NE(hearing.result->trouble[1].find(why), std::string::npos) << hearing.result->trouble[1];
  EXPECT_TRUE(hearing.result->evidence.charges.empty()) << "nobody is guilty of what is no answer";
  EXPECT_LT(hearing.seconds, 60);
}

TEST(ArbitrateTest, ALieIsConvicted) {
  const SigningKey liar = TestKey(9);
  const Hearing hearing = Hear([&](ByteSpan question, Bytes body) { return Encode(Sign(question, std::move(body), liar)); });
  ASSERT_TRUE(hearing.result) << hearing.result.error().message;
  EXPECT_EQ(hearing.result->record.providers[1].standing, Standing::kConvicted);
}

TEST(ArbitrateTest, SignedAnswersThatAreTooLongBuyNoTime) {
  const SigningKey liar = TestKey(9);
  ExpectNotHeard(Hear([&](ByteSpan question, Bytes body) {
                   body.resize(kMaxBodyBytes);
                   return Encode(Sign(question, std::move(body), liar));
                 }),
                 "longer than any answer can be");
}

TEST(ArbitrateTest, BytesThatAreNoAnswerBuyNoTime) {
  ExpectNotHeard(Hear([](ByteSpan, Bytes) { return Bytes{1, 2, 3}; }), "not signed by the key");
}

// One that was spoilt on its way is asked for again.
TEST(ArbitrateTest, AnAnswerMayBeSpoiltTwice) {
  const SigningKey liar = TestKey(9);
  int spoilt = 0;
  const Hearing hearing = Hear([&](ByteSpan question, Bytes body) {
    if (spoilt < 2) {
      ++spoilt;
      body.resize(kMaxBodyBytes);
    }
    return Encode(Sign(question, std::move(body), liar));
  });
  ASSERT_TRUE(hearing.result) << hearing.result.error().message;
  EXPECT_EQ(spoilt, 2);
  EXPECT_EQ(hearing.result->record.providers[1].standing, Standing::kConvicted);
}

}  // namespace
}  // namespace assay::dispute
