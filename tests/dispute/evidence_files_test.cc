// Evidence that is longer than a judge reads becomes several files, which convict the same together.
#include "assay/dispute/evidence_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "table.h"

namespace assay::dispute::toy {
namespace {

using RunPtr = std::shared_ptr<const Run>;

constexpr Shape kShape{};

RunPtr RunWith(std::vector<Fault> faults) { return std::make_shared<Run>(kShape, std::move(faults)); }

// An honest party, and liars each with a lie of its own, so that each falls by a charge of its own.
struct Liars {
  Liars() : law(ToyLaw(kShape, 1)), table(law) {
    table.Add(RunWith({}), 0);
    for (std::uint32_t i = 0; i < 6; ++i) table.Add(RunWith({{Lie::kOutput, 1 + i, 1, 1}}), 1 + i);
    table.Play();
    whole = EvidenceOf(table.record());
  }
  // Who is convicted by a file; it must be read within the limits and be valid.
  std::set<std::size_t> ConvictedBy(const Evidence& file, const EvidenceLimits& limits) const {
    std::set<std::size_t> convicted;
    const auto read = DecodeEvidence(Encode(file), limits);
    if (!read) {
      ADD_FAILURE() << read.error().message;
      return convicted;
    }
    const auto judgement = JudgeBy(*law, table.claims(), *read);
    if (!judgement) {
      ADD_FAILURE() << judgement.error().message;
      return convicted;
    }
    for (std::size_t i = 0; i < judgement->parties.size(); ++i) {
      if (IsGuilty(judgement->parties[i].standing) && judgement->parties[i].proven) convicted.insert(i);
    }
    return convicted;
  }
  std::size_t EmptyBytes() const {
    Evidence empty = whole;
    empty.statements.clear();
    empty.charges.clear();
    return Encode(empty).size();
  }
  std::shared_ptr<const Law> law;
  Table table;
  Evidence whole;
};

TEST(EvidenceFiles, WhatFitsIsOneFile) {
  const Liars liars;
  const std::size_t bytes = Encode(liars.whole).size();
  const EvidenceFiles made = InFiles(liars.whole, {.bytes = bytes});
  ASSERT_EQ(made.files.size(), 1u);
  EXPECT_EQ(Encode(made.files[0]), Encode(liars.whole));
  EXPECT_TRUE(made.left_out.empty());
  EXPECT_FALSE(DecodeEvidence(Encode(liars.whole), {.bytes = bytes - 1}));
}

// At every limit: whatever is not left out convicts, in files that a judge with that limit reads.
TEST(EvidenceFiles, EveryLimitIsKept) {
  const Liars liars;
  const std::size_t most = Encode(liars.whole).size(), least = liars.EmptyBytes();
  const std::set<std::size_t> all = liars.ConvictedBy(liars.whole, {});
  ASSERT_GE(liars.whole.charges.size(), 3u);
  std::size_t most_files = 0, complete = 0;
  for (std::size_t bytes = least; bytes <= most; bytes += 97) {
    const EvidenceFiles made = InFiles(liars.whole, {.bytes = bytes});
    ASSERT_FALSE(made.files.empty());
    std::set<std::size_t> convicted;
    for (const Evidence& file : made.files) convicted.merge(liars.ConvictedBy(file, {.bytes = bytes}));
    EXPECT_TRUE(std::ranges::includes(all, convicted)) << bytes;
    if (made.left_out.empty()) {
      ++complete;
      most_files = std::max(most_files, made.files.size());
      EXPECT_EQ(convicted, all) << bytes;
    }
  }
  EXPECT_GT(complete, 1u);
  EXPECT_GT(most_files, 1u);
}

// Statements that many charges use are gone through as often, which a judge limits too.
TEST(EvidenceFiles, TheWeighedBytesAreLimited) {
  const Liars liars;
  std::size_t weighed = 0, largest = 0;
  for (const Charge& charge : liars.whole.charges) {
    const std::size_t one = WeighedBytes(charge, liars.whole.statements);
    weighed += one;
    largest = std::max(largest, one);
  }
  EXPECT_TRUE(DecodeEvidence(Encode(liars.whole), {.weighed = weighed}));
  EXPECT_FALSE(DecodeEvidence(Encode(liars.whole), {.weighed = weighed - 1}));
  const EvidenceLimits limits{.weighed = largest};
  const EvidenceFiles made = InFiles(liars.whole, limits);
  EXPECT_GT(made.files.size(), 1u);
  EXPECT_TRUE(made.left_out.empty());
  std::set<std::size_t> convicted;
  for (const Evidence& file : made.files) convicted.merge(liars.ConvictedBy(file, limits));
  EXPECT_EQ(convicted, liars.ConvictedBy(liars.whole, {}));
}

// A trial by which many fall weighs more than a file may, and is held once for some of them and once for the others.
TEST(EvidenceFiles, ATrialOfManyIsDividedAmongThem) {
  const auto law = ToyLaw(kShape, 1);
  Table table(law);
  table.Add(RunWith({}), 0);
  for (std::uint32_t i = 0; i < 9; ++i) table.Add(RunWith({{Lie::kOutput, 2, 1, 1}}), 1 + i);
  table.Play();
  Evidence whole = EvidenceOf(table.record());
  const auto found =
      std::ranges::find_if(whole.charges, [](const Charge& charge) { return std::holds_alternative<Trial>(charge); });
  ASSERT_NE(found, whole.charges.end());
  auto& trial = std::get<Trial>(*found);
  ASSERT_EQ(trial.convicted.size(), 9u);
  trial.shared = trial.said[0];
  std::ranges::sort(trial.shared);
  Trial of_two = trial;
  of_two.convicted.resize(2);
  const EvidenceLimits limits{.weighed = WeighedBytes(of_two, whole.statements)};
  const EvidenceFiles made = InFiles(whole, limits);
  EXPECT_GT(made.files.size(), 3u);
  EXPECT_TRUE(made.left_out.empty());
  std::set<std::size_t> convicted;
  for (const Evidence& file : made.files) {
    const auto read = DecodeEvidence(Encode(file), limits);
    ASSERT_TRUE(read) << read.error().message;
    const auto judgement = JudgeBy(*law, table.claims(), *read);
    ASSERT_TRUE(judgement) << judgement.error().message;
    for (std::size_t i = 0; i < judgement->parties.size(); ++i) {
      if (IsGuilty(judgement->parties[i].standing) && judgement->parties[i].proven) convicted.insert(i);
    }
  }
  EXPECT_EQ(convicted, (std::set<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// Nobody counts as convicted whom no file convicts.
TEST(EvidenceFiles, WhatFitsNowhereIsTheRefereesWord) {
  const Liars liars;
  for (const std::size_t bytes : {liars.EmptyBytes(), liars.EmptyBytes() - 1}) {
    const EvidenceFiles made = InFiles(liars.whole, {.bytes = bytes});
    EXPECT_EQ(made.files.size(), bytes == liars.EmptyBytes() ? 1u : 0u);
    EXPECT_EQ(made.left_out.size(), liars.whole.charges.size());
    auto judgement = JudgeBy(*liars.law, liars.table.claims(), liars.whole);
    ASSERT_TRUE(judgement);
    EXPECT_TRUE(judgement->convicts);
    LeaveOut(made, *judgement);
    EXPECT_FALSE(judgement->convicts);
    EXPECT_EQ(judgement->parties[0].standing, Standing::kStanding);
    EXPECT_TRUE(IsGuilty(judgement->parties[1].standing));
    EXPECT_FALSE(judgement->parties[1].proven);
    EXPECT_NE(judgement->parties[1].by.find("does not fit"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::dispute::toy
