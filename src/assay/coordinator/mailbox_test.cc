#include "assay/coordinator/mailbox.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/test_book.h"

namespace assay::coordinator {
namespace {

class Mail : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    order_ = Disputed();
    ASSERT_TRUE(book_->TakeDispute("referee")->has_value());
  }
  PostedQuestion QuestionOf(int worker, const std::string& body = "question") {
    const ByteSpan bytes = AsBytes(body);
    return {.order = order_, .lease = worker, .kind = "answer", .body = Bytes(bytes.begin(), bytes.end())};
  }
  static PostedAnswer Say(const std::string& text) {
    const ByteSpan bytes = AsBytes(text);
    return {.body = Bytes(bytes.begin(), bytes.end())};
  }
  static std::string TextOf(const Posted& posted) {
    return posted.answer ? std::string(posted.answer->body.begin(), posted.answer->body.end()) : "(none)";
  }

  std::string order_;
  Bell bell_;
};
INSTANTIATE_TEST_SUITE_P(Engines, Mail, ::testing::ValuesIn(store::Engines(true)), store::EngineName);

TEST_P(Mail, AQuestionReachesItsWorkerAndTheFirstAnswerCounts) {
  Mailbox mailbox(*database_, bell_);
  const auto id = mailbox.Put("referee", QuestionOf(1));
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(*mailbox.Put("referee", QuestionOf(1)), *id) << "the same question";
  EXPECT_TRUE(mailbox.For(PointOfWorker(2))->empty());
  const auto questions = mailbox.For(PointOfWorker(1));
  ASSERT_TRUE(questions && questions->size() == 1);
  EXPECT_EQ((*questions)[0].id, *id);
  EXPECT_EQ((*questions)[0].body, QuestionOf(1).body);
  EXPECT_EQ(mailbox.Addressees()->size(), 1u);
  EXPECT_EQ(*mailbox.Answer(PointOfWorker(2), *id, Say("false")), Answered::kAnothers);
  EXPECT_EQ(*mailbox.Answer(PointOfWorker(1), *id, Say("true")), Answered::kTaken);
  EXPECT_EQ(*mailbox.Answer(PointOfWorker(1), *id, Say("twice")), Answered::kNotAsked);
  EXPECT_EQ(TextOf(*mailbox.Look(order_, *id)), "true");
  EXPECT_FALSE(mailbox.Look("another", *id)->there);
  EXPECT_TRUE(mailbox.For(PointOfWorker(1))->empty());
  // Asked again, it is put to the worker anew: one that was restarted has forgotten what it said.
  ASSERT_TRUE(mailbox.Put("referee", QuestionOf(1)));
  EXPECT_EQ(TextOf(*mailbox.Look(order_, *id)), "(none)");
  EXPECT_EQ(mailbox.For(PointOfWorker(1))->size(), 1u);
  Good(mailbox.Drop(*id));
  EXPECT_EQ(*mailbox.Answer(PointOfWorker(1), *id, Say("late")), Answered::kNotAsked);
}

TEST_P(Mail, AnAnswerAtAnotherCoordinatorEndsTheWait) {
  const auto other_database = Open();
  Bell other_bell;
  Mailbox mailbox(*database_, bell_), other(*other_database, other_bell);
  std::thread worker([&] {
    while (true) {
      const auto questions = other.For(PointOfWorker(2));
      if (questions && !questions->empty()) {
        EXPECT_EQ(*other.Answer(PointOfWorker(2), (*questions)[0].id, Say("here")), Answered::kTaken);
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const auto answer = mailbox.Ask("referee", QuestionOf(2), 20'000, [] { return false; });
  worker.join();
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ(std::string((*answer)->body.begin(), (*answer)->body.end()), "here");
  EXPECT_FALSE(mailbox.Look(order_, QuestionId(QuestionOf(2)))->there) << "what was read is gone";
}

TEST_P(Mail, NobodyAnswers) {
  Mailbox mailbox(*database_, bell_);
  const auto answer = mailbox.Ask("referee", QuestionOf(1), 50, [] { return false; });
  ASSERT_TRUE(answer);
  EXPECT_FALSE(*answer);
  EXPECT_TRUE(mailbox.For(PointOfWorker(1))->empty()) << "nobody waits for it any more";
}

TEST_P(Mail, WhatNobodyWaitsForIsSweptAway) {
  Mailbox mailbox(*database_, bell_);
  const auto own = mailbox.Put("referee", QuestionOf(1));
  const auto stale = mailbox.Put("another referee", QuestionOf(2));
  ASSERT_TRUE(own && stale);
  Good(mailbox.Sweep());
  EXPECT_TRUE(mailbox.Look(order_, *own)->there);
  EXPECT_FALSE(mailbox.Look(order_, *stale)->there) << "its asker does not hold the dispute";
  Good(book_->Judge("referee", order_, {.among = {1, 2}, .silent = {2}, .decided = true}));
  EXPECT_FALSE(mailbox.Look(order_, *own)->there) << "the dispute is over";
}

TEST_P(Mail, QuestionsAreBoundedInSizeAndNumber) {
  Mailbox mailbox(*database_, bell_);
  PostedQuestion large = QuestionOf(1);
  large.body.resize(3 << 20);
  EXPECT_FALSE(mailbox.Put("referee", large));
  PostedQuestion odd = QuestionOf(1);
  odd.kind = "secrets";
  EXPECT_FALSE(mailbox.Put("referee", odd));
  odd = QuestionOf(7);
  EXPECT_FALSE(mailbox.Put("referee", odd)) << "no such lease";
  bool full = false;
  for (int i = 0; i < Mailbox::kMaxOpen; ++i) ASSERT_TRUE(mailbox.Put("referee", QuestionOf(1, std::to_string(i)), &full));
  EXPECT_FALSE(mailbox.Put("referee", QuestionOf(1, "one more"), &full));
  EXPECT_TRUE(full);
  EXPECT_EQ(static_cast<std::int64_t>(mailbox.For(PointOfWorker(1))->size()), Mailbox::kMaxHandedOut);
}

}  // namespace
}  // namespace assay::coordinator
