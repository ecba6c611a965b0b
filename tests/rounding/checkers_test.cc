// What a valid log is: auditor, fsck, trainer and referee have one opinion.
#include <gtest/gtest.h>

#include <functional>

#include "assay/backend/ref/ref_backend.h"
#include "assay/run/fsck.h"
#include "assay/run/log.h"
#include "assay/run/receipt.h"
#include "bench.h"
#include "trial.h"

namespace assay::roundtest {
namespace {

using Edit = std::function<void(std::vector<LogEntry>&)>;

class Checkers : public testing::Test {
 protected:
  // An honest run, and one whose owner rewrote and signed its log.
  void Prepare(PreparedJob prepared, Backend& backend) {
    prepared_ = std::move(prepared);
    backend_ = &backend;
    for (const char* name : {"honest", "edited"}) ASSERT_TRUE(Trained(name));
  }
  Result<TrainOutcome> Trained(const std::string& name) {
    const SigningKey key = KeyOfRun(name);
    ASSAY_ASSIGN(RunDirectory run, RunDirectory::OpenForTraining(scratch_ / name, ContentOf(prepared_), key.verify_key()));
    return Train(prepared_, run, key, *backend_, pool_, {});
  }
  static SigningKey KeyOfRun(const std::string& name) { return KeyOf(name == "honest" ? 7 : 8); }

  void Rewrite(const Edit& edit) {
    const std::string name = "edited";
    const SigningKey key = KeyOfRun(name);
    const RunDirectory run = RunDirectory::Open(scratch_ / name).value();
    std::vector<LogEntry> entries = RunLog::Read(run.log_path(), run.signer(), prepared_.identity.trajectory).value().entries();
    edit(entries);
    RunLog log(prepared_.identity.trajectory);
    for (const LogEntry& e : entries) log.Append(log.Next(e.step, e.state_root, e.batch_root, e.loss_bits, e.rounding_root));
    std::filesystem::remove_all(run.log_path());
    ASSERT_TRUE(log.Write(run.log_path(), LogOrigin(run.signer(), prepared_.identity.job), key));
    const Bytes file = ReadFile(run.receipt_path(), 1 << 16).value();
    Receipt receipt = OpenReceipt({reinterpret_cast<const char*>(file.data()), file.size()}, run.signer(), "receipt").value();
    receipt.log = log.checkpoint();
    ASSERT_TRUE(WriteFileAtomic(run.receipt_path(), AsBytes(SignReceipt(receipt, key))));
  }

  void ExpectInvalid(const std::string& what) {
    const RunDirectory run = RunDirectory::Open(scratch_ / "edited").value();
    EXPECT_EQ(Audit(run, prepared_, {}, *backend_, pool_, {}).verdict, Verdict::kRefuted) << what;
    EXPECT_EQ(Fsck(scratch_ / "edited", pool_, {}).value().verdict, FsckVerdict::kRefuted) << what;
    const RunDirectory honest = RunDirectory::Open(scratch_ / "honest").value();
    const auto one = dispute::RunAccount::Make(honest, prepared_, *backend_, pool_, {}).value();
    const auto other = dispute::RunAccount::Make(run, prepared_, *backend_, pool_, {}).value();
    const Played played = PlayThem(prepared_, *one, *other);
    const dispute::Finding* finding = played.finding();
    ASSERT_NE(finding, nullptr) << what;
    EXPECT_FALSE(finding->guilty[0]) << what << ": " << finding->reason;
    EXPECT_TRUE(finding->guilty[1]) << what << ": " << finding->reason;
    EXPECT_EQ(finding->cause, dispute::Cause::kEntry) << what << ": " << finding->reason;
    ASSERT_TRUE(RemoveFile(run.receipt_path()));
    EXPECT_FALSE(Trained("edited")) << what << ": training goes on from it";
  }

  // Each edit by itself, of a fresh run.
  void ExpectAllInvalid(const std::vector<std::pair<std::string, Edit>>& edits) {
    for (const auto& [what, edit] : edits) {
      std::filesystem::remove_all(scratch_ / "edited");
      ASSERT_TRUE(Trained("edited"));
      Rewrite(edit);
      if (HasFatalFailure()) return;
      ExpectInvalid(what);
    }
  }

  Scratch scratch_;
  ThreadPool pool_{1};
  PreparedJob prepared_;
  Backend* backend_ = nullptr;
};

const std::vector<std::pair<std::string, Edit>> kForms = {
    {"a batch before the first step", [](auto& entries) { entries[0].batch_root.bytes[0] ^= 1; }},
    {"a loss before the first step", [](auto& entries) { entries[0].loss_bits = 1; }},
};

TEST_F(Checkers, AgreeOnLogsOfExactJobs) {
  const auto backend = ref::MakeRefBackend(pool_);
  Prepare(assay::Prepare(ParseJob(kMlp, "test.toml").value()).value(), *backend);
  ExpectAllInvalid(kForms);
  ExpectAllInvalid(
      {{"a rounding root in the first entry", [](auto& entries) { entries[0].rounding_root = RoundingRootOfSteps({}); }},
       {"a rounding root in the last entry", [](auto& entries) { entries.back().rounding_root.emplace(); }},
       {"rounding roots", [](auto& entries) {
          for (LogEntry& entry : entries) entry.rounding_root.emplace();
        }}});
}

TEST_F(Checkers, AgreeOnLogsOfRoundedJobs) {
  if (!HasBlas()) GTEST_SKIP() << "OpenBLAS is not installed";
  Machine machine(32);
  Prepare(JobOf(kMlp, 32, 3), *machine.backend);
  ExpectAllInvalid(kForms);
  ExpectAllInvalid({{"roundings before the first step", [](auto& entries) { entries[0].rounding_root->bytes[0] ^= 1; }},
                    {"no rounding root", [](auto& entries) { entries[1].rounding_root.reset(); }},
                    {"no rounding roots", [](auto& entries) {
                       for (LogEntry& entry : entries) entry.rounding_root.reset();
                     }}});
}

}  // namespace
}  // namespace assay::roundtest
