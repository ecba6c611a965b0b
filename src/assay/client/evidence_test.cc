// Evidence that takes several files: a dispute that is really held among runs kept in memory, whose life a client then reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "assay/base/file.h"
#include "assay/base/thread_pool.h"
#include "assay/client/checked_life.h"
#include "assay/client/delivery.h"
#include "assay/dispute/answerer.h"
#include "assay/dispute/evidence_files.h"
#include "assay/life/wanted.h"
#include "assay/merkle/tree.h"
#include "assay/platform/outcome.h"
#include "jobs_for_test.h"
#include "memory_run.h"
#include "support/life_parties.h"
#include "support/scratch.h"

namespace assay::client {
namespace {

using dispute::MemoryRun;
using testkit::KeyOf;
using testkit::WorkerKey;

class RunPeer final : public dispute::Peer {
 public:
  RunPeer(MemoryRun& run, SigningKey key, const SigningKey& referee)
      : run_(run), key_(std::move(key)), answerer_(run, key_, DocketFor(run, referee)) {}

  std::string name() const override { return "run"; }
  dispute::FromPeer<std::string> Receipt(std::int64_t) override { return run_.receipt(); }
  dispute::FromPeer<Bytes> Job(std::int64_t) override { return run_.job(); }
  dispute::FromPeer<Bytes> Program(std::int64_t) override { return run_.program(); }
  dispute::FromPeer<void> Open(ByteSpan opening, std::int64_t) override {
    const auto opened = answerer_.Open(opening);
    if (!opened) {
      ADD_FAILURE() << opened.error().why;
      return tl::unexpected(dispute::PeerError{dispute::PeerError::Kind::kDenied, opened.error().why});
    }
    return {};
  }
  dispute::FromPeer<Bytes> Answer(ByteSpan question, std::int64_t) override {
    auto answer = answerer_.Answer(question);
    if (!answer) return tl::unexpected(dispute::PeerError{dispute::PeerError::Kind::kNever, answer.error().why});
    return *std::move(answer);
  }
  void Cancel() override {}

