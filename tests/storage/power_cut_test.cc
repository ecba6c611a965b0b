// Power cuts: trainings that were recorded call by call are cut after every call, with all, nothing or an arbitrary part of what
// was not synced there. Whatever is left must be the old run or the new one: Fsck never calls it damaged nor wrongly whole, and
// training ends in the receipt of the training that was not cut.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>
#include <algorithm>

#include <set>

#include "storage/disk.h"
#include "storage/workload.h"

namespace assay::storage {
namespace {

// What one process of a recorded history was asked to do.
struct Phase {
  std::size_t which = 0;
  std::uint64_t killed_at = 0;  // the call before which it dies; 0: it is left to its end
};

std::string List(const Files& files) {
  std::string text = "; of ";
  for (const auto& [file, content] : files) text += fmt::format(" {} ({})", file, content.size());
  return text;
}

class PowerCutTest : public testing::Test {
 protected:
  void SetUp() override {
    fmt::print("seed {}\n", TheSettings().seed);
    random_.seed(TheSettings().seed);
  }

  // Runs the phases one after another on what `files` holds; what they did.
  std::vector<Operation> Record(const Files& files, const std::vector<Phase>& phases) {
    const std::string root = scratch_ / "recorded", record = scratch_ / "record";
    Empty(root);
    WriteFiles(root, files);
    ::unlink(record.c_str());
    for (const Phase& phase : phases) {
      std::vector<std::string> environment = {"ASSAY_IO_ROOT=" + root, "ASSAY_IO_RECORD=" + record};
      if (phase.killed_at > 0) environment.push_back(fmt::format("ASSAY_IO_FAULT={}:kill", phase.killed_at));
      const Ended ended = work_.Spawn(phase.which, root + "/run", environment);
      EXPECT_TRUE(ended.status == 0 || (phase.killed_at > 0 && ended.status == SIGKILL)) << ended.status << " " << ended.error;
    }
    return ReadOperations(record, root);
  }

  // Checks one state, then trains it to its end.
  void CheckState(const Files& files, std::size_t which, const std::string& where) {
    ByteWriter key;
    for (const auto& [file, content] : files) {
      key.String(file);
      key.Blob(content);
    }
    key.U64(which);
    if (!seen_.insert(HashBytes(key.bytes())).second) return;
    const std::string root = scratch_ / "cut", run = root + "/run";
    Empty(root);
    WriteFiles(root, files);
    const auto report = work_.Check(run);
    const bool begun = files.contains("run/id") || files.contains("run/id.next") || files.contains("run/job.toml") ||
                       files.contains("run/job.bin") || files.contains("run/program.bin");
    ASSERT_EQ(report.has_value(), begun) << where << ": " << Describe(report);
    if (report) {
      ASSERT_NE(report->verdict, FsckVerdict::kDamaged) << where << ": " << Describe(report) << List(files);
      ++verdicts_[static_cast<std::size_t>(report->verdict)];
      if (report->verdict == FsckVerdict::kWhole) {
        ASSERT_EQ(work_.IsSomeReference(run), "") << where;
      }
    }
    ASSERT_EQ(work_.Completes(which, run), "") << where << " from " << Describe(report);
  }

  // Every prefix in four ways, and `random_cuts` more in arbitrary ones.
  void CutEverywhere(const Files& files, const std::vector<Operation>& operations, const std::vector<Phase>& phases,
                     std::size_t random_cuts) {
    Disk disk(files);
    std::size_t process = 0;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Operation& operation = operations[i];
      if (operation.kind == Kind::kStart) ++process;
      disk.Apply(operation);
      const std::size_t which = phases[process - 1].which;
      const std::string where = fmt::format("after call {} ({})", i, ToString(operation));
      for (const Survives survives : {Survives::kAll, Survives::kNothing, Survives::kNames, Survives::kData}) {
        ASSERT_NO_FATAL_FAILURE(CheckState(disk.Cut(survives, random_), which, where));
      }
      const std::size_t arbitrary = (i + 1) * random_cuts / operations.size() - i * random_cuts / operations.size();
      for (std::size_t n = 0; n < arbitrary; ++n) {
        ++drawn_;
        ASSERT_NO_FATAL_FAILURE(CheckState(disk.Cut(Survives::kAnything, random_), which, where + ", reordered"));
      }
    }
  }

