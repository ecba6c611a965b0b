// No cheat passes a full audit, which names what the table says: with every step committed, with one in five, at
// different steps of two jobs.
#include <algorithm>
#include <set>

#include "assay/run/commit_schedule.h"
#include "assay/train/trainer.h"
#include "cheat.h"
#include "fixture_for_test.h"
#include "tools.h"

namespace assay::attacks {
namespace {

struct Trial {
  const Cheat* cheat = nullptr;
  std::string job_name;
  const char* job_text = nullptr;
  std::int64_t commit_every = 1;
  std::int64_t at = 0;
  Precision precision = Precision::kFp32;
};

void PrintTo(const Trial& trial, std::ostream* out) { *out << trial.cheat->name; }

std::vector<Trial> Trials() {
  std::vector<Trial> trials;
  for (const Cheat& cheat : Cheats()) {
    trials.push_back({&cheat, "language", kLanguageJob, 1, 0});
    // Before the first snapshot, between two, and at the end.
    for (const std::int64_t at : {1, 7, 10}) trials.push_back({&cheat, "language", kLanguageJob, 1, at});
    trials.push_back({&cheat, "language", kLanguageJob, 5, 7});
    trials.push_back({&cheat, "vectors", kVectorJob, 1, 0});
    trials.push_back({&cheat, "vectors", kVectorJob, 5, 0});
    // Contractions by digits.
    trials.push_back({&cheat, "language", kLanguageJob, 1, 0, Precision::kInt8x3});
    trials.push_back({&cheat, "language", kLanguageJob, 5, 7, Precision::kInt8x2});
    trials.push_back({&cheat, "vectors", kVectorJob, 1, 0, Precision::kInt8x2});
    trials.push_back({&cheat, "vectors", kVectorJob, 5, 0, Precision::kInt8x3});
  }
  return trials;
}

std::string TrialName(const testing::TestParamInfo<Trial>& info) {
  const Trial& trial = info.param;
  std::string name = fmt::format("{}_{}_every{}_at{}", trial.cheat->name, trial.job_name, trial.commit_every,
                                 trial.at == 0 ? "_middle" : std::to_string(trial.at));
  if (trial.precision != Precision::kFp32) name += fmt::format("_digits{}", DigitsOf(trial.precision));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool ContainsOneOf(std::string_view text, std::string_view phrases) {
  while (!phrases.empty()) {
    const std::string_view phrase = phrases.substr(0, phrases.find('|'));
    if (text.find(phrase) != std::string_view::npos) return true;
    phrases.remove_prefix(std::min(phrase.size() + 1, phrases.size()));
  }
  return false;
}

std::int64_t NextCommitted(std::int64_t step, const Job& job) {
  while (!CommitSchedule::Of(job).IsCommitted(step)) ++step;
  return step;
}

class CheatTest : public testing::TestWithParam<Trial> {
 protected:
  // Cheats on one machine, audits on another.
  void SetUp() override {
    const Trial& trial = GetParam();
    job_ = MakeJob(trial.job_text, trial.commit_every);
    job_.precision = trial.precision;
    Machine provider(2, "auto"), auditor(1, "auto");
    const SigningKey key = TestKey();
    const auto lie =
        RunCheat(*trial.cheat, {.job = job_, .out = scratch_ / "run", .at = trial.at}, key, *provider.backend, provider.pool);
    ASSERT_TRUE(lie.has_value()) << lie.error().message;
    lie_ = *lie;
    const auto asked = Prepare(job_);
    ASSERT_TRUE(asked.has_value());
    AuditOptions options;
    options.expected = {.job = asked->identity.job, .signer = key.verify_key()};
    report_ = AuditRun(scratch_ / "run", options, auditor);
    refutation_ = report_.refutation.value_or(Refutation{});
  }

  bool ReplayFindsIt() const {
    const Where where = GetParam().cheat->finding.where;
    return where == Where::kFirst || where == Where::kAt || where == Where::kLast;
  }

  void CheckStep() const {
    if (!lie_.step) {
      EXPECT_FALSE(refutation_.step.has_value());
      return;
    }
    ASSERT_TRUE(refutation_.step.has_value());
    const bool exact = GetParam().cheat->finding.node == Locating::kExact;
    EXPECT_EQ(*refutation_.step, exact ? *lie_.step : NextCommitted(*lie_.step, job_));
  }

  void CheckReason() const {
    const Finding& finding = GetParam().cheat->finding;
    const bool interval = job_.commit_every > 1 && ReplayFindsIt() && finding.node != Locating::kExact;
    const bool weights = refutation_.reason.find("model.safetensors") != std::string::npos;
    if (!interval || weights) {
      EXPECT_TRUE(ContainsOneOf(refutation_.reason, finding.reason)) << refutation_.reason;
      return;
    }
    ASSERT_TRUE(refutation_.step.has_value());
    const std::int64_t end = *refutation_.step;
    const std::string steps = fmt::format("one of the steps {} to {}", end - job_.commit_every + 1, end);
    EXPECT_TRUE(refutation_.reason.find(steps) != std::string::npos) << refutation_.reason;
  }

  void CheckNode() const {
    const Finding& finding = GetParam().cheat->finding;
    if (finding.node == Locating::kExact) {
      EXPECT_EQ(refutation_.node, lie_.node);
      EXPECT_EQ(refutation_.leaf, lie_.leaf);
      EXPECT_FALSE(refutation_.node_name.empty());
    }
    const bool snapshot = lie_.step && *lie_.step > 0 && *lie_.step % job_.snapshot.every == 0;
    if (finding.node == Locating::kNamed && snapshot && job_.commit_every == 1) {
      EXPECT_TRUE(refutation_.node.has_value());
    }
  }

  // Whoever knows the step, from a dispute, gets the same words without the rest of the audit; of the step before, that nothing is false.
  void CheckExplanation() const {
    if (!ReplayFindsIt() || refutation_.reason.find("model.safetensors") != std::string::npos) return;
    Machine auditor(1, "auto");
    const RunDirectory run = RunDirectory::Open(scratch_ / "run").value();
    const PreparedJob prepared = PrepareRun(run, "", auditor.pool).value();
    const auto explained = AuditSteps(run, prepared, *lie_.step, *lie_.step, *auditor.backend, auditor.pool, {});
    ASSERT_TRUE(explained.has_value()) << explained.error().message;
    ASSERT_TRUE(explained->has_value());
    EXPECT_EQ((*explained)->reason, refutation_.reason);
    EXPECT_EQ((*explained)->step, refutation_.step);
    EXPECT_EQ((*explained)->node, refutation_.node);
    const std::int64_t before = (*lie_.step - 1) / job_.commit_every * job_.commit_every;
    const auto right = AuditSteps(run, prepared, before, before, *auditor.backend, auditor.pool, {});
    ASSERT_TRUE(right.has_value()) << right.error().message;
    EXPECT_FALSE(right->has_value());
  }

  testkit::Scratch scratch_;
  Job job_;
  Lie lie_;
  AuditReport report_;
  Refutation refutation_;
};

TEST_P(CheatTest, IsFoundOut) {
  ASSERT_EQ(Name(report_.verdict), GetParam().cheat->finding.damage ? "damaged" : "refuted") << report_.reason;
  CheckStep();
  CheckReason();
  CheckNode();
  CheckExplanation();
  // A cheat that shows only in a replay must have got past everything that comes before one.
  // Damage that leaves receipt and entries whole does not keep an audit from replaying them.
  if (!GetParam().cheat->finding.damage) {
    EXPECT_EQ(report_.steps_checked > 0, ReplayFindsIt()) << refutation_.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CheatTest, testing::ValuesIn(Trials()), TrialName);

std::string Receipt(const std::string& run) { return ReadText(run + "/receipt.json").value(); }

// What is caught above is the cheating, not the machinery: without hooks it leaves the very receipt that the honest trainer does.
TEST(Machinery, WithoutACheatIsHonest) {
  for (const char* text : {kLanguageJob, kVectorJob}) {
    const testkit::Scratch scratch;
    Machine machine(2, "auto");
    const SigningKey key = TestKey();
    const PreparedJob prepared = Prepare(MakeJob(text, 1)).value();
    Lie lie;
    const Setting setting{.prepared = prepared, .key = key, .backend = *machine.backend, .pool = machine.pool, .lie = lie};
    ASSERT_TRUE(RunHooks({}, setting, scratch / "hooks"));
    auto run = RunDirectory::OpenForTraining(scratch / "honest", ContentOf(prepared), key.verify_key());
    ASSERT_TRUE(run.has_value());
    ASSERT_TRUE(Train(prepared, *run, key, *machine.backend, machine.pool, {}).has_value());
    EXPECT_EQ(Receipt(scratch / "hooks"), Receipt(scratch / "honest"));
    EXPECT_EQ(Name(AuditRun(scratch / "hooks", {}, machine).verdict), "verified");
  }
}

TEST(Cheats, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Cheat& cheat : Cheats()) {
    EXPECT_TRUE(names.insert(cheat.name).second) << cheat.name;
    EXPECT_FALSE(cheat.what.empty());
    EXPECT_FALSE(cheat.finding.reason.empty());
    EXPECT_EQ(FindCheat(cheat.name), &cheat);
  }
  EXPECT_EQ(FindCheat("honesty"), nullptr);
}

TEST(Cheats, RefuseWhatTheyCannotDo) {
  const testkit::Scratch scratch;
  Machine machine(1, "auto");
  const SigningKey key = TestKey();
  const Job job = MakeJob(kVectorJob, 1);
  const auto beyond =
      RunCheat(*FindCheat("flipped-bit"), {.job = job, .out = scratch / "run", .at = 11}, key, *machine.backend, machine.pool);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_NE(beyond.error().message.find("--at"), std::string::npos);
  Job plain = job;
  plain.optimizer.momentum = 0;
  const auto none =
      RunCheat(*FindCheat("tampered-moments"), {.job = plain, .out = scratch / "run"}, key, *machine.backend, machine.pool);
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("keeps no state"), std::string::npos);
}

}  // namespace
}  // namespace assay::attacks
