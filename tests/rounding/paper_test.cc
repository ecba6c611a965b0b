// The published rule between machines that differ: thresholds that are found for it suffice, and its logs shrink with them.
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/audit/calibrate.h"
#include "assay/exec/step_nodes.h"
#include "assay/rounding/paper_log.h"
#include "bench.h"
#include "cheat.h"
#include "conduct.h"
#include "forgeries.h"
#include "tools.h"
#include "trial.h"

namespace assay::roundtest {
namespace {

constexpr double kPerturbation = 0.1;  // of the bound

class PaperRule : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasBlas()) GTEST_SKIP() << "OpenBLAS is not installed";
  }
  // What `trainer` trains, calibrated by `auditor`.
  Calibration Calibrated(const PreparedJob& prepared, std::uint32_t trainer, std::uint32_t auditor) {
    const std::string path = Fresh();
    Machine one(prepared.job.round_bits, 1, kPerturbation, trainer), other(prepared.job.round_bits, 1, kPerturbation, auditor);
    EXPECT_TRUE(TrainIn(path, prepared, one));
    auto run = RunDirectory::Open(path);
    auto found = Calibrate(run.value(), prepared, *other.backend, other.pool);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Calibration{});
  }
  // Trained and audited by machines that differ.
  AuditReport Audited(const PreparedJob& prepared) {
    const std::string path = Fresh();
    Machine one(prepared.job, 2, kPerturbation, 1), other(prepared.job, 1, kPerturbation, 2);
    EXPECT_TRUE(TrainIn(path, prepared, one));
    return AuditOf(path, prepared, other);
  }
  std::string Fresh() { return scratch_ / std::to_string(runs_++); }

 private:
  Scratch scratch_;
  int runs_ = 0;
};

PreparedJob PaperJob(const PreparedJob& prepared, std::map<std::string, float> tau) {
  Job job = prepared.job;
  job.round_rule = RoundRule::kPaper;
  job.round_tau = std::move(tau);
  return Prepare(std::move(job)).value();
}

TEST_F(PaperRule, CalibratedThresholdsSufficeAndShrinkTheLog) {
  const PreparedJob bound = JobOf(kLargerGpt2, 32);
  // Either machine may be the one whose results are near its rounded values.
  std::map<std::string, float> tau;
  std::uint64_t differed = 0;
  for (const auto& [trainer, auditor] : {std::pair{1u, 2u}, std::pair{2u, 1u}}) {
    for (const OpThreshold& op : Calibrated(bound, trainer, auditor).ops) {
      differed += op.differed;
      EXPECT_LT(op.tau, 0.5f) << op.op;
      const float found = op.differed == 0 ? 0.25f : op.tau;
      tau[op.op] = tau.contains(op.op) ? std::min(tau[op.op], found) : found;
    }
  }
  EXPECT_GT(differed, 0u) << "nothing to calibrate by";
  const AuditReport fixed = Audited(PaperJob(bound, {})), adaptive = Audited(PaperJob(bound, tau));
  EXPECT_EQ(adaptive.verdict, Verdict::kVerified) << Said(adaptive);
  EXPECT_LT(adaptive.roundings->decisions, fixed.roundings->decisions);
  EXPECT_LT(adaptive.roundings->log_bytes, fixed.roundings->log_bytes);
  fmt::print("{} differed; close: {} at a quarter, {} calibrated\n", differed, fixed.roundings->decisions,
             adaptive.roundings->decisions);
}

TEST_F(PaperRule, TheTableOfThresholdsTakesEffect) {
  const PreparedJob bound = JobOf(kMlp, 32);
  const auto close = [&](std::map<std::string, float> tau) {
    const AuditReport report = Audited(PaperJob(bound, std::move(tau)));
    EXPECT_EQ(report.verdict, Verdict::kVerified) << Said(report);
    return report.roundings->decisions;
  };
  const std::uint64_t quarter = close({});
  EXPECT_EQ(close({{"matmul", 0.25f}}), quarter);
  EXPECT_LT(close({{"matmul", 0.4f}}), quarter);
  EXPECT_GT(close({{"matmul", 0.1f}}), quarter);
}

