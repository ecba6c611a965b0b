// Evidence about rounded jobs that no referee writes: elements without a finite bound, logs of impossible sizes, close calls that somebody calls a trial.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "assay/ops/table.h"
#include "assay/rounding/decision_log.h"
#include "assay/rounding/paper_log.h"
#include "crafted.h"
#include "kept_evidence.h"

namespace assay::dispute {
namespace {

constexpr std::int64_t kStep = 2;  // in which the parties differ

// A dispute about the first element of what a node gives, whose bound is infinite: an attention with scores so large that the bound of every weight is. Or whose
// bound is not a number: a layernorm of a row of large equal values, in which nothing is multiplied by what may be anything.
class Unbounded {
 public:
  Unbounded(std::int64_t bits, RoundRule rule, bool nan) : terms_(TermsOf(bits, rule)), nan_(nan) {
    const StepNodes& nodes = terms_.nodes();
    while (nodes.Instance(node_).def->name != (nan ? "layernorm" : "attention")) ++node_;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const OpInstance op = nodes.Instance(n);
      if (!op.def->has_bound()) continue;
      if (n == node_) position_ = elements_;
      for (const TensorType& type : op.out) {
        if (type.dtype == DType::kF32) elements_ += static_cast<std::uint64_t>(type.elements());
      }
    }
  }

  const Terms& terms() const { return terms_; }
  std::uint64_t elements() const { return elements_; }
  Bytes Decided(float value) const {
    const rounding::Decision decision{.position = position_, .wide = true, .value = value};
    return rounding::EncodeDecisions({&decision, 1}, elements_);
  }
  Bytes Silent() const { return rounding::EncodeDecisions({}, elements_); }
  Bytes Symbols(std::uint8_t symbol = rounding::kNotClose) const {
    std::vector<std::uint8_t> symbols(elements_, rounding::kNotClose);
    symbols[position_] = symbol;
    return rounding::EncodePaperLog(symbols);
  }

  // A party that says so of the element, with this log. `leaf`: what it commits to in the log's place.
  ProviderId Add(Crafted& crafted, bool liar, float said, Bytes log, std::optional<RoundingLeaf> leaf = {}) const {
    const TreeName output{.kind = TreeKind::kOutput, .at = kStep, .node = static_cast<std::uint32_t>(node_)};
    Forgeries forgeries;
    forgeries.logs[kStep] = std::move(log);
    forgeries.leaf = [=, this](const TreeName& tree, std::uint64_t, Bytes& bytes) {
      const auto fill = [&](float with) {
        for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) std::memcpy(bytes.data() + i, &with, 4);
      };
      if (tree.kind == TreeKind::kInput && tree.at == kStep && tree.node == output.node && tree.index < 3)
        fill(tree.index == 2 || (nan_ && tree.index == 1) ? 1.0f : 1e30f);
      if (tree == output) std::memcpy(bytes.data(), &said, 4);
      if (leaf && tree == TreeName{.kind = TreeKind::kRoundings, .at = kStep}) bytes = Encode(*leaf);
    };
    return crafted.Add(liar ? std::optional(output) : std::nullopt, std::move(forgeries));
  }

 private:
  static Terms TermsOf(std::int64_t bits, RoundRule rule) {
    Job job = SmallGpt2();
    std::get<Gpt2Config>(job.model).dropout = 0;
    job.precision = Precision::kFp64Rounded;
    job.round_bits = bits;
    job.round_rule = rule;
    return Terms::Make(Encode(job, ForgedInputs()), ProgramOf(job)).value();
  }
  Terms terms_;
  bool nan_;
  std::size_t node_ = 0;
  std::uint64_t position_ = 0, elements_ = 0;
};

struct Tried {
  Outcome outcome;
  Result<Judgement> judgement;
  std::vector<ProviderId> guilty{};
};
Tried Try(const Crafted& crafted, const Charge& charge) {
  const Evidence evidence = crafted.Make({charge});
  KeepEvidence(evidence);
  Tried tried{crafted.outcome(), Judge(DecodeEvidence(Encode(evidence)).value())};
  if (!tried.judgement) return tried;
  for (std::size_t i = 0; i < tried.judgement->parties.size(); ++i) {
    if (IsGuilty(tried.judgement->parties[i].standing)) tried.guilty.push_back(static_cast<ProviderId>(i));
  }
  return tried;
}
Finding FindingOf(const Tried& tried) {
  const auto* finding = std::get_if<Finding>(&tried.outcome.next);
  return finding == nullptr ? Finding{} : *finding;
}
using Ids = std::vector<ProviderId>;

constexpr float kFar = 1024;  // no value that a correct evaluation comes to, but who can tell

// Every correct evaluation of an element whose bound is infinite, or not a number, has written down how it was rounded: whoever has not is found out.
TEST(CraftedRounded, WhoLeavesOutAnElementWithoutABoundFalls) {
  for (const std::int64_t bits : {32, 28, 24}) {
    for (const bool nan : {false, true}) {
      const Unbounded job(bits, RoundRule::kBound, nan);
      for (const bool turned : {false, true}) {
        Crafted crafted(job.terms());
        const ProviderId honest = turned ? 1 : 0;
        for (const ProviderId id : {0u, 1u}) {
          if (id == honest) {
            job.Add(crafted, false, 1, job.Decided(1));
          } else {
            job.Add(crafted, true, kFar, job.Silent());
          }
        }
        const Tried tried = Try(crafted, crafted.Tried(0, 1));
        ASSERT_TRUE(tried.judgement) << tried.judgement.error().message;
        EXPECT_EQ(tried.guilty, Ids{1 - honest}) << bits << " bits, nan " << nan;
        EXPECT_NE(FindingOf(tried).truth.find(nan ? "nan" : "inf"), std::string::npos) << FindingOf(tried).truth;
      }
    }
  }
}

