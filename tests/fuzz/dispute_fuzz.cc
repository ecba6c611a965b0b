// What passes between a referee and its providers: questions, answers, records; and whole disputes in which every answer of one party may be anything.
#include <algorithm>

#include "../dispute/play.h"
#include "assay/base/check.h"
#include "assay/merkle/tree.h"
#include "fuzz/stage.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

using namespace dispute;  // the whole file is about it

constexpr TreeName kTensor{.kind = TreeKind::kOutput, .at = 1, .node = 2, .index = 0};

std::vector<Question> SomeQuestions() {
  return {CommitQuestion{{.kind = TreeKind::kTrace, .at = 3}}, ExpandQuestion{kTensor, {0, 64}},
          LeavesQuestion{kTensor, {{0, 2}, {5, 6}}}, SamplesQuestion{.step = 2, .begin = 1, .end = 3},
          PartsQuestion{.step = 1, .node = 4, .output = 1, .element = 77, .path = {3, 0, 9}}};
}

// Input bytes as instructions, three for each answer: what is done to it, where, with what. Then the answer is left alone.
class Vandal {
 public:
  explicit Vandal(ByteSpan input) : input_(input) {}
  void Spoil(Result<Bytes>& body) {
    if (input_.size() < 3) return;
    const std::uint8_t what = input_[0], where = input_[1], with = input_[2];
    input_ = input_.subspan(3);
    if (!body || what % 8 < 4) return;
    const std::size_t at = body->empty() ? 0 : where * body->size() / 256;
    switch (what % 8) {
      case 4: body->resize(at); break;
      case 5: body->insert(body->begin() + static_cast<std::ptrdiff_t>(at), with); break;
      case 6:
        if (!body->empty()) (*body)[at] ^= with;
        break;
      default: body->assign(std::size_t{with} * 64, where); break;
    }
  }

 private:
  ByteSpan input_;
};

}  // namespace

void RunQuestion(ByteSpan input) {
  const auto question = DecodeQuestion(input);
  if (!question) return;
  const Bytes again = dispute::Encode(question->dispute, question->question);
  ASSAY_CHECK(std::ranges::equal(again, input));
  ASSAY_CHECK(!Describe(question->question).empty());
}

void RunAnswer(ByteSpan input) {
  if (const auto answer = DecodeAnswer(input)) ASSAY_CHECK(std::ranges::equal(dispute::Encode(*answer), input));
  const LeavesQuestion question{kTensor, {{0, 2}, {5, 6}}};
  if (const auto spans = ReadLeaves(input, question, 9, kLeafBytes))
    ASSAY_CHECK(std::ranges::equal(EncodeLeaves(*spans), input));
  if (const auto samples = ReadSamples(input, kMaxBodyBytes)) ASSAY_CHECK(std::ranges::equal(EncodeSamples(*samples), input));
  if (const auto record = DecodeNodeRecord(input)) ASSAY_CHECK(std::ranges::equal(dispute::Encode(*record), input));
  if (const auto record = DecodeStepRecord(input)) ASSAY_CHECK(std::ranges::equal(dispute::Encode(*record), input));
}

void RunDispute(ByteSpan input) {
  static Stage stage;
  Vandal vandal(input);
  const Played played = Play(
      stage.honest.terms(), stage.honest_claim, stage.liar_claim,
      [&](const Question& question) { return stage.honest.Answer(question); },
      [&](const Question& question) {
        Result<Bytes> body = stage.liar.Answer(question);
        vandal.Spoil(body);
        return body;
      });
  ASSAY_CHECK(played.finding() != nullptr && !played.finding()->guilty[0] && played.finding()->guilty[1]);
}

std::vector<Bytes> QuestionSeeds() {
  std::vector<Bytes> seeds;
  for (const Question& question : SomeQuestions()) seeds.push_back(dispute::Encode(Digest{}, question));
  return seeds;
}

std::vector<Bytes> AnswerSeeds() {
  Stage stage;
  std::vector<Bytes> seeds;
  const TreeName trace{.kind = TreeKind::kTrace, .at = 1};
  for (const Question& question :
       {Question(LeavesQuestion{trace, {{0, 2}, {5, 6}}}), Question(SamplesQuestion{.step = 1, .begin = 0, .end = 2})}) {
    const auto body = stage.honest.Answer(question);
    ASSAY_CHECK(body.has_value());
    seeds.push_back(*body);
    seeds.push_back(dispute::Encode(Sign(dispute::Encode(Digest{}, question), *body, stage.good)));
  }
  seeds.push_back(*stage.honest.Leaf(trace, 3));
  seeds.push_back(dispute::Encode(StepRecord{.step = 3}));
  return seeds;
}

std::vector<Bytes> DisputeSeeds() {
  std::vector<Bytes> seeds;
  for (std::uint8_t skip = 0; skip < 24; ++skip) {
    Bytes seed(std::size_t{3} * skip, 1);
    seed.insert(seed.end(), {6, 128, 1});
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace assay::fuzz
