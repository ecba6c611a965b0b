#include "assay/train/trainer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "assay/backend/ref/ref_backend.h"
#include "assay/run/events.h"
#include "assay/train/batch.h"
#include "assay/train/evaluate.h"
#include "support/scratch.h"
#include "support/small_job.h"

namespace assay {
namespace {

const std::string kJob = testkit::SmallJobText({.sections = "[eval]\nevery = 4\nbatches = 1\n"});

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = scratch_.path();
    auto job = ParseJob(kJob, "test.toml");
    ASSERT_TRUE(job) << job.error().message;
    auto prepared = Prepare(*job);
    ASSERT_TRUE(prepared) << prepared.error().message;
    prepared_ = std::move(*prepared);
  }

  Result<TrainOutcome> TrainIn(const std::string& name, const TrainHooks& hooks = {}) {
    ASSAY_ASSIGN(RunDirectory run, RunDirectory::OpenForTraining(root_ + "/" + name, ContentOf(prepared_), key_.verify_key()));
    return Train(prepared_, run, key_, *backend_, pool_, hooks);
  }

  testkit::Scratch scratch_;
  std::string root_;
  PreparedJob prepared_;
  SigningKey key_ = SigningKey::Generate("test");
  ThreadPool pool_{1};
  std::unique_ptr<Backend> backend_ = ref::MakeRefBackend(pool_);
};

// What on_log saw is a prefix of the log in the end, also of a run that is taken up again from before it.
TEST_F(TrainerTest, ShowsTheLogWhileTrainingAndKeepsToIt) {
  std::vector<Checkpoint> shown;
  const TrainHooks watching{.should_stop = [&] { return !shown.empty() && shown.back().size == 2; },
                            .wants_log = [] { return true; },
                            .on_log = [&](const RunLog& log) { shown.push_back(log.checkpoint()); }};
  ASSERT_TRUE(TrainIn("watched", watching));
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].size, 2U);  // the start and step 2
  std::filesystem::remove_all(root_ + "/watched/snapshots");
  const auto again = TrainIn(
      "watched", {.wants_log = [] { return true; }, .on_log = [&](const RunLog& log) { shown.push_back(log.checkpoint()); }});
  ASSERT_TRUE(again) << again.error().message;
  const auto whole = TrainIn("unwatched", {});
  ASSERT_TRUE(whole);
  EXPECT_EQ(again->state_root, whole->state_root);
  const auto log = RunLog::Read(root_ + "/watched/log", key_.verify_key(), prepared_.identity.trajectory);
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(shown.size(), 6U);  // steps 2, once more 2, 4, 6, 8, 9
  for (const Checkpoint& one : shown) {
    RunLog prefix = *log;
    prefix.Truncate(one.size);
    EXPECT_EQ(prefix.root(), one.root);
  }
}

TEST_F(TrainerTest, StoppingAfterEveryStepEndsInTheSameState) {
  std::vector<std::int64_t> evaluated;
  const auto whole = TrainIn("whole", {.on_evaluation = [&](std::int64_t step, float) { evaluated.push_back(step); }});
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->step, 9);
  EXPECT_FALSE(whole->interrupted);
  EXPECT_TRUE(whole->validation_loss.has_value());
  EXPECT_EQ(evaluated, (std::vector<std::int64_t>{4, 8, 9}));

  for (std::int64_t step = 1; step <= 9; ++step) {
    int calls = 0;
    const auto part = TrainIn("parts", {.should_stop = [&] { return calls++ == 1; }});
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part->step, step);
    EXPECT_EQ(part->interrupted, step < 9);
    if (step == 9) {
      EXPECT_EQ(part->state_root, whole->state_root);
      EXPECT_EQ(part->loss, whole->loss);
      EXPECT_EQ(part->validation_loss, whole->validation_loss);
    }
  }
  EXPECT_EQ(*ReadFile(root_ + "/whole/model.safetensors", 1 << 20), *ReadFile(root_ + "/parts/model.safetensors", 1 << 20));
  EXPECT_EQ(*ReadFile(root_ + "/whole/receipt.json", 1 << 20), *ReadFile(root_ + "/parts/receipt.json", 1 << 20));
  EXPECT_EQ(*ReadFile(root_ + "/whole/log/checkpoint", 1 << 20), *ReadFile(root_ + "/parts/log/checkpoint", 1 << 20));
}

TEST_F(TrainerTest, AFinishedRunGetsItsWeightsBackWithoutTraining) {
  const auto whole = TrainIn("run");
  ASSERT_TRUE(whole);
  ASSERT_TRUE(RemoveFile(root_ + "/run/model.safetensors"));
  const auto again = TrainIn("run", {.on_step = [](const StepReport&) { ADD_FAILURE() << "a step was run"; }});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->state_root, whole->state_root);
  EXPECT_EQ(again->first_step, 9);
  EXPECT_TRUE(Exists(root_ + "/run/model.safetensors"));
}

TEST_F(TrainerTest, SnapshotsByTheMinute) {
  prepared_.job.snapshot = {.every = 100, .keep = 100, .minutes = 1};
  std::chrono::steady_clock::time_point now{};
  const auto outcome =
      TrainIn("run", {.on_step = [&](const StepReport&) { now += std::chrono::seconds(20); }, .now = [&] { return now; }});
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto run = RunDirectory::Open(root_ + "/run");
  ASSERT_TRUE(run) << run.error().message;
  // A minute after the beginning, another after the snapshot at step 3, and the last step.
  EXPECT_EQ(*run->SnapshotSteps(), (std::vector<std::int64_t>{3, 6, 9}));
}

