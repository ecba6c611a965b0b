#include "assay/run/steps_done.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "assay/run/log.h"

namespace assay {
namespace {

TEST(StepsDone, IsTheLastStepThatAnEntryOrASnapshotIsOf) {
  std::string root = testing::TempDir() + "/assay_steps_XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const SigningKey key = SigningKey::Generate("test");
  const Digest trajectory = HashBytes(AsBytes("t"));
  const RunContent content{.identity = {.job = HashBytes(AsBytes("j")), .trajectory = trajectory, .data = {}},
                           .steps = 12,
                           .job_toml = "",
                           .job = Bytes{1},
                           .program = Bytes{2}};
  const RunDirectory run = *RunDirectory::OpenForTraining(root + "/run", content, key.verify_key());
  EXPECT_EQ(*StepsDone(run), 0);
  RunLog log(trajectory);
  for (const std::int64_t step : {0, 5, 10}) log.Append(log.Next(step, {}, {}, 0));
  ASSERT_TRUE(log.Write(run.log_path(), "test/j", key));
  EXPECT_EQ(*StepsDone(run), 10) << "a process that was killed before it wrote the snapshot";
  ASSERT_TRUE(WriteFileAtomic(run.SnapshotPath(12), AsBytes("x")));
  EXPECT_EQ(*StepsDone(run), 12) << "one that was interrupted between entries";
  ASSERT_TRUE(WriteFileAtomic(run.log_path() + "/checkpoint", AsBytes("x")));
  EXPECT_FALSE(StepsDone(run)) << "how far it has come is not known";
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace assay
