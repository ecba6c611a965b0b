// The rules on telemetry that is made up: what each accepts and refuses, the holes of the published ones among it.
#include "assay/monitor/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace assay::monitor {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
const Digest kJob = HashBytes(AsBytes("job"));

Digest RootOf(std::int64_t step) { return HashBytes(AsBytes(std::to_string(step))); }

// A job of ten steps that takes a second each on one core, which does 1e9 operations a second.
RunFacts FactsOfTen() {
  RunFacts facts{.job = kJob, .steps = 10, .finished = true, .step_flops = 1e9, .state_bytes = 1'000'000, .log_size = 6};
  for (std::int64_t step = 0; step <= 10; step += 2) {
    facts.committed.push_back({step, RootOf(step), step == 0 ? 0 : std::bit_cast<std::uint32_t>(1.0f)});
  }
  facts.log_roots[6] = RootOf(-6);
  facts.entries_after = [](std::int64_t step) { return static_cast<std::uint64_t>(step / 2 + 1); };
  facts.learns = [](std::int64_t, std::int64_t) { return true; };
  return facts;
}

SampleRecord SampleOf(std::int64_t step, double cores, std::int64_t bytes) {
  return {.step = step, .cpu_us = static_cast<std::int64_t>(cores * static_cast<double>(step) * kSecond), .resident = bytes};
}

Telemetry Honest() {
  Session session{.record = {.job = kJob,
                             .steps = 10,
                             .epoch_samples = 8,
                             .step_samples = 2,
                             .step_flops = 1e9,
                             .state_bytes = 1'000'000,
                             .device = "cpu",
                             .threads = 1,
                             .cores = 1,
                             .flops_per_s = 1e9,
                             .flops_per_cpu_s = 1e9}};
  session.samples.push_back({SampleOf(0, 0.99, 1'000'000), 0, 0});
  for (std::int64_t step = 1; step <= 10; ++step) {
    const Iteration at = IterationOf(step - 1, 2, 8);
    session.steps.push_back(
        {{at.epoch, at.iteration, step, std::bit_cast<std::uint32_t>(1.0f)}, step * kSecond, step * kSecond});
    session.samples.push_back({SampleOf(step, 0.99, 5'000'000), step * kSecond, step * kSecond});
  }
  session.seals.push_back({{.step = 10, .job = kJob, .log_size = 6, .log_root = RootOf(-6), .final = true}, 10 * kSecond, 0});
  Telemetry telemetry{.scan = {.records = 23, .sealed = 23}, .sessions = {session}, .ends_sealed = true};
  return telemetry;
}

// Sets the utilisation between samples, percent of the one thread.
void SetUtilisation(Telemetry& telemetry, const std::vector<double>& percent) {
  std::int64_t cpu_us = 0;
  auto& samples = telemetry.sessions[0].samples;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    cpu_us += static_cast<std::int64_t>(percent[(i - 1) % percent.size()] * 10'000);
    samples[i].body.cpu_us = cpu_us;
  }
}

const RuleResult& Find(const std::vector<RuleResult>& results, std::string_view rule) {
  const auto found = std::ranges::find(results, rule, &RuleResult::rule);
  EXPECT_NE(found, results.end()) << rule;
  return *found;
}
std::string Seed(const Telemetry& telemetry, std::string_view rule, const RunFacts& facts = FactsOfTen()) {
  return Find(SeedRules(telemetry, facts), rule).verdict;
}
std::string Strict(const Telemetry& telemetry, std::string_view rule, const RunFacts& facts = FactsOfTen()) {
  const std::vector<RuleResult> results = StrictRules(telemetry, facts);
  return Find(results, rule).verdict;
}

TEST(SeedRules, UtilisationIsTheShareAboveTheMean) {
  Telemetry telemetry = Honest();
  SetUtilisation(telemetry, {90, 90, 90, 40, 90});
  const RuleResult result = Find(SeedRules(telemetry, FactsOfTen()), "utilisation");
  EXPECT_EQ(result.verdict, "accepted") << result.reason;
  EXPECT_DOUBLE_EQ(*result.figure, 0.8);
  SetUtilisation(telemetry, {20, 20, 20, 90, 20});
  EXPECT_EQ(Seed(telemetry, "utilisation"), "refused");
}

