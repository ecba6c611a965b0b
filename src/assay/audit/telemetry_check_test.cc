// The rules on runs that were trained: honest ones are accepted however they came about, and telemetry that was tampered with is not, also by one who has the key.
#include "assay/audit/telemetry_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <filesystem>
#include <functional>

#include "assay/backend/ref/ref_backend.h"
#include "assay/monitor/telemetry_file.h"
#include "assay/run/fsck.h"
#include "assay/train/trainer.h"
#include "support/scratch.h"
#include "support/small_job.h"

namespace assay {
namespace {

using monitor::Record;

class TelemetryCheckTest : public testing::Test {
 protected:
  void SetUp() override { SetSteps(9); }
  void SetSteps(std::int64_t steps) { prepared_ = Prepare(*ParseJob(testkit::SmallJobText({.steps = steps}), "job")).value(); }

  Result<TrainOutcome> Train(TrainHooks hooks = {}, int threads = 1, const std::string& name = "run") {
    ThreadPool pool(threads);
    const auto backend = ref::MakeRefBackend(pool);
    if (!hooks.telemetry) hooks.telemetry.emplace();
    ASSAY_ASSIGN(RunDirectory run, RunDirectory::OpenForTraining(scratch_ / name, ContentOf(prepared_), key_.verify_key()));
    return assay::Train(prepared_, run, key_, *backend, pool, hooks);
  }

  TelemetryReport Check(RuleSet rules = RuleSet::kStrict, const std::string& name = "run") {
    const auto report = CheckTelemetry(scratch_ / name, rules);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : TelemetryReport{};
  }
  // "refused losses", or "accepted".
  std::string Verdict(const std::string& name = "run") {
    const TelemetryReport report = Check(RuleSet::kStrict, name);
    std::string text(Name(report.state));
    for (const monitor::RuleResult& rule : report.rules) {
      if (rule.state == report.state && rule.state != monitor::RuleState::kAccepted) text += " " + rule.rule;
    }
    return text;
  }
  FsckVerdict Whole(const std::string& name = "run") {
    ThreadPool pool(1);
    return Fsck(scratch_ / name, pool, {})->verdict;
  }

  // Writes the telemetry again after `edit`, chained and signed as its writer would.
  void Forge(const std::function<void(std::vector<Record>&)>& edit, const SigningKey& key) {
    const std::string path = scratch_ / "run/telemetry.bin";
    std::vector<Record> records;
    monitor::ScanTelemetry(ReadFile(path, 1 << 24).value(), prepared_.identity.trajectory, key_.verify_key(),
                           [&](const Record& record, const Digest&) { records.push_back(record); });
    edit(records);
    ASSERT_TRUE(RemoveFile(path));
    auto file = monitor::TelemetryFile::Open(path, prepared_.identity.trajectory, key.verify_key());
    for (Record& record : records) {
      record.index = file->next_index();
      if (auto* session = std::get_if<monitor::SessionRecord>(&record.body)) session->signer = key.verify_key().ToString();
      if (auto* seal = std::get_if<monitor::SealRecord>(&record.body))
        seal->signature = key.Sign(SealedMessage(file->hash(), record));
      file->Add(record);
    }
    ASSERT_TRUE(file->Write());
  }
  void Forge(const std::function<void(std::vector<Record>&)>& edit) { Forge(edit, key_); }
  static std::size_t StepAt(const std::vector<Record>& records, std::int64_t step) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto* body = std::get_if<monitor::StepRecord>(&records[i].body);
      if (body != nullptr && body->step == step) return i;
    }
    return records.size();
  }

  testkit::Scratch scratch_;
  SigningKey key_ = SigningKey::Generate("test");
  PreparedJob prepared_;
};

TEST_F(TelemetryCheckTest, HonestRunsAreAccepted) {
  ASSERT_TRUE(Train());
  EXPECT_EQ(Verdict(), "accepted");
  EXPECT_EQ(Check().stage, RunStage::kFinished);
  EXPECT_EQ(Whole(), FsckVerdict::kWhole);
  ASSERT_TRUE(Train({}, 2, "two"));
  EXPECT_EQ(Verdict("two"), "accepted");
  // What is measured is no part of what is promised.
  EXPECT_EQ(*ReadFile(scratch_ / "run/receipt.json", 1 << 20), *ReadFile(scratch_ / "two/receipt.json", 1 << 20));
}

TEST_F(TelemetryCheckTest, StoppedAfterEveryStep) {
  for (std::int64_t step = 1; step <= 9; ++step) {
    int calls = 0;
    ASSERT_TRUE(Train({.should_stop = [&] { return calls++ == 1; }}));
    EXPECT_EQ(Verdict(), step == 1 ? "unchecked losses progress" : "accepted") << step;  // the first step has no entry
    EXPECT_EQ(Check().stage, step < 9 ? RunStage::kUnfinished : RunStage::kFinished);
    EXPECT_EQ(Check().step, step);
  }
  EXPECT_EQ(Check().rules[1].verdict, "resumed");
}

