// Evidence about rounded jobs that no referee writes: elements without a finite bound, logs of impossible sizes, close calls that somebody calls a trial.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "assay/rounding/paper_log.h"
#include "crafted.h"
#include "kept_evidence.h"
#include "unbounded.h"

namespace assay::dispute {
namespace {

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

// A key that hands in its claim twice, and once as its own work, is not misled by anybody: whichever of the receipts takes part.
TEST(CraftedRounded, WhoFollowsSaysSoInEveryReceipt) {
  const Unbounded job(32, RoundRule::kBound, false);
  const auto follow = [](Receipt& receipt) { receipt.follows = {.signer = receipt.signer, .log_root = receipt.log.root}; };
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      Crafted crafted(job.terms());
      const Bytes log = job.Decided(1);
      job.Add(crafted, false, 1, log);
      const ProviderId liar = job.Add(crafted, true, kFar, log, RoundingLeaf{.bytes = 1, .root = RoundingLeafOf(log).root});
      if (first) crafted.Rewrite(liar, follow);
      crafted.HandIn(liar, [&](Receipt& receipt) {
        receipt.follows.reset();
        if (second) follow(receipt);
        ++receipt.snapshot_every;
      });
      const Tried tried = Try(crafted, crafted.Tried(0, liar));
      ASSERT_TRUE(tried.judgement) << tried.judgement.error().message;
      EXPECT_EQ(tried.judgement->parties[liar].standing, first && second ? Standing::kMisled : Standing::kConvicted);
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
