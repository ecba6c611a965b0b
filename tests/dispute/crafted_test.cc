// Evidence that no referee writes: what the law and the pages say about its corners. Each file is kept for the judge that follows the pages (tests/independent), which
// must come to the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "assay/dispute/limits.h"
#include "assay/ops/table.h"
#include "assay/rounding/decision_log.h"
#include "assay/rounding/paper_log.h"
#include "crafted.h"
#include "kept_evidence.h"

namespace assay::dispute {
namespace {

Terms TermsFor(const Job& job, const JobInputs& inputs = ForgedInputs()) {
  return Terms::Make(Encode(job, inputs), ProgramOf(job)).value();
}

// Through its encoding, as from a file.
Result<Judgement> Judged(const Evidence& evidence) {
  KeepEvidence(evidence);
  ASSAY_ASSIGN(const Evidence read, DecodeEvidence(Encode(evidence)));
  return Judge(read);
}

std::vector<ProviderId> GuiltyOf(const Judgement& judgement) {
  std::vector<ProviderId> guilty;
  for (std::size_t i = 0; i < judgement.parties.size(); ++i) {
    if (IsGuilty(judgement.parties[i].standing)) guilty.push_back(static_cast<ProviderId>(i));
  }
  return guilty;
}
using Ids = std::vector<ProviderId>;

constexpr TreeName kLog{.kind = TreeKind::kLog};

// Changes entry `index` of the log.
Forgeries WithEntry(std::uint64_t index, const std::function<void(LogEntry&)>& change) {
  return {.leaf = [=](const TreeName& tree, std::uint64_t at, Bytes& leaf) {
    if (tree != kLog || at != index) return;
    LogEntry entry = *DecodeLogEntry(leaf, "entry");
    change(entry);
    leaf = Encode(entry);
  }};
}

// What one key signed for one of two runs that are compared can be put under the other, so that nothing that it signed there convicts it.
TEST(Crafted, ASignerOfBothRunsOfAComparisonIsNotConvictedByAnswers) {
  Job rounded = SmallMlp();
  rounded.precision = Precision::kFp64Rounded;
  for (const Job& job : {SmallMlp(), rounded}) {
    const Terms terms = TermsFor(job);
    for (const Parties who : {Parties::kCompared, Parties::kOfOneSigner}) {
      Crafted crafted(terms, who);
      const ProviderId honest = crafted.Add({}), liar = crafted.Add(TreeName{.kind = TreeKind::kOutput, .at = 2});
      const Trial trial = crafted.Tried(honest, liar);
      const auto tried = Judged(crafted.Make({trial}));
      ASSERT_TRUE(tried) << tried.error().message;
      EXPECT_EQ(GuiltyOf(*tried), Ids{liar});
      EXPECT_EQ(tried->convicts, who == Parties::kCompared);
      EXPECT_EQ(tried->parties[liar].proven, who == Parties::kCompared);
      if (who != Parties::kOfOneSigner) continue;

      const Question question = LeavesQuestion{kLog, {{1, 2}}};
      const StatementId mine = crafted.Say(question, crafted.Answer(honest, question), {honest}),
                        theirs = crafted.Say(question, crafted.Answer(liar, question), {honest});
      for (const Charge& charge : {Charge(TwoAnswers{honest, mine, theirs}), Charge(UnprovenLog{honest, theirs})}) {
        const auto relabelled = Judged(crafted.Make({charge}));
        ASSERT_TRUE(relabelled) << relabelled.error().message;
        EXPECT_FALSE(relabelled->convicts);
        EXPECT_FALSE(relabelled->parties[honest].proven);
      }
    }
  }
}

TEST(Crafted, AnUncheckedChargeTakesNothingFromAConviction) {
  JobInputs inputs = ForgedInputs();
  inputs.weights = HashBytes(AsBytes("weights"));
  const Terms terms = TermsFor(SmallMlp(), inputs);
  const auto weight = static_cast<std::uint32_t>(terms.weights()[0]);
  for (const bool unchecked_first : {true, false}) {
    Crafted crafted(terms);
    const ProviderId honest = crafted.Add({}),
                     other_start = crafted.Add(TreeName{.kind = TreeKind::kStateTensor, .index = weight}),
                     liar = crafted.Add(TreeName{.kind = TreeKind::kOutput, .at = 2});
    const Charge start = crafted.Tried(honest, other_start);
    ASSERT_TRUE(std::holds_alternative<Undecided>(crafted.outcome().next));
    const Charge output = crafted.Tried(honest, liar);
    ASSERT_TRUE(std::holds_alternative<Finding>(crafted.outcome().next));
    const auto judgement = Judged(crafted.Make(unchecked_first ? std::vector{start, output} : std::vector{output, start}));
    ASSERT_TRUE(judgement) << judgement.error().message;
    EXPECT_TRUE(judgement->convicts);
    EXPECT_EQ(GuiltyOf(*judgement), Ids{liar});
    EXPECT_EQ(judgement->unchecked.size(), 1u);
    EXPECT_EQ(judgement->parties[other_start].standing, Standing::kStanding);
  }
}

// A file that cannot be read says nothing about whose values are not in it.
TEST(Crafted, AnUnreadableFileOfWeightsConvictsNobody) {
  JobInputs inputs = ForgedInputs();
  inputs.weights = HashBytes(AsBytes("weights"));
  Terms terms = TermsFor(SmallMlp(), inputs);
  terms.set_starting_weights([](std::size_t, Range) { return Bytes(); });
  Crafted crafted(terms);
  crafted.Add({});
  crafted.Add(TreeName{.kind = TreeKind::kStateTensor, .index = static_cast<std::uint32_t>(terms.weights()[0])});
  crafted.Tried(0, 1);
  EXPECT_TRUE(std::holds_alternative<Undecided>(crafted.outcome().next));
}

// One has an entry of the wrong form, the other one that does not follow from the one before: both are wrong about it.
TEST(Crafted, FormAndPreviousAreLookedAtTogether) {
  Job job = SmallMlp();
  job.steps = 4;
  const Terms terms = TermsFor(job);
  const auto step = [](LogEntry& entry) { ++entry.step; };
  const auto previous = [](LogEntry& entry) { entry.previous.bytes[0] ^= 1; };
  for (const bool turned : {false, true}) {
    Crafted crafted(terms);
    crafted.Add({}, WithEntry(2, turned ? step : std::function<void(LogEntry&)>(previous)));
    crafted.Add({}, WithEntry(2, turned ? std::function<void(LogEntry&)>(previous) : step));
    const Charge trial = crafted.Tried(0, 1);
    const auto judgement = Judged(crafted.Make({trial}));
    ASSERT_TRUE(judgement) << judgement.error().message;
    EXPECT_EQ(GuiltyOf(*judgement), (Ids{0, 1}));
    EXPECT_EQ(judgement->findings.back().cause, Cause::kEntry);
  }
}

// What entry 0 names before it is looked at where the logs differ there, and nowhere else.
TEST(Crafted, WhatTheFirstEntryNames) {
  const Terms terms = TermsFor(SmallMlp());
  const auto previous = [](LogEntry& entry) { entry.previous.bytes[0] ^= 1; };
  const auto loss = [](Receipt& receipt) { receipt.loss_bits ^= 1; };
  {
    Crafted crafted(terms);
    crafted.Add({}), crafted.Add({}, WithEntry(0, previous));
    const Charge trial = crafted.Tried(0, 1);
    const auto judgement = Judged(crafted.Make({trial}));
    ASSERT_TRUE(judgement) << judgement.error().message;
    EXPECT_EQ(GuiltyOf(*judgement), Ids{1});
    EXPECT_EQ(judgement->findings.back().cause, Cause::kEntry);
  }
  for (const bool both : {false, true}) {
    // The receipt contradicts its log, which comes first.
    Crafted crafted(terms);
    Forgeries first = WithEntry(0, previous), second = both ? first : Forgeries{};
    second.receipt = loss;
    crafted.Add({}, first), crafted.Add({}, second);
    const Charge trial = crafted.Tried(0, 1);
    const auto judgement = Judged(crafted.Make({trial}));
    ASSERT_TRUE(judgement) << judgement.error().message;
    EXPECT_EQ(GuiltyOf(*judgement), Ids{1});
    EXPECT_EQ(judgement->findings.back().cause, Cause::kReceipt);
  }
}

TEST(Crafted, AModelWithoutWeightsHasNoneToDeliver) {
  const auto sum = [](GraphBuilder& graph, ValueId x) { return graph.Add(op::sum_squares, {}, {x})[0]; };
  for (const char* name : {"sgd.m/w", "elsewhere"}) {
    Job job = SmallMlp();
    job.batch.microbatches = 1;
    const Program program = WithLoss(sum, {{name, {DType::kF32, {3}}, {}}}, {DType::kF32, {4, 7}});
    const Terms terms = Terms::Make(Encode(job, ForgedInputs()), Encode(program)).value();
    const bool none = terms.weights().empty();
    EXPECT_EQ(none, name[0] == 's');
    for (const bool both : {false, true}) {
      Crafted crafted(terms);
      const auto named = [](const char* what) { return [=](Receipt& receipt) { receipt.weights = HashBytes(AsBytes(what)); }; };
      crafted.Add({}, {.receipt = both ? named("a") : named("")}), crafted.Add({}, {.receipt = named("b")});
      if (!none) continue;
      const Charge trial = crafted.Tried(0, 1);
      const auto judgement = Judged(crafted.Make({trial}));
      ASSERT_TRUE(judgement) << judgement.error().message;
      EXPECT_EQ(GuiltyOf(*judgement), both ? (Ids{0, 1}) : Ids{1});
      EXPECT_EQ(judgement->findings.back().cause, Cause::kWeights);
      EXPECT_FALSE(judgement->findings.back().step);
    }
    if (none) continue;
    // A tensor of the state that is not an optimiser's is the model's, whatever the job calls its model.
    Crafted crafted(terms);
    crafted.Add({});
    crafted.Add({}, {.leaf = [&](const TreeName& tree, std::uint64_t, Bytes& leaf) {
                  if (tree.kind == TreeKind::kWeights) leaf.back() ^= 1;
                }});
    const Charge trial = crafted.Tried(0, 1);
    const auto judgement = Judged(crafted.Make({trial}));
    ASSERT_TRUE(judgement) << judgement.error().message;
    EXPECT_EQ(GuiltyOf(*judgement), Ids{1});
  }
}

// Questions about what no job has, in numbers of any size, are questions all the same; what is said to them is short.
TEST(Crafted, QuestionsThatNoJobAnswers) {
  const Terms terms = TermsFor(SmallMlp());
  const std::uint64_t far = std::uint64_t{1} << 60;
  const std::vector<Question> questions = {
      CommitQuestion{{.kind = TreeKind::kTrace, .at = -1}},
      ExpandQuestion{{.kind = TreeKind::kLog}, {far, far + 2}},
      LeavesQuestion{{.kind = TreeKind::kLog}, {{far, far + 1}}},
      LeavesQuestion{{.kind = TreeKind::kInput, .at = INT64_MAX, .node = UINT32_MAX, .index = 7}, {{0, 1}}},
      LeavesQuestion{{.kind = TreeKind::kRoundingLog, .at = 1}, {{0, 2}, {UINT64_MAX - 1, UINT64_MAX}}},
      SamplesQuestion{.step = INT64_MIN, .begin = 0, .end = UINT64_MAX},
      PartsQuestion{.step = -5, .node = 1, .output = 2, .element = INT64_MIN, .path = {UINT32_MAX}}};
  for (const Question& question : questions) {
    // Two answers convict, whatever they are about.
    for (const std::size_t extra : {std::size_t{0}, std::size_t{1}}) {
      Crafted crafted(terms);
      crafted.Add({}), crafted.Add(TreeName{.kind = TreeKind::kOutput, .at = 2});
      const std::size_t most = std::min(kMaxBodyBytes, MaxAnswerBytes(terms, question) - Encode(Answer{}).size());
      if (most + extra > kMaxBodyBytes) continue;  // nobody signs that
      const StatementId first = crafted.Say(question, {1}, {1}), second = crafted.Say(question, Bytes(most + extra), {1});
      const auto judgement = Judged(crafted.Make({TwoAnswers{1, first, second}}));
      ASSERT_EQ(judgement.has_value(), extra == 0) << Describe(question) << (judgement ? "" : ": " + judgement.error().message);
      if (judgement) {
        EXPECT_EQ(GuiltyOf(*judgement), Ids{1});
      }
    }
    Crafted crafted(terms);
    crafted.Add({}), crafted.Add(TreeName{.kind = TreeKind::kOutput, .at = 2});
    const auto silent = Judged(crafted.Make({Silence{1, question}}));
    ASSERT_TRUE(silent) << Describe(question) << ": " << silent.error().message;
    EXPECT_FALSE(silent->convicts);
  }
}

// Of every kind of question that the job answers: as long as an answer may be, and a byte more.
TEST(Crafted, AnswersHaveTheirLengths) {
  const Terms terms = TermsFor(SmallMlp());
  const auto last = static_cast<std::uint32_t>(terms.nodes().size() - 1);
  const std::vector<Question> questions = {
      CommitQuestion{{.kind = TreeKind::kTrace, .at = 1}},
      ExpandQuestion{{.kind = TreeKind::kLog}, {0, 3}},
      LeavesQuestion{{.kind = TreeKind::kLog}, {{0, 1}, {2, 3}}},
      LeavesQuestion{{.kind = TreeKind::kTrace, .at = 1}, {{last, last + 1}}},
      LeavesQuestion{{.kind = TreeKind::kTrace, .at = 1}, {{0, last + 1 < 64 ? last + 1 : 64}}},
      LeavesQuestion{{.kind = TreeKind::kState, .at = 2}, {{0, 2}}},
      LeavesQuestion{{.kind = TreeKind::kInput, .at = 2, .node = last}, {{0, 1}}},
      SamplesQuestion{.step = 1, .begin = 0, .end = 1},
      SamplesQuestion{.step = 1, .begin = 3, .end = 70},
      PartsQuestion{.step = 1, .node = 1}};
  for (const Question& question : questions) {
    for (const std::size_t extra : {std::size_t{0}, std::size_t{1}}) {
      Crafted crafted(terms);
      crafted.Add({}), crafted.Add(TreeName{.kind = TreeKind::kOutput, .at = 2});
      const std::size_t most = std::min(kMaxBodyBytes, MaxAnswerBytes(terms, question) - Encode(Answer{}).size());
      if (most + extra > kMaxBodyBytes) continue;  // nobody signs that
      const StatementId first = crafted.Say(question, {1}, {1}), second = crafted.Say(question, Bytes(most + extra), {1});
      const auto judgement = Judged(crafted.Make({TwoAnswers{1, first, second}}));
      ASSERT_EQ(judgement.has_value(), extra == 0) << Describe(question) << (judgement ? "" : ": " + judgement.error().message);
    }
  }
}

// An answer that goes on after its end proves nothing, whatever it began with; nor does one about other data, whether or not a sample could be drawn from them.
TEST(Crafted, SamplesHaveTheirOneForm) {
  const Terms terms = TermsFor(SmallMlp());
  GeneratedDescriptor other = ForgedData();
  ++other.end;
  const Bytes good = EncodeSamples({.descriptor = ForgedData(), .proof = {}}),
              none = EncodeSamples({.descriptor = TokensDescriptor{1}, .proof = {}});
  Bytes longer = good;
  longer.push_back(0);
  for (const Bytes& body : {good, longer, EncodeSamples({.descriptor = other, .proof = {}}), none}) {
    Crafted crafted(terms);
    crafted.Add({}), crafted.Add(TreeName{.kind = TreeKind::kBatchField, .at = 2});
    Trial trial = crafted.Tried(0, 1);
    const auto place = std::ranges::find_if(
        trial.said[0], [&](StatementId id) { return std::holds_alternative<SamplesQuestion>(crafted.statement(id).question); });
    ASSERT_NE(place, trial.said[0].end());
    *place = crafted.Say(Question(crafted.statement(*place).question), body, {0});
    if (body != good) {
      Finding unproven{.cause = Cause::kUnproven, .step = 2};
      unproven.guilty[0] = true;
      trial.finding = unproven;
      trial.convicted = {0};
    }
    const auto judgement = Judged(crafted.Make({trial}));
    ASSERT_TRUE(judgement) << judgement.error().message;
    EXPECT_EQ(GuiltyOf(*judgement), body == good ? (Ids{0, 1}) : Ids{0});
  }
}

// What is shared is tried for everybody who falls, so that a small file could cost its judge hours.
TEST(Crafted, ChargesRestOnSoMuchAndNoMore) {
  const Terms terms = TermsFor(SmallMlp());
  for (const std::size_t fall : {std::size_t{1}, std::size_t{200}, std::size_t{257}}) {
    Crafted crafted(terms);
    crafted.Add({}), crafted.Add(TreeName{.kind = TreeKind::kOutput, .at = 2});
    Trial trial = crafted.Tried(0, 1);
    trial.shared = {crafted.Say(SamplesQuestion{.step = 1, .begin = 0, .end = 1 << 10}, Bytes(kMaxBodyBytes - 128), {0})};
    while (trial.convicted.size() < fall) trial.convicted.push_back(trial.convicted.back() + 1);
    const auto judgement = Judged(crafted.Make({trial}));
    ASSERT_EQ(judgement.has_value(), fall == 1) << (judgement ? "" : judgement.error().message);
    if (fall == 1) continue;
    EXPECT_EQ(judgement.error().message.find("rest on more than") != std::string::npos, fall == 257)
        << judgement.error().message;
  }
}

TEST(Crafted, ATrialNamesNothingTwice) {
  const Terms terms = TermsFor(SmallMlp());
  for (const bool shared : {false, true}) {
    for (const bool twice : {false, true}) {
      Crafted crafted(terms);
      crafted.Add({}), crafted.Add(TreeName{.kind = TreeKind::kOutput, .at = 2});
      Trial trial = crafted.Tried(0, 1);
      trial.shared = {crafted.Say(SamplesQuestion{.step = 1, .begin = 0, .end = 1}, {1}, {0})};
      auto& list = shared ? trial.shared : trial.convicted;
      if (twice) list.push_back(list.back());
      const auto judgement = Judged(crafted.Make({trial}));
      ASSERT_EQ(judgement.has_value(), !twice) << (judgement ? "" : judgement.error().message);
      if (!twice) continue;
      EXPECT_NE(judgement.error().message.find("not ascending"), std::string::npos) << judgement.error().message;
    }
  }
}

}  // namespace
}  // namespace assay::dispute
