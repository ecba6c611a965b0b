// Trainers that write false decisions, or none where there should be some, train on accordingly and commit to it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "forger.h"
#include "forgeries.h"

namespace assay::roundtest {
namespace {

class Lies : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasBlas()) GTEST_SKIP() << "OpenBLAS is not installed";
  }
  // Forges step `at` and audits. Nothing: that step has no element to the forger's liking.
  std::optional<AuditReport> TryToTell(const PreparedJob& prepared, Forgery forgery, Machine& auditor, std::int64_t at = 2) {
    Machine machine(prepared.job.round_bits);
    Forger forger(prepared, machine, at, std::move(forgery));
    const std::string path = scratch_ / std::to_string(runs_++);
    if (!forger.Train(path)) return std::nullopt;
    place_ = forger.place().value_or(Place{});
    return AuditOf(path, prepared, auditor);
  }
  AuditReport Tell(const PreparedJob& prepared, Forgery forgery, Machine& auditor, std::int64_t at = 2) {
    const auto report = TryToTell(prepared, std::move(forgery), auditor, at);
    EXPECT_TRUE(report) << "there was nothing to forge";
    return report.value_or(AuditReport{});
  }
  // At exactly that step and node, for being inadmissible.
  void ExpectInadmissible(const AuditReport& report, const std::string& what, std::int64_t at = 2) {
    ASSERT_EQ(report.verdict, Verdict::kRefuted) << what << ": " << Said(report);
    EXPECT_EQ(report.refutation->step, at) << what << ": " << Said(report);
    EXPECT_EQ(report.refutation->node, static_cast<std::int64_t>(place_.node)) << what << ": " << Said(report);
    EXPECT_FALSE(report.refutation->node_name.empty());
    EXPECT_NE(report.refutation->reason.find("no correct evaluation rounds so"), std::string::npos) << Said(report);
    EXPECT_NE(report.refutation->reason.find(fmt::format("element {} ", place_.element)), std::string::npos) << Said(report);
  }

  Scratch scratch_;
  int runs_ = 0;
  Place place_;
};

TEST_F(Lies, FalseDecisionsAreRefutedWhereTheyAre) {
  for (const char* text : {kMlp, kGpt2, kResNet}) {
    for (const std::int64_t bits : {32, 24}) {
      for (const std::int64_t every : {1, 2}) {
        const PreparedJob prepared = JobOf(text, bits, every);
        // Outside D of the trainer's own value by more than D, so that no correct auditor can see it otherwise.
        Machine plain(bits, 2), perturbed(bits, 1, 0.99, 9);
        for (Machine* auditor : {&plain, &perturbed}) {
          ExpectInadmissible(Tell(prepared, TieOutsideTheBound(), *auditor), "a tie outside the bound");
          ExpectInadmissible(Tell(prepared, FarFromABoundary(), *auditor), "far from a boundary");
          ExpectInadmissible(Tell(prepared, WideOutsideTheBound(), *auditor), "a wide value");
        }
        ExpectInadmissible(Tell(prepared, OnlySaid(std::numeric_limits<float>::quiet_NaN()), plain), "not a number");
        ExpectInadmissible(Tell(prepared, OnlySaid(std::numeric_limits<float>::infinity()), plain), "infinite");
        if (bits < 32) ExpectInadmissible(Tell(prepared, OffTheGrid(), plain), "off the grid");
      }
    }
  }
}

TEST_F(Lies, AFalseDecisionOfTheFirstOrLastStepIsRefutedThere) {
  const PreparedJob prepared = JobOf(kGpt2, 32);
  Machine plain(32);
  for (const std::int64_t at : {std::int64_t{1}, prepared.job.steps}) {
    ExpectInadmissible(Tell(prepared, TieOutsideTheBound(), plain, at), "a tie outside the bound", at);
  }
}

