// Honest trainers and auditors whose machines differ by as much as the bound allows, and rounding logs that are not what was committed to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "assay/base/file.h"
#include "assay/run/fsck.h"
#include "assay/run/rounding_logs.h"
#include "assay/train/stepper.h"
#include "bench.h"

namespace assay::roundtest {
namespace {

constexpr const char* kJobs[] = {kMlp, kGpt2, kResNet};

class Rounding : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasBlas()) GTEST_SKIP() << "OpenBLAS is not installed";
  }
  // The run's audit must verify it. Returns the decisions that the auditor took otherwise by itself.
  std::uint64_t Verified(const std::string& path, const PreparedJob& prepared, Machine& auditor) {
    const AuditReport report = AuditOf(path, prepared, auditor);
    EXPECT_EQ(report.verdict, Verdict::kVerified) << Said(report);
    EXPECT_EQ(report.steps_checked, prepared.job.steps);
    return report.roundings.value_or(AuditRoundings{}).corrections;
  }
  std::string Fresh() { return scratch_ / std::to_string(runs_++); }

 private:
  Scratch scratch_;
  int runs_ = 0;
};

// Every result anywhere inside its bound, on either side, or on both with almost twice the bound between them.
TEST_F(Rounding, MachinesThatDifferWithinTheBoundAgree) {
  for (const std::int64_t bits : {32, 28, 24}) {
    std::uint64_t corrections = 0;
    for (const char* text : kJobs) {
      const PreparedJob prepared = JobOf(text, bits);
      for (const std::uint32_t seed : {1u, 2u, 3u}) {
        const int threads = seed % 2 == 0 ? 2 : 1;
        Machine plain(bits, 3 - threads), perturbed(bits, threads, 0.99, seed), other(bits, 1, 0.99, seed + 100);
        const std::string by_plain = Fresh(), by_perturbed = Fresh();
        ASSERT_TRUE(TrainIn(by_plain, prepared, plain));
        ASSERT_TRUE(TrainIn(by_perturbed, prepared, perturbed));
        corrections += Verified(by_perturbed, prepared, plain);
        corrections += Verified(by_plain, prepared, perturbed);
        corrections += Verified(by_perturbed, prepared, other);
      }
    }
    fmt::print("{} bits: {} decisions taken otherwise by auditors\n", bits, corrections);
    EXPECT_GT(corrections, 0u) << "nothing was put to the test";
  }
}

