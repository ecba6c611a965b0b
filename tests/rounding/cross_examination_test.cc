// A liar that first takes a close call otherwise, as it may, and lies later: undecided against an honest run, it loses to a run that follows it, which stands.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "assay/base/file.h"
#include "assay/rounding/paper_log.h"
#include "assay/run/fsck.h"
#include "conduct.h"
#include "forger.h"
#include "forgeries.h"
#include "trial.h"

namespace assay::roundtest {
namespace {

constexpr std::int64_t kFlipAt = 1, kLieAt = 3;
constexpr std::uint64_t kFirstSeed = 11, kSeeds = 8;

// A close call that everybody sees as one, taken the other way.
Forgery TrueTie(bool said) {
  Forgery forgery = OpenTakenOtherwise();
  forgery.liking = [](const numerics::Grid& grid, double y, double e) {
    return HasNarrowDecisions(grid, y, e) && ClosenessOf(grid, y, e).distance < 0.4 ? -std::fabs(y) : kNever;
  };
  if (!said) forgery.decision = [](const numerics::Grid&, double, double) -> std::optional<rounding::Decision> { return {}; };
  return forgery;
}

// What a liar does after its flip. `step` replaces the running of a step; false: it does not.
struct Lying {
  std::string name;
  std::function<void(StepPlan& plan)> plan{};
  std::function<void(std::int64_t step, State& after)> after{};
  std::optional<Forgery> forgery{};                              // of step kLieAt
  std::function<Bytes(std::int64_t step, Bytes log)> rewrite{};  // what it commits to as its rounding log
  bool admits_batches = false;
};

void TenTimes(StepPlan& plan) {
  if (plan.step + 1 >= kLieAt) plan.lr *= 10;
}
void OtherBatch(StepPlan& plan) {
  if (plan.step + 1 == kLieAt) std::ranges::fill(plan.indices, plan.indices.front());
}

std::vector<Lying> Lies() {
  return {{.name = "ten times the learning rate", .plan = TenTimes},
          {.name = "another batch", .plan = OtherBatch},
          {.name = "another batch, and says so", .plan = OtherBatch, .admits_batches = true},
          {.name = "a flipped weight",
           .after =
               [](std::int64_t step, State& after) {
                 if (step != kLieAt) return;
                 float& weight = after[0].Span<float>()[7];
                 weight = std::bit_cast<float>(std::bit_cast<std::uint32_t>(weight) ^ 1);
               }},
          {.name = "an inadmissible decision", .forgery = Among(Updates, FarFromABoundary())},
          {.name = "a tie left out", .forgery = TrueTie(false)},
          // What follows is to make others stop following before the lie.
          {.name = "an inadmissible decision in words alone",
           .plan = TenTimes,
           .rewrite =
               [](std::int64_t step, Bytes log) {
                 if (step != kLieAt - 1) return log;
                 auto decoded = rounding::DecodeDecisions(log, "log").value();
                 std::erase_if(decoded.decisions, [](const auto& d) { return d.position == 0; });
                 decoded.decisions.insert(decoded.decisions.begin(), WideDecision(1e30f));
                 return rounding::EncodeDecisions(decoded.decisions, decoded.elements);
               }},
          {.name = "no decision written down", .plan = TenTimes, .rewrite = [](std::int64_t step, Bytes log) {
             if (step != kLieAt - 1) return log;
             return rounding::EncodeDecisions({}, rounding::DecodeDecisions(log, "log").value().elements);
           }}};
}

class CrossExamination : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    if (!HasBlas()) GTEST_SKIP() << "OpenBLAS is not installed";
  }
  static PreparedJob JobWith(std::uint64_t seed) {
    Job job = JobOf(kLargerGpt2, 32, GetParam()).job;
    job.seed = seed;
    job.steps = 4;
    job.snapshot.every = GetParam();
    return Prepare(std::move(job)).value();
  }
  static bool IsUndecided(const Played& played) { return std::holds_alternative<dispute::Undecided>(played.outcome.next); }