// A trainer is free where the bound leaves the value open, if it says so. An audit counts how often it took a decision otherwise.
TEST_F(Lies, OpenDecisionsMayBeTakenEitherWay) {
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const PreparedJob prepared = Reseeded(JobOf(kLargerGpt2, 32), seed);
    Machine plain(32);
    const auto report = TryToTell(prepared, OpenTakenOtherwise(), plain);
    if (!report) continue;  // no such element in that step
    ++taken;
    EXPECT_EQ(report->verdict, Verdict::kVerified) << Said(*report);
    EXPECT_EQ(report->roundings.value_or(AuditRoundings{}).corrections, 1u);
  }
  EXPECT_GT(taken, 0);
}

// Within D of what an auditor computes, but farther than E from the truth: a dispute would convict, and an audit does not call it verified.
TEST_F(Lies, WhatADisputeConvictsIsNotVerified) {
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const PreparedJob prepared = Reseeded(JobOf(kLargerGpt2, 32), seed);
    Machine plain(32), perturbed(32, 2, 0.99, 9);
    for (Machine* auditor : {&plain, &perturbed}) {
      const auto report = TryToTell(prepared, TakenOtherwise(0.6, 0.9), *auditor);
      if (!report) continue;
      ++taken;
      ExpectInadmissible(*report, "between E and D");
    }
  }
  EXPECT_GT(taken, 0);
}

// Who cannot look twice says so.
TEST_F(Lies, AnAuditThatTakesDecisionsOnTrustSaysSo) {
  const PreparedJob prepared = JobOf(kMlp, 32);
  Machine trainer(32), plain(32), credulous(32, 1, 0, 0, true);
  const std::string path = scratch_ / "honest";
  ASSERT_TRUE(TrainIn(path, prepared, trainer));
  const RunDirectory run = RunDirectory::Open(path).value();
  for (Machine* auditor : {&plain, &credulous}) {
    const AuditReport report = AuditOf(path, prepared, *auditor);
    EXPECT_EQ(report.verdict, Verdict::kVerified) << Said(report);
    bool said = false;
    for (const std::string& line : AssumedBy({}, run, report)) said = said || line.find("rounding log") != std::string::npos;
    EXPECT_EQ(said, auditor == &credulous);
  }
}

// A trainer that takes open decisions as its machine has them and writes none down is found out by every auditor, also one whose machine takes them alike: every
// correct evaluation writes them down.
TEST_F(Lies, OmittedDecisionsAreFound) {
  const PreparedJob prepared = JobOf(kLargerGpt2, 32);
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    Machine trainer(32, 1, 0.99, seed), plain(32);
    const std::string silent = scratch_ / std::to_string(runs_++);
    attacks::Hooks hooks;
    hooks.run = [](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
      StepOutcome outcome = stepper.Run(state, plan);
      outcome.rounding->report.log = rounding::EncodeDecisions({}, outcome.rounding->report.elements);
      return outcome;
    };
    attacks::Lie lie;
    const SigningKey key = KeyOf();
    ASSERT_TRUE(attacks::RunHooks(
        hooks, {.prepared = prepared, .key = key, .backend = *trainer.backend, .pool = trainer.pool, .at = 1, .lie = lie},
        silent));
    for (Machine* auditor : {&trainer, &plain}) {
      const AuditReport report = AuditOf(silent, prepared, *auditor);
      ASSERT_EQ(report.verdict, Verdict::kRefuted) << Said(report);
      EXPECT_EQ(report.refutation->step, 1) << Said(report);
      EXPECT_NE(report.refutation->reason.find("every correct evaluation writes down"), std::string::npos) << Said(report);
    }
  }
}

// Not within the bound, but a few times it: everywhere, in all steps.
TEST_F(Lies, ATrainerWhoseErrorsAreLargerThanTheBoundIsRefuted) {
  for (const char* text : {kMlp, kGpt2, kResNet}) {
    const PreparedJob prepared = JobOf(text, 32);
    Machine sloppy(32, 1, 1e5, 1), plain(32);
    const std::string path = scratch_ / std::to_string(runs_++);
    ASSERT_TRUE(TrainIn(path, prepared, sloppy));
    const AuditReport report = AuditOf(path, prepared, plain);
    ASSERT_EQ(report.verdict, Verdict::kRefuted);
    EXPECT_EQ(report.refutation->step, 1) << Said(report);
  }
}

}  // namespace
}  // namespace assay::roundtest