// Where the log is left alone, the same machines part, if not always: what differs may be lost on the way to the state. That speaks against
// nobody.
TEST_F(Rounding, WithoutTheLogTheyDiffer) {
  const PreparedJob prepared = JobOf(kLargerGpt2, 32);
  int differ = 0;
  for (const std::uint32_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    Machine plain(32), perturbed(32, 1, 0.99, seed);
    const std::string path = Fresh();
    ASSERT_TRUE(TrainIn(path, prepared, perturbed));
    Verified(path, prepared, plain);
    const AuditReport report = AuditOf(path, prepared, plain, {.ignore_roundings = true});
    EXPECT_NE(Name(report.verdict), "refuted") << "seed " << seed;
    differ += report.verdict == Verdict::kUnchecked && report.refutation && report.refutation->step ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

// A process ends in the middle, another goes on with other threads and other errors; steps that the log has are repeated as they were.
TEST_F(Rounding, RunsThatWereTakenUpAgainAreVerified) {
  for (const char* text : kJobs) {
    for (const std::int64_t every : {1, 2}) {
      const PreparedJob prepared = JobOf(text, 32, every);
      const std::int64_t half = prepared.job.steps / 2;
      Machine first(32, 1, 0.99, 5), second(32, 2, 0.99, 6), auditor(32, 1);
      const std::string path = Fresh();
      ASSERT_TRUE(TrainIn(path, prepared, first, half));
      EXPECT_EQ(AuditOf(path, prepared, auditor).verdict, Verdict::kUnchecked);
      ASSERT_TRUE(TrainIn(path, prepared, second));
      Verified(path, prepared, auditor);

      // Killed between a log entry and its snapshot: everything after the start is done again.
      const std::string killed = Fresh();
      ASSERT_TRUE(TrainIn(killed, prepared, first, half));
      std::filesystem::remove_all(killed + "/snapshots");
      const auto resumed = TrainIn(killed, prepared, second);
      ASSERT_TRUE(resumed) << resumed.error().message;
      EXPECT_EQ(resumed->first_step, 0);
      Verified(killed, prepared, auditor);
    }
  }
}

// Rounding logs of steps that no entry commits to yet are bound by the snapshot's signature: whoever alters them while nothing trains does not make the
// trainer sign what an audit refutes.
TEST_F(Rounding, ResumingNeverSignsWhatAnAuditRefutes) {
  const PreparedJob prepared = JobOf(kMlp, 32, 3);
  Machine machine(32), auditor(32, 2);
  const std::string left = Fresh();
  ASSERT_TRUE(TrainIn(left, prepared, machine, 2));
  const std::string bundle = "/rounding/steps-0000000001-0000000002.bin";
  const Bytes content = *ReadFile(left + bundle, 1 << 24);
  std::uint32_t state = 1;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int i = 0; i < 40; ++i) {
    const std::string path = Fresh();
    std::filesystem::copy(left, path, std::filesystem::copy_options::recursive);
    Bytes bytes = content;
    const std::size_t at = i < 20 ? bytes.size() - 1 - static_cast<std::size_t>(i) : next() % bytes.size();
    bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << next() % 8));
    ASSERT_TRUE(WriteFileAtomic(path + bundle, bytes));
    EXPECT_EQ(Fsck(path, machine.pool, {}).value().verdict, FsckVerdict::kDamaged) << "byte " << at;
    const auto resumed = TrainIn(path, prepared, machine);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->first_step, 0) << "byte " << at << ": what was altered is run again";
    Verified(path, prepared, auditor);
  }
  // As it was left, it goes on from there.
  const FsckReport fsck = Fsck(left, machine.pool, {}).value();
  EXPECT_EQ(fsck.verdict, FsckVerdict::kUnfinished)
      << (fsck.findings.empty() ? "" : fsck.findings[0].file + ": " + fsck.findings[0].problem);
  const auto resumed = TrainIn(left, prepared, machine);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->first_step, 2);
  Verified(left, prepared, auditor);
  EXPECT_EQ(Fsck(left, machine.pool, {}).value().verdict, FsckVerdict::kWhole);
}

// The last entry of a job need not lie on the commitment interval; a longer job goes on from its snapshot, which that entry no longer binds.
TEST_F(Rounding, ALongerJobGoesOnFromTheEndOfAShorterOne) {
  const auto of = [](std::int64_t steps) {
    Job job = JobOf(kMlp, 32, 3).job;
    job.steps = steps;
    return Prepare(std::move(job)).value();
  };
  const PreparedJob shorter = of(5), longer = of(9);
  Machine machine(32), auditor(32, 2);
  for (const bool altered : {false, true}) {
    const std::string path = Fresh();
    ASSERT_TRUE(TrainIn(path, shorter, machine));
    const std::string bundle = path + "/rounding/steps-0000000004-0000000005.bin";
    Bytes bytes = *ReadFile(bundle, 1 << 24);
    bytes.back() ^= 0x80;
    if (altered) {
      ASSERT_TRUE(WriteFileAtomic(bundle, bytes));
    }
    const auto resumed = TrainIn(path, longer, machine);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->first_step, altered ? 3 : 5);
    Verified(path, longer, auditor);
  }
}

// Everything that a step rounds on one machine, in the order of the step.
class Watched {
 public:
  struct Result {
    std::vector<double> y, e;
  };
  Watched(const PreparedJob& prepared, Machine& machine)
      : machine_(machine), stepper_(prepared, *machine.backend), state_(StartingState(prepared).value()) {}

  Stepper& stepper() { return stepper_; }
  Bytes Step(std::int64_t step) {
    results_.clear();
    std::vector<Result> node(8);
    machine_.hooks.observe = [&](std::size_t output, std::int64_t at, std::span<const double> y, std::span<const double> e) {
      const std::lock_guard lock(mutex_);
      Result& result = node.at(output);
      const auto first = static_cast<std::size_t>(at);
      result.y.resize(std::max(result.y.size(), first + y.size()));
      result.e.resize(result.y.size());
      std::ranges::copy(y, result.y.begin() + at);
      std::ranges::copy(e, result.e.begin() + at);
    };
    StepOutcome outcome = stepper_.RunTraced(state_, stepper_.Plan(step), [&](std::size_t, std::span<const void* const>) {
      for (Result& result : node) {
        if (!result.y.empty()) results_.push_back(std::exchange(result, {}));
      }
    });
    machine_.hooks.observe = nullptr;
    EXPECT_FALSE(outcome.rounding->report.inadmissible);
    return outcome.rounding->report.log;
  }
  const std::vector<Result>& results() const { return results_; }

