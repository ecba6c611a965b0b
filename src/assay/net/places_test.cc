#include "assay/net/places.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

using Doing = Places::Doing;

TEST(Places, AnAddressStandsForAPeer) {
  EXPECT_EQ(PeerOfAddress("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(PeerOfAddress("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(PeerOfAddress("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(PeerOfAddress("2001:db8:1:2::1"), PeerOfAddress("2001:db8:1:2:ffff::"));
  EXPECT_NE(PeerOfAddress("2001:db8:1:3::1"), PeerOfAddress("2001:db8:1:2::1"));
  EXPECT_EQ(PeerOfAddress(""), "");
}

TEST(Places, ThereIsRoomUpToTheLimits) {
  Places places(3, 2);
  EXPECT_FALSE(places.Admit("a")->dismissed);
  EXPECT_FALSE(places.Admit("a")->dismissed);
  EXPECT_FALSE(places.Admit("b")->dismissed);
  EXPECT_EQ(places.size(), 3U);
  EXPECT_TRUE(places.Admit("b")->dismissed);
  EXPECT_EQ(places.size(), 3U);
}

TEST(Places, APeerAtItsLimitGivesUpItsOwnOldest) {
  Places places(100, 2);
  const auto other = places.Admit("b")->id;
  const auto first = places.Admit("a")->id;
  const auto second = places.Admit("a")->id;
  EXPECT_EQ(places.Admit("a")->dismissed, first);
  EXPECT_EQ(places.Admit("a")->dismissed, second);
  places.Leave(other);
  EXPECT_EQ(places.size(), 2U);
}

TEST(Places, WhoeverHoldsMostGivesWay) {
  Places places(5, 5);
  const auto one = places.Admit("one")->id;
  std::vector<Places::Id> many;
  for (int i = 0; i < 4; ++i) many.push_back(places.Admit("many")->id);
  EXPECT_EQ(places.Admit("two")->dismissed, many[0]);
  EXPECT_EQ(places.Admit("three")->dismissed, many[1]);
  // All but `many` have one; the oldest of all is nevertheless not the one to go.
  EXPECT_EQ(places.Admit("four")->dismissed, many[2]);
  // All are equal: the one that has waited longest.
  EXPECT_EQ(places.Admit("five")->dismissed, one);
  // With its second connection a peer would hold most.
  EXPECT_EQ(places.Admit("many")->dismissed, many[3]);
}

TEST(Places, WhatAConnectionDoesDecidesWhenItGoes) {
  Places places(4, 4);
  const auto busy = places.Admit("a")->id;
  const auto sending = places.Admit("a")->id;
  const auto waiting = places.Admit("a")->id;
  const auto leaving = places.Admit("a")->id;
  places.Set(busy, Doing::kBusy);
  places.Set(sending, Doing::kSending);
  places.Set(leaving, Doing::kLeaving);
  for (const auto expected : {leaving, waiting, sending}) {
    const auto admission = places.Admit("b");
    EXPECT_EQ(admission->dismissed, expected);
    places.Set(admission->id, Doing::kBusy);
  }
  EXPECT_FALSE(places.Admit("c"));
  EXPECT_EQ(places.size(), 4U);
  // Served, it has waited for the shortest time.
  places.Set(busy, Doing::kWaiting);
  EXPECT_EQ(places.Admit("c")->dismissed, busy);
}

TEST(Places, TheLatestAnswerCountsNotTheAgeOfTheConnection) {
  Places places(2, 2);
  const auto first = places.Admit("a")->id;
  const auto second = places.Admit("a")->id;
  places.Set(first, Doing::kBusy);
  places.Set(first, Doing::kWaiting);
  EXPECT_EQ(places.Admit("a")->dismissed, second);
}

TEST(Places, WhoIsNamedCountsByItsName) {
  Places places(100, 2);
  std::vector<Places::Id> named;
  // Many behind one address.
  for (int i = 0; i < 10; ++i) {
    const auto admission = places.Admit("a");
    EXPECT_FALSE(admission->dismissed);
    const auto naming = places.Name(admission->id, "@" + std::to_string(i));
    EXPECT_TRUE(naming.admitted && !naming.dismissed);
    named.push_back(admission->id);
  }
  EXPECT_EQ(places.size(), 10U);
  const auto second = places.Admit("a")->id;
  EXPECT_FALSE(places.Name(second, "@0").dismissed);
  EXPECT_FALSE(places.Name(second, "@0").dismissed);
  const auto third = places.Admit("a")->id;
  EXPECT_EQ(places.Name(third, "@0").dismissed, named[0]);
  places.Set(second, Doing::kBusy);
  places.Set(third, Doing::kBusy);
  const auto fourth = places.Admit("a")->id;
  EXPECT_FALSE(places.Name(fourth, "@0").admitted);
  places.Leave(fourth);
  places.Leave(third);
  places.Leave(second);
  EXPECT_EQ(places.size(), 9U);
  EXPECT_TRUE(places.Name(second, "@1").admitted);
  EXPECT_EQ(places.size(), 9U);
}

TEST(Places, WhatHasLeftIsForgotten) {
  Places places(1, 1);
  const auto first = places.Admit("a")->id;
  EXPECT_EQ(places.Admit("b")->dismissed, first);
  places.Set(first, Doing::kBusy);
  places.Leave(first);
  EXPECT_EQ(places.size(), 1U);
  EXPECT_TRUE(places.Admit("c"));
}

}  // namespace
}  // namespace assay