// The holes of the published rule: a machine that is always busy is refused, noise of one that idles is accepted.
TEST(SeedRules, UtilisationRefusesAConstantAndAcceptsIdleNoise) {
  Telemetry telemetry = Honest();
  SetUtilisation(telemetry, {100});
  EXPECT_EQ(Seed(telemetry, "utilisation"), "constant");
  EXPECT_EQ(Find(SeedRules(telemetry, FactsOfTen()), "utilisation").state, RuleState::kRefused);
  EXPECT_EQ(Strict(telemetry, "utilisation"), "accepted");
  SetUtilisation(telemetry, {1, 2});
  EXPECT_EQ(Seed(telemetry, "utilisation"), "accepted");
  EXPECT_EQ(Strict(telemetry, "utilisation"), "refused");
}

TEST(SeedRules, MemoryRisesAndStaysFlat) {
  Telemetry telemetry = Honest();
  EXPECT_EQ(Seed(telemetry, "memory"), "accepted");
  auto& samples = telemetry.sessions[0].samples;
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].body.resident = 1'000'000 * static_cast<std::int64_t>(i + 1);
  EXPECT_EQ(Seed(telemetry, "memory"), "refused");  // goes on rising
  for (auto& sample : samples) sample.body.resident = 7'000'000;
  EXPECT_EQ(Seed(telemetry, "memory"), "flat");  // another hole: memory that was taken before the first sample
  EXPECT_EQ(Strict(telemetry, "memory"), "accepted");
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].body.resident = i == 0 ? 10 : 100;
  EXPECT_EQ(Seed(telemetry, "memory"), "accepted");  // and one whose state has no room in it
  EXPECT_EQ(Strict(telemetry, "memory"), "refused");
}

TEST(SeedRules, SpecialCasesHaveNames) {
  Telemetry telemetry = Honest();
  telemetry.sessions[0].samples.resize(1);
  EXPECT_EQ(Seed(telemetry, "utilisation"), "no_samples");
  EXPECT_EQ(Seed(telemetry, "memory"), "no_samples");
  EXPECT_EQ(Find(SeedRules(telemetry, FactsOfTen()), "memory").state, RuleState::kUnchecked);
  Telemetry single = Honest();
  single.sessions[0].record.steps = 1;
  single.sessions[0].steps.resize(1);
  RunFacts facts = FactsOfTen();
  facts.steps = 1;
  EXPECT_EQ(Seed(single, "iterations", facts), "one_iteration");
  EXPECT_EQ(Seed(single, "utilisation", facts), "one_iteration");
}

TEST(IterationRule, IsTheExactSet) {
  EXPECT_EQ(Seed(Honest(), "iterations"), "accepted");
  Telemetry dropped = Honest(), repeated = Honest(), swapped = Honest(), renamed = Honest(), shortened = Honest();
  auto& steps = dropped.sessions[0].steps;
  steps.erase(steps.begin() + 4);
  repeated.sessions[0].steps.insert(repeated.sessions[0].steps.begin() + 4, repeated.sessions[0].steps[4]);
  std::swap(swapped.sessions[0].steps[2], swapped.sessions[0].steps[3]);
  renamed.sessions[0].steps[5].body.epoch = 0;
  shortened.sessions[0].steps.pop_back();
  for (const Telemetry* edited : {&dropped, &repeated, &swapped, &renamed, &shortened}) {
    EXPECT_EQ(Seed(*edited, "iterations"), "refused");
    EXPECT_EQ(Strict(*edited, "iterations"), "refused");
  }
  RunFacts so_far = FactsOfTen();
  so_far.finished = false;
  EXPECT_EQ(Seed(shortened, "iterations", so_far), "accepted");
}

