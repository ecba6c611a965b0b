#include "assay/dispute/answerer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <random>
#include <thread>

#include "assay/merkle/tree.h"
#include "support/finished_run.h"

namespace assay::dispute {
namespace {

constexpr std::uint32_t kSeed = 20267;

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

// Signatures are good where they are those of the referee by name.
Signature By(const KeyPoint& referee) {
  Signature signature{};
  std::ranges::copy(referee, signature.begin());
  return signature;
}
constexpr KeyPoint kReferee{1}, kPinned{2}, kStranger{3};
constexpr Budget kBout{.work = {.steps_run = 10, .steps_traced = 2, .batches_loaded = 10}, .bytes = 100'000};

class AnswererTest : public testing::Test {
 protected:
  static Docket MakeDocket(Docket::Options options = {}) {
    if (options.bout.bytes == 0) options.bout = kBout;
    if (options.open_to_all.bytes == 0) options.open_to_all = Times(1000, kBout);
    const auto by = [](ByteSpan, const Signature& signature, const KeyPoint& key) { return signature == By(key); };
    return Docket({.job = {},
                   .receipt = HashBytes(AsBytes("own")),
                   .contradicts = [](const std::string& receipt) -> Status {
                     if (receipt == "own") return Err("says the same");
                     return {};
                   },
                   .is_opened = by,
                   .is_asked = [](ByteSpan, const Digest&, const Signature& signature,
                                  const KeyPoint& key) { return signature == By(key); }},
                  std::move(options));
  }
  static Opening OpeningOf(std::uint8_t number, const KeyPoint& referee = kReferee) {
    Opening opening{.referee = referee, .nonce = HashBytes({&number, 1}), .shown = "theirs"};
    for (const char* receipt : {"own", "theirs"}) opening.receipts.push_back(HashBytes(AsBytes(receipt)));
    std::ranges::sort(opening.receipts, {}, &Digest::bytes);
    return opening;
  }
  static Bytes Signed(Bytes bytes, const KeyPoint& referee) {
    const Signature signature = By(referee);
    bytes.insert(bytes.end(), signature.begin(), signature.end());
    return bytes;
  }
  static Digest Open(Answerer& answerer, std::uint8_t number, const KeyPoint& referee = kReferee) {
    const auto id = answerer.Open(Signed(Encode(OpeningOf(number, referee)), referee));
    EXPECT_TRUE(id) << id.error().why;
    return id.value_or(Digest{});
  }
  static Answerer::Outcome<Bytes> Send(Answerer& answerer, const Digest& dispute, const Question& question,
                                       const KeyPoint& referee = kReferee) {
    return answerer.Answer(Signed(Encode(dispute, question), referee));
  }
  Answer Ask(Answerer& answerer, const Digest& dispute, const Question& question, const KeyPoint& referee = kReferee) {
    const auto answer = Send(answerer, dispute, question, referee);
    EXPECT_TRUE(answer) << answer.error().why;
    if (!answer) return {};
    const auto read = DecodeAnswer(*answer);
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_TRUE(IsSignedBy(*read, Encode(dispute, question), key.verify_key()));
    return *read;
  }
  static Answerer::Failure::Kind KindOf(const Answerer::Outcome<Bytes>& outcome) {
    EXPECT_FALSE(outcome);
    return outcome ? Answerer::Failure::Kind::kMalformed : outcome.error().kind;
  }
  using Kind = Answerer::Failure::Kind;
  Costly account;
  SigningKey key = TestKey();
};

// Two receipts make at most two bouts; the third part of the budget is there for the last question, which may cost as much.
TEST_F(AnswererTest, WhatIsUsedUpIsNotSigned) {
  Answerer answerer(account, key, MakeDocket());
  const Digest one = Open(answerer, 1), two = Open(answerer, 2);
  for (std::int64_t step = 1; step <= 5; ++step) Ask(answerer, one, Trace(step));
  EXPECT_EQ(KindOf(Send(answerer, one, Trace(7))), Kind::kForbidden) << "it does not come back";
  EXPECT_EQ(account.work().steps_traced, 5);
  Ask(answerer, one, Trace(2));  // was answered before
  Ask(answerer, one, Log());     // costs nothing
  Ask(answerer, two, Trace(9));  // another dispute
}

// Whoever reads a question cannot ask another in its dispute.
TEST_F(AnswererTest, OnlyTheRefereeOfADisputeAsksInIt) {
  Answerer answerer(account, key, MakeDocket());
  const Digest dispute = Open(answerer, 1);
  for (std::int64_t step = 1; step <= 40; ++step) {
    EXPECT_EQ(KindOf(Send(answerer, dispute, Trace(step), kStranger)), Kind::kForbidden);
  }
  EXPECT_EQ(KindOf(Send(answerer, dispute, Log(), kStranger)), Kind::kForbidden);
  EXPECT_EQ(account.work().steps_traced, 0);
  Ask(answerer, dispute, Trace(1));
  EXPECT_EQ(KindOf(Send(answerer, dispute, Trace(1), kStranger)), Kind::kForbidden) << "though it is remembered";
}

TEST_F(AnswererTest, WhatIsNotOpenIsNotAnswered) {
  Answerer answerer(account, key, MakeDocket());
  for (std::uint8_t made_up = 0; made_up < 34; ++made_up) {
    EXPECT_EQ(KindOf(Send(answerer, HashBytes({&made_up, 1}), Trace(1))), Kind::kNotOpen);
  }
  EXPECT_EQ(account.work().steps_traced, 0);
}

TEST_F(AnswererTest, AnOpeningShowsSomethingToDispute) {
  Answerer answerer(account, key, MakeDocket());
  const auto refused = [&](Opening opening, const KeyPoint& by = kReferee) {
    const auto id = answerer.Open(Signed(Encode(opening), by));
    return !id && id.error().kind == Kind::kForbidden;
  };
  Opening same = OpeningOf(1);
  same.shown = "own";
  EXPECT_TRUE(refused(same)) << "shows our own receipt";
  Opening other = OpeningOf(1);
  other.shown = "another";
  EXPECT_TRUE(refused(other)) << "that takes no part";
  Opening without = OpeningOf(1);
  std::erase(without.receipts, HashBytes(AsBytes("own")));
  without.parties = 1;
  EXPECT_TRUE(refused(without)) << "we take no part";
  EXPECT_TRUE(refused(OpeningOf(1), kStranger)) << "signed by somebody else";
  EXPECT_FALSE(refused(OpeningOf(1)));
}

// Whoever was let in can ask to the end, whatever others ask; who would not be able to is not let in.
TEST_F(AnswererTest, StrangersShareWhatIsSetAsideAtTheOpening) {
  std::vector<OpeningNote> notes;
  Answerer open(account, key, MakeDocket({.bout = kBout, .open_to_all = Times(8, kBout)}),
                {.note = [&](const OpeningNote& note) { notes.push_back(note); }});
  const Digest first = Open(open, 1), second = Open(open, 2, kStranger);
  Open(open, 1);  // once more, which takes nothing
  const auto third = open.Open(Signed(Encode(OpeningOf(3)), kReferee));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().kind, Kind::kForbidden);
  EXPECT_EQ(third.error().why, "a dispute of 2 parties may take 3 bouts; left for referees that are not named here: 2");
  for (std::int64_t step = 1; step <= 5; ++step) Ask(open, second, Trace(step), kStranger);
  EXPECT_EQ(KindOf(Send(open, second, Trace(7), kStranger)), Kind::kForbidden);
  for (std::int64_t step = 11; step <= 15; ++step) Ask(open, first, Trace(step));
  EXPECT_FALSE(open.Open(Signed(Encode(OpeningOf(3)), kReferee))) << "what was asked for is spent";
  ASSERT_EQ(notes.size(), 4u);
  EXPECT_EQ(notes[0].bouts, 3);
  EXPECT_EQ(notes[0].bouts_left, 5);
  EXPECT_EQ(notes[1].referee, kStranger);
  EXPECT_EQ(notes[1].bouts_left, 2);
  EXPECT_FALSE(notes[1].pinned);
  EXPECT_EQ(notes[2].refused, third.error().why);
}

TEST_F(AnswererTest, PinnedRefereesAreNotUsedUpByOthers) {
  Answerer pinned(account, key, MakeDocket({.pinned = {kPinned}, .bout = kBout, .open_to_all = {}}));
  const auto stranger = pinned.Open(Signed(Encode(OpeningOf(1)), kReferee));
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().kind, Kind::kForbidden);
  for (std::uint8_t dispute = 0; dispute < 20; ++dispute) {
    const Digest id = Open(pinned, dispute, kPinned);
    for (std::int64_t step = 1; step <= 4; ++step) Ask(pinned, id, Trace(100 * dispute + step), kPinned);
  }
}

TEST_F(AnswererTest, SignsNothingUnderWhatIsNoQuestion) {
  Answerer answerer(account, key, MakeDocket());
  const Digest dispute = Open(answerer, 1);
  const Bytes good = Signed(Encode(dispute, Trace(1)), kReferee);
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(answerer.Answer(ByteSpan(good).first(size)));
  EXPECT_EQ(KindOf(answerer.Answer(Bytes(kMaxQuestionBytes + 65))), Kind::kMalformed);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    Bytes bad = good;
    bad[random() % bad.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    const auto answer = answerer.Answer(bad);
    EXPECT_TRUE(!answer || DecodeQuestion(ByteSpan(bad).first(bad.size() - 64)));
  }
}

TEST_F(AnswererTest, WhatItDoesNotHaveIsNotSigned) {
  Answerer answerer(account, key, MakeDocket());
  const Digest dispute = Open(answerer, 1);
  EXPECT_EQ(KindOf(Send(answerer, dispute, SamplesQuestion{.step = 1, .begin = 0, .end = 1})), Kind::kMalformed);
  const auto disk = Send(answerer, dispute, CommitQuestion{{.kind = TreeKind::kStates, .at = 1}});
  ASSERT_FALSE(disk);
  EXPECT_EQ(disk.error().why, "the disk failed");
  EXPECT_FALSE(Send(answerer, dispute, ExpandQuestion{{.kind = TreeKind::kState, .at = 1}, {0, 1}}));
  Ask(answerer, dispute, Trace(1));  // it goes on
}

// Otherwise whatever fails could be asked without end.
TEST_F(AnswererTest, WhatFailsIsChargedFor) {
  Answerer answerer(account, key, MakeDocket());
  const Digest dispute = Open(answerer, 1);
  const Question failing = CommitQuestion{{.kind = TreeKind::kStates, .at = 1}};
  std::size_t asked = 0;
  while (asked < 1000 && KindOf(Send(answerer, dispute, failing)) != Kind::kForbidden) ++asked;
  EXPECT_EQ(asked, 2 * kBout.bytes / Fees::kLeastBytes + 1);
}

TEST_F(AnswererTest, WhatADisputeTakesFollowsFromItsParties) {
  std::vector<OpeningNote> notes;
  Answerer answerer(account, key, MakeDocket({.bout = kBout, .open_to_all = Times(16, kBout)}),
                    {.note = [&](const OpeningNote& note) { notes.push_back(note); }});
  Opening many = OpeningOf(1);
  for (std::uint8_t more = 0; more < 20; ++more) many.receipts.push_back(HashBytes({&more, 1}));
  std::ranges::sort(many.receipts, {}, &Digest::bytes);
  EXPECT_TRUE(answerer.Open(Signed(Encode(many), kReferee))) << "two parties, however many receipts";
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].bouts, 3);
  many.parties = 9;
  many.nonce.bytes[0] ^= 1;
  const auto nine = answerer.Open(Signed(Encode(many), kReferee));
  ASSERT_FALSE(nine);
  EXPECT_EQ(nine.error().why, "a dispute of 9 parties may take 17 bouts; left for referees that are not named here: 13");
  for (const std::uint32_t parties : {0u, 23u, UINT32_MAX}) {
    many.parties = parties;
    const auto none = answerer.Open(Signed(Encode(many), kReferee));
    ASSERT_FALSE(none) << parties;
    EXPECT_EQ(none.error().kind, Kind::kMalformed);
  }
}