// The values of a tag in an event file, by the bytes of Summary.Value{tag, simple_value}.
std::vector<float> ValuesOf(const std::string& path, std::string_view tag) {
  const Bytes file = ReadFile(path, 1 << 20).value();
  EXPECT_EQ(ScanEvents(file).whole, file.size());
  ByteWriter wanted;
  wanted.U8(0x0a);
  wanted.U8(static_cast<std::uint8_t>(tag.size()));
  wanted.Raw(AsBytes(tag));
  wanted.U8(0x15);
  std::vector<float> values;
  for (auto at = file.begin();;) {
    at = std::search(at, file.end(), wanted.bytes().begin(), wanted.bytes().end());
    if (at == file.end()) return values;
    at += static_cast<std::ptrdiff_t>(wanted.bytes().size());
    values.push_back(ByteReader(ByteSpan(&*at, 4), "value").F32().value());
  }
}

TEST_F(TrainerTest, TensorBoardShowsWhatTelemetryMeasures) {
  monitor::GpuFigures gpu{.utilisation = 97, .memory = 1 << 20, .power_mw = 250'000};
  monitor::Instruments instruments = monitor::Instruments::OfTheSystem(false);
  instruments.read = [gpu] { return monitor::SampleRecord{.cpu_us = 1, .resident = 4096, .gpu = gpu}; };
  const auto slowly = [](const StepReport&) { std::this_thread::sleep_for(std::chrono::milliseconds(60)); };
  const monitor::RecorderOptions often{.interval_ms = 10, .instruments = instruments};
  ASSERT_TRUE(TrainIn("run", {.on_step = slowly, .telemetry = often}));
  const auto names = ListDirectory(root_ + "/run/events");
  ASSERT_EQ(names->size(), 1U);
  const std::string file = root_ + "/run/events/" + names->front();
  EXPECT_EQ(ValuesOf(file, "loss").size(), 9U);
  EXPECT_FALSE(ValuesOf(file, "cpu_util").empty());
  for (const auto& [tag, value] : std::vector<std::pair<std::string, float>>{
           {"memory_bytes", 4096}, {"gpu_util", 97}, {"gpu_memory_bytes", 1 << 20}, {"gpu_power_w", 250}}) {
    const std::vector<float> values = ValuesOf(file, tag);
    ASSERT_FALSE(values.empty()) << tag;
    EXPECT_EQ(values.front(), value) << tag;
  }
  EXPECT_TRUE(ValuesOf(file, "gpu_energy_j").empty());  // of which it was not told
  ASSERT_TRUE(TrainIn("bare"));
  EXPECT_FALSE(Exists(root_ + "/bare/telemetry.bin"));
  EXPECT_EQ(*ReadFile(root_ + "/run/receipt.json", 1 << 20), *ReadFile(root_ + "/bare/receipt.json", 1 << 20));
}

TEST_F(TrainerTest, StepsAreNotPartOfTheTrajectory) {
  Job longer = prepared_.job;
  longer.steps = 20;
  const auto other = Prepare(longer);
  ASSERT_TRUE(other);
  EXPECT_NE(other->identity.job, prepared_.identity.job);
  EXPECT_EQ(other->identity.trajectory, prepared_.identity.trajectory);
  Job seeded = prepared_.job;
  seeded.seed = 4;
  EXPECT_NE(Prepare(seeded)->identity.trajectory, prepared_.identity.trajectory);
}

TEST(Evaluate, IndicesAreEvenlySpread) {
  EXPECT_EQ(EvaluationIndices(10, 2, 2), (std::vector<std::int64_t>{0, 2, 5, 7}));
  EXPECT_EQ(EvaluationIndices(5, 2, 0), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(EvaluationIndices(4, 2, 100), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(EvaluationIndices(3, 4, 7), (std::vector<std::int64_t>{0, 1, 2, 0}));
}

// A dataset whose fields come in another order than the graph's.
class Numbers : public Dataset {
 public:
  std::int64_t samples() const override { return 100; }
  std::vector<std::pair<std::string, TensorType>> fields() const override {
    return {{"labels", {DType::kI32, {}}}, {"features", {DType::kF32, {2}}}};
  }
  void Load(std::int64_t index, const DrawContext& context, std::int64_t row, std::span<Tensor> batch) const override {
    const auto r = static_cast<std::size_t>(row);
    batch[0].Span<std::int32_t>()[r] = static_cast<std::int32_t>(index);
    batch[1].Span<float>()[2 * r] = static_cast<float>(context.position);
    batch[1].Span<float>()[2 * r + 1] = static_cast<float>(context.step);
  }
  std::string description() const override { return "numbers"; }
};

TEST(BatchLoader, MatchesFieldsByNameAndCountsPositions) {
  const std::vector<BatchField> fields = {{"features", {DType::kF32, {3, 2}}}, {"labels", {DType::kI32, {3}}}};
  std::vector<Tensor> tensors;
  for (const BatchField& field : fields) tensors.emplace_back(field.type);
  const Numbers numbers;
  BatchLoader loader(numbers, fields);
  const std::int64_t indices[] = {7, 5, 9};
  loader.Load(indices, {.seed = 0, .step = 11, .position = 40, .train = true}, tensors);
  EXPECT_EQ(std::vector<std::int32_t>(tensors[1].Span<std::int32_t>().begin(), tensors[1].Span<std::int32_t>().end()),
            (std::vector<std::int32_t>{7, 5, 9}));
  EXPECT_EQ(std::vector<float>(tensors[0].Span<float>().begin(), tensors[0].Span<float>().end()),
            (std::vector<float>{40, 11, 41, 11, 42, 11}));
}

}  // namespace
}  // namespace assay