// Ten steps of which four were recorded by a session that was killed after the sixth.
Telemetry Resumed() {
  Telemetry telemetry = Honest();
  Session second = telemetry.sessions[0];
  Session& first = telemetry.sessions[0];
  first.steps.resize(6);
  first.samples.resize(7);
  first.seals.clear();
  second.record.first_step = 4;
  second.steps.erase(second.steps.begin(), second.steps.begin() + 4);
  second.samples.erase(second.samples.begin(), second.samples.begin() + 4);
  telemetry.sessions.push_back(second);
  return telemetry;
}

TEST(IterationRule, ARunThatWasResumedIsNamed) {
  Telemetry telemetry = Resumed();
  EXPECT_EQ(Seed(telemetry, "iterations"), "resumed");
  for (const RuleResult& result : StrictRules(telemetry, FactsOfTen())) {
    EXPECT_TRUE(result.state == RuleState::kAccepted || result.state == RuleState::kNotApplicable)
        << result.rule << result.reason;
  }
  telemetry.sessions[0].steps.resize(2);
  EXPECT_EQ(Seed(telemetry, "iterations"), "refused");  // steps 3 and 4 are nowhere
}

TEST(StrictRules, AcceptHonestTelemetry) {
  for (const RuleResult& result : StrictRules(Honest(), FactsOfTen())) {
    if (result.rule == "energy") {
      EXPECT_EQ(result.verdict, "no_gpu");
    } else {
      EXPECT_EQ(result.verdict, "accepted") << result.rule << ": " << result.reason;
    }
  }
}

TEST(StrictRules, LossesAreTheCommittedOnes) {
  Telemetry telemetry = Honest();
  telemetry.sessions[0].steps[5].body.loss_bits ^= 1;
  EXPECT_EQ(Strict(telemetry, "losses"), "refused");
  telemetry = Honest();
  telemetry.sessions[0].steps[4].body.loss_bits ^= 1;  // a step that the log does not commit to
  EXPECT_EQ(Strict(telemetry, "losses"), "accepted");
  telemetry = Resumed();
  telemetry.sessions[0].steps[4].body.loss_bits ^= 1;  // recorded twice, with two losses
  EXPECT_EQ(Strict(telemetry, "losses"), "refused");
  RunFacts rounded = FactsOfTen();
  rounded.exact = false;
  EXPECT_EQ(Strict(telemetry, "losses", rounded), "accepted");
}

TEST(StrictRules, AFrozenModelIsRefused) {
  RunFacts facts = FactsOfTen();
  for (CommittedStep& entry : facts.committed) entry.state_root = RootOf(0);
  EXPECT_EQ(Strict(Honest(), "progress", facts), "refused");
  for (CommittedStep& entry : facts.committed) entry.loss_bits = 0;  // nothing is left to learn
  EXPECT_EQ(Strict(Honest(), "progress", facts), "accepted");
  facts = FactsOfTen();
  facts.committed[3].state_root = facts.committed[2].state_root;
  EXPECT_EQ(Strict(Honest(), "progress", facts), "refused");
  facts.learns = [](std::int64_t, std::int64_t) { return false; };
  EXPECT_EQ(Strict(Honest(), "progress", facts), "accepted");
}

TEST(StrictRules, TheChainIsSignedForThisRunToItsEnd) {
  Telemetry telemetry = Honest();
  telemetry.scan.end = ChainScan::End::kBroken;
  EXPECT_EQ(Strict(telemetry, "chain"), "damaged");
  EXPECT_EQ(StrictRules(telemetry, FactsOfTen()).size(), 1u);
  telemetry.scan.end = ChainScan::End::kForeign;
  EXPECT_EQ(Strict(telemetry, "chain"), "foreign");
  telemetry = Honest();
  telemetry.sessions[0].seals[0].body.log_root = RootOf(1);
  EXPECT_EQ(Strict(telemetry, "chain"), "refused");
  telemetry = Honest();
  telemetry.sessions[0].seals[0].body.final = false;
  EXPECT_EQ(Strict(telemetry, "chain"), "refused");
  telemetry = Honest();
  telemetry.ends_sealed = false;
  EXPECT_EQ(Strict(telemetry, "chain"), "refused");
  telemetry = Honest();
  telemetry.sessions[0].seals[0].body.job = telemetry.sessions[0].record.job = RootOf(2);
  EXPECT_EQ(Strict(telemetry, "chain"), "refused");
  RunFacts so_far = FactsOfTen();
  so_far.finished = false;
  telemetry = Honest();
  telemetry.scan.sealed = 0;
  EXPECT_EQ(Strict(telemetry, "chain", so_far), "unsealed");
}

