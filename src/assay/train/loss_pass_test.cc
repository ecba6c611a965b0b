#include "assay/train/loss_pass.h"

#include <gtest/gtest.h>

#include <bit>

#include "assay/backend/ref/ref_backend.h"

namespace assay {
namespace {

// Dropout, clipping and several microbatches; and batch statistics.
constexpr char kLanguage[] = R"(
steps = 4
[model]
kind = "gpt2"
context = 4
layers = 1
heads = 2
width = 8
[data]
kind = "chars"
[batch]
microbatch = 2
microbatches = 3
sequence = 4
[optimizer]
clip_norm = 1.0
)";
constexpr char kImages[] = R"(
steps = 4
[model]
kind = "resnet"
width = 2
[data]
kind = "images"
image = 8
samples = 32
classes = 3
[batch]
microbatch = 4
[optimizer]
kind = "sgd"
)";

class LossPassTest : public testing::TestWithParam<const char*> {};

TEST_P(LossPassTest, IsTheLossOfTheWholeStepBitForBit) {
  auto prepared = Prepare(*ParseJob(GetParam(), "test.toml"));
  ASSERT_TRUE(prepared) << prepared.error().message;
  ThreadPool pool(1);
  const auto backend = ref::MakeRefBackend(pool);
  Stepper stepper(*prepared, *backend);
  LossPass pass(*prepared, *backend);
  State state = StartingState(*prepared).value();
  for (std::int64_t step = 0; step < 3; ++step) {
    const StepPlan plan = stepper.Plan(step);
    const float before = pass.StepLoss(state, plan);
    const float loss = stepper.Run(state, plan).loss;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(before), std::bit_cast<std::uint32_t>(loss)) << step;
  }
  // Forward is less than half of a step; other samples have another loss.
  const auto rows = static_cast<std::size_t>(prepared->job.batch.microbatch);
  const StepPlan plan = stepper.Plan(3);
  const auto first = std::span(plan.indices).first(rows);
  std::vector<std::int64_t> others(rows, first[0] == 0 ? 1 : 0);
  EXPECT_NE(pass.MicrobatchLoss(state, 3, 0, first), pass.MicrobatchLoss(state, 3, 0, others));
}

INSTANTIATE_TEST_SUITE_P(Jobs, LossPassTest, testing::Values(kLanguage, kImages));

}  // namespace
}  // namespace assay
