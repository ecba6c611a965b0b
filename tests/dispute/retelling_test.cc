// What is told of a trial is what happened: the interval narrows to the step and node that were lied about, and the two blocks differ where the lie is.
#include "assay/dispute/retelling.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/base/base64.h"
#include "jobs_for_test.h"
#include "tried.h"

namespace assay::dispute {
namespace {

// The evidence of an honest run against one that lies.
Evidence EvidenceAgainst(const PreparedJob& prepared, Lies lies) {
  MemoryRun honest(prepared, HonestKey(), {}), liar(prepared, LiarKey(), std::move(lies));
  Witness witnesses[] = {
      {.job = &honest.job(), .program = &honest.program(), .receipt = &honest.receipt(), .key = &HonestKey()},
      {.job = &liar.job(), .program = &liar.program(), .receipt = &liar.receipt(), .key = &LiarKey()}};
  const auto say = [](MemoryRun& run, Witness& witness) {
    return [&](const Question& question) {
      Result<Bytes> body = run.Answer(question);
      if (body) witness.said.emplace_back(question, *body);
      return body;
    };
  };
  const Played played =
      Play(honest.terms(), ClaimOf(honest), ClaimOf(liar), say(honest, witnesses[0]), say(liar, witnesses[1]));
  EXPECT_NE(played.finding(), nullptr);
  return EvidenceOfTrial(witnesses[0], witnesses[1], *played.finding());
}

TEST(Retelling, NarrowsToTheLie) {
  const PreparedJob prepared = PreparedFrom(MlpJob(40));
  constexpr std::size_t kNode = 5;
  const Evidence evidence = EvidenceAgainst(prepared, {.node = [](std::int64_t step, std::size_t node, auto outputs) {
                                              if (step == 23 && node == kNode) outputs[0][6] ^= 1;
                                            }});
  const auto told = Retell(evidence);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->steps, 40);
  std::uint64_t begin = 0, end = 40;
  for (const RetoldRound& round : told->rounds) {
    if (round.about != "steps") continue;
    EXPECT_EQ(round.of, 40u);
    EXPECT_GE(round.begin, begin) << round.progress.interval;
    EXPECT_LE(round.end, end) << round.progress.interval;
    EXPECT_LT(round.begin, 23u);
    EXPECT_GE(round.end, 23u);
    begin = round.begin;
    end = round.end;
  }
  EXPECT_EQ(begin, 22u);
  EXPECT_EQ(end, 23u);
  ASSERT_TRUE(told->node);
  EXPECT_EQ(told->node->number, kNode);
  EXPECT_FALSE(told->node->op.empty());
  EXPECT_FALSE(told->node->inputs.empty());
  ASSERT_TRUE(told->block);
  ASSERT_EQ(told->block->said[0].size(), told->block->said[1].size());
  EXPECT_EQ(told->block->first, 0u);
  for (std::size_t i = 0; i < told->block->said[0].size(); ++i)
    EXPECT_EQ(told->block->said[0][i] ^ told->block->said[1][i], i == 6 ? 1 : 0) << i;
}

TEST(Retelling, AsJson) {
  const PreparedJob prepared = PreparedFrom(MlpJob(6));
  const Evidence evidence = EvidenceAgainst(prepared, {.plan = [](std::int64_t step, StepPlan& plan) {
                                              if (step == 3) plan.lr *= 2;
                                            }});
  const auto judgement = Judge(evidence);
  ASSERT_TRUE(judgement) << judgement.error().message;
  const auto json = nlohmann::json::parse(RetellingJson(evidence, *judgement));
  EXPECT_EQ(json["convicts"], true);
  EXPECT_EQ(json["parties"][0]["standing"], "stands");
  EXPECT_EQ(json["parties"][1]["standing"], "convicted");
  EXPECT_EQ(json["sides"], (std::vector<int>{0, 1}));
  EXPECT_EQ(json["finding"]["cause"], "input");
  EXPECT_EQ(json["finding"]["step"], 3);
  EXPECT_EQ(json["finding"]["guilty"], (std::vector<bool>{false, true}));
  EXPECT_EQ(json["graph"]["node"], json["finding"]["node"]);
  // The learning rate: one number of four bytes, twice as large.
  EXPECT_EQ(json["block"]["dtype"], "f32");
  EXPECT_EQ(json["block"]["shape"].size(), 0u);
  EXPECT_EQ(FromBase64(json["block"]["bytes"][0].get<std::string>())->size(), 4u);
  EXPECT_NE(json["block"]["bytes"][0], json["block"]["bytes"][1]);
}

TEST(Retelling, OfEvidenceWithoutATrialThereIsNothingToTell) {
  const PreparedJob prepared = PreparedFrom(MlpJob(6));
  Evidence evidence = EvidenceAgainst(prepared, {.start = [](State& state) { state[0].mutable_bytes()[0] ^= 1; }});
  EXPECT_TRUE(Retell(evidence));
  evidence.charges.clear();
  EXPECT_FALSE(Retell(evidence));
}

// Nobody contradicts it, which is no agreement.
TEST(Retelling, OneClaimAloneDecidesNothing) {
  const PreparedJob prepared = PreparedFrom(MlpJob(6));
  Evidence evidence = EvidenceAgainst(prepared, {.start = [](State& state) { state[0].mutable_bytes()[0] ^= 1; }});
  evidence.charges.clear();
  evidence.statements.clear();
  evidence.parties.resize(1);
  const auto judgement = Judge(evidence);
  ASSERT_TRUE(judgement) << judgement.error().message;
  EXPECT_EQ(VerdictOf(evidence, *judgement), "undecided");
  EXPECT_EQ(nlohmann::json::parse(RetellingJson(evidence, *judgement))["verdict"], "undecided");
}

}  // namespace
}  // namespace assay::dispute
