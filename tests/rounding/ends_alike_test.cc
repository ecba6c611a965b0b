// Disputes of rounded runs whose last states agree. All their entries differ, because their rounding logs do: what else is false in one of them has to be looked for.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "assay/base/file.h"
#include "cheats.h"
#include "conduct.h"
#include "disputes.h"
#include "tools.h"

namespace assay::roundtest {
namespace {

constexpr std::int64_t kSteps = 6, kAt = 4;  // the step that is lied about

// What is false about a step: told where the step has been run and `state` is the one after it.
using Falsehood = std::function<void(State& state, StepOutcome& outcome)>;

void OtherWeight(State& state, StepOutcome&) { state[0].Span<float>()[0] += 1; }
void OtherLoss(State&, StepOutcome& outcome) { outcome.loss += 1; }
void OtherBatch(State&, StepOutcome& outcome) { outcome.batch_root.bytes[0] ^= 1; }

// Tells `falsehood` of step `at` and goes on from the true state. Its log says nothing of the close calls of the first step, so that it differs from an honest one
// from the start without the state doing so.
attacks::Hooks Telling(std::int64_t at, Falsehood falsehood) {
  attacks::Hooks hooks;
  hooks.admits_batches = true;
  const auto kept = std::make_shared<State>();
  hooks.run = [=](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
    const std::int64_t step = std::int64_t{plan.step} + 1;
    if (step == at + 1 && !kept->empty()) state = attacks::CopyOf(*kept);
    StepOutcome outcome = stepper.Run(state, plan);
    if (step == 1) outcome.rounding->report.log = rounding::EncodeDecisions({}, outcome.rounding->report.elements);
    if (step != at) return outcome;
    *kept = attacks::CopyOf(state);
    falsehood(state, outcome);
    return outcome;
  };
  return hooks;
}

class EndsAlike : public Disputes {
 protected:
  // Its first step has close calls.
  static PreparedJob JobWith(std::int64_t every) {
    Job job = JobOf(kGpt2, 32, every).job;
    job.steps = kSteps;
    return Prepare(std::move(job)).value();
  }
  // An honest run and the liar's: what is found of the liar, on either side of the table.
  std::optional<dispute::Finding> Lie(const PreparedJob& prepared, const attacks::Hooks& hooks) {
    const Scratch place;
    Machine machine(32);
    const SigningKey key = KeyOf(8);
    EXPECT_TRUE(TrainIn(place / "honest", prepared, machine));
    attacks::Lie lie;
    const attacks::Setting setting{
        .prepared = prepared, .key = key, .backend = *machine.backend, .pool = machine.pool, .at = kAt, .lie = lie};
    const Status lied = attacks::RunHooks(hooks, setting, place / "liar");
    EXPECT_TRUE(lied) << lied.error().message;
    const RunDirectory honest = RunDirectory::Open(place / "honest").value(),
                       crooked = RunDirectory::Open(place / "liar").value();
    attacks::HooksConduct conduct(hooks, nullptr);
    const auto account = RunAccount::Make(honest, prepared, *machine.backend, machine.pool, {}).value();
    const auto liar = RunAccount::Make(crooked, prepared, *machine.backend, machine.pool, {}, &conduct).value();
    EXPECT_TRUE(Same(*account, *liar)) << "they are to end alike";
    EXPECT_NE(RoundingRootOf(honest, prepared), RoundingRootOf(crooked, prepared))
        << "their rounding logs are to differ from the first entry on";
    return Try(prepared, *account, *liar, 1);
  }
  static std::optional<Digest> RoundingRootOf(const RunDirectory& run, const PreparedJob& prepared) {
    return RunLog::Read(run.log_path(), run.signer(), prepared.identity.trajectory).value().entries().at(1).rounding_root;
  }
};

TEST_F(EndsAlike, WhatIsFalseInBetweenConvicts) {
  for (const std::int64_t every : {1, 2}) {
    const PreparedJob prepared = JobWith(every);
    const std::pair<const char*, Falsehood> lies[] = {{"weight", OtherWeight}, {"loss", OtherLoss}, {"batch", OtherBatch}};
    for (const auto& [what, falsehood] : lies) {
      SCOPED_TRACE(fmt::format("a false {}, entries for {} steps each", what, every));
      const auto finding = Lie(prepared, Telling(kAt, falsehood));
      ASSERT_TRUE(finding);
      EXPECT_TRUE(finding->guilty[0] || finding->guilty[1]) << finding->reason;
    }
  }
}

TEST_F(EndsAlike, AFalseLossAtTheEndConvicts) {
  const PreparedJob prepared = JobWith(1);
  const auto finding = Lie(prepared, Telling(prepared.job.steps, OtherLoss));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->step, prepared.job.steps) << finding->reason;
}

TEST_F(EndsAlike, OtherWeightsThanThoseOfTheStateConvict) {
  const PreparedJob prepared = JobWith(1);
  attacks::Hooks hooks = Telling(0, OtherWeight);
  Machine machine(32);
  attacks::Lie lie;
  const SigningKey key = KeyOf(8);
  const attacks::Setting setting{
      .prepared = prepared, .key = key, .backend = *machine.backend, .pool = machine.pool, .at = kAt, .lie = lie};
  hooks.finished = attacks::ReplacedWeights(setting).value().finished;
  const auto finding = Lie(prepared, hooks);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->cause, dispute::Cause::kWeights) << finding->reason;
}

TEST_F(EndsAlike, HonestRunsAreBothLeftStanding) {
  int alike = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const PreparedJob prepared = JobWith(seed % 2 == 0 ? 2 : 1);
    const Scratch place;
    Machine first(32, 1, 0.99, seed), second(32, 2, 0.99, seed + 100);
    ASSERT_TRUE(TrainIn(place / "a", prepared, first));
    ASSERT_TRUE(TrainIn(place / "b", prepared, second, INT64_MAX, KeyOf(8)));
    const RunDirectory a = RunDirectory::Open(place / "a").value(), b = RunDirectory::Open(place / "b").value();
    const auto one = RunAccount::Make(a, prepared, *first.backend, first.pool, {}).value();
    const auto other = RunAccount::Make(b, prepared, *second.backend, second.pool, {}).value();
    for (const bool turned : {false, true}) {
      const Played played = turned ? PlayThem(prepared, *other, *one) : PlayThem(prepared, *one, *other);
      EXPECT_EQ(played.finding(), nullptr) << played.finding()->reason;
      EXPECT_EQ(played.silent, "");
      const auto* draw = std::get_if<dispute::Undecided>(&played.outcome.next);
      if (draw != nullptr && Same(*one, *other)) ++alike;
    }
  }
  EXPECT_GT(alike, 0) << "nothing was put to the test";
}

}  // namespace
}  // namespace assay::roundtest
