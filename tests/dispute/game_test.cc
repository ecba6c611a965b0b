// The game of many providers over the toy job: who falls, who stands, and how many matches it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "table.h"

namespace assay::dispute::toy {
namespace {

using RunPtr = std::shared_ptr<const Run>;

constexpr Shape kShape{};

RunPtr Honest(const Shape& shape = kShape) { return std::make_shared<Run>(shape, std::vector<Fault>{}); }
RunPtr Liar(const Fault& fault, const Shape& shape = kShape) { return std::make_shared<Run>(shape, std::vector<Fault>{fault}); }

std::size_t CeilLog2(std::size_t n) {
  std::size_t log = 0;
  while ((std::size_t{1} << log) < n) ++log;
  return log;
}

std::size_t MatchesOf(const Record& record, std::uint32_t group) {
  return static_cast<std::size_t>(std::ranges::count_if(
      record.matches, [&](const MatchRecord& match) { return match.groups[0] == group || match.groups[1] == group; }));
}

std::vector<Fault> AllFaults(const Shape& shape) {
  std::vector<Fault> faults{{Lie::kStart}, {Lie::kReceipt}};
  for (std::int64_t step = 1; step <= shape.steps; ++step) {
    faults.push_back({Lie::kResult, step, 0, 1});
    for (std::uint32_t node = 0; node < shape.nodes; ++node) {
      for (const std::uint32_t delta : {1u, 2u}) faults.push_back({Lie::kOutput, step, node, delta});
      faults.push_back({Lie::kInput, step, node, 1});
    }
  }
  return faults;
}

TEST(Game, EveryLieFallsOnEitherSide) {
  for (const Shape& shape : {Shape{8, 2, 4}, Shape{8, 1, 4}, Shape{8, 8, 3}, Shape{1, 1, 1}, Shape{2, 2, 1}}) {
    for (const Fault& fault : AllFaults(shape)) {
      for (const bool swapped : {false, true}) {
        Table table(ToyLaw(shape, 1));
        table.Add(swapped ? Liar(fault, shape) : Honest(shape), 1);
        table.Add(swapped ? Honest(shape) : Liar(fault, shape), 2);
        const Record& record = table.Play();
        ASSERT_EQ(table.verdict(), swapped ? "b" : "a") << static_cast<int>(fault.lie) << " at " << fault.step;
        ASSERT_EQ(record.matches.size(), 1u);
        EXPECT_EQ(record.matches[0].bouts, 1u);
        EXPECT_EQ(record.charges.size(), 1u);
        EXPECT_LE(record.matches[0].rounds,
                  CeilLog2(shape.entries()) + CeilLog2(static_cast<std::size_t>(shape.every)) + CeilLog2(shape.nodes) + 12);
      }
    }
  }
}

TEST(Game, TwoWhoAgree) {
  Table table(ToyLaw(kShape, 1));
  table.Add(Honest(), 1);
  table.Add(Honest(), 2);
  EXPECT_TRUE(table.Play().matches.empty());
  EXPECT_EQ(table.verdict(), "both");
  EXPECT_EQ(table.sent(), 0u);
}

TEST(Game, TwoLiarsBothFallWhereBothAreWrong) {
  Table table(ToyLaw(kShape, 1));
  table.Add(Liar({Lie::kOutput, 3, 2, 1}), 1);
  table.Add(Liar({Lie::kOutput, 3, 2, 3}), 2);
  table.Play();
  EXPECT_EQ(table.verdict(), "none");
}

TEST(Game, NobodyAndOne) {
  Table none(ToyLaw(kShape, 1));
  none.Play();
  EXPECT_EQ(none.verdict(), "none");
  Table one(ToyLaw(kShape, 1));
  one.Add(Honest(), 1);
  one.Play();
  EXPECT_EQ(one.verdict(), "both");
}

TEST(Intake, WrongLengthIsRefused) {
  Table table(ToyLaw(kShape, 1));
  table.Add(Honest(Shape{8, 4, 4}), 1);
  table.Add(Honest(), 2);
  table.Play();
  EXPECT_EQ(table.standing(0), Standing::kRefused);
  EXPECT_NE(table.record().providers[0].why, "");
  EXPECT_EQ(table.verdict(), "both") << "of those who take part";
}

// Of claims that can all be true (rounded jobs), a key takes part with one, whatever the order: what it signs is then about that one.
TEST(Intake, OneClaimOfAKeyTakesPartWhereSeveralCanBeTrue) {
  std::optional<Digest> kept;
  for (const bool swapped : {false, true}) {
    auto law = std::make_shared<Law>(*ToyLaw(kShape, 1));
    law->contradict = [](const Claim&, const Claim&) { return false; };
    Table table(law);
    table.Add(swapped ? Liar({Lie::kResult, 4}) : Honest(), 2);
    table.Add(swapped ? Honest() : Liar({Lie::kResult, 4}), 2);
    table.Add(Honest(), 3);
    const Record& record = table.Play();
    std::size_t refused = 0;
    for (const ProviderId id : {0u, 1u}) {
      EXPECT_FALSE(record.providers[id].standing == Standing::kEquivocated);
      refused += table.standing(id) == Standing::kRefused ? 1 : 0;
      if (table.standing(id) == Standing::kRefused) continue;
      const Digest receipt = table.claims()[id].receipt_hash;
      EXPECT_EQ(kept.value_or(receipt), receipt) << "the order of the list";
      kept = receipt;
    }
    EXPECT_EQ(refused, 1u);
    EXPECT_EQ(table.standing(2), Standing::kStanding);
  }
}

TEST(Intake, OneClaimForEachKey) {
  Table table(ToyLaw(kShape, 1));
  table.Add(Honest(), 1);
  table.Add(Honest(), 1);  // counts once
  table.Add(Honest(), 2);
  table.Add(Liar({Lie::kStart}), 2);  // both are out
  table.Add(Liar({Lie::kResult, 4}), 3);
  const Record& record = table.Play();
  EXPECT_EQ(table.standing(0), Standing::kStanding);
  EXPECT_EQ(table.standing(1), Standing::kRepeated);
  EXPECT_EQ(table.standing(2), Standing::kEquivocated);
  EXPECT_EQ(table.standing(3), Standing::kEquivocated);
  EXPECT_EQ(table.standing(4), Standing::kConvicted);
  EXPECT_EQ(record.matches.size(), 1u);
  ASSERT_TRUE(std::holds_alternative<TwoReceipts>(record.charges[0]));
  EXPECT_EQ(std::get<TwoReceipts>(record.charges[0]).first, 2u);
  EXPECT_EQ(std::get<TwoReceipts>(record.charges[0]).second, 3u);
}

TEST(Game, ThousandProvidersWithThreeRootsNeedTwoMatches) {
  // Lies at different entries, so that no group can stand with another.
  for (const bool apart : {true, false}) {
    const RunPtr runs[] = {Liar({Lie::kOutput, 3, 1, 1}), Honest(), Liar({Lie::kOutput, apart ? 7 : 3, 2, 2})};
    Table table(ToyLaw(kShape, 1));
    for (std::uint32_t i = 0; i < 1000; ++i) table.Add(runs[i % 3], i);
    const Record& record = table.Play();
    EXPECT_EQ(record.groups.size(), 3u);
    EXPECT_EQ(record.matches.size(), 2u);
    for (ProviderId id = 0; id < 1000; ++id) {
      ASSERT_EQ(table.standing(id), id % 3 == 1 ? Standing::kStanding : Standing::kConvicted) << id;
    }
  }
}

// Members of the honest group that do anything but answer what is true.
Conduct Misplays(RunPtr run, std::uint32_t key, std::uint32_t way, RunPtr other) {
  return [=](ByteSpan asked, const Question& question) -> std::vector<Bytes> {
    const Bytes body = *run->Answer(question);
    Bytes wrong = body;
    wrong.back() ^= 1;
    switch (way % 8) {
      case 0: return {};
      case 1: return {Message(asked, {}, key)};
      case 2: return {Message(asked, wrong, key)};
      case 3: return {Message(asked, body, key + 1)};
      case 4: return {Message(asked, body, key), Message(asked, wrong, key)};
      case 5: {
        for (std::size_t i = 0; i < 4; ++i) wrong[i] = static_cast<std::uint8_t>(key >> (8 * i));  // another one each
        return {Message(asked, ProvesItself(question) ? Bytes{} : wrong, key)};
      }
      case 6: return {Message(asked, *other->Answer(question), key)};
      default: return {Message(asked, Bytes(kMaxAnswerBytes - 200), key)};
    }
  };
}

TEST(Game, SybilsMisplayingTheHonestRootDoNotHurtIt) {
  const RunPtr honest = Honest(), liar = Liar({Lie::kOutput, 5, 2, 1});
  for (const std::uint32_t place : {0u, 500u, 999u}) {
    Table table(ToyLaw(kShape, 1));
    const ProviderId first = table.Add(liar, 5000);
    for (std::uint32_t i = 0; i < 1000; ++i) {
      if (i == place) {
        table.Add(honest, i);
      } else {
        table.Add(ClaimOf(*honest, i), Misplays(honest, i, i, liar));
      }
    }
    const Record& record = table.Play();
    EXPECT_EQ(record.matches.size(), 1u);
    EXPECT_EQ(table.standing(first), Standing::kConvicted);
    EXPECT_EQ(table.standing(1 + place), Standing::kStanding);
    // Silent ones cost patience together, not one after the other: all of it is over in the clocks of a few bouts.
    EXPECT_LT(table.now_ms(), 40 * 660'000);
  }
}

TEST(Game, OneHonestAgainstColludingLiars) {
  std::mt19937 random(17);
  for (std::size_t n = 2; n <= 16; ++n) {
    for (int games = 0; games < 40; ++games) {
      const std::vector<Fault> faults = AllFaults(kShape);
      const RunPtr honest = Honest();
      Table table(ToyLaw(kShape, 1));
      const std::size_t place = random() % n;
      std::vector<RunPtr> liars;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (i == place) {
          table.Add(honest, i);
        } else if (random() % 4 == 0 && !liars.empty()) {  // joins another liar's claim
          table.Add(liars[random() % liars.size()], i);
        } else if (random() % 4 == 0) {  // or the honest one's
          table.Add(ClaimOf(*honest, i), Misplays(honest, i, static_cast<std::uint32_t>(random()), honest));
        } else {
          liars.push_back(Liar(faults[random() % faults.size()]));
          table.Add(liars.back(), i);
        }
      }
      const Record& record = table.Play();
      const std::uint32_t group = *record.providers[place].group;
      ASSERT_EQ(table.standing(static_cast<ProviderId>(place)), Standing::kStanding) << n << " providers, game " << games;
      for (ProviderId id = 0; id < n; ++id) {
        ASSERT_TRUE(record.providers[id].group == group || table.standing(id) != Standing::kStanding);
      }
      EXPECT_LE(record.matches.size(), record.groups.size() - 1);
      EXPECT_LE(MatchesOf(record, group), CeilLog2(record.groups.size()));
    }
  }
}

// Both lie about entry 2 in the same way and differ later: what convicts one convicts the other.
TEST(Game, WhoeverHasTheSameEntriesFallsToo) {
  const Fault first{Lie::kOutput, 3, 1, 1}, later{Lie::kOutput, 7, 0, 1};
  Table table(ToyLaw(kShape, 1));
  table.Add(Honest(), 1);
  table.Add(Liar(first), 2);
  table.Add(ComesLater(*ToyLaw(kShape, 1), kShape, first, later), 3);
  const Record& record = table.Play();
  EXPECT_EQ(record.groups.size(), 3u);
  EXPECT_EQ(record.matches.size(), 1u);
  EXPECT_EQ(table.standing(0), Standing::kStanding);
  EXPECT_EQ(table.standing(1), Standing::kConvicted);
  EXPECT_EQ(table.standing(2), Standing::kConvicted);
  ASSERT_EQ(record.charges.size(), 1u);
  const Trial& trial = std::get<Trial>(record.charges[0]);
  EXPECT_EQ(trial.convicted, (std::vector<ProviderId>{1, 2}));
  EXPECT_EQ(trial.shared.size(), 2u);
}

// A guest that plays badly is alone in it: the group it stood with goes on without it.
TEST(Game, FalseGuestsDoNotHurtTheirHosts) {
  const RunPtr honest = Honest(), liar = Liar({Lie::kOutput, 5, 2, 1});
  for (std::uint32_t way = 0; way < 8; ++way) {
    Claim other = ClaimOf(*honest, 3);
    other.receipt.final_state_root = {};
    Table table(ToyLaw(kShape, 1));
    table.Add(liar, 1);
    table.Add(honest, 2);
    table.Add(other, Misplays(honest, 3, way, liar));
    table.Play();
    EXPECT_NE(table.standing(0), Standing::kStanding);
    EXPECT_EQ(table.standing(1), Standing::kStanding);
    EXPECT_NE(table.standing(2), Standing::kStanding);
  }
}

TEST(Game, AnswersAreAskedOnceAndUsedAgain) {
  std::map<std::pair<ProviderId, Bytes>, int> asked;
  Table table(ToyLaw(kShape, 1));
  const RunPtr runs[] = {Liar({Lie::kOutput, 3, 1, 1}), Honest(), Liar({Lie::kOutput, 3, 2, 2}), Liar({Lie::kInput, 3, 1, 1})};
  for (std::uint32_t i = 0; i < 4; ++i) {
    const Conduct plays = Plays(runs[i], i);
    table.Add(ClaimOf(*runs[i], i), [&asked, plays, i](ByteSpan bytes, const Question& question) {
      ++asked[{i, Bytes(bytes.begin(), bytes.end())}];
      return plays(bytes, question);
    });
  }
  table.Play();
  for (const auto& [question, times] : asked) EXPECT_EQ(times, 1) << "provider " << question.first;
  EXPECT_EQ(table.verdict(), "1");
}

}  // namespace
}  // namespace assay::dispute::toy
