// The published rule between machines that differ: thresholds that are found for it suffice, and its logs shrink with them.
#include <gtest/gtest.h>

#include "assay/train/calibrate.h"
#include "bench.h"

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