// Whoever says so in its log is believed by nobody and convicted by nobody: it is a close call. Called a trial it is unchecked, called a draw it is one.
TEST(CraftedRounded, ACloseCallConvictsNobodyWhateverItIsCalled) {
  for (const bool nan : {false, true}) {
    for (const float other : {kFar, -0.0f, HUGE_VALF}) {
      const Unbounded job(32, RoundRule::kBound, nan);
      Crafted crafted(job.terms());
      job.Add(crafted, false, 1, job.Decided(1));
      job.Add(crafted, true, other, job.Decided(other));
      const Trial trial = crafted.Tried(0, 1);
      const Tried tried = Try(crafted, trial);
      ASSERT_TRUE(std::holds_alternative<Undecided>(tried.outcome.next));
      ASSERT_TRUE(tried.judgement) << tried.judgement.error().message;
      EXPECT_TRUE(tried.guilty.empty());
      EXPECT_EQ(tried.judgement->unchecked.size(), 1u);
      EXPECT_EQ(tried.judgement->verdict, "undecided");
      Draw draw{.claims = {0, 1}};
      for (std::size_t s = 0; s < 2; ++s) draw.said[s] = trial.said[s];
      const Tried drawn = Try(crafted, draw);
      ASSERT_TRUE(drawn.judgement) << drawn.judgement.error().message;
      EXPECT_TRUE(drawn.judgement->drawn);
    }
  }
}

// By the published rule, with every symbol on either side.
TEST(CraftedRounded, SymbolsOfAnElementWithoutABound) {
  for (const bool nan : {false, true}) {
    const Unbounded job(32, RoundRule::kPaper, nan);
    for (const std::uint8_t symbol : {rounding::kWentDown, rounding::kNotClose, rounding::kWentUp}) {
      Crafted crafted(job.terms());
      job.Add(crafted, false, 1, job.Symbols());
      job.Add(crafted, true, kFar, job.Symbols(symbol));
      const Tried tried = Try(crafted, crafted.Tried(0, 1));
      ASSERT_TRUE(tried.judgement) << tried.judgement.error().message;
      EXPECT_TRUE(tried.guilty.empty()) << int{symbol};
    }
  }
}

// A log whose size no log of the step has is false before anything of it is asked for.
TEST(CraftedRounded, LogsOfImpossibleSizes) {
  for (const RoundRule rule : {RoundRule::kPaper, RoundRule::kBound}) {
    const Unbounded job(32, rule, false);
    const Bytes log = rule == RoundRule::kPaper ? job.Symbols() : job.Decided(1);
    const std::uint64_t paper = rounding::MaxPaperLogBytes(job.elements());
    for (const std::uint64_t size : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 4095, UINT64_MAX - 4096, std::uint64_t{1} << 63,
                                     std::uint64_t{1} << 53, paper + 1, std::uint64_t{1}, std::uint64_t{0}}) {
      Crafted crafted(job.terms());
      job.Add(crafted, false, 1, log);
      job.Add(crafted, true, kFar, log, RoundingLeaf{.bytes = size, .root = RoundingLeafOf(log).root});
      const Tried tried = Try(crafted, crafted.Tried(0, 1));
      if (rule == RoundRule::kBound && size == paper + 1) continue;  // one of decisions can be so long
      ASSERT_TRUE(tried.judgement) << size << ": " << tried.judgement.error().message;
      EXPECT_EQ(tried.guilty, Ids{1}) << size;
    }
  }
}

// Entries that are compared one by one, 64 in a question: an answer that proves nothing is found before what was not asked for.
TEST(CraftedRounded, WhatIsUnprovenComesBeforeWhatIsMissing) {
  Job job = SmallMlp();
  job.precision = Precision::kFp64Rounded;
  job.steps = 200;
  const Terms terms = Terms::Make(Encode(job, ForgedInputs()), ProgramOf(job)).value();
  ASSERT_GE(terms.entries_compared(), 198u);
  const auto other_log = [](const TreeName& tree, std::uint64_t, Bytes& leaf) {
    if (tree == TreeName{.kind = TreeKind::kRoundings, .at = 1}) leaf[0] = 1;
  };
  const LeavesQuestion first{{.kind = TreeKind::kLog}, {{2, 66}}}, second{{.kind = TreeKind::kLog}, {{66, 130}}};
  for (const bool missing : {true, false}) {
    Crafted crafted(terms);
    crafted.Add({}), crafted.Add({}, {.leaf = other_log});
    Trial trial = crafted.Tried(0, 1);
    ASSERT_TRUE(std::holds_alternative<Undecided>(crafted.outcome().next));
    std::erase_if(trial.said[1], [&](StatementId id) {
      const Question& question = crafted.statement(id).question;
      return question == Question(second) || (missing && question == Question(first));
    });
    trial.said[1].push_back(crafted.Say(second, {1}, {1}));
    trial.finding = Finding{.guilty = {false, true}, .cause = Cause::kUnproven};
    trial.convicted = {1};
    const Tried tried = Try(crafted, trial);
    ASSERT_TRUE(tried.judgement) << tried.judgement.error().message;
    EXPECT_EQ(tried.guilty, Ids{1});
  }
}

}  // namespace
}  // namespace assay::dispute
