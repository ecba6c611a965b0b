#include "fuzz/stage.h"

#include "assay/base/check.h"
#include "assay/dispute/arbitrate.h"
#include "jobs_for_test.h"

namespace assay::fuzz {
namespace {

using namespace dispute;  // the whole file is about it

class MemoryPeer : public Peer {
 public:
  MemoryPeer(std::string name, Account& account, const SigningKey& key)
      : name_(std::move(name)), account_(account), key_(key) {}
  std::string name() const override { return name_; }
  FromPeer<std::string> Receipt(std::int64_t) override { return account_.receipt(); }
  FromPeer<Bytes> Job(std::int64_t) override { return account_.job(); }
  FromPeer<Bytes> Program(std::int64_t) override { return account_.program(); }
  FromPeer<void> Open(ByteSpan, std::int64_t) override { return {}; }
  FromPeer<Bytes> Answer(ByteSpan question, std::int64_t) override {
    const auto body = AnswerFrom(account_, DecodeQuestion(question)->question);
    ASSAY_CHECK(body.has_value());
    return dispute::Encode(Sign(question, *body, key_));
  }
  void Cancel() override {}

 private:
  std::string name_;
  Account& account_;
  const SigningKey& key_;
};

Lies OneBit() {
  return {.node =
              [](std::int64_t step, std::size_t node, std::span<const std::span<std::uint8_t>> outputs) {
                if (step == 3 && node == 0) outputs[0][0] ^= 1;
              },
          .after = [](std::int64_t step, State& state) { state[0].mutable_bytes()[0] ^= step == 3 ? 1 : 0; }};
}

}  // namespace

Stage::Stage()
    : prepared(PreparedFrom(MlpJob(4, 2, 2))),
      good("honest", {1}),
      bad("liar", {2}),
      honest(prepared, good, {}),
      liar(prepared, bad, OneBit()),
      honest_claim(*OpenClaim(honest.receipt(), "receipt")),
      liar_claim(*OpenClaim(liar.receipt(), "receipt")) {}

Evidence PlayedEvidence(Stage& stage, const Digest& nonce) {
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(std::make_unique<MemoryPeer>("honest", stage.honest, stage.good));
  peers.push_back(std::make_unique<MemoryPeer>("liar", stage.liar, stage.bad));
  auto result = Arbitrate(std::move(peers), {.law = {.referee = {}, .nonce = nonce}});
  ASSAY_CHECK(result.has_value());
  return std::move(result->evidence);
}

}  // namespace assay::fuzz