SealRecord SealOf(std::int64_t step, std::uint64_t size) {
  return {.step = step, .job = kJob, .log_size = size, .log_root = RootOf(-static_cast<std::int64_t>(size))};
}

RunFacts FactsWithAllRoots() {
  RunFacts facts = FactsOfTen();
  for (std::int64_t size = 1; size <= 6; ++size) facts.log_roots[static_cast<std::uint64_t>(size)] = RootOf(-size);
  return facts;
}

// What the rule says of `telemetry` with the seal before the last one of its last session, of a run that is finished and of one that goes on.
std::string WithSeal(Telemetry telemetry, const SealRecord& seal, bool finished = true) {
  RunFacts facts = FactsWithAllRoots();
  facts.finished = finished;
  auto& seals = telemetry.sessions.back().seals;
  seals.insert(seals.end() - 1, {seal, seal.step * kSecond, seal.step * kSecond});
  return Find(StrictRules(telemetry, facts), "chain").verdict;
}

TEST(StrictRules, ASealIsForTheLogAsItWasThen) {
  for (const bool finished : {true, false}) {
    EXPECT_EQ(WithSeal(Honest(), SealOf(4, 3), finished), "accepted");
    EXPECT_EQ(WithSeal(Honest(), SealOf(5, 3), finished), "accepted");
    EXPECT_EQ(WithSeal(Honest(), SealOf(4, 2), finished), "refused") << "fewer entries than there were";
    EXPECT_EQ(WithSeal(Honest(), SealOf(4, 1'000'000), finished), "refused") << "more than the job will have";
    SealRecord final = SealOf(4, 3);
    final.final = true;
    EXPECT_EQ(WithSeal(Honest(), final, finished), "refused") << "in the middle of a session";
  }
  Telemetry early = Honest();
  early.sessions[0].steps.resize(4);
  early.sessions[0].samples.resize(5);
  early.sessions[0].seals[0].body = SealOf(4, 3);
  RunFacts so_far = FactsWithAllRoots();
  so_far.finished = false;
  EXPECT_EQ(Strict(early, "chain", so_far), "accepted");
  so_far.log_size = 2;  // read before it grew
  EXPECT_EQ(Strict(early, "chain", so_far), "accepted");
  early.sessions[0].seals[0].body.final = true;
  EXPECT_EQ(Strict(early, "chain", so_far), "refused") << "before the last step";
}

// Whoever takes up a run may find entries of steps that it has to do once more.
TEST(StrictRules, ASessionThatGoesOnMayFindALongerLog) {
  for (const std::uint64_t size : {3u, 4u, 5u}) EXPECT_EQ(WithSeal(Resumed(), SealOf(5, size)), "accepted") << size;
  EXPECT_EQ(WithSeal(Resumed(), SealOf(5, 7)), "refused");
  EXPECT_EQ(WithSeal(Resumed(), SealOf(5, 7), false), "refused");
  Telemetry telemetry = Resumed();
  auto& seals = telemetry.sessions[1].seals;
  seals.insert(seals.begin(), {SealOf(4, 3), 4 * kSecond, 0});
  EXPECT_EQ(WithSeal(telemetry, SealOf(6, 5)), "refused") << "found after it was not there";
  // What the session before recorded, if it did, is gone.
  EXPECT_EQ(WithSeal(Honest(), SealOf(4, 6)), "accepted");
  Telemetry first = Honest();
  first.sessions[0].seals.insert(first.sessions[0].seals.begin(), {SealOf(2, 2), 2 * kSecond, 0});
  EXPECT_EQ(WithSeal(first, SealOf(4, 6)), "refused") << "found after it was not there";
}

