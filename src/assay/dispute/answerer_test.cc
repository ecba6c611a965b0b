#include "assay/dispute/answerer.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <random>
#include <thread>

#include "assay/dispute/run_for_test.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

constexpr std::uint32_t kSeed = 20267;

Digest Dispute(std::uint8_t number) { return HashBytes({&number, 1}); }

// A log of three entries, traces that cost one traced step each, states that fail, and a gate at which whoever asks for a trace waits.
class Costly : public Account {
 public:
  const Bytes& job() const override { return nothing_; }
  const Bytes& program() const override { return nothing_; }
  const std::string& receipt() const override { return receipt_; }
  Result<std::shared_ptr<const HashTree>> Tree(const TreeName& tree) override {
    if (tree.kind == TreeKind::kStates) return tl::unexpected(Error{"the disk failed", true});
    if (tree.kind == TreeKind::kState) throw std::bad_alloc();
    if (tree.kind != TreeKind::kTrace && tree.kind != TreeKind::kLog) return Err("no such tree");
    if (tree.kind == TreeKind::kTrace) {
      std::unique_lock lock(mutex_);
      ++work_.steps_traced;
      changed_.wait(lock, [&] { return open_; });
    }
    return std::make_shared<const HashTree>(Hashes{LeafHash({}), LeafHash({}), LeafHash({})});
  }
  Result<Bytes> Leaf(const TreeName&, std::uint64_t) override { return Bytes(1000); }
  Result<SamplesAnswer> Samples(const SamplesQuestion&) override { return Err("no samples"); }
  Result<std::vector<ref::Value>> Parts(const PartsQuestion&) override { return Err("no parts"); }
  Work work() const override {
    const std::lock_guard lock(mutex_);
    return work_;
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  Bytes nothing_;
  std::string receipt_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Work work_;
  bool open_ = true;
};

Question Trace(std::int64_t step) { return LeavesQuestion{.tree = {.kind = TreeKind::kTrace, .at = step}, .spans = {{0, 1}}}; }
Question Log() { return LeavesQuestion{.tree = {.kind = TreeKind::kLog}, .spans = {{0, 1}}}; }

class AnswererTest : public testing::Test {
 protected:
  Answer Ask(Answerer& answerer, const Digest& dispute, const Question& question) {
    const Bytes bytes = Encode(dispute, question);
    const auto answer = answerer.Answer(bytes);
    EXPECT_TRUE(answer) << answer.error().message;
    const auto read = DecodeAnswer(*answer);
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_TRUE(IsSignedBy(*read, bytes, key.verify_key()));
    return *read;
  }
  Costly account;
  SigningKey key = TestKey();
};

TEST_F(AnswererTest, EachDisputeHasABudget) {
  Answerer answerer(account, key, {.budget = Work{.steps_run = 10, .steps_traced = 3, .batches_loaded = 10}});
  for (std::int64_t step = 1; step <= 6; ++step) EXPECT_EQ(Ask(answerer, Dispute(1), Trace(step)).refused, step > 3) << step;
  EXPECT_EQ(account.work().steps_traced, 3);
  EXPECT_FALSE(Ask(answerer, Dispute(1), Trace(2)).refused) << "was answered before";
  EXPECT_FALSE(Ask(answerer, Dispute(1), Log()).refused) << "costs nothing";
  EXPECT_FALSE(Ask(answerer, Dispute(2), Trace(9)).refused) << "another dispute";
  EXPECT_EQ(account.work().steps_traced, 4);
}

TEST_F(AnswererTest, WithoutABudgetThereIsNone) {
  Answerer answerer(account, key, {});
  for (std::int64_t step = 1; step <= 200; ++step) EXPECT_FALSE(Ask(answerer, Dispute(1), Trace(step)).refused);
}

TEST_F(AnswererTest, SignsNothingUnderWhatIsNoQuestion) {
  Answerer answerer(account, key, {});
  const Bytes good = Encode(Dispute(1), Trace(1));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(answerer.Answer(ByteSpan(good).first(size)));
  EXPECT_FALSE(answerer.Answer(Bytes(kMaxQuestionBytes + 1)));
  std::mt19937 random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    Bytes bad = good;
    bad[random() % bad.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    const auto answer = answerer.Answer(bad);
    const auto question = DecodeQuestion(bad);
    EXPECT_EQ(answer.has_value(), question && std::get_if<LeavesQuestion>(&question->question) != nullptr &&
                                      std::get<LeavesQuestion>(question->question).tree.kind != TreeKind::kStates &&
                                      std::get<LeavesQuestion>(question->question).tree.kind != TreeKind::kState);
  }
}

TEST_F(AnswererTest, RefusesUnderItsSignatureWhatItDoesNotHave) {
  Answerer answerer(account, key, {});
  const Answer answer = Ask(answerer, Dispute(1), SamplesQuestion{.step = 1, .begin = 0, .end = 1});
  EXPECT_TRUE(answer.refused);
  EXPECT_EQ(std::string(answer.body.begin(), answer.body.end()), "no samples");
}

TEST_F(AnswererTest, AFailureOfTheMachineIsNoRefusal) {
  Answerer answerer(account, key, {});
  const auto disk = answerer.Answer(Encode(Dispute(1), CommitQuestion{{.kind = TreeKind::kStates, .at = 1}}));
  ASSERT_FALSE(disk);
  EXPECT_EQ(disk.error().message, "the disk failed");
  EXPECT_FALSE(answerer.Answer(Encode(Dispute(1), ExpandQuestion{{.kind = TreeKind::kState, .at = 1}, {0, 1}})));
  EXPECT_FALSE(Ask(answerer, Dispute(1), Trace(1)).refused) << "it goes on";
}

TEST_F(AnswererTest, AnAnswerIsWorthNothingInAnotherDispute) {
  Answerer answerer(account, key, {});
  const Answer answer = Ask(answerer, Dispute(1), Trace(1));
  EXPECT_FALSE(IsSignedBy(answer, Encode(Dispute(2), Trace(1)), key.verify_key()));
  EXPECT_FALSE(IsSignedBy(answer, Encode(Dispute(1), Trace(2)), key.verify_key()));
  EXPECT_NE(Ask(answerer, Dispute(2), Trace(1)).signature, answer.signature);
}

TEST_F(AnswererTest, RemembersWithinBounds) {
  constexpr std::size_t kBytes = 10'000;
  Answerer answerer(account, key, {.max_disputes = 3, .max_cached_bytes = kBytes});
  for (int round = 0; round < 3; ++round) {
    for (std::uint8_t dispute = 0; dispute < 100; ++dispute) {
      Ask(answerer, Dispute(dispute), Trace(dispute + 1));
      EXPECT_LE(answerer.cached_bytes(), kBytes);
      const Work before = account.work();
      Ask(answerer, Dispute(dispute), Trace(dispute + 1));
      EXPECT_EQ(account.work(), before) << "asked a moment ago";
    }
  }
  EXPECT_GT(answerer.cached_bytes(), kBytes / 2);
}

TEST_F(AnswererTest, ManyAskAtOnce) {
  Answerer answerer(account, key, {.max_waiting = 3});
  Ask(answerer, Dispute(1), Trace(1));
  account.Close();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { EXPECT_FALSE(Ask(answerer, Dispute(1), Trace(2)).refused); });
  while (answerer.waiting() < 3) std::this_thread::yield();
  EXPECT_FALSE(Ask(answerer, Dispute(1), Trace(1)).refused) << "remembered, so not behind the others";
  EXPECT_FALSE(answerer.Answer(Encode(Dispute(2), Trace(7)))) << "all places to wait are taken";
  account.Open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(account.work().steps_traced, 2) << "the same question is worked on once";
  EXPECT_EQ(answerer.waiting(), 0u);
  EXPECT_FALSE(Ask(answerer, Dispute(2), Trace(7)).refused);
}