 private:
  Machine& machine_;
  Stepper stepper_;
  State state_;
  std::mutex mutex_;
  std::vector<Result> results_;
};

TEST_F(Rounding, RealDifferencesLieFarInsideTheBound) {
  std::uint64_t elements = 0, different = 0;
  double largest = 0;
  for (const char* text : kJobs) {
    const PreparedJob prepared = JobOf(text, 32);
    Machine one(32, 1), two(32, 2);
    Watched trainer(prepared, one), follower(prepared, two);
    for (std::int64_t step = 0; step < prepared.job.steps; ++step) {
      const Bytes log = trainer.Step(step);
      ASSERT_TRUE(follower.stepper().FollowRoundings(log, "log"));
      follower.Step(step);
      ASSERT_EQ(trainer.results().size(), follower.results().size());
      for (std::size_t r = 0; r < trainer.results().size(); ++r) {
        const Watched::Result& a = trainer.results()[r];
        const Watched::Result& b = follower.results()[r];
        ASSERT_EQ(a.y.size(), b.y.size());
        elements += a.y.size();
        for (std::size_t i = 0; i < a.y.size(); ++i) {
          const double difference = std::fabs(a.y[i] - b.y[i]);
          if (!(difference > 0)) continue;
          ++different;
          largest = std::max(largest, difference / std::min(a.e[i], b.e[i]));
        }
      }
    }
  }
  fmt::print("{} elements rounded, {} differ between 1 and 2 threads, by at most {:.3g} of the bound\n", elements, different,
             largest);
  EXPECT_GT(elements, 100000u);
  EXPECT_LE(largest, 2.0);
}

// A finished run whose rounding logs are then tampered with.
class Logs : public Rounding {
 protected:
  void SetUp() override {
    Rounding::SetUp();
    if (IsSkipped()) return;
    prepared_ = JobOf(kGpt2, 32);
    path_ = Fresh();
    ASSERT_TRUE(TrainIn(path_, prepared_, machine_.emplace(32)));
    for (const auto& file : std::filesystem::directory_iterator(path_ + "/rounding")) bundles_.push_back(file.path().string());
    std::ranges::sort(bundles_);
    ASSERT_EQ(bundles_.size(), 2u) << "one for each snapshot";
    for (const std::string& bundle : bundles_) contents_.push_back(*ReadFile(bundle, 1 << 24));
    RoundingLogs logs = *RoundingLogs::Open(path_ + "/rounding");
    for (std::int64_t step = 1; step <= prepared_.job.steps; ++step) logs_.push_back(*logs.Read(step));
    Verified(path_, prepared_, *machine_);
  }
  // Puts other bytes in the place of a bundle and audits; the bundle comes back.
  AuditReport With(std::size_t bundle, ByteSpan bytes) {
    EXPECT_TRUE(WriteFileAtomic(bundles_[bundle], bytes));
    AuditReport report = AuditOf(path_, prepared_, *machine_);
    EXPECT_TRUE(WriteFileAtomic(bundles_[bundle], contents_[bundle]));
    return report;
  }
  // The first bundle with other logs.
  AuditReport WithLogs(const Bytes& first, const Bytes& second) {
    const std::string folder = Fresh();
    RoundingLogs logs = *RoundingLogs::Open(folder);
    logs.Add(1, first);
    logs.Add(2, second);
    EXPECT_TRUE(logs.Write());
    return With(0, *ReadFile(folder + "/" + std::filesystem::path(bundles_[0]).filename().string(), 1 << 24));
  }
  // Logs that were not committed to say nothing about the signer, however false they are.
  static void Refused(const AuditReport& report, std::int64_t step, const std::string& what) {
    EXPECT_EQ(report.verdict, Verdict::kDamaged) << what << ": " << Said(report);
    const Refutation refutation = report.refutation.value_or(Refutation{});
    EXPECT_EQ(refutation.step, step) << what << ": " << Said(report);
    EXPECT_NE(refutation.reason.find("rounding"), std::string::npos) << what << ": " << Said(report);
  }