// What a killed process leaves is what lies in the directory at any moment, and perhaps the beginning of a record.
TEST_F(TelemetryCheckTest, KilledAnywhereItGoesOn) {
  for (const std::int64_t at : {1, 3, 4, 5, 8, 9}) {
    const std::string name = fmt::format("killed-{}", at);
    monitor::RecorderOptions often{.interval_ms = 10, .write_ms = 1};
    ASSERT_TRUE(Train({.on_step =
                           [&](const StepReport& report) {
                             std::this_thread::sleep_for(std::chrono::milliseconds(15));
                             if (report.step == at)
                               std::filesystem::copy(scratch_ / "whole", scratch_ / name,
                                                     std::filesystem::copy_options::recursive);
                           },
                       .telemetry = often},
                      1, "whole"));
    ASSERT_TRUE(AppendFile::Open(scratch_ / (name + "/telemetry.bin"))->Append(Bytes{90, 0, 0, 0, 2, 7}));
    EXPECT_NE(Whole(name), FsckVerdict::kDamaged) << at;
    ASSERT_TRUE(Train({}, 1, name));
    EXPECT_EQ(Verdict(name), "accepted") << at;
    EXPECT_EQ(Whole(name), FsckVerdict::kWhole) << at;
    std::filesystem::remove_all(scratch_ / "whole");
  }
}

// A log that was shown lies on disk, and leads further than the snapshot that a killed run goes on from: its next seals are for more than the steps up to them.
TEST_F(TelemetryCheckTest, AShownLogLeadsFurther) {
  for (const bool told : {true, false}) {
    const std::string name = fmt::format("killed-{}", told), whole = fmt::format("whole-{}", told);
    TrainHooks hooks{.on_step =
                         [&](const StepReport& report) {
                           if (report.step == 8)
                             std::filesystem::copy(scratch_ / whole, scratch_ / name, std::filesystem::copy_options::recursive);
                         },
                     .wants_log = [] { return true; }};
    // What a power cut leaves of the telemetry, or all that was written.
    if (told) hooks.telemetry = monitor::RecorderOptions{.interval_ms = 5, .write_ms = 1};
    ASSERT_TRUE(Train(hooks, 1, whole));
    int calls = 0;
    ASSERT_TRUE(Train({.should_stop = [&] { return calls++ == 1; }}, 1, name));
    EXPECT_EQ(Verdict(name), "accepted") << told;
    ASSERT_TRUE(Train({}, 1, name));
    EXPECT_EQ(Verdict(name), "accepted") << told;
  }
}

TEST_F(TelemetryCheckTest, WhileItTrainsItIsCheckedSoFar) {
  std::vector<std::string> seen;
  ASSERT_TRUE(Train({.on_step =
                         [&](const StepReport& report) {
                           if (report.step == 6) seen.push_back(fmt::format("{} {}", Name(Check().stage), Verdict()));
                         },
                     .telemetry = monitor::RecorderOptions{}}));
  EXPECT_EQ(seen, (std::vector<std::string>{"going on accepted"}));
}

TEST_F(TelemetryCheckTest, AnExtendedRunIsHeldAgainstItsLastJob) {
  SetSteps(5);
  ASSERT_TRUE(Train());
  EXPECT_EQ(Verdict(), "accepted");
  SetSteps(9);
  ASSERT_TRUE(Train());
  EXPECT_EQ(Verdict(), "accepted");
}

TEST_F(TelemetryCheckTest, WithoutTelemetryNothingCanBeTold) {
  ASSERT_TRUE(Train());
  ASSERT_TRUE(RemoveFile(scratch_ / "run/telemetry.bin"));
  EXPECT_EQ(Verdict(), "unchecked");
  EXPECT_EQ(Whole(), FsckVerdict::kWhole);
  EXPECT_FALSE(CheckTelemetry(scratch_ / "nothing", RuleSet::kSeed));
}

TEST_F(TelemetryCheckTest, WhatIsNoPlainFileCountsAsAbsent) {
  ASSERT_TRUE(Train());
  const std::string path = scratch_ / "run/telemetry.bin";
  const auto expect_absent = [&](const std::string& what) {
    EXPECT_EQ(Verdict(), "unchecked") << what;
    const TelemetryReport report = Check(RuleSet::kSeed);
    EXPECT_EQ(report.stage, RunStage::kFinished) << what;
    EXPECT_EQ(report.steps, 9) << what;
    EXPECT_NE(report.reason.find("is no plain file, and counts as absent"), std::string::npos) << report.reason;
    EXPECT_EQ(Whole(), FsckVerdict::kWhole) << what;
    ThreadPool pool(1);
    const auto findings = Fsck(scratch_ / "run", pool, {})->findings;
    ASSERT_EQ(findings.size(), 1u) << what;
    EXPECT_EQ(findings[0].file, "telemetry.bin");
    EXPECT_NE(findings[0].problem.find("counts as absent"), std::string::npos) << findings[0].problem;
    std::filesystem::remove(path);
  };
  ASSERT_TRUE(RemoveFile(path));
  ASSERT_TRUE(MakeDirectories(path));
  expect_absent("a directory");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_absent("a pipe");
  std::filesystem::create_symlink("/dev/zero", path);
  expect_absent("a device");
  std::filesystem::create_directory_symlink(scratch_ / "run/log", path);
  expect_absent("a link to a directory");
}

