// Every call of a training that opens, writes, syncs, renames or removes a file is made to fail, once and from then on, with EIO
// and ENOSPC: the training ends with status 2 and one line that names a file, tries nothing again, and what it leaves goes on to
// the same receipt.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "storage/workload.h"

namespace assay::storage {
namespace {

struct Call {
  std::uint64_t number = 0;
  std::string name, path;
};

std::vector<Call> ReadReport(const std::string& path) {
  const auto bytes = ReadFile(path, 1 << 24);
  std::istringstream in(bytes ? std::string(bytes->begin(), bytes->end()) : "");
  std::vector<Call> calls;
  for (Call call; in >> call.number >> call.name && std::getline(in >> std::ws, call.path);) calls.push_back(call);
  return calls;
}

class FaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    fmt::print("seed {}\n", TheSettings().seed);
    random_.seed(TheSettings().seed);
  }

  // Starts from `before`, with a fault where one is given; the calls that were made.
  std::vector<Call> Run(const Files& before, std::size_t which, const std::string& fault) {
    const std::string report = scratch_ / "report";
    ::unlink(report.c_str());
    Empty(root_);
    WriteFiles(root_, before);
    std::vector<std::string> environment = {"ASSAY_IO_ROOT=" + root_, "ASSAY_IO_REPORT=" + report};
    if (!fault.empty()) environment.push_back("ASSAY_IO_FAULT=" + fault);
    ended_ = work_.Spawn(which, run_, environment);
    if (ended_.error.starts_with("assay: resuming after step ")) ended_.error.erase(0, ended_.error.find('\n') + 1);
    return ReadReport(report);
  }

  bool Exited(int status) const { return WIFEXITED(ended_.status) && WEXITSTATUS(ended_.status) == status; }

  void CheckFault(const Files& before, std::size_t which, const Call& call, const std::string& error, bool stays) {
    const std::string fault = fmt::format("{}:{}{}", call.number, error, stays ? ":on" : "");
    const std::string where = fmt::format("{} of {} with {}", call.name, call.path, fault);
    const std::vector<Call> calls = Run(before, which, fault);
    ++faults_;
    // What cannot be read may be made again from what can; everything else ends the training.
    if (call.name != "openread" || !Exited(0)) {
      ASSERT_TRUE(Exited(2)) << where << " ended with " << ended_.status << ": " << ended_.error;
      ASSERT_EQ(std::count(ended_.error.begin(), ended_.error.end(), '\n'), 1) << where << ": " << ended_.error;
      ASSERT_TRUE(ended_.error.starts_with("assay: " + root_)) << where << ": " << ended_.error;
      ASSERT_NE(ended_.error.find(error == "EIO" ? "Input/output error" : "No space left on device"), std::string::npos)
          << where << ": " << ended_.error;
      ASSERT_TRUE(ended_.out.starts_with(R"({"error":")") && ended_.out.find('\n') == ended_.out.size() - 1)
          << where << ": " << ended_.out;
      // Nothing is tried again: only the temporary goes.
      const auto later =
          std::ranges::find_if(calls, [&](const Call& c) { return c.number > call.number && c.name != "unlink"; });
      if (call.name != "openread") {
        ASSERT_TRUE(later == calls.end()) << where << " was followed by " << later->name << " of " << later->path;
      }
    }
    const auto report = work_.Check(run_);
    if (report) {
      ASSERT_NE(report->verdict, FsckVerdict::kDamaged) << where << ": " << Describe(report);
      if (report->verdict == FsckVerdict::kWhole) {
        ASSERT_EQ(work_.IsSomeReference(run_), "") << where;
      }
    } else {
      ASSERT_FALSE(Exists(run_ + "/id")) << where << ": " << Describe(report);
    }
    ASSERT_EQ(work_.Completes(which, run_), "") << where << " left " << Describe(report);
  }

  // One in `stride` calls of the training of `which` that starts from `before`.
  void CheckAll(const Files& before, std::size_t which, std::size_t stride) {
    const std::vector<Call> calls = Run(before, which, "");
    ASSERT_TRUE(Exited(0)) << ended_.error;
    for (const Call& call : calls) {
      for (const char* error : {"EIO", "ENOSPC"}) {
        for (const bool stays : {false, true}) {
          if (random_() % stride != 0) continue;
          ASSERT_NO_FATAL_FAILURE(CheckFault(before, which, call, error, stays));
        }
      }
    }
    fmt::print("{} faults in {} calls\n", faults_, calls.size());
    faults_ = 0;
  }

  // What a training of `which` leaves that starts from `before` and is killed before this call; 0: at its end.
  Files After(const Files& before, std::size_t which, std::uint64_t killed_at) {
    Run(before, which, killed_at == 0 ? "" : fmt::format("{}:kill", killed_at));
    EXPECT_TRUE(killed_at == 0 ? Exited(0) : WIFSIGNALED(ended_.status)) << ended_.error;
    return ReadFiles(root_);
  }

  Workload work_;
  Scratch scratch_;
  std::string root_ = scratch_ / "root", run_ = root_ + "/run";
  std::mt19937_64 random_;
  Ended ended_;
  std::size_t faults_ = 0;
};

TEST_F(FaultsTest, InANewRun) { CheckAll({}, Workload::kFive, TheSettings().full ? 1 : 2); }

TEST_F(FaultsTest, InARunThatIsTakenUp) {
  CheckAll(After({}, Workload::kNine, 110), Workload::kNine, TheSettings().full ? 1 : 6);
}

TEST_F(FaultsTest, InARunThatIsContinuedToMoreSteps) {
  CheckAll(After({}, Workload::kFive, 0), Workload::kNine, TheSettings().full ? 1 : 6);
}

TEST_F(FaultsTest, InARunThatIsWordedOtherwise) {
  CheckAll(After({}, Workload::kNine, 0), Workload::kNineReworded, TheSettings().full ? 1 : 6);
}

TEST_F(FaultsTest, InARunWhoseChangeWasInterrupted) {
  CheckAll(After(After({}, Workload::kFive, 0), Workload::kNine, 25), Workload::kNineReworded, TheSettings().full ? 1 : 6);
}

// A write that does only a part is no failure.
TEST_F(FaultsTest, ShortWritesAreContinued) {
  std::size_t cut = 0;
  for (const Call& call : Run({}, Workload::kFive, "")) {
    if (call.name != "write") continue;
    Run({}, Workload::kFive, fmt::format("{}:short", call.number));
    ASSERT_TRUE(Exited(0)) << call.path << ": " << ended_.error;
    const auto report = work_.Check(run_);
    ASSERT_TRUE(report && report->verdict == FsckVerdict::kWhole) << call.path << ": " << Describe(report);
    ASSERT_EQ(work_.IsSomeReference(run_), "") << call.path;
    ++cut;
  }
  fmt::print("{} writes cut short\n", cut);
}

}  // namespace
}  // namespace assay::storage
