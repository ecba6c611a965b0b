// Evidence convicts those who fell, and nobody else, whatever is done to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "table.h"

namespace assay::dispute::toy {
namespace {

using RunPtr = std::shared_ptr<const Run>;

constexpr Shape kShape{};

RunPtr RunWith(std::vector<Fault> faults) { return std::make_shared<Run>(kShape, std::move(faults)); }

// One honest, one liar, one that equivocates, one that stands with the liar and one that is silent.
struct Crowd {
  Crowd() : law(ToyLaw(kShape, 1)), table(law) {
    const RunPtr honest = RunWith({}), liar = RunWith({{Lie::kOutput, 3, 1, 1}});
    table.Add(honest, 0);
    table.Add(liar, 1);
    table.Add(ClaimOf(*liar, 2), [liar](ByteSpan asked, const Question& question) -> std::vector<Bytes> {
      return {Message(asked, *liar->Answer(question), 2), Message(asked, {}, 2)};
    });
    table.Add(ComesLater(*law, kShape, {Lie::kOutput, 3, 1, 1}, {Lie::kOutput, 7, 1, 1}), 3);
    table.Play();
  }
  std::shared_ptr<const Law> law;
  Table table;
};

TEST(Evidence, SaysWhoIsConvictedByWhat) {
  Crowd crowd;
  const auto judgement = JudgeBy(*crowd.law, crowd.table.claims(), EvidenceOf(crowd.table.record()));
  ASSERT_TRUE(judgement) << judgement.error().message;
  EXPECT_TRUE(judgement->convicts);
  EXPECT_EQ(judgement->verdict, "0");
  EXPECT_EQ(judgement->parties[1].by, "output");
  EXPECT_EQ(judgement->parties[2].by.substr(0, 16), "gave two answers");
  EXPECT_EQ(judgement->parties[3].by, "output");
  ASSERT_EQ(judgement->findings.size(), 1u);
  EXPECT_EQ(judgement->findings[0].step, 3);
  EXPECT_EQ(judgement->findings[0].node, 1u);
}

TEST(Evidence, SilenceIsNotProven) {
  Table table(ToyLaw(kShape, 1));
  table.Add(RunWith({}), 0);
  table.Add(ClaimOf(*RunWith({{Lie::kStart}}), 1), [](ByteSpan, const Question&) { return std::vector<Bytes>{}; });
  table.Play();
  const auto judgement = JudgeBy(*ToyLaw(kShape, 1), table.claims(), EvidenceOf(table.record()));
  ASSERT_TRUE(judgement);
  EXPECT_FALSE(judgement->convicts);
  EXPECT_FALSE(judgement->parties[1].proven);
  EXPECT_EQ(judgement->verdict, "0");
}

TEST(Evidence, AgreementConvictsNobody) {
  Table table(ToyLaw(kShape, 1));
  table.Add(RunWith({}), 0);
  table.Add(RunWith({}), 1);
  table.Play();
  const auto judgement = JudgeBy(*ToyLaw(kShape, 1), table.claims(), EvidenceOf(table.record()));
  ASSERT_TRUE(judgement);
  EXPECT_FALSE(judgement->convicts);
  EXPECT_EQ(judgement->verdict, "both");
}

// The toy law, but that it leaves open what it would find about outputs.
std::shared_ptr<const Law> LawThatDraws() {
  Law law = *ToyLaw(kShape, 1);
  law.examine = [examine = law.examine](const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b) {
    Outcome outcome = examine(a, b, said_a, said_b);
    const auto* finding = std::get_if<Finding>(&outcome.next);
    if (finding != nullptr && finding->cause == Cause::kOutput) {
      const std::optional<std::int64_t> step = finding->step;
      outcome.next = Undecided{"either can be right", "a third run", step};
    }
    return outcome;
  };
  return std::make_shared<const Law>(law);
}

// Two who differ in what is left open, and one who has been caught.
TEST(Evidence, ADrawSaysWhyNobodyFalls) {
  const auto law = LawThatDraws();
  Table table(law);
  table.Add(RunWith({}), 0);
  table.Add(RunWith({{Lie::kOutput, 3, 1, 1}}), 1);
  table.Add(RunWith({{Lie::kStart}}), 2);
  table.Play();
  const Evidence evidence = EvidenceOf(table.record());
  const auto judged = [&](const Evidence& changed) { return JudgeBy(*law, table.claims(), changed); };
  const auto judgement = judged(evidence);
  ASSERT_TRUE(judgement) << judgement.error().message;
  EXPECT_EQ(judgement->verdict, "undecided");
  EXPECT_TRUE(judgement->convicts);
  EXPECT_TRUE(IsGuilty(judgement->parties[2].standing));
  ASSERT_TRUE(judgement->drawn);
  EXPECT_EQ(judgement->drawn->why, "either can be right");
  EXPECT_EQ(judgement->drawn->decided_by, "a third run");
  EXPECT_EQ(judgement->drawn->step, 3);

  // It is the last charge, of those who stand, and rests on all that was said.
  Evidence changed = evidence;
  std::swap(changed.charges[0], changed.charges[1]);
  EXPECT_FALSE(judged(changed));
  changed = evidence;
  changed.charges.push_back(changed.charges.back());
  EXPECT_FALSE(judged(changed));
  changed = evidence;
  std::get<Draw>(changed.charges.back()).claims[1] = 2;
  EXPECT_FALSE(judged(changed));
  changed = evidence;
  std::get<Draw>(changed.charges.back()).claims[1] = 3;
  EXPECT_FALSE(judged(changed));
  for (std::size_t s = 0; s < 2; ++s) {
    changed = evidence;
    std::get<Draw>(changed.charges.back()).said[s].pop_back();
    EXPECT_FALSE(judged(changed));
  }
  // A trial that somebody calls a draw is none.
  EXPECT_FALSE(JudgeBy(*ToyLaw(kShape, 1), table.claims(), evidence));
}

std::vector<std::uint32_t> ConvictedBy(const Judgement& judgement) {
  std::vector<std::uint32_t> convicted;
  for (std::size_t i = 0; i < judgement.parties.size(); ++i) {
    if (IsGuilty(judgement.parties[i].standing)) convicted.push_back(static_cast<std::uint32_t>(i));
  }
  return convicted;
}

// Each byte of it matters: changed, it is refused, or convicts less.
TEST(Evidence, FlippedBitsAreNoticed) {
  Crowd crowd;
  const Evidence evidence = EvidenceOf(crowd.table.record());
  const Bytes bytes = Encode(evidence);
  ASSERT_EQ(Encode(*DecodeEvidence(bytes)), bytes);
  std::size_t refused = 0;
  const auto whole = JudgeBy(*crowd.law, crowd.table.claims(), evidence);
  ASSERT_TRUE(whole);
  const std::size_t before =
      4 + 16 + 8 + 8 + 32 + 32 + 1;  // tag, job, program, referee, nonce, manner: the toy does not bind them
  for (std::size_t i = 0; i < bytes.size() * 8; i += 7) {  // every bit's place in turn, every byte
    Bytes changed = bytes;
    changed[i / 8] ^= static_cast<std::uint8_t>(1 << (i % 8));
    const auto read = DecodeEvidence(changed);
    const auto judgement = read ? JudgeBy(*crowd.law, crowd.table.claims(), *read) : Err("{}", read.error().message);
    if (!judgement) {
      ++refused;
      EXPECT_FALSE(judgement.error().message.empty());
      continue;
    }
    const auto now = ConvictedBy(*judgement);
    ASSERT_TRUE(i / 8 < before || std::ranges::includes(ConvictedBy(*whole), now)) << "bit " << i;
    ASSERT_EQ(judgement->parties[0].standing, Standing::kStanding);
  }
  EXPECT_GT(refused, bytes.size());
}

TEST(Evidence, EveryMissingPieceIsNoticed) {
  Crowd crowd;
  const Evidence evidence = EvidenceOf(crowd.table.record());
  const auto judged = [&](const Evidence& changed) { return JudgeBy(*crowd.law, crowd.table.claims(), changed); };
  for (std::size_t c = 0; c < evidence.charges.size(); ++c) {
    Evidence less = evidence;
    less.charges.erase(less.charges.begin() + static_cast<std::ptrdiff_t>(c));
    EXPECT_FALSE(judged(less));  // statements that nothing rests on
    const auto* trial = std::get_if<Trial>(&evidence.charges[c]);
    if (trial == nullptr) continue;
    for (std::size_t s = 0; s < 2; ++s) {
      for (std::size_t i = 0; i < trial->said[s].size(); ++i) {
        less = evidence;
        auto& said = std::get<Trial>(less.charges[c]).said[s];
        said.erase(said.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_FALSE(judged(less));
      }
    }
    for (std::size_t i = 0; i < trial->convicted.size(); ++i) {
      less = evidence;
      auto& convicted = std::get<Trial>(less.charges[c]).convicted;
      convicted.erase(convicted.begin() + static_cast<std::ptrdiff_t>(i));
      const auto judgement = judged(less);
      EXPECT_TRUE(!judgement || judgement->parties[trial->convicted[i]].standing == Standing::kStanding);
    }
    less = evidence;
    std::get<Trial>(less.charges[c]).shared.clear();
    EXPECT_FALSE(judged(less));
  }
  for (std::size_t i = 0; i < evidence.statements.size(); ++i) {
    for (std::size_t k = 0; k < evidence.statements[i].by.size(); ++k) {
      Evidence less = evidence;
      less.statements[i].by.erase(less.statements[i].by.begin() + static_cast<std::ptrdiff_t>(k));
      const auto judgement = judged(less);
      // What proves itself may be signed by anyone.
      EXPECT_TRUE(!judgement || !judgement->convicts || !less.statements[i].by.empty());
      EXPECT_TRUE(less.statements[i].by.size() > 0 || !judgement);
    }
  }
}

// A referee that wants to convict the honest one, with liars to help it: it asks what it likes, hears what it likes, puts together what it likes.
class Framing : public testing::Test {
 protected:
  static constexpr ProviderId kHonest = 0;

  Framing() {
    runs_ = {RunWith({}),
             RunWith({{Lie::kOutput, 3, 1, 1}}),
             RunWith({{Lie::kOutput, 3, 1, 1}, {Lie::kOutput, 7, 1, 1}}),
             RunWith({{Lie::kInput, 5, 0, 1}}),
             RunWith({{Lie::kReceipt}}),
             RunWith({})};
    for (std::uint32_t i = 0; i < runs_.size(); ++i) claims_.push_back(ClaimOf(*runs_[i], i));
    std::vector<Digest> receipts;
    for (const Claim& claim : claims_) receipts.push_back(claim.receipt_hash);
    dispute_ = law_->dispute(std::move(receipts));
  }

  // A liar says what any run would say, or something else; the honest one what is so.
  Statement Say(ProviderId id, const Question& question) {
    const RunPtr& run = id == kHonest ? runs_[0] : runs_[random_() % runs_.size()];
    Statement statement{question, {}, {}};
    if (Result<Bytes> body = run->Answer(question)) statement.body = std::move(*body);
    if (id != kHonest && random_() % 16 == 0) statement = {question, {}, {}};
    if (id != kHonest && random_() % 16 == 0 && !statement.body.empty()) statement.body[random_() % statement.body.size()] ^= 1;
    SignBy(statement, id);
    return statement;
  }
  void SignBy(Statement& statement, ProviderId id) {
    const Signature signature = Sign(HashBytes(Encode(dispute_, statement.question)), statement.body, KeyOf(id));
    statement.by.push_back({id, signature});
    std::ranges::sort(statement.by, {}, &SignedBy::provider);
  }

  // Plays a trial with whoever comes to hand speaking for each side.
  Evidence Frame() {
    Evidence evidence = Empty();
    Trial trial;
    trial.claims[0] = static_cast<ProviderId>(random_() % claims_.size());
    trial.claims[1] = static_cast<ProviderId>(random_() % claims_.size());
    const bool often = random_() % 2 == 0;  // whether the honest one is heard for the side
    Testimony said[2];
    const auto add = [&](std::size_t s, const Statement& statement) {
      said[s].Add(statement.question, statement.body);
      trial.said[s].push_back(static_cast<StatementId>(evidence.statements.size()));
      evidence.statements.push_back(statement);
    };
    if (random_() % 4 == 0) {  // something beside the point
      const auto at = static_cast<std::int64_t>(1 + random_() % 4);
      const Question question = CommitQuestion{{.kind = TreeKind::kStates, .at = at}};
      add(0, Say(kHonest, question));
    }
    for (int rounds = 0; rounds < 40; ++rounds) {
      const Outcome outcome = law_->examine(claims_[trial.claims[0]], claims_[trial.claims[1]], said[0], said[1]);
      if (const auto* finding = std::get_if<Finding>(&outcome.next)) {
        trial.finding = *finding;
        break;
      }
      const auto* asks = std::get_if<std::vector<Ask>>(&outcome.next);
      if (asks == nullptr) break;
      for (const Ask& ask : *asks) {
        const auto s = static_cast<std::size_t>(ask.to);
        const bool honest = often ? random_() % 8 != 0 : random_() % 4 == 0;
        const auto id = honest ? kHonest : static_cast<ProviderId>(1 + random_() % (claims_.size() - 1));
        Statement statement = Say(id, ask.question);
        if (id != kHonest && runs_[0]->Answer(ask.question) == statement.body) SignBy(statement, kHonest);
        add(s, statement);
      }
    }
    for (std::uint64_t at = 1; at <= 4; ++at) {
      const Question question = LeavesQuestion{{.kind = TreeKind::kLog}, {{at - 1, at + 1}}};
      for (ProviderId id = 0; id < claims_.size(); ++id) {
        Statement statement{question, *runs_[id]->Answer(question), {}};
        SignBy(statement, id);
        trial.shared.push_back(static_cast<StatementId>(evidence.statements.size()));
        evidence.statements.push_back(std::move(statement));
      }
    }
    trial.convicted = {kHonest};
    evidence.charges.emplace_back(std::in_place_type<Trial>, std::move(trial));
    return evidence;
  }

  Evidence Empty() const {
    Evidence evidence;
    for (std::uint32_t i = 0; i < claims_.size(); ++i) evidence.parties.push_back({.receipt = "", .number = i});
    return evidence;
  }

  std::mt19937 random_{11};
  std::shared_ptr<const Law> law_ = ToyLaw(kShape, 1);
  std::vector<RunPtr> runs_;
  std::vector<Claim> claims_;
  Digest dispute_{};
};

TEST_F(Framing, TheHonestAreNotConvictedByAnyTrial) {
  std::size_t decided = 0;
  for (int i = 0; i < 20'000; ++i) {
    Evidence framed = Frame();
    if (framed.charges.empty()) continue;
    const auto judgement = JudgeBy(*law_, claims_, framed);
    ASSERT_TRUE(!judgement || judgement->parties[kHonest].standing == Standing::kStanding)
        << "trial " << i << ": " << judgement->parties[kHonest].by;
    decided += !judgement && judgement.error().message.find("does not convict party 0") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(decided, 5000u) << "trials that came to a finding and did not strike the honest one";
}

TEST_F(Framing, NorByWhatItSaidTruly) {
  const auto refused = [&](const Evidence& framed) { return !JudgeBy(*law_, claims_, framed); };
  Evidence framed = Empty();
  framed.statements.push_back(Say(kHonest, LeavesQuestion{{.kind = TreeKind::kLog}, {{0, 1}}}));
  framed.charges.emplace_back(std::in_place_type<UnprovenLog>, UnprovenLog{kHonest, 0});
  EXPECT_TRUE(refused(framed));
  framed.charges[0].emplace<TwoAnswers>(TwoAnswers{kHonest, 0, 0});
  EXPECT_TRUE(refused(framed));
  framed.statements.clear();
  framed.charges[0].emplace<TwoReceipts>(TwoReceipts{kHonest, 5});
  EXPECT_TRUE(refused(framed)) << "of another key";
  framed.charges[0].emplace<TwoReceipts>(TwoReceipts{kHonest, kHonest});
  EXPECT_TRUE(refused(framed));
}

// A claim that is not about the job is no part of evidence, in whatever place it is put.
TEST_F(Framing, NobodyIsAddedToEvidence) {
  Evidence evidence = Empty();
  std::vector<Claim> claims = claims_;
  claims.push_back(ClaimOf(toy::Run(Shape{8, 4, 4}, {}), 77));
  evidence.parties.push_back({.receipt = "", .number = 77});
  EXPECT_FALSE(JudgeBy(*law_, claims, evidence));
  claims.back() = claims_[kHonest];
  EXPECT_FALSE(JudgeBy(*law_, claims, evidence)) << "the same claim twice";
}

// Every charge brings somebody down who had not fallen: going through evidence takes no longer than it has parties.
TEST_F(Framing, ChargesAreNotRepeated) {
  Crowd crowd;
  Evidence evidence = EvidenceOf(crowd.table.record());
  const auto claims = PartiesOf(crowd.table.claims(), crowd.table.record());
  ASSERT_TRUE(JudgeBy(*crowd.law, claims, evidence));
  evidence.charges.push_back(evidence.charges.front());
  EXPECT_FALSE(JudgeBy(*crowd.law, claims, evidence));
}

// Answers that the referee says it computed itself prove nothing, of whatever kind the charge is.
TEST_F(Framing, NorByAnswersThatNobodySigned) {
  Evidence evidence = Empty();
  evidence.parties[kHonest].unsigned_answers = true;
  const Question question = LeavesQuestion{{.kind = TreeKind::kLog}, {{0, 1}}};
  evidence.statements = {{question, {}, {{kHonest, {}}}}, {question, {1}, {{kHonest, {}}}}};
  Evidence two = evidence;
  two.charges.emplace_back(std::in_place_type<TwoAnswers>, TwoAnswers{kHonest, 0, 1});
  Evidence unproven = evidence;
  unproven.statements.pop_back();
  unproven.charges.emplace_back(std::in_place_type<UnprovenLog>, UnprovenLog{kHonest, 0});
  for (const Evidence& framed : {two, unproven}) {
    const auto judgement = JudgeBy(*law_, claims_, framed);
    ASSERT_TRUE(judgement) << judgement.error().message;
    EXPECT_FALSE(judgement->convicts);
    EXPECT_FALSE(judgement->parties[kHonest].proven);
  }
}

}  // namespace
}  // namespace assay::dispute::toy