  void Summarize() {
    const auto count = [&](FsckVerdict verdict) { return verdicts_[static_cast<std::size_t>(verdict)]; };
    fmt::print("cut after each of {} calls and {} times at random: {} different states, {} of them whole, {} unfinished\n",
               calls_, drawn_, seen_.size(), count(FsckVerdict::kWhole), count(FsckVerdict::kUnfinished));
  }

  Workload work_;
  Scratch scratch_;
  std::mt19937_64 random_;
  std::set<Digest> seen_;
  std::size_t verdicts_[3] = {}, drawn_ = 0, calls_ = 0;
};

// A history with everything that changes a run: it is created, continued to more steps, killed, taken up, killed again, and worded
// otherwise. No run is cut down to fewer steps.
const std::vector<Phase>& FixedHistory() {
  static const std::vector<Phase> history = {{Workload::kFour, 0},  {Workload::kFive, 60},       {Workload::kFive, 0},
                                             {Workload::kNine, 20}, {Workload::kNine, 75},       {Workload::kNineReworded, 14},
                                             {Workload::kNine, 0},  {Workload::kNineReworded, 0}};
  return history;
}

std::vector<Phase> DrawHistory(std::mt19937_64& random) {
  std::vector<Phase> history(2 + random() % 6);
  for (Phase& phase : history) phase = {random() % Workload::kVariants, random() % 3 == 0 ? 0 : 1 + random() % 130};
  constexpr int kSteps[Workload::kVariants] = {5, 9, 4, 9};
  std::ranges::sort(history, {}, [&](const Phase& phase) { return kSteps[phase.which]; });
  return history;
}

TEST_F(PowerCutTest, LeavesTheOldRunOrTheNewOne) {
  const std::size_t histories = TheSettings().full ? 40 : 2;
  for (std::size_t i = 0; i < histories; ++i) {
    const std::vector<Phase> history = i == 0 ? FixedHistory() : DrawHistory(random_);
    const std::vector<Operation> operations = Record({}, history);
    calls_ += operations.size();
    ASSERT_NO_FATAL_FAILURE(CutEverywhere({}, operations, history, 500));
  }
  Summarize();
}

// What a training reported as done is there, whatever happens to what it did not sync.
TEST_F(PowerCutTest, NothingThatWasReportedIsLost) {
  for (std::size_t which = 0; which < Workload::kVariants; ++which) {
    Disk disk({});
    for (const Operation& operation : Record({}, {{which, 0}})) disk.Apply(operation);
    for (int n = 0; n < 10; ++n) {
      Empty(scratch_ / "cut");
      WriteFiles(scratch_ / "cut", disk.Cut(n == 0 ? Survives::kNothing : Survives::kAnything, random_));
      const auto report = work_.Check(scratch_ / "cut/run");
      ASSERT_TRUE(report && report->verdict == FsckVerdict::kWhole && report->findings.empty()) << Describe(report);
      ASSERT_EQ(*ReadFile(scratch_ / "cut/run/receipt.json", 1 << 20), work_.variant(which).reference.at("receipt.json"));
    }
  }
}

// The power is cut again while the run that a first cut left is taken up.
TEST_F(PowerCutTest, SoDoesASecondCutDuringRecovery) {
  const std::vector<Operation> operations = Record({}, FixedHistory());
  const std::size_t rounds = TheSettings().full ? 60 : 4;
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t end = random_() % operations.size() + 1;
    Disk disk({});
    std::size_t process = 0;
    for (std::size_t i = 0; i < end; ++i) {
      if (operations[i].kind == Kind::kStart) ++process;
      disk.Apply(operations[i]);
    }
    const Files left = disk.Cut(Survives::kAnything, random_);
    // Whoever takes it up may want more steps.
    const std::vector<Phase> again = {{random_() % 2 == 0   ? FixedHistory()[process - 1].which
                                       : random_() % 2 == 0 ? Workload::kNine
                                                            : Workload::kNineReworded,
                                       0}};
    const std::vector<Operation> recovery = Record(left, again);
    calls_ += recovery.size();
    ASSERT_NO_FATAL_FAILURE(CutEverywhere(left, recovery, again, 100));
  }
  Summarize();
}

}  // namespace
}  // namespace assay::storage
