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
  // Forges step `at` and audits.
  AuditReport Tell(const PreparedJob& prepared, Forgery forgery, Machine& auditor, std::int64_t at = 2) {
    Machine machine(prepared.job.round_bits);
    Forger forger(prepared, machine, at, std::move(forgery));
    const std::string path = scratch_ / std::to_string(runs_++);
    const Status trained = forger.Train(path);
    EXPECT_TRUE(trained) << trained.error().message;
    place_ = forger.place().value_or(Place{});
    return AuditOf(path, prepared, auditor);
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
  const PreparedJob prepared = JobOf(kLargerGpt2, 32);
  Machine plain(32);
  const AuditReport report = Tell(prepared, OpenTakenOtherwise(), plain);
  EXPECT_EQ(report.verdict, Verdict::kVerified) << Said(report);
  EXPECT_EQ(report.roundings.value_or(AuditRoundings{}).corrections, 1u);
}

// A trainer that takes open decisions as its machine has them and writes none down is found out at the first step whose state an auditor's own decisions change.
TEST_F(Lies, OmittedDecisionsAreFoundByAnAuditorWhoTakesThemOtherwise) {
  const PreparedJob prepared = JobOf(kLargerGpt2, 32);
  int refuted = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    Machine trainer(32, 1, 0.99, seed), plain(32);
    const std::string honest = scratch_ / std::to_string(runs_++), silent = scratch_ / std::to_string(runs_++);
    ASSERT_TRUE(TrainIn(honest, prepared, trainer));
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
    EXPECT_EQ(AuditOf(silent, prepared, trainer).verdict, Verdict::kVerified) << "on its own machine";
    const AuditReport free = AuditOf(honest, prepared, plain, {.ignore_roundings = true});
    const AuditReport report = AuditOf(silent, prepared, plain);
    EXPECT_EQ(report.verdict, free.verdict) << Said(report);
    if (report.verdict == Verdict::kVerified) continue;
    ++refuted;
    ASSERT_EQ(report.verdict, Verdict::kRefuted);
    EXPECT_EQ(report.refutation->step, free.refutation.value_or(Refutation{}).step) << Said(report);
    EXPECT_NE(report.refutation->reason.find("gives another state"), std::string::npos) << Said(report);
  }
  EXPECT_GT(refuted, 0);
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
