#include "assay/coordinator/book.h"

#include <gtest/gtest.h>

#include "assay/life/ruling.h"
#include "assay/merkle/tree.h"
#include "support/test_book.h"

namespace assay::coordinator {
namespace {

using testkit::DigestOf;
using testkit::KeyOf;
using testkit::ReceiptFile;
using testkit::WorkerKey;

using Orders = BookTest;
INSTANTIATE_TEST_SUITE_P(Engines, Orders, ::testing::ValuesIn(store::Engines(true)), store::EngineName);

std::string NoteBy(int worker, const std::string& root) {
  const Checkpoint head{.origin = testkit::OriginOf(worker), .size = 1, .root = DigestOf(root)};
  return SignCheckpoint(head, KeyOf("worker" + std::to_string(worker)));
}

TEST_P(Orders, ALateWorkerIsFencedOff) {
  AddWorker(1);
  AddWorker(2);
  const std::string order = Submit({.replicas = 1, .audit = 10});
  const life::LeaseNumber late = Lease(1);
  ASSERT_EQ(late, 1);
  Good(book_->Sweep());
  clock_->Pass(kLeaseMs);
  Good(book_->Sweep());
  EXPECT_EQ(Lease(2), 2);
  const std::string key = WorkerKey(1);
  EXPECT_FALSE(book_->Renew(key, order, late));
  EXPECT_FALSE(book_->Commit(key, order, {.lease = late, .note = NoteBy(1, "root")}));
  EXPECT_FALSE(book_->Receive(key, order, {.lease = late, .receipt = ReceiptFile(1, 0), .model = 100}));
  EXPECT_FALSE(book_->Receive(key, order, {.lease = 2, .receipt = ReceiptFile(1, 0), .model = 100})) << "another's lease";
  EXPECT_EQ(*book_->StateOf(key, order, late), LeaseState::kEnded);
  EXPECT_EQ(*book_->StateOf(key, order, 2), LeaseState::kNone);
  const auto news = book_->News(key, {order});
  ASSERT_TRUE(news && news->cancelled.size() == 1);
  EXPECT_EQ(news->cancelled[0], (std::pair<std::string, life::LeaseNumber>(order, late)));
}

TEST_P(Orders, SignsOfLifeThatAreWrittenTogetherKeepLeases) {
  AddWorker(1);
  const std::string order = Submit({.replicas = 2});
  ASSERT_EQ(Lease(1), 1);
  for (int i = 0; i < 4; ++i) {
    Good(book_->Sweep());
    clock_->Pass(kLeaseMs / 2);
    Good(book_->RenewAll(
        {{.point = PointOfWorker(1), .order = order, .lease = 1}, {.point = PointOfWorker(1), .order = order, .lease = 7}}));
  }
  Good(book_->Sweep());
  EXPECT_EQ(*book_->StateOf(WorkerKey(1), order, 1), LeaseState::kOpen);
}

TEST_P(Orders, WhoHoldsALeaseIsKnownWhileItIsOpen) {
  AddWorker(1);
  AddWorker(2);
  const std::string order = Submit({.replicas = 2});
  EXPECT_TRUE(book_->Holders()->empty());
  ASSERT_EQ(Lease(1), 1);
  EXPECT_EQ(*book_->Holders(), (std::set<std::string>{PointOfWorker(1)}));
  ASSERT_EQ(Lease(2), 2);
  Good(book_->GiveBack(WorkerKey(1), order, {.lease = 1, .why = life::Ending::kGivenBack}));
  EXPECT_EQ(*book_->Holders(), (std::set<std::string>{PointOfWorker(2)}));
}

TEST_P(Orders, ACommitmentCountsOnceAndOnlyWithItsSignature) {
  AddWorker(1);
  const std::string order = Submit({.replicas = 2});
  ASSERT_EQ(Lease(1), 1);
  EXPECT_FALSE(book_->Commit(WorkerKey(1), order, {.lease = 1, .note = NoteBy(2, "root")})) << "signed by another";
  Good(book_->Commit(WorkerKey(1), order, {.lease = 1, .note = NoteBy(1, "root")}));
  const std::int64_t size = (*book_->Look(order))->life.size();
  Good(book_->Commit(WorkerKey(1), order, {.lease = 1, .note = NoteBy(1, "root")}));
  EXPECT_EQ((*book_->Look(order))->life.size(), size) << "a repetition";
  EXPECT_FALSE(book_->Commit(WorkerKey(1), order, {.lease = 1, .note = NoteBy(1, "another")}))
      << "another log of the same size";
}

TEST_P(Orders, SealedOrdersGoToThoseWhoCanOpenThem) {
  AddWorker(1);
  AddWorker(2);
  AddWorker(3);
  Submit({.replicas = 2}, {2, 3});
  EXPECT_EQ(Lease(1), 0);
  EXPECT_EQ(Lease(2), 1);
  EXPECT_EQ(Lease(3), 2);
}

TEST_P(Orders, AuditorsAreGivenAuditsAlone) {
  AddWorker(1, "auditor");
  AddWorker(2);
  const std::string order = Submit({.replicas = 1, .audit = 10});
  EXPECT_EQ(Lease(1), 0);
  Run(2, order, 0);
  EXPECT_EQ(Lease(1), 2);
}

// The auditor's challenge is a lease like any other: one that is never heard of loses it, and somebody else audits.
TEST_P(Orders, AnAuditorThatRefutesAndIsNeverHeardOfAgainParksNothing) {
  AddWorker(1);
  AddWorker(2, "auditor");
  AddWorker(3);
  const std::string order = Submit({.replicas = 1, .audit = 10});
  Run(1, order, 0);
  const auto report = [&](int worker, life::Finding finding) {
    const auto given = book_->Next(WorkerKey(worker));
    ASSERT_TRUE(given && *given);
    ASSERT_EQ((*given)->role, life::Role::kAudit);
    const life::Report said{.order = order,
                            .lease = (*given)->lease,
                            .receipt = DigestOf(ReceiptFile(1, 0)),
                            .nonce = (*given)->nonce,
                            .share = {},
                            .percent = 10,
                            .finding = finding};
    Good(book_->Report(WorkerKey(worker), order,
                       {.lease = (*given)->lease,
                        .report = life::SignReport(testkit::Sampled(said, testkit::ReceiptOf(1, 0)),
                                                   KeyOf("worker" + std::to_string(worker)))}));
  };
  report(2, life::Finding::kRefuted);
  EXPECT_EQ(Lease(3), 0) << "no other audit before the challenge is over";
  const auto challenge = book_->Held("account of worker2", WorkerKey(2));
  ASSERT_TRUE(challenge && *challenge);
  EXPECT_EQ((*challenge)->role, life::Role::kTrain);
  EXPECT_EQ((*challenge)->of, 2);
  Good(book_->Sweep());
  clock_->Pass(kLeaseMs);
  Good(book_->Sweep());
  EXPECT_EQ(*book_->StateOf(WorkerKey(2), order, 3), LeaseState::kEnded);
  report(3, life::Finding::kVerified);
  EXPECT_EQ(VerdictOf(order), "verified");
}

TEST_P(Orders, WorkersOfOneAccountShareAnOrderUnlessTheOperatorForbidsIt) {
  AddWorker(1);
  AddWorker(2);
  Good(book_->AddWorker("account of worker1", WorkerKey(3), {.hardware = "{}"}));
  Submit({.replicas = 3});
  EXPECT_EQ(Lease(1), 1);
  book_ = MakeBook(*database_, false, true);
  EXPECT_EQ(Lease(3), 0) << "of the account of worker 1";
  EXPECT_EQ(Lease(2), 2);
  book_ = MakeBook(*database_);
  EXPECT_EQ(Lease(3), 3);
}

TEST_P(Orders, AnOlderAnnouncementTakesNothingBack) {
  AddWorker(1);
  const auto announced = [&](const std::string& name, std::uint64_t made) {
    return Registration{
        .hardware = "{}",
        .announcement = SignAnnouncement({.recipient = testkit::RecipientOf(name), .made = made}, KeyOf("worker1"))};
  };
  Good(book_->AddWorker("account of worker1", WorkerKey(1), announced("worker2", 5)));
  Good(book_->AddWorker("account of worker1", WorkerKey(1), announced("worker1", 1)));  // an old request, sent again
  Submit({.replicas = 2}, {2});
  EXPECT_EQ(Lease(1), 1);
  EXPECT_FALSE(book_->AddWorker("client", WorkerKey(1), announced("worker2", 6))) << "another account's key";
}

TEST_P(Orders, ADisputeBelongsToOneWhoGivesSignsOfLife) {
  const std::string order = Disputed();
  ASSERT_TRUE(book_->TakeDispute("a")->has_value());
  EXPECT_FALSE(book_->TakeDispute("b")->has_value());
  const auto second = MakeBook(*database_);  // another coordinator
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(second->TakeDispute("b")->has_value());
    clock_->Pass(kLeaseMs / 2);
    EXPECT_TRUE(*book_->HoldDispute("a", order));
  }
  EXPECT_FALSE(second->TakeDispute("b")->has_value());
  clock_->Pass(kLeaseMs);
  EXPECT_TRUE(second->TakeDispute("b")->has_value()) << "a is silent";
  EXPECT_FALSE(*book_->HoldDispute("a", order));
  const life::Judged judged{.among = {1, 2}, .evidence = {DigestOf("evidence").hex()}, .convicted = {2}, .decided = true};
  EXPECT_FALSE(book_->Judge("a", order, judged)) << "it is another's";
  Good(second->DropDispute("b", order));
  EXPECT_TRUE(book_->TakeDispute("a")->has_value()) << "left to whoever comes next";
  Good(book_->Judge("a", order, judged));
  Good(book_->Judge("a", order, judged));
  EXPECT_EQ(VerdictOf(order), "refereed");
  const auto convicted = book_->Next(WorkerKey(2));
  EXPECT_FALSE(convicted) << "who is convicted gets no work";
  EXPECT_EQ(book_->Workers(false)->size(), 1u);
  EXPECT_EQ(book_->Workers(true)->size(), 2u);
}

TEST_P(Orders, TheClientIsTheRefereeOfASealedOrder) {
  const std::string order = Disputed({1, 2});
  Good(book_->AddAccount("other"));
  EXPECT_FALSE(book_->TakeDispute("a")->has_value());
  life::Judged judged{.among = {1, 2}, .silent = {2}, .decided = true};
  EXPECT_FALSE(book_->JudgeSealed("client", order, judged)) << "the account alone does not make a client";
  judged.signature = life::SignRuling((*book_->Look(order))->life, judged, key_);
  EXPECT_FALSE(book_->JudgeSealed("client", order, judged)) << "signed by the coordinator";
  judged.signature = life::SignRuling((*book_->Look(order))->life, judged, KeyOf("client"));
  EXPECT_FALSE(book_->Judge("a", order, judged));
  EXPECT_FALSE(book_->JudgeSealed("other", order, judged));
  Good(book_->JudgeSealed("client", order, judged));
  Good(book_->JudgeSealed("client", order, judged));
  EXPECT_EQ(VerdictOf(order), "refereed");
  EXPECT_TRUE(book_->Next(WorkerKey(2))) << "silence convicts nobody";
}

TEST_P(Orders, TheClientOfAnOpenOrderIsNot) {
  const std::string order = Disputed();
  EXPECT_FALSE(book_->JudgeSealed("client", order, {.among = {1, 2}, .silent = {2}, .decided = true}));
}

TEST_P(Orders, RecordsGrowByCheckedJobsAlone) {
  const std::string order = Disputed();
  AddWorker(3);
  ASSERT_TRUE(book_->TakeDispute("a")->has_value());
  Good(book_->Judge("a", order, {.among = {1, 2}, .silent = {2}, .decided = true}));
  const auto workers = book_->Workers(true);
  ASSERT_TRUE(workers);
  for (const WorkerLine& line : *workers) EXPECT_EQ(line.clean, line.key == WorkerKey(1) ? 1 : 0) << line.key;
}

}  // namespace
}  // namespace assay::coordinator