TEST(StrictRules, WorkFitsTheMachine) {
  Telemetry telemetry = Honest();
  for (auto& sample : telemetry.sessions[0].samples) sample.mono_us /= 10;
  EXPECT_EQ(Strict(telemetry, "throughput"), "refused");
  telemetry = Honest();
  telemetry.sessions[0].record.step_flops /= 2;
  EXPECT_EQ(Strict(telemetry, "throughput"), "refused");
  telemetry = Honest();
  telemetry.sessions[0].record.flops_per_s = telemetry.sessions[0].record.flops_per_cpu_s = 0;
  EXPECT_EQ(Strict(telemetry, "throughput"), "not_measured");
  EXPECT_EQ(Strict(telemetry, "utilisation"), "not_measured");
}

Telemetry OnGpu(std::int64_t percent, std::int64_t watts) {
  Telemetry telemetry = Honest();
  telemetry.sessions[0].record.device = "cuda";
  for (auto& sample : telemetry.sessions[0].samples) {
    sample.body.gpu = GpuFigures{
        .utilisation = percent, .memory = 2'000'000, .power_mw = watts * 1000, .energy_mj = 77 + watts * sample.mono_us / 1000};
  }
  return telemetry;
}

RuleState StateOf(const Telemetry& telemetry, std::string_view rule, bool exact = true) {
  RunFacts facts = FactsOfTen();
  facts.exact = exact;
  return Find(StrictRules(telemetry, facts), rule).state;
}

// One field that a trainer leaves out does not switch the rules off.
TEST(StrictRules, WorkThatWasNotMeasuredIsUnchecked) {
  for (const char* rule : {"throughput", "utilisation"}) {
    Telemetry telemetry = Honest();
    telemetry.sessions[0].record.flops_per_s = telemetry.sessions[0].record.flops_per_cpu_s = 0;
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kUnchecked) << rule;
    EXPECT_EQ(StateOf(telemetry, rule, false), RuleState::kNotApplicable) << rule << " of a job that rounds";
    telemetry = Honest();
    for (auto& sample : telemetry.sessions[0].samples) sample.mono_us = 0;
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kUnchecked) << rule << " at one instant";
    telemetry = Resumed();
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kAccepted) << rule;
    telemetry.sessions[0].record.flops_per_cpu_s = 0;
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kUnchecked) << rule << " of one session of two";
    telemetry = Resumed();
    telemetry.sessions[0].samples.resize(1);  // killed before its second sample
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kAccepted) << rule;
    telemetry = Resumed();
    telemetry.sessions[1].samples.resize(1);
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kUnchecked) << rule << " of the session that came to the end";
    // Samples are left out where they would tell of a machine that idles, or of steps that were too quick.
    telemetry = Honest();
    auto& samples = telemetry.sessions[0].samples;
    samples.erase(samples.begin(), samples.end() - 2);
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kUnchecked) << rule << " of steps before the first sample";
    telemetry = Honest();
    telemetry.sessions[0].samples.resize(3);
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kUnchecked) << rule << " of steps after the last sample";
    telemetry = Resumed();
    telemetry.sessions[0].samples.clear();
    EXPECT_EQ(StateOf(telemetry, rule), RuleState::kUnchecked) << rule << " of a session without samples";
  }
  Telemetry silent = OnGpu(kNotTold, 300);
  EXPECT_EQ(Strict(silent, "utilisation"), "not_told");
  EXPECT_EQ(StateOf(silent, "utilisation"), RuleState::kNotApplicable);
}

TEST(StrictRules, ThreadsBeyondTheCoresDoNotMakeAMachineFaster) {
  Telemetry telemetry = Honest();
  for (auto& sample : telemetry.sessions[0].samples) sample.mono_us /= 10;
  telemetry.sessions[0].record.threads = 64;
  EXPECT_EQ(Strict(telemetry, "throughput"), "refused");
  telemetry.sessions[0].record.cores = 64;
  EXPECT_EQ(Strict(telemetry, "throughput"), "accepted");
  telemetry.sessions[0].record.threads = 1;
  EXPECT_EQ(Strict(telemetry, "throughput"), "refused");
}