  // Whether the flip reached the state, so that there was something to try.
  bool Try(const Lying& lying, std::uint64_t seed);
};

bool CrossExamination::Try(const Lying& lying, std::uint64_t seed) {
  const PreparedJob prepared = JobWith(seed);
  const Scratch place;
  Machine other(32, 2), crooked(32), follower(32, 2, 0.99, 3);
  follower.hooks.formulas =
      true;  // their bounds are the law's; those of kernels can be wider, and what they are perturbed by then is no correct evaluation
  EXPECT_TRUE(TrainIn(place / "honest", prepared, other));
  Forger flip(prepared, crooked, kFlipAt, TrueTie(true));
  std::optional<Forger> forge;
  if (lying.forgery) forge.emplace(prepared, crooked, kLieAt, *lying.forgery);
  attacks::Hooks hooks;
  hooks.plan = lying.plan;
  hooks.admits_batches = lying.admits_batches;
  const auto flipping = flip.hooks().run, forging = forge ? forge->hooks().run : flipping;
  hooks.run = [&](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
    const std::int64_t step = std::int64_t{plan.step} + 1;
    ASSAY_ASSIGN(StepOutcome outcome, (step == kLieAt ? forging : flipping)(stepper, state, plan));
    if (lying.after) lying.after(step, state);
    if (lying.rewrite) outcome.rounding->report.log = lying.rewrite(step, outcome.rounding->report.log);
    return outcome;
  };
  attacks::Lie lie;
  const SigningKey key = KeyOf(8);
  const Status trained = attacks::RunHooks(
      hooks, {.prepared = prepared, .key = key, .backend = *crooked.backend, .pool = crooked.pool, .at = kLieAt, .lie = lie},
      place / "liar");
  if (!trained) return false;  // no tie in that step
  const auto run = [&](const std::string& name) { return RunDirectory::Open(place / name).value(); };
  const RunDirectory a = run("honest"), b = run("liar");
  attacks::HooksConduct conduct(hooks, nullptr);
  const auto honest = RunAccount::Make(a, prepared, *other.backend, other.pool, {}).value();
  const auto liar = RunAccount::Make(b, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
  const Played first = PlayThem(prepared, *honest, *liar);
  if (!IsUndecided(first)) return false;  // the flip was lost on the way to the state

  // Interrupted where there is an entry only every other step: in the middle of the one with the lie.
  EXPECT_TRUE(TrainIn(place / "follower", prepared, follower, kLieAt, KeyOf(9), &b));
  const auto followed = TrainIn(place / "follower", prepared, follower, INT64_MAX, KeyOf(9), &b);
  EXPECT_TRUE(followed) << followed.error().message;
  if (!followed) return true;
  if (!followed->parting && lying.forgery) return false;  // so was the lie
  const Parting parting = followed->parting.value_or(Parting{});
  EXPECT_LE(parting.first, kLieAt);
  EXPECT_GE(parting.last, kLieAt);
  const RunDirectory c = run("follower");
  const auto after = RunAccount::Make(c, prepared, *follower.backend, follower.pool, {}).value();
  for (const bool swapped : {false, true}) {
    const Played played = swapped ? PlayThem(prepared, *liar, *after) : PlayThem(prepared, *after, *liar);
    const dispute::Finding* finding = played.finding();
    EXPECT_NE(finding, nullptr) << (IsUndecided(played) ? std::get<dispute::Undecided>(played.outcome.next).why : "agreed");
    if (finding == nullptr) continue;
    const std::size_t guilty = swapped ? 0 : 1;
    EXPECT_TRUE(finding->guilty[guilty] || finding->false_log[guilty]) << finding->reason;
    EXPECT_FALSE(finding->guilty[1 - guilty] || finding->false_log[1 - guilty]) << finding->reason;
    EXPECT_EQ(finding->step, kLieAt) << finding->reason;
  }
  // What the follower signed for holds by itself.
  EXPECT_EQ(AuditOf(place / "follower", prepared, other).verdict, Verdict::kVerified)
      << Said(AuditOf(place / "follower", prepared, other));
  const FsckReport checked = Fsck(place / "follower", follower.pool, {}).value();
  EXPECT_EQ(checked.verdict, FsckVerdict::kWhole) << (checked.findings.empty() ? "" : checked.findings.front().problem);
  EXPECT_EQ(PlayThem(prepared, *honest, *after).finding(), nullptr);
  return true;
}

TEST_P(CrossExamination, WhoFollowsALiarConvictsItAndStands) {
  for (const Lying& lying : Lies()) {
    SCOPED_TRACE(lying.name);
    std::uint64_t seed = kFirstSeed;
    while (seed < kFirstSeed + kSeeds && !Try(lying, seed)) ++seed;
    EXPECT_LT(seed, kFirstSeed + kSeeds) << "nothing was tried";
  }
}

// A leader whose states are right and whose log of one step says nothing. Whoever follows it signs for a log of its own there, interrupted inside the entry or not, by
// either rule: an audit refutes what leaves out what every correct evaluation writes down.
TEST_P(CrossExamination, ALogThatLeavesDecisionsOutIsNotTakenOver) {
  Job by_symbols = JobWith(kFirstSeed).job;
  by_symbols.round_rule = RoundRule::kPaper;
  for (const PreparedJob& prepared : {JobWith(kFirstSeed), Prepare(by_symbols).value()}) {
    const bool paper = prepared.job.round_rule == RoundRule::kPaper;
    SCOPED_TRACE(paper ? "by symbols" : "by bounds");
    const Scratch place;
    const auto machine = [&](int threads) {
      return paper ? std::make_unique<Machine>(prepared.job, threads, 0.0, 0u) : std::make_unique<Machine>(32, threads);
    };
    const auto made_leader = machine(1), made_follower = machine(2), made_auditor = machine(1);
    Machine &leader = *made_leader, &follower = *made_follower, &auditor = *made_auditor;
    attacks::Hooks hooks;
    hooks.run = [&](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
      StepOutcome outcome = stepper.Run(state, plan);
      if (std::int64_t{plan.step} + 1 != kLieAt) return outcome;
      const std::uint64_t elements = outcome.rounding->report.elements;
      outcome.rounding->report.log = paper ? rounding::EncodePaperLog(std::vector<std::uint8_t>(elements, rounding::kNotClose))
                                           : rounding::EncodeDecisions({}, elements);
      return outcome;
    };
    attacks::Lie lie;
    const SigningKey key = KeyOf(8);
    ASSERT_TRUE(attacks::RunHooks(
        hooks, {.prepared = prepared, .key = key, .backend = *leader.backend, .pool = leader.pool, .at = kLieAt, .lie = lie},
        place / "leader"));
    const AuditReport of_leader = AuditOf(place / "leader", prepared, auditor);
    EXPECT_EQ(of_leader.verdict, Verdict::kRefuted);
    EXPECT_NE(Said(of_leader).find("every correct evaluation writes down"), std::string::npos) << Said(of_leader);
    const RunDirectory leads = RunDirectory::Open(place / "leader").value();
    for (const std::int64_t stop : {kLieAt, INT64_MAX}) {
      const std::string path = place / fmt::format("follower-{}", stop);
      ASSERT_TRUE(TrainIn(path, prepared, follower, stop, KeyOf(9), &leads));
      ASSERT_TRUE(TrainIn(path, prepared, follower, INT64_MAX, KeyOf(9), &leads));
      EXPECT_EQ(AuditOf(path, prepared, auditor).verdict, Verdict::kVerified) << Said(AuditOf(path, prepared, auditor));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CommitEvery, CrossExamination, testing::Values(1, 2));

}  // namespace
}  // namespace assay::roundtest