TEST_F(TelemetryCheckTest, WhoHasTheKeyIsCaughtByTheLog) {
  ASSERT_TRUE(Train());
  const Bytes honest = ReadFile(scratch_ / "run/telemetry.bin", 1 << 20).value();
  const auto expect = [&](const std::string& verdict, const std::function<void(std::vector<Record>&)>& edit) {
    Forge(edit);
    EXPECT_EQ(Verdict(), verdict);
    ASSERT_TRUE(WriteFileAtomic(scratch_ / "run/telemetry.bin", honest));
  };
  expect("accepted", [](std::vector<Record>&) {});
  expect("refused iterations",
         [&](auto& records) { records.erase(records.begin() + static_cast<std::ptrdiff_t>(StepAt(records, 3))); });
  expect("refused iterations", [&](auto& records) {
    const Record again = records[StepAt(records, 3)];
    records.insert(records.begin() + static_cast<std::ptrdiff_t>(StepAt(records, 3)), again);
  });
  expect("refused iterations times",
         [&](auto& records) { std::swap(records[StepAt(records, 2)], records[StepAt(records, 3)]); });
  expect("refused losses",
         [&](auto& records) { std::get<monitor::StepRecord>(records[StepAt(records, 4)].body).loss_bits ^= 1; });
  expect("refused chain", [&](auto& records) { records.pop_back(); });
  expect("refused chain", [&](auto& records) { std::get<monitor::SealRecord>(records.back().body).log_root = Digest{}; });
  // A seal after step 3 that is signed for something else than the log was then.
  for (const std::uint64_t size : {std::uint64_t{1'000'000}, std::uint64_t{6}, std::uint64_t{1}}) {
    expect("refused chain", [&](auto& records) {
      const std::size_t at = StepAt(records, 3);
      Record seal = records.back();
      auto& body = std::get<monitor::SealRecord>(seal.body);
      body.step = 3;
      body.log_size = size;
      body.final = false;
      seal.mono_us = records[at].mono_us;
      seal.wall_us = records[at].wall_us;
      records.insert(records.begin() + static_cast<std::ptrdiff_t>(at) + 1, seal);
    });
  }
  expect("refused chain", [&](auto& records) {
    const Record seal = records.back();  // two final seals
    records.push_back(seal);
  });
  expect("refused utilisation", [&](auto& records) {
    for (Record& record : records) {
      if (auto* sample = std::get_if<monitor::SampleRecord>(&record.body)) sample->cpu_us = 0;
    }
  });
  expect("refused memory", [&](auto& records) {
    for (Record& record : records) {
      if (auto* sample = std::get_if<monitor::SampleRecord>(&record.body)) sample->resident = 1;
    }
  });
  expect("refused times", [&](auto& records) { records[StepAt(records, 3)].mono_us = 0; });
}

TEST_F(TelemetryCheckTest, WhoHasNotIsCaughtByTheChain) {
  ASSERT_TRUE(Train());
  Bytes edited = ReadFile(scratch_ / "run/telemetry.bin", 1 << 20).value();
  edited[edited.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(scratch_ / "run/telemetry.bin", edited));
  EXPECT_EQ(Verdict(), "damaged chain");
  EXPECT_EQ(Check(RuleSet::kSeed).state, monitor::RuleState::kDamaged);
  EXPECT_EQ(Whole(), FsckVerdict::kDamaged);
}

TEST_F(TelemetryCheckTest, TelemetryOfAnotherRunOrKeyIsForeign) {
  ASSERT_TRUE(Train());
  const SigningKey other = SigningKey::Generate("test");
  Forge([](std::vector<Record>&) {}, other);
  EXPECT_EQ(Verdict(), "damaged chain");
  EXPECT_EQ(Check().rules[0].verdict, "foreign");
  EXPECT_EQ(Whole(), FsckVerdict::kDamaged);
  prepared_ = Prepare(*ParseJob(testkit::SmallJobText({.microbatches = 2}), "job")).value();
  ASSERT_TRUE(Train({}, 1, "another"));
  std::filesystem::copy_file(scratch_ / "another/telemetry.bin", scratch_ / "run/telemetry.bin",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(Check().rules[0].verdict, "foreign");
}

}  // namespace
}  // namespace assay