TEST_F(AnswererTest, AnAnswerIsWorthNothingInAnotherDispute) {
  Answerer answerer(account, key, MakeDocket());
  const Digest one = Open(answerer, 1), two = Open(answerer, 2);
  const Answer answer = Ask(answerer, one, Trace(1));
  EXPECT_FALSE(IsSignedBy(answer, Encode(two, Trace(1)), key.verify_key()));
  EXPECT_FALSE(IsSignedBy(answer, Encode(one, Trace(2)), key.verify_key()));
  EXPECT_NE(Ask(answerer, two, Trace(1)).signature, answer.signature);
}

TEST_F(AnswererTest, RemembersWithinBounds) {
  constexpr std::size_t kBytes = 10'000;
  Answerer answerer(account, key, MakeDocket({.pinned = {kReferee}, .max_disputes = 3}), {.max_cached_bytes = kBytes});
  for (int round = 0; round < 3; ++round) {
    for (std::uint8_t number = 0; number < 100; ++number) {
      const Digest dispute = Open(answerer, number);
      Ask(answerer, dispute, Trace(number + 1));
      EXPECT_LE(answerer.cached_bytes(), kBytes);
      const Work before = account.work();
      Ask(answerer, dispute, Trace(number + 1));
      EXPECT_EQ(account.work(), before) << "asked a moment ago";
    }
  }
  EXPECT_GT(answerer.cached_bytes(), kBytes / 2);
}

