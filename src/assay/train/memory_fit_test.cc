#include "assay/train/memory_fit.h"

#include <gtest/gtest.h>

#include "assay/backend/ref/ref_backend.h"
#include "support/small_device.h"

namespace assay {
namespace {

using testkit::SmallDevice;

class FitTest : public ::testing::Test {
 protected:
  FitTest() {
    prepared_.job.model = MlpConfig{.inputs = 64, .classes = 4, .hidden = {64}};
    prepared_.job.batch = {.microbatch = 512, .microbatches = 1};
    prepared_.program = BuildProgram(prepared_.job.model, prepared_.job.optimizer, prepared_.job.batch);
    SmallDevice device(pool_, 0);
    needed_ = TrainingBytes(prepared_.program, device);
  }

  Status Check(std::size_t free) {
    SmallDevice device(pool_, free);
    return CheckFits(prepared_, device);
  }

  ThreadPool pool_{1};
  PreparedJob prepared_;
  std::size_t needed_ = 0;
};

TEST_F(FitTest, WhatFitsFits) { EXPECT_TRUE(Check(needed_).has_value()); }

// More than any machine has: asking takes none of it.
TEST_F(FitTest, WhatItWouldTakeIsKnownWithoutTakingIt) {
  prepared_.job.model = MlpConfig{.inputs = 1 << 20, .classes = 4, .hidden = {8}};
  prepared_.job.batch = {.microbatch = 1 << 20, .microbatches = 1};
  prepared_.program = BuildProgram(prepared_.job.model, prepared_.job.optimizer, prepared_.job.batch);
  SmallDevice device(pool_, 0);
  EXPECT_GT(TrainingBytes(prepared_.program, device), std::size_t{4} << 40);
}

// On the host it is the machine's memory.
TEST_F(FitTest, WhatNoMachineHasIsRefusedOnTheHost) {
  const auto host = ref::MakeRefBackend(pool_);
  EXPECT_TRUE(CheckFits(prepared_, *host));
  prepared_.job.model = MlpConfig{.inputs = 1 << 20, .classes = 4, .hidden = {8}};
  prepared_.job.batch = {.microbatch = 1 << 20, .microbatches = 1};
  prepared_.program = BuildProgram(prepared_.job.model, prepared_.job.optimizer, prepared_.job.batch);
  const Status refused = CheckFits(prepared_, *host);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("memory: this job takes 4.")) << refused.error().message;
  EXPECT_NE(refused.error().message.find("with [batch] microbatch = "), std::string::npos) << refused.error().message;
}

TEST_F(FitTest, WhatDoesNotNamesTheLargestSplitThatDoes) {
  const Status short_of_one = Check(needed_ - 1);
  ASSERT_FALSE(short_of_one.has_value());
  EXPECT_NE(short_of_one.error().message.find("microbatch = 256, microbatches = 2"), std::string::npos)
      << short_of_one.error().message;
}

TEST_F(FitTest, WhatNeverFitsIsSaidToo) {
  const Status never = Check(1000);
  ASSERT_FALSE(never.has_value());
  EXPECT_NE(never.error().message.find("no smaller microbatch"), std::string::npos) << never.error().message;
}

}  // namespace
}  // namespace assay