TEST(AnswererOfARun, AnswersProveThemselves) {
  TestRun run(RunShape{.microbatches = 2, .commit_every = 2});
  const auto account = run.Account();
  Answerer answerer(*account, run.key, {.budget = account->Bill().value()});
  const auto ask = [&](const Question& question) {
    const auto answer = DecodeAnswer(answerer.Answer(Encode(Dispute(1), question)).value()).value();
    EXPECT_FALSE(answer.refused) << std::string(answer.body.begin(), answer.body.end());
    return answer.body;
  };
  const TreeName trace{.kind = TreeKind::kTrace, .at = 6};
  ask(CommitQuestion{{.kind = TreeKind::kStates, .at = 3}});
  const Digest root = ReadHashes(ask(CommitQuestion{trace}), 1)->front();
  const std::uint64_t size = (*account->Tree(trace))->size();
  const LeafSpan all{0, size};
  const Hashes hashes = ReadHashes(ask(ExpandQuestion{trace, all}), Frontier(all, kExpandLevels).size()).value();
  EXPECT_EQ(JoinFrontier(all, kExpandLevels, hashes), root);
  const LeavesQuestion leaves{trace, {{0, 2}, {size - 1, size}}};
  EXPECT_TRUE(OpenLeaves(ask(leaves), leaves, size, 4096, root));
  EXPECT_TRUE(ReadSamples(ask(SamplesQuestion{.step = 6, .begin = 0, .end = 8}), kMaxBodyBytes));
  const LeavesQuestion input{{.kind = TreeKind::kInput, .at = 6, .node = 0, .index = 0}, {{0, 1}}};
  ask(input);
  EXPECT_EQ(account->work().steps_traced, 2);
}

}  // namespace
}  // namespace assay::dispute