// However many disputes strangers open afterwards, and whatever they leave of the budget.
TEST_F(AnswererTest, StrangersCloseNoOpenDispute) {
  Answerer answerer(account, key, MakeDocket({.max_disputes = 3}));
  const Digest dispute = Open(answerer, 1);
  Ask(answerer, dispute, Trace(1));
  int opened = 1;
  for (std::uint8_t number = 2; number < 10; ++number) {
    opened += answerer.Open(Signed(Encode(OpeningOf(number, kStranger)), kStranger)) ? 1 : 0;
  }
  EXPECT_EQ(opened, 3);
  Ask(answerer, dispute, Trace(2));
}

TEST_F(AnswererTest, ManyAskAtOnce) {
  Answerer answerer(account, key, MakeDocket(), {.max_waiting = 3});
  const Digest dispute = Open(answerer, 1);
  Ask(answerer, dispute, Trace(1));
  account.Close();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { Ask(answerer, dispute, Trace(2)); });
  while (answerer.waiting() < 3) std::this_thread::yield();
  Ask(answerer, dispute, Trace(1));  // remembered, so not behind the others
  EXPECT_EQ(KindOf(Send(answerer, dispute, Trace(7))), Kind::kLater) << "all places to wait are taken";
  account.Open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(account.work().steps_traced, 2) << "the same question is worked on once";
  EXPECT_EQ(answerer.waiting(), 0u);
  Ask(answerer, dispute, Trace(7));
}