 private:
  static dispute::Docket DocketFor(MemoryRun& run, const SigningKey& referee) {
    const dispute::Work much{std::int64_t{1} << 40, std::int64_t{1} << 40, std::int64_t{1} << 40};
    auto docket = dispute::DocketOf(
        run, {.pinned = {referee.verify_key().point()}, .bout = {.work = much, .bytes = std::uint64_t{1} << 40}});
    EXPECT_TRUE(docket) << docket.error().message;
    return *std::move(docket);
  }
  MemoryRun& run_;
  const SigningKey key_;
  dispute::Answerer answerer_;
};

dispute::Lies FalseFrom(std::int64_t at) {
  return {.after = [at](std::int64_t step, State& state) {
    if (step == at) state[3].mutable_bytes()[5] ^= 1;
  }};
}

// Worker 1 is honest, 2 and 3 lie, each in its own way, so that each falls by a charge of its own.
struct Case {
  explicit Case(const life::Policy& policy = {.replicas = 3, .attempts = 8}) {
    const SigningKey client = KeyOf("client");
    const life::Order order{.id = testkit::DigestOf("order").hex().substr(0, 32),
                            .client = client.verify_key().ToString(),
                            .coordinator = referee.verify_key().ToString(),
                            .job = prepared.identity.job,
                            .files = {{.name = "job.toml", .sha256 = testkit::DigestOf("toml"), .bytes = 4}},
                            .policy = policy};
    envelope = life::SignOrder(order, client);
    Add(life::Submitted{envelope});
    for (int worker = 1; worker <= 3; ++worker) Add(life::Leased{.lease = worker, .worker = WorkerKey(worker)});
    int lease = 0;
    for (MemoryRun* run : {&honest, &one, &other})
      Add(life::Received{.lease = ++lease, .receipt = run->receipt(), .proof = {}, .model = 100});
    std::vector<std::unique_ptr<dispute::Peer>> peers;
    int worker = 0;
    for (MemoryRun* run : {&honest, &one, &other})
      peers.push_back(std::make_unique<RunPeer>(*run, KeyOf("worker" + std::to_string(++worker)), referee));
    dispute::ArbitrateOptions how{.key = &referee, .job = order.job};
    how.law.referee = referee.verify_key().point();
    how.law.nonce = testkit::DigestOf("nonce");
    auto held = dispute::Arbitrate(std::move(peers), how);
    EXPECT_TRUE(held) << held.error().message;
    result = *std::move(held);
  }
  void Add(life::Event event) {
    const life::Entry entry{.n = life.size(), .at = 1'700'000'000 + life.size(), .event = std::move(event)};
    const Status applied = life.Apply(entry);
    EXPECT_TRUE(applied) << applied.error().message;
    entries.push_back(life::ToText(entry));
  }
  std::string Note() const {
    std::vector<Digest> leaves;
    for (const std::string& entry : entries) leaves.push_back(LeafHash(AsBytes(entry)));
    return SignCheckpoint({.origin = "assay.life/" + life.order().id, .size = entries.size(), .root = TreeRoot(leaves)},
                          referee);
  }
  LifeTerms Terms() const { return {.id = life.order().id, .coordinator = referee.verify_key(), .envelope = envelope}; }
  // In files that cannot hold both charges.
  platform::Ruling InTwo() const {
    const std::size_t bytes = dispute::Encode(result.evidence).size() - 1;
    auto ruling = platform::RulingOn(life, {1, 2, 3}, result, {}, {.bytes = bytes});
    EXPECT_TRUE(ruling) << ruling.error().message;
    return *std::move(ruling);
  }

  PreparedJob prepared = dispute::PreparedFrom(dispute::MlpJob(4, 1, 1));
  SigningKey referee = KeyOf("coordinator");
  MemoryRun honest{prepared, KeyOf("worker1"), {}};
  MemoryRun one{prepared, KeyOf("worker2"), FalseFrom(2)};
  MemoryRun other{prepared, KeyOf("worker3"), FalseFrom(3)};
  std::string envelope;
  life::Life life;
  std::vector<std::string> entries;
  dispute::Arbitration result;
};

TEST(SeveralFiles, AllWhomTheyConvictTogetherAreConvicted) {
  Case dispute;
  const auto whole = platform::RulingOn(dispute.life, {1, 2, 3}, dispute.result);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->evidence.size(), 1U);
  EXPECT_EQ(whole->judged.convicted, (std::vector<life::LeaseNumber>{2, 3})) << whole->judged.words;

