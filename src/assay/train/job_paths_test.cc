#include "assay/train/job_paths.h"
#include "support/scratch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace assay {
namespace {

namespace fs = std::filesystem;

class JobPathsTest : public testing::Test {
 protected:
  void SetUp() override { root_ = fs::canonical(scratch_.path()).string(); }
  static std::string Stored(const std::string& data, const std::string& run) {
    Job job;
    job.data.path = data;
    return PortableJob(job, run).data.path;
  }
  testkit::Scratch scratch_;
  std::string root_;
};

TEST_F(JobPathsTest, APathIsRelativeToTheRun) {
  EXPECT_EQ(Stored(root_ + "/data/text.txt", root_ + "/runs/one"), "../../data/text.txt");
  EXPECT_EQ(Stored(root_ + "/runs/one/text.txt", root_ + "/runs/one"), "text.txt");
  EXPECT_EQ(Stored(root_ + "/x/../data/text.txt", root_ + "/runs/./one"), "../../data/text.txt");
}

TEST_F(JobPathsTest, NothingInCommonButTheRootLeavesThePathFromHereOrTheName) {
  EXPECT_EQ(Stored("/nowhere/at/all.txt", root_ + "/run"), "all.txt");
  EXPECT_EQ(Stored(fs::absolute("some/data.txt").string(), "/nowhere/run"), "some/data.txt");
}

TEST_F(JobPathsTest, LinksAreFollowed) {
  fs::create_directories(root_ + "/deep/down");
  fs::create_directory_symlink(root_ + "/deep/down", root_ + "/link");
  const std::string stored = Stored(root_ + "/text.txt", root_ + "/link/run");
  EXPECT_EQ(stored, "../../../text.txt");
  fs::create_directories(root_ + "/link/run");
  ASSERT_TRUE(WriteFileAtomic(root_ + "/text.txt", AsBytes("x")));
  EXPECT_TRUE(Exists(root_ + "/link/run/" + stored));
}

TEST_F(JobPathsTest, EveryPathOfTheJobIsMadePortable) {
  Job job;
  job.data.path = root_ + "/text.txt";
  job.data.vocabulary = root_ + "/vocabulary.json";
  job.init_weights = root_ + "/start.safetensors";
  job.model_folder = root_ + "/model";
  EXPECT_EQ(ToToml(PortableJob(job, root_ + "/run")).find(root_), std::string::npos);
}

}  // namespace
}  // namespace assay
