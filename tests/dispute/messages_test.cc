// What the game does with messages that it should not get, and with time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "table.h"

namespace assay::dispute::toy {
namespace {

using RunPtr = std::shared_ptr<const Run>;

constexpr Shape kShape{};

RunPtr RunWith(std::vector<Fault> faults) { return std::make_shared<Run>(kShape, std::move(faults)); }

// A game in which about everything happens: groups of several members, guests, false members of each sort, an equivocator, a silent one.
struct Crowd {
  explicit Crowd(std::uint64_t nonce, std::uint32_t keys = 0) : table(ToyLaw(kShape, nonce)) {
    const RunPtr honest = RunWith({}), one = RunWith({{Lie::kOutput, 3, 1, 1}});
    const RunPtr two = RunWith({{Lie::kOutput, 3, 1, 1}, {Lie::kInput, 7, 2, 1}}), three = RunWith({{Lie::kResult, 6}});
    for (const RunPtr& run : {honest, one, two, three, honest, one}) table.Add(run, keys++);
    const auto with = [&](const RunPtr& run, auto change) {
      const std::uint32_t key = keys++;
      table.Add(ClaimOf(*run, key), [=](ByteSpan asked, const Question& question) -> std::vector<Bytes> {
        return change(asked, question, *run->Answer(question), key);
      });
    };
    with(honest, [](ByteSpan, const Question&, const Bytes&, std::uint32_t) { return std::vector<Bytes>{}; });
    with(one, [](ByteSpan asked, const Question&, const Bytes& body, std::uint32_t key) {
      return std::vector<Bytes>{Message(asked, body, key), Message(asked, {}, key)};
    });
    with(honest, [](ByteSpan asked, const Question& question, Bytes body, std::uint32_t key) {
      if (!ProvesItself(question)) body[0] ^= 1;
      return std::vector<Bytes>{Message(asked, body, key)};
    });
    with(three, [](ByteSpan asked, const Question&, const Bytes&, std::uint32_t key) {
      return std::vector<Bytes>{Message(asked, {}, key)};
    });
  }
  Table table;
};

// A message that the game has seen: who it was from, and what it was about.
struct Seen {
  ProviderId provider = 0;
  Bytes asked, message;
};

std::vector<Seen> MessagesOf(std::uint64_t nonce, std::uint32_t keys) {
  std::vector<Seen> seen;
  Crowd crowd(nonce, keys);
  const RunPtr runs[] = {RunWith({}), RunWith({{Lie::kOutput, 3, 1, 1}}), RunWith({{Lie::kResult, 6}})};
  Referee referee(ToyLaw(kShape, nonce), crowd.table.claims(), {});
  // All that could ever be asked in this dispute, answered by three runs under every key.
  std::vector<Question> questions;
  for (std::int64_t at = 1; at <= 8; ++at) {
    for (const TreeKind kind : {TreeKind::kStates, TreeKind::kTrace})
      questions.push_back(CommitQuestion{{.kind = kind, .at = at}});
    for (std::uint64_t leaf = 0; leaf < 4; ++leaf) {
      questions.push_back(LeavesQuestion{{.kind = TreeKind::kTrace, .at = at}, {{leaf, leaf + 1}}});
      questions.push_back(PartsQuestion{.step = at, .node = static_cast<std::uint32_t>(leaf)});
    }
    questions.push_back(ExpandQuestion{{.kind = TreeKind::kTrace, .at = at}, {0, 4}});
  }
  for (std::uint64_t leaf = 0; leaf < 5; ++leaf) {
    questions.push_back(LeavesQuestion{{.kind = TreeKind::kLog}, {{leaf, leaf + 1}}});
    if (leaf < 4) questions.push_back(LeavesQuestion{{.kind = TreeKind::kLog}, {{leaf, leaf + 2}}});
  }
  questions.push_back(ExpandQuestion{{.kind = TreeKind::kLog}, {0, 5}});
  questions.push_back(ExpandQuestion{{.kind = TreeKind::kLog}, {0, 4}});
  for (const Question& question : questions) {
    const Bytes bytes = Encode(referee.record().dispute, question);
    for (const RunPtr& run : runs) {
      const Result<Bytes> body = run->Answer(question);
      if (!body) continue;
      for (ProviderId id = 0; id < crowd.table.claims().size(); ++id) {
        seen.push_back({id, bytes, Message(bytes, *body, keys + id)});
      }
    }
  }
  return seen;
}

// In each state of the game: everything illegal leaves it as it is, and calls for nothing.
TEST(Messages, IllegalOnesChangeNothing) {
  const std::vector<Seen> ours = MessagesOf(1, 0), foreign = MessagesOf(2, 0), strangers = MessagesOf(1, 100);
  Crowd crowd(1);
  std::mt19937 random(3);
  std::size_t states = 0, tried = 0;
  std::set<Digest> known;
  crowd.table.before_each = [&](const Referee& referee) {
    const Bytes dump = referee.Dump();
    if (!known.insert(HashBytes(dump)).second) return;
    ++states;
    const std::int64_t now = crowd.table.now_ms();
    const auto nothing = [&](const Event& event, const char* what) {
      ++tried;
      Referee copy = referee;
      const std::vector<Action> actions = copy.Handle(event);
      ASSERT_TRUE(actions.empty()) << what;
      ASSERT_EQ(copy.Dump(), dump) << what;
    };
    const bool started = states > 1;
    const Seen& seen = ours[random() % ours.size()];
    if (started) nothing(Started{now}, "a second start");
    if (!started) nothing(Tick{now + 1'000'000}, "time before the start");
    if (!started) nothing(Resumed{now}, "resuming before the start");
    nothing(Unreachable{1000, now}, "nobody unreachable");
    nothing(Answered{1000, HashBytes(seen.asked), seen.message, now}, "a message from nobody");
    for (std::size_t i = 0; i < 40; ++i) {
      const Seen& other = foreign[random() % foreign.size()];
      nothing(Answered{other.provider, HashBytes(other.asked), other.message, now}, "an answer in another dispute");
      const Seen& stranger = strangers[random() % strangers.size()];
      nothing(Answered{stranger.provider, HashBytes(stranger.asked), stranger.message, now}, "an answer under another key");
      const Seen& good = ours[random() % ours.size()];
      Seen bad = good;
      bad.message[random() % bad.message.size()] ^= static_cast<std::uint8_t>(1 << (random() % 8));
      nothing(Answered{bad.provider, HashBytes(bad.asked), bad.message, now}, "an altered answer");
      bad.message = good.message;
      bad.message.resize(random() % bad.message.size());
      nothing(Answered{bad.provider, HashBytes(bad.asked), bad.message, now}, "a cut answer");
      bad.message = good.message;
      bad.message.resize(bad.message.size() + (std::size_t{1} << 20));
      nothing(Answered{bad.provider, HashBytes(bad.asked), bad.message, now}, "an oversized answer");
      const auto others = static_cast<ProviderId>(crowd.table.claims().size());
      const auto impostor = static_cast<ProviderId>((good.provider + 1 + random() % (others - 1)) % others);
      nothing(Answered{impostor, HashBytes(good.asked), good.message, now}, "somebody else's answer");
      const Seen& about = ours[random() % ours.size()];
      if (about.asked != good.asked) {
        nothing(Answered{good.provider, HashBytes(about.asked), good.message, now}, "an answer to another question");
      }
    }
  };
  crowd.table.Play();
  EXPECT_EQ(crowd.table.verdict(), "0");
  EXPECT_GT(states, 60u);
  EXPECT_GT(tried, 10'000u);
}

// Ten thousand true messages of other disputes, other keys and other rounds.
TEST(Messages, ReplaysAreNotAccepted) {
  std::vector<Seen> replayed;
  for (std::uint64_t nonce = 2; replayed.size() < 5000; ++nonce)
    std::ranges::copy(MessagesOf(nonce, 0), std::back_inserter(replayed));
  for (std::uint32_t keys = 100; replayed.size() < 10'000; keys += 100) {
    std::ranges::copy(MessagesOf(1, keys), std::back_inserter(replayed));
  }
  std::mt19937 random(4);
  std::ranges::shuffle(replayed, random);
  Crowd crowd(1);
  std::size_t next = 0;
  crowd.table.before_each = [&](const Referee& referee) {
    Referee copy = referee;
    const Bytes dump = copy.Dump();
    // Also under the hash of what is really asked in this dispute.
    for (std::size_t i = 0; i < 200 && next < replayed.size(); ++i, ++next) {
      Seen& seen = replayed[next];
      const auto question = DecodeQuestion(seen.asked);
      const Digest here = HashBytes(Encode(referee.record().dispute, question->question));
      for (const Digest& hash : {HashBytes(seen.asked), here}) {
        ASSERT_TRUE(copy.Handle(Answered{seen.provider, hash, seen.message, crowd.table.now_ms()}).empty());
      }
    }
    ASSERT_EQ(copy.Dump(), dump);
  };
  crowd.table.Play();
  EXPECT_EQ(next, replayed.size());
  EXPECT_EQ(crowd.table.verdict(), "0");
}

// A referee that is started with two parties, and what it asks them.
struct Duel {
  explicit Duel(const Clocks& clocks) : referee(ToyLaw(kShape, 1), {ClaimOf(*runs[0], 0), ClaimOf(*runs[1], 1)}, clocks) {}
  void Do(const Event& event) {
    for (const Action& action : referee.Handle(event)) {
      if (const auto* send = std::get_if<Send>(&action)) sent.push_back(*send);
    }
  }
  Answered Reply(const Send& send, std::int64_t now_ms) const {
    const Bytes body = *runs[send.provider]->Answer(DecodeQuestion(send.question)->question);
    return {send.provider, HashBytes(send.question), Message(send.question, body, send.provider), now_ms};
  }
  // Answers everything that is open for everybody but `silent`.
  void Others(ProviderId silent, std::int64_t now_ms) {
    const std::vector<Send> open = std::move(sent);
    sent.clear();
    for (const Send& send : open) {
      if (send.provider == silent) {
        sent.push_back(send);
      } else {
        Do(Reply(send, now_ms));
      }
    }
  }
  Standing standing(ProviderId id) const { return referee.record().providers[id].standing; }

  RunPtr runs[2] = {RunWith({}), RunWith({{Lie::kOutput, 3, 1, 1}})};
  Referee referee;
  std::vector<Send> sent;
};

TEST(Clock, AnAnswerAtTheDeadlineCounts) {
  for (const std::int64_t late : {0, 1}) {
    Duel duel({.allowance_ms = 1000});
    duel.Do(Started{50});
    ASSERT_EQ(duel.sent.size(), 2u);
    EXPECT_EQ(duel.sent[0].deadline_ms, 1050);
    EXPECT_EQ(duel.referee.WakeAt(), 1051);
    duel.Others(0, 60);
    const Send send = duel.sent.front();
    duel.Do(Tick{1050});
    duel.Do(duel.Reply(send, 1050 + late));
    EXPECT_EQ(duel.standing(0), late == 0 ? Standing::kStanding : Standing::kSilent);
    EXPECT_EQ(duel.referee.done(), late == 1);
  }
}

TEST(Clock, OnlyTheOneWhoIsAskedIsCharged) {
  Duel duel({.allowance_ms = 1000, .rerun_ms = 0});
  duel.Do(Started{0});
  std::int64_t now = 0;
  // The other takes all its time in small pieces; the first answers at once and keeps its own.
  while (duel.standing(1) == Standing::kStanding && now < 10'000) {
    duel.Others(1, now);
    now += 150;
    ASSERT_FALSE(duel.sent.empty());
    const Send send = duel.sent.front();
    duel.sent.erase(duel.sent.begin());
    duel.Do(duel.Reply(send, now));
  }
  EXPECT_EQ(duel.standing(1), Standing::kSilent);
  EXPECT_EQ(now, 1050);
  EXPECT_EQ(duel.standing(0), Standing::kStanding);
  EXPECT_TRUE(duel.referee.done());
}

TEST(Clock, RerunningHasTimeOfItsOwn) {
  Duel duel({.allowance_ms = 1000, .rerun_ms = 5000});
  duel.Do(Started{0});
  for (int rounds = 0; rounds < 40 && !duel.referee.done(); ++rounds) {
    for (const Send& send : duel.sent) {
      const bool commit = std::holds_alternative<CommitQuestion>(DecodeQuestion(send.question)->question);
      EXPECT_TRUE(!commit || send.deadline_ms >= 6000);
      EXPECT_TRUE(commit || rounds > 3 || send.deadline_ms == 1000);
    }
    duel.Others(9, 0);
  }
  EXPECT_TRUE(duel.referee.done());
}

TEST(Clock, StandsStillWhileTheRefereeIsDown) {
  Duel duel({.allowance_ms = 1000});
  duel.Do(Started{0});
  duel.Others(0, 0);
  const Send send = duel.sent.front();
  duel.Do(Tick{400});
  duel.sent.clear();
  duel.Do(Resumed{1'000'000});      // another clock altogether
  ASSERT_EQ(duel.sent.size(), 1u);  // and the question once more
  EXPECT_EQ(duel.sent[0].question, send.question);
  EXPECT_EQ(duel.sent[0].deadline_ms, 1'000'600);
  duel.Do(Tick{1'000'600});
  EXPECT_EQ(duel.standing(0), Standing::kStanding);
  duel.Do(Resumed{7});
  duel.Do(Tick{7});
  EXPECT_EQ(duel.standing(0), Standing::kStanding);
  duel.Do(Tick{8});
  EXPECT_EQ(duel.standing(0), Standing::kSilent);
}

TEST(Clock, GoingBackwardsIsNoTime) {
  Duel duel({.allowance_ms = 1000});
  duel.Do(Started{5000});
  duel.Do(Tick{5900});
  duel.Do(Tick{100});
  duel.Do(Tick{6000});
  EXPECT_EQ(duel.standing(0), Standing::kStanding);
  duel.Do(Tick{6001});
  EXPECT_EQ(duel.standing(0), Standing::kSilent);
  EXPECT_EQ(duel.standing(1), Standing::kSilent);
}

TEST(Clock, UnansweredQuestionsAreSentAgain) {
  Duel duel({.allowance_ms = 1000, .resend_ms = 300, .retry_ms = 100});
  duel.Do(Started{0});
  duel.Others(0, 0);
  const Send send = duel.sent.front();
  duel.sent.clear();
  EXPECT_EQ(duel.referee.WakeAt(), 300);
  duel.Do(Tick{299});
  EXPECT_TRUE(duel.sent.empty());
  duel.Do(Tick{300});
  ASSERT_EQ(duel.sent.size(), 1u);
  EXPECT_EQ(duel.sent[0], send);
  duel.Do(Unreachable{0, 310});
  EXPECT_EQ(duel.referee.WakeAt(), 410);
  duel.Do(Tick{410});
  EXPECT_EQ(duel.sent.size(), 2u);
}

std::string VerdictOfRecord(const Record& record) {
  std::vector<Standing> standings;
  std::vector<std::optional<std::uint32_t>> groups;
  std::vector<std::uint32_t> numbers;
  for (const ProviderRecord& provider : record.providers) {
    numbers.push_back(static_cast<std::uint32_t>(standings.size()));
    standings.push_back(provider.standing);
    groups.push_back(provider.group);
  }
  return VerdictOf(standings, groups, numbers, false);
}

TEST(Refusal, OfTheDisputeIsNoLoss) {
  Duel duel({.allowance_ms = 1000});
  duel.Do(Started{0});
  duel.Do(Unreachable{0, 1, Hope::kFewer});
  EXPECT_EQ(duel.standing(0), Standing::kStanding) << "it has another address";
  duel.Do(Unreachable{0, 2, Hope::kNobody});
  EXPECT_TRUE(duel.referee.done());
  EXPECT_EQ(duel.standing(0), Standing::kUnheard);
  EXPECT_EQ(duel.standing(1), Standing::kStanding);
  EXPECT_TRUE(duel.referee.record().charges.empty());
  EXPECT_EQ(VerdictOfRecord(duel.referee.record()), "undecided");
}

// Somebody opens the dispute where the provider refused it, and lets its clock run out.
TEST(Refusal, IsRememberedWhenTheClockRunsOut) {
  Duel duel({.allowance_ms = 1000});
  duel.Do(Started{0});
  duel.Others(0, 0);
  duel.Do(Unreachable{0, 1, Hope::kFewer});
  duel.Do(Tick{2000});
  EXPECT_EQ(duel.standing(0), Standing::kUnheard);
}

TEST(Refusal, AfterTheFirstAnswerLosesAtOnce) {
  Duel duel({.allowance_ms = 1000});
  duel.Do(Started{0});
  duel.Others(2, 0);
  ASSERT_TRUE(duel.referee.record().providers[0].why.empty());
  duel.Do(Unreachable{0, 1, Hope::kNobody});
  EXPECT_EQ(duel.standing(0), Standing::kSilent);
  EXPECT_TRUE(duel.referee.record().providers[0].why.starts_with("refused to answer about"));
  EXPECT_EQ(VerdictOfRecord(duel.referee.record()), "1");
}

// A run directory that the referee's own machine cannot read any more: that says nothing about the run, whenever it happens.
TEST(Refusal, IsNotWhatTheRefereesMachineCannotDo) {
  Duel duel({.allowance_ms = 1000});
  duel.Do(Started{0});
  duel.Others(2, 0);
  ASSERT_TRUE(duel.referee.record().providers[0].why.empty());
  duel.Do(Unreachable{0, 1, Hope::kUnable});
  EXPECT_TRUE(duel.referee.done());
  EXPECT_EQ(duel.standing(0), Standing::kUnheard);
  EXPECT_EQ(duel.standing(1), Standing::kStanding);
  EXPECT_TRUE(duel.referee.record().charges.empty());
  EXPECT_EQ(VerdictOfRecord(duel.referee.record()), "undecided");
}

TEST(Events, EncodingsAreReadBack) {
  const Event events[] = {Started{1}, Answered{2, HashBytes({}), {1, 2, 3}, 4}, Tick{-5}, Unreachable{6, 7, Hope::kFewer},
                          Resumed{8}};
  for (const Event& event : events) {
    const Bytes bytes = Encode(event);
    ASSERT_TRUE(DecodeEvent(bytes));
    EXPECT_EQ(*DecodeEvent(bytes), event);
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(DecodeEvent(ByteSpan(bytes).first(size)));
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(DecodeEvent(longer));
  }
  EXPECT_FALSE(DecodeEvent(Bytes{9, 0, 0, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace assay::dispute::toy