TEST(AnswererOfARun, AnswersProveThemselves) {
  TestRun run(RunShape{.microbatches = 2, .commit_every = 2});
  const auto account = run.Account();
  const SigningKey referee("referee", {9});
  const Budget bout = account->Bill().value();
  Answerer answerer(*account, run.key, DocketOf(*account, {.bout = bout, .open_to_all = Times(3, bout)}).value());
  Receipt other = OpenClaim(account->receipt(), "receipt")->receipt;
  const SigningKey liar("liar", {8});
  other.signer = liar.verify_key().ToString();
  Opening opening{.referee = referee.verify_key().point(), .shown = SignReceipt(other, liar)};
  const auto open = [&] {
    opening.receipts = {HashBytes(AsBytes(account->receipt())), HashBytes(AsBytes(opening.shown))};
    std::ranges::sort(opening.receipts, {}, &Digest::bytes);
    return answerer.Open(SignOpening(opening, referee));
  };
  ASSERT_FALSE(open()) << "it claims the same";
  other.final_state_root.bytes[0] ^= 1;
  opening.shown = SignReceipt(other, liar);
  const auto dispute = open();
  ASSERT_TRUE(dispute) << dispute.error().why;
  const Bytes first = Encode(*dispute, LeavesQuestion{{.kind = TreeKind::kLog}, {{0, 1}}});
  for (const Digest& other_receipt : {HashBytes(AsBytes(opening.shown)), Digest{}}) {
    const auto answer = answerer.Answer(SignQuestion(first, other_receipt, referee));
    ASSERT_FALSE(answer) << "it was put to somebody else";
    EXPECT_EQ(answer.error().kind, Answerer::Failure::Kind::kForbidden);
  }
  const auto ask = [&](const Question& question) {
    const auto answer =
        answerer.Answer(SignQuestion(Encode(*dispute, question), HashBytes(AsBytes(account->receipt())), referee));
    EXPECT_TRUE(answer) << answer.error().why;
    return answer ? DecodeAnswer(*answer).value().body : Bytes{};
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

// Strangers who ask about another step in between make the account run both again and again. Who asks about one step is charged for one.
TEST(AnswererOfARun, WhatOthersAskInBetweenIsNotChargedFor) {
  TestRun run(RunShape{.microbatches = 1, .commit_every = 2});
  const auto account = run.Account(RunAccount::Limits::Of(1));
  const Budget bout = account->Bill().value();
  Answerer answerer(*account, run.key, DocketOf(*account, {.bout = bout, .open_to_all = Times(6, bout)}).value());
  Receipt other = OpenClaim(account->receipt(), "receipt")->receipt;
  const SigningKey liar("liar", {8}), referee("referee", {9}), stranger("stranger", {10});
  other.signer = liar.verify_key().ToString();
  other.final_state_root.bytes[0] ^= 1;
  const std::string shown = SignReceipt(other, liar);
  const auto open = [&](const SigningKey& key) {
    Opening opening{.referee = key.verify_key().point(), .shown = shown};
    opening.receipts = {HashBytes(AsBytes(account->receipt())), HashBytes(AsBytes(shown))};
    std::ranges::sort(opening.receipts, {}, &Digest::bytes);
    return answerer.Open(SignOpening(opening, key)).value();
  };
  const Digest ours = open(referee), theirs = open(stranger);
  const TreeName trace{.kind = TreeKind::kTrace, .at = 6};
  const std::uint64_t size = (*account->Tree(trace))->size();
  const std::int64_t before = account->work().steps_traced;
  for (std::uint64_t leaf = 0; leaf < 12; ++leaf) {
    const auto ask = [&](const Digest& dispute, const SigningKey& key, std::int64_t step) {
      const LeavesQuestion question{{.kind = TreeKind::kTrace, .at = step}, {{leaf % size, leaf % size + 1}}};
      return answerer.Answer(SignQuestion(Encode(dispute, question), HashBytes(AsBytes(account->receipt())), key));
    };
    const auto answer = ask(ours, referee, 6);
    ASSERT_TRUE(answer) << leaf << ": " << answer.error().why;
    ask(theirs, stranger, 2);
  }
  EXPECT_GT(account->work().steps_traced - before, bout.work.steps_traced * 6)
      << "nothing had to be made again: this shows nothing";
}

}  // namespace
}  // namespace assay::dispute