// A trainer whose every update is one grid value larger than it should be, and whose symbols say so.
TEST_F(PaperRule, PushingUpdatesOutwardIsRefuted) {
  const PreparedJob paper = PaperJob(JobOf(kMlp, 32), {});
  for (const bool only_close : {false, true}) {
    Machine crooked(paper.job, 1, 0, 0), auditor(paper.job, 1, kPerturbation, 2);
    const numerics::Grid grid(32);
    const double tau = 0.25 * grid.Spacing(1);
    const StepNodes nodes(paper.program);
    attacks::Hooks hooks;
    std::uint64_t pushed = 0;
    hooks.run = [&](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
      // What each node's results were before they were rounded, in the order of the step.
      std::vector<double> running, all;
      std::uint64_t first = 0;
      crooked.hooks.observe = [&](std::size_t output, std::int64_t at, std::span<const double> y, std::span<const double>) {
        if (output != 0) return;
        const auto begin = static_cast<std::size_t>(at);
        running.resize(std::max(running.size(), begin + y.size()));
        std::ranges::copy(y, running.begin() + at);
      };
      std::vector<std::pair<std::uint64_t, std::uint8_t>> edits;
      const auto tamper = [&](std::size_t node, std::span<const void* const> outputs) {
        const OpInstance op = nodes.Instance(node);
        if (Updates(nodes, node, 0)) {
          auto* values = const_cast<float*>(static_cast<const float*>(outputs[0]));
          for (std::size_t i = 0; i < running.size(); ++i) {
            const double y = running[i];
            const bool close = rounding::PaperSymbol(grid, y, tau) != rounding::kNotClose;
            if (y == 0 || (only_close && !close)) continue;
            const float r = grid.Round(y), outward = y > 0 ? grid.Above(r) : grid.Below(r);
            // By a symbol a follower goes at most to the other side of y.
            if ((y > 0) != (y > double{r})) continue;
            values[i] = outward;
            edits.emplace_back(first + i, y > 0 ? rounding::kWentUp : rounding::kWentDown);
          }
        }
        if (op.def->has_bound()) {
          for (const TensorType& type : op.out)
            first += type.dtype == DType::kF32 ? static_cast<std::uint64_t>(type.elements()) : 0;
        }
        running.clear();
      };
      StepOutcome outcome = stepper.RunTraced(state, plan, tamper);
      crooked.hooks.observe = nullptr;
      auto symbols = rounding::DecodePaperLog(outcome.rounding->report.log, "own log").value();
      for (const auto& [position, symbol] : edits) symbols[position] = symbol;
      pushed += edits.size();
      outcome.rounding->report.log = rounding::EncodePaperLog(symbols);
      return outcome;
    };
    attacks::Lie lie;
    const SigningKey key = KeyOf();
    const std::string path = Fresh();
    ASSERT_TRUE(attacks::RunHooks(
        hooks, {.prepared = paper, .key = key, .backend = *crooked.backend, .pool = crooked.pool, .at = 1, .lie = lie}, path));
    EXPECT_GT(pushed, 100u);
    const AuditReport report = AuditOf(path, paper, auditor);
    ASSERT_EQ(report.verdict, Verdict::kRefuted) << pushed << " pushed";
    EXPECT_EQ(report.refutation->step, 1) << Said(report);
    EXPECT_NE(Said(report).find("no correct evaluation rounds so"), std::string::npos) << Said(report);

    // And it loses to whoever trained honestly.
    Machine other(paper.job, 2, 0, 0);
    const std::string honest = Fresh();
    ASSERT_TRUE(TrainIn(honest, paper, other, INT64_MAX, KeyOf(8)));
    const RunDirectory a = RunDirectory::Open(honest).value(), b = RunDirectory::Open(path).value();
    attacks::HooksConduct conduct(hooks, nullptr);
    const auto one = dispute::RunAccount::Make(a, paper, *other.backend, other.pool, {}).value();
    const auto liar = dispute::RunAccount::Make(b, paper, *crooked.backend, crooked.pool, {}, &conduct).value();
    const Played played = PlayThem(paper, *one, *liar);
    ASSERT_NE(played.finding(), nullptr);
    EXPECT_FALSE(played.finding()->guilty[0]) << played.finding()->reason;
    EXPECT_TRUE(played.finding()->guilty[1]) << played.finding()->reason;
  }
}

// Independent runs by the rule, of machines that differ: nobody is guilty.
TEST_F(PaperRule, HonestRunsConvictNobody) {
  for (const char* text : {kMlp, kLargerGpt2}) {
    const PreparedJob paper = PaperJob(JobOf(text, 32), {});
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      Machine one(paper.job, 1, 0.99, seed), two(paper.job, 1, 0.99, seed + 10);
      const std::string first = Fresh(), second = Fresh();
      ASSERT_TRUE(TrainIn(first, paper, one));
      ASSERT_TRUE(TrainIn(second, paper, two, INT64_MAX, KeyOf(8)));
      const RunDirectory a = RunDirectory::Open(first).value(), b = RunDirectory::Open(second).value();
      const auto x = dispute::RunAccount::Make(a, paper, *one.backend, one.pool, {}).value();
      const auto y = dispute::RunAccount::Make(b, paper, *two.backend, two.pool, {}).value();
      const Played played = PlayThem(paper, *x, *y);
      EXPECT_EQ(played.finding(), nullptr) << played.finding()->reason;
    }
  }
}

TEST_F(PaperRule, VerdictsSayThatTheyAreUpToSymbols) {
  const AuditReport paper = Audited(PaperJob(JobOf(kMlp, 32), {}));
  ASSERT_EQ(paper.verdict, Verdict::kVerified) << Said(paper);
  EXPECT_TRUE(paper.roundings->symbols);
  EXPECT_GT(paper.roundings->decisions, 0u);
}

TEST_F(PaperRule, CalibrationWantsARunByBounds) {
  const PreparedJob paper = PaperJob(JobOf(kMlp, 32), {});
  const std::string path = Fresh();
  Machine machine(paper.job, 1, 0, 0);
  ASSERT_TRUE(TrainIn(path, paper, machine));
  const auto run = RunDirectory::Open(path);
  const auto found = Calibrate(run.value(), paper, *machine.backend, machine.pool);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("round_rule = \"bound\""), std::string::npos) << found.error().message;
}

}  // namespace
}  // namespace assay::roundtest