TEST(StrictRules, AGpuIsHeldAgainstItsWorkAndItsEnergy) {
  EXPECT_EQ(Strict(OnGpu(99, 300), "utilisation"), "accepted");
  EXPECT_EQ(Strict(OnGpu(99, 300), "energy"), "accepted");
  EXPECT_EQ(Seed(OnGpu(100, 300), "utilisation"), "constant");
  EXPECT_EQ(Strict(OnGpu(3, 300), "utilisation"), "refused");
  RunFacts heavy = FactsOfTen();
  heavy.step_flops = 1e15;  // for which 300 J a step are too few
  EXPECT_EQ(Strict(OnGpu(99, 300), "energy", heavy), "refused");
  Telemetry disagreeing = OnGpu(99, 300);
  disagreeing.sessions[0].samples.back().body.gpu->energy_mj *= 5;
  EXPECT_EQ(Strict(disagreeing, "energy"), "refused");
  Telemetry quick = OnGpu(99, 300);
  for (auto& sample : quick.sessions[0].samples) sample.mono_us /= 100;
  EXPECT_EQ(Strict(quick, "energy"), "too_short");
  EXPECT_EQ(Strict(quick, "utilisation"), "too_short");
}

TEST(StrictRules, WorkTakesEnergyThatIsCountedForwards) {
  Telemetry still = OnGpu(99, kNotTold);
  for (auto& sample : still.sessions[0].samples) sample.body.gpu->power_mw = kNotTold;
  Telemetry falling = still, dented = OnGpu(99, 300);
  for (auto& sample : still.sessions[0].samples) sample.body.gpu->energy_mj = 5;
  for (auto& sample : falling.sessions[0].samples) sample.body.gpu->energy_mj = 1'000'000 - sample.body.step * 1000;
  dented.sessions[0].samples[5].body.gpu->energy_mj = 0;
  EXPECT_EQ(Strict(still, "energy"), "refused");
  EXPECT_EQ(Strict(falling, "energy"), "refused");
  EXPECT_EQ(Strict(dented, "energy"), "refused");
  RunFacts idle = FactsOfTen();
  idle.step_flops = 0;
  EXPECT_EQ(Strict(still, "energy", idle), "accepted");
}

TEST(StrictRules, AGpuIsNotBusierThanAllTheTime) {
  Telemetry telemetry = OnGpu(99, 300);
  telemetry.sessions[0].samples[3].body.gpu->utilisation = 101;
  const RuleResult result = Find(StrictRules(telemetry, FactsOfTen()), "utilisation");
  EXPECT_EQ(result.verdict, "refused");
  EXPECT_NE(result.reason.find("101 %"), std::string::npos) << result.reason;
  EXPECT_EQ(Strict(OnGpu(100, 300), "utilisation"), "accepted");
}

TEST(StrictRules, EnergyThatNobodyTellsIsNamed) {
  Telemetry silent = OnGpu(99, 300);
  for (auto& sample : silent.sessions[0].samples) sample.body.gpu->energy_mj = kNotTold;
  EXPECT_EQ(Strict(silent, "energy"), "not_told");
  EXPECT_EQ(StateOf(silent, "energy"), RuleState::kNotApplicable);
  for (auto& sample : silent.sessions[0].samples) sample.body.gpu.reset();
  EXPECT_EQ(Strict(silent, "energy"), "not_told");
  Telemetry instant = OnGpu(99, 300);
  instant.sessions[0].samples.resize(1);
  EXPECT_EQ(Strict(instant, "energy"), "not_measured");
  EXPECT_EQ(StateOf(instant, "energy"), RuleState::kUnchecked);
  EXPECT_EQ(StateOf(instant, "energy", false), RuleState::kNotApplicable);
}

TEST(StrictRules, TimesGoForwardAndAJumpOfTheClockIsNamed) {
  Telemetry telemetry = Honest();
  telemetry.disorder = "record 5 comes before the record before it";
  EXPECT_EQ(Strict(telemetry, "times"), "refused");
  telemetry = Honest();
  telemetry.clock_jump_s = 3600;
  EXPECT_EQ(Strict(telemetry, "times"), "clock_jumped");
}

}  // namespace
}  // namespace assay::monitor