  PreparedJob prepared_;
  std::optional<Machine> machine_;
  std::string path_;
  std::vector<std::string> bundles_;
  std::vector<Bytes> contents_, logs_;
};

TEST_F(Logs, MissingAndTruncatedFilesAreNotPassedOver) {
  for (std::size_t b = 0; b < 2; ++b) {
    const std::int64_t first = b == 0 ? 1 : 3;
    for (const std::size_t left :
         {std::size_t{0}, std::size_t{1}, std::size_t{30}, contents_[b].size() / 2, contents_[b].size() - 1}) {
      Refused(With(b, ByteSpan(contents_[b]).first(left)), first, fmt::format("bundle {} cut at {}", b, left));
    }
    Bytes longer = contents_[b];
    longer.push_back(0);
    Refused(With(b, longer), first, "a byte too many");
    ASSERT_TRUE(RemoveFile(bundles_[b]));
    Refused(AuditOf(path_, prepared_, *machine_), first, "no file");
    ASSERT_TRUE(WriteFileAtomic(bundles_[b], contents_[b]));
  }
  std::filesystem::rename(path_ + "/rounding", path_ + "/elsewhere");
  Refused(AuditOf(path_, prepared_, *machine_), 1, "no folder");
}

// What cannot be read says nothing about the provider.
TEST_F(Logs, AFileThatCannotBeReadLeavesTheRunUnchecked) {
  ASSERT_TRUE(RemoveFile(bundles_[0]));
  std::filesystem::create_directory(bundles_[0]);
  const AuditReport report = AuditOf(path_, prepared_, *machine_);
  EXPECT_NE(report.verdict, Verdict::kVerified);
  EXPECT_NE(Said(report).find("rounding"), std::string::npos) << Said(report);
}

TEST_F(Logs, GarbageIsDamage) {
  std::uint32_t state = 1;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int i = 0; i < 150; ++i) {
    Bytes bytes = contents_[0];
    const std::size_t at = i < 50 ? static_cast<std::size_t>(i) : next() % bytes.size();
    bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << next() % 8));
    const AuditReport report = With(0, bytes);
    EXPECT_EQ(report.verdict, Verdict::kDamaged) << "byte " << at << ": " << Said(report);
    EXPECT_LE(report.refutation.value_or(Refutation{}).step, 2) << Said(report);
  }
  Bytes noise = contents_[0];
  for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(next());
  Refused(With(0, noise), 1, "noise");
  for (const std::size_t size : {0u, 1u, 40u, 4000u}) {
    Bytes log(size);
    for (std::uint8_t& byte : log) byte = static_cast<std::uint8_t>(next());
    Refused(WithLogs(log, logs_[1]), 1, "a log of noise");
  }
}

TEST_F(Logs, LogsOfOtherStepsAreDamage) {
  Refused(With(0, contents_[1]), 1, "bundles exchanged");
  EXPECT_EQ(WithLogs(logs_[0], logs_[1]).verdict, Verdict::kVerified);
  Refused(WithLogs(logs_[1], logs_[0]), 1, "steps exchanged");
  Refused(WithLogs(logs_[0], logs_[0]), 2, "a step repeated");
  Refused(WithLogs(logs_[0], logs_[3]), 2, "a later step");
  const rounding::DecisionLog whole = *rounding::DecodeDecisions(logs_[1], "log");
  ASSERT_GT(whole.decisions.size(), 1u);
  // One that is silent leads to the same state on this machine: it is still not the one that was committed to.
  Refused(WithLogs(logs_[0], rounding::EncodeDecisions({}, whole.elements)), 2, "no decisions");
  Refused(WithLogs(logs_[0], rounding::EncodeDecisions(whole.decisions, whole.elements + 1)), 2, "another number of elements");
  Refused(WithLogs(logs_[0], rounding::EncodeDecisions(whole.decisions, rounding::kMaxElements)), 2, "far too many elements");
}

}  // namespace
}  // namespace assay::roundtest