  const platform::Ruling ruling = dispute.InTwo();
  EXPECT_EQ(ruling.judged.convicted, (std::vector<life::LeaseNumber>{2, 3}));
  EXPECT_TRUE(ruling.judged.silent.empty());
  EXPECT_TRUE(ruling.judged.decided);
  ASSERT_EQ(ruling.evidence.size(), 2U);
  ASSERT_EQ(ruling.judged.evidence.size(), 2U);
  EXPECT_TRUE(platform::CheckConvictions(dispute.life, ruling.judged, ruling.evidence));
  // Neither is enough, nor are they in another order than they are named in.
  life::Judged half = ruling.judged;
  half.evidence.pop_back();
  EXPECT_FALSE(platform::CheckConvictions(dispute.life, half, std::vector<Bytes>{ruling.evidence[0]}));
  EXPECT_FALSE(platform::CheckConvictions(dispute.life, ruling.judged, std::vector<Bytes>{ruling.evidence[0]}));
  EXPECT_FALSE(
      platform::CheckConvictions(dispute.life, ruling.judged, std::vector<Bytes>{ruling.evidence[1], ruling.evidence[0]}));
}

TEST(SeveralFiles, AClientGoesThroughAllOfThemAndADeliveryHoldsThem) {
  Case dispute;
  const platform::Ruling ruling = dispute.InTwo();
  dispute.Add(ruling.judged);
  dispute.Add(*life::WantedBy(dispute.life).decision);
  CheckedLife checked(dispute.Terms());
  ASSERT_TRUE(checked.Continue(dispute.entries, dispute.Note(), std::nullopt));
  ASSERT_EQ(checked.Unproven().size(), 1U);
  EXPECT_FALSE(checked.Prove({ruling.evidence[0]}));
  EXPECT_EQ(checked.Unproven().size(), 1U);
  const auto proven = checked.Prove(ruling.evidence);
  ASSERT_TRUE(proven) << proven.error().message;
  EXPECT_TRUE(checked.Unproven().empty());
  EXPECT_EQ(checked.evidence().size(), 2U);

  const testkit::Scratch scratch;
  const auto write = [&](const std::string& name, ByteSpan bytes) { ASSERT_TRUE(WriteFileAtomic(scratch / name, bytes)); };
  std::string lines;
  for (const std::string& entry : dispute.entries) lines += entry + "\n";
  write("life.jsonl", AsBytes(lines));
  write("checkpoint", AsBytes(dispute.Note()));
  ASSERT_TRUE(MakeDirectories(scratch / "evidence"));
  for (const auto& [hash, bytes] : checked.evidence()) write("evidence/" + hash, bytes);
  ThreadPool pool(1);
  const auto refusal = [&] { return CheckDelivery(scratch.path(), dispute.Terms(), pool).error().message; };
  EXPECT_NE(refusal().find("receipt.json"), std::string::npos) << "all but that is in order: " << refusal();
  std::filesystem::remove(scratch / ("evidence/" + ruling.judged.evidence[1]));
  EXPECT_NE(refusal().find(ruling.judged.evidence[1]), std::string::npos) << refusal();
}

// What convicted somebody once does not convict the next, however often it is named.
TEST(SeveralFiles, EvidenceThatIsKnownIsGoneThroughAgainForAnotherDispute) {
  Case dispute({.replicas = 3, .audit = 50, .attempts = 8});
  const auto whole = platform::RulingOn(dispute.life, {1, 2, 3}, dispute.result);
  ASSERT_TRUE(whole) << whole.error().message;
  dispute.Add(whole->judged);
  CheckedLife checked(dispute.Terms());
  ASSERT_TRUE(checked.Continue(dispute.entries, dispute.Note(), std::nullopt));
  ASSERT_TRUE(checked.Prove(whole->evidence));
  ASSERT_TRUE(checked.Unproven().empty());

  // An auditor refutes the honest run, and brings a false one. The coordinator has the honest one convicted, by what there is.
  const std::string nonce = testkit::DigestOf("drawn").hex();
  dispute.Add(life::Leased{.lease = 4, .role = life::Role::kAudit, .worker = WorkerKey(4), .of = 1, .nonce = nonce});
  const life::Report report{.order = dispute.life.order().id,
                            .lease = 4,
                            .receipt = HashBytes(AsBytes(dispute.honest.receipt())),
                            .nonce = nonce,
                            .share = testkit::DigestOf("share").hex(),
                            .percent = 50,
                            .finding = life::Finding::kRefuted};
  dispute.Add(life::Audited{.lease = 4, .report = life::SignReport(report, KeyOf("worker4"))});
  dispute.Add(life::Leased{.lease = 5, .worker = WorkerKey(4), .of = 4});
  const MemoryRun refuting(dispute.prepared, KeyOf("worker4"), FalseFrom(1));
  dispute.Add(life::Received{.lease = 5, .receipt = refuting.receipt(), .proof = {}, .model = 100});
  const std::size_t before = checked.size();
  dispute.Add(life::Judged{.among = {1, 5}, .evidence = whole->judged.evidence, .convicted = {1}, .decided = true});
  const std::vector<std::string> later(dispute.entries.begin() + static_cast<std::ptrdiff_t>(before), dispute.entries.end());
  ASSERT_TRUE(checked.Continue(later, dispute.Note(), std::nullopt));
  ASSERT_EQ(checked.Unproven().size(), 1U);
  const auto proven = checked.Prove(whole->evidence);
  ASSERT_FALSE(proven);
  EXPECT_NE(proven.error().message.find("does not convict the worker of lease 1"), std::string::npos) << proven.error().message;
}

}  // namespace
}  // namespace assay::client
