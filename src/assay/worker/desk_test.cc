#include "assay/worker/desk.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::worker {
namespace {

std::string Order(char digit) { return std::string(32, digit); }
GivenLease Lease(char digit, life::LeaseNumber number) { return {.name = {Order(digit), number}}; }

TEST(Desk, WorksOnOneLeaseAtATime) {
  Desk desk(false);
  EXPECT_EQ(desk.Request({}).wait_ms, 0);  // what a worker that was restarted holds, it wants to know at once
  EXPECT_EQ(desk.Take({.lease = Lease('a', 1)}).begin, Lease('a', 1));
  EXPECT_GT(desk.Request({}).wait_ms, 0);
  EXPECT_EQ(desk.Request({}).holding, std::vector<std::string>{Order('a')});
  const auto same = desk.Take({.lease = Lease('a', 1)});
  EXPECT_FALSE(same.begin || same.stop || same.abandon_unfinished);
  // Another lease: the one that is worked on must be over. The other is given again.
  const auto other = desk.Take({.lease = Lease('b', 2)});
  EXPECT_EQ(other.stop, (LeaseName{Order('a'), 1}));
  EXPECT_FALSE(other.begin);
  desk.Ended(WorkEnd::kOver);
  EXPECT_EQ(desk.Take({.lease = Lease('b', 2)}).begin, Lease('b', 2));
}

TEST(Desk, WhatIsCancelledStopsOrIsDropped) {
  Desk desk(false);
  desk.Take({.lease = Lease('a', 1)});
  const auto steps = desk.Take({.lease = Lease('a', 1), .cancelled = {{Order('a'), 1}, {Order('b'), 4}}});
  EXPECT_EQ(steps.stop, (LeaseName{Order('a'), 1}));
  EXPECT_EQ(steps.drop, (std::vector<LeaseName>{{Order('b'), 4}}));
}

TEST(Desk, AQuestionIsHandedOnOnceUntilItIsAnswered) {
  Desk desk(false);
  const WorkReply reply{.questions = {{.id = "q", .order = Order('a'), .kind = "job"}}};
  EXPECT_EQ(desk.Take(reply).questions.size(), 1U);
  EXPECT_EQ(desk.Take(reply).questions.size(), 0U);
  desk.Answered("q");
  EXPECT_EQ(desk.Take(reply).questions.size(), 1U);
}

TEST(Desk, OnceEndsWhenTheFirstOrderIsDecidedAndTakesNoOther) {
  Desk desk(true);
  EXPECT_TRUE(desk.Request({}).fresh);
  EXPECT_FALSE(desk.Take({.decided = {Order('z')}}).end);
  desk.Take({.lease = Lease('a', 1)});
  EXPECT_FALSE(desk.Request({}).fresh);
  // Decided while it works: the work stops first.
  const auto early = desk.Take({.lease = Lease('a', 1), .decided = {Order('a')}});
  EXPECT_TRUE(early.stop && !early.end && early.forget.empty());
  desk.Ended(WorkEnd::kOver);
  // It asks about the order although nothing is left of it on disk.
  EXPECT_EQ(desk.Request({}).holding, std::vector<std::string>{Order('a')});
  const auto late = desk.Take({.decided = {Order('a')}});
  EXPECT_TRUE(late.end);
  EXPECT_EQ(late.forget, std::vector<std::string>{Order('a')});
}

TEST(Desk, AfterARefutationItLooksOutForTheChallenge) {
  Desk desk(false);
  desk.Take({.lease = Lease('a', 2)});
  const auto usual = desk.Request({Order('a')}).wait_ms;
  desk.Ended(WorkEnd::kRefuted);
  EXPECT_LT(desk.Request({Order('a')}).wait_ms, usual);
  desk.Take({.lease = Lease('a', 3)});
  EXPECT_EQ(desk.Request({Order('a')}).wait_ms, usual);
}

TEST(Desk, OnceStillTakesTheChallengeOfItsOwnAudit) {
  Desk desk(true);
  desk.Take({.lease = Lease('a', 2)});
  desk.Ended(WorkEnd::kRefuted);
  EXPECT_TRUE(desk.Request({Order('a')}).fresh);
  desk.Take({.lease = Lease('a', 3)});
  EXPECT_FALSE(desk.Request({Order('a')}).fresh);
}

TEST(Desk, LongListsAreAskedAboutInParts) {
  std::vector<std::string> held;
  for (int i = 0; i < 600; ++i) held.push_back(fmt::format("{:032x}", i));
  Desk desk(false);
  std::set<std::string> named;
  for (int i = 0; i < 4; ++i) {
    const auto request = desk.Request(held);
    EXPECT_LE(request.holding.size(), 256U);
    named.insert(request.holding.begin(), request.holding.end());
  }
  EXPECT_EQ(named.size(), held.size());
}

}  // namespace
}  // namespace assay::worker
