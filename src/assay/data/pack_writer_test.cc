#include "assay/data/pack_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "assay/base/file.h"
#include "assay/data/packed_file.h"
#include "support/scratch.h"

namespace assay {
namespace {

const Digest kPlan = HashBytes(Bytes{1}), kOther = HashBytes(Bytes{2});

class Writing : public testing::Test {
 protected:
  // A finished file of some tokens, whose folder is still there.
  void FinishOne() const {
    auto writer = PackWriter::Open(file_, kPlan);
    ASSERT_TRUE(writer) << writer.error().message;
    const Bytes tokens(10000, 1);
    const std::vector<std::uint64_t> ends = {5000};
    ASSERT_TRUE(writer->Append(ByteSpan(tokens).first(4097)));
    ASSERT_TRUE(writer->Append(ByteSpan(tokens).subspan(4097)));
    ASSERT_TRUE(writer->AppendEnds(ends));
    ASSERT_TRUE(writer->EndArray());
    PackedHeader header{.descriptor = TokensDescriptor{5000}, .limit = 300, .documents = 1, .sections = {}};
    const Status finished = writer->Finish(header, {}, {.read_bytes = 10000, .documents = 1});
    ASSERT_TRUE(finished) << finished.error().message;
  }

  testkit::Scratch scratch_;
  std::string file_ = scratch_ / "f.pack", folder_ = scratch_ / "f.pack.partial";
};

TEST_F(Writing, MakesAFileThatHoldsTogether) {
  FinishOne();
  Allowance everything;
  const auto file = PackedFile::Open(file_, everything);
  ASSERT_TRUE(file) << file.error().message;
  const auto roots = (*file)->RootsOf(5000, nullptr, everything);
  ASSERT_TRUE(roots) << roots.error().message;
  EXPECT_EQ(roots->front(), (*file)->header().Find("tokens")->root);
  EXPECT_TRUE((*file)->CheckRest(everything));
}

// Killed between the last byte and the end: the same plan takes up what there is.
TEST_F(Writing, TakesUpWhatWasFinished) {
  EXPECT_FALSE(PackWriter::TakeUpFinished(file_, kPlan).value());
  FinishOne();
  const Bytes whole = ReadFile(file_, 1 << 20).value();
  EXPECT_EQ(PackWriter::TakeUpFinished(file_, kPlan).value()->documents, 1);
  EXPECT_FALSE(PackWriter::TakeUpFinished(file_, kOther).value());
  std::filesystem::rename(file_, folder_ + "/data");  // it had no name yet
  EXPECT_EQ(PackWriter::TakeUpFinished(file_, kPlan).value()->read_bytes, 10000u);
  EXPECT_EQ(ReadFile(file_, 1 << 20).value(), whole);
  ASSERT_TRUE(PackWriter::RemoveFolder(file_));
  EXPECT_FALSE(IsTaken(folder_));
  EXPECT_FALSE(PackWriter::TakeUpFinished(file_, kPlan).value());
}

TEST_F(Writing, StartsOverWhereTheFinishedFileIsGone) {
  FinishOne();
  std::filesystem::remove(file_);
  EXPECT_FALSE(PackWriter::TakeUpFinished(file_, kPlan).value());
  const auto writer = PackWriter::Open(file_, kPlan);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(writer->resumed(), PackState());
}

TEST_F(Writing, KeepsOthersOut) {
  const auto writer = PackWriter::Open(file_, kPlan);
  ASSERT_TRUE(writer);
  EXPECT_EQ(PackWriter::Open(file_, kPlan).error().message, folder_ + ": another process is packing into it");
}

TEST_F(Writing, NamesADamagedState) {
  {
    auto writer = PackWriter::Open(file_, kPlan);
    ASSERT_TRUE(writer->Append(Bytes(10, 1)));
    ASSERT_TRUE(writer->Checkpoint({.read_bytes = 10}));
  }
  Bytes state = ReadFile(folder_ + "/state", 1 << 10).value();
  state[50] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(folder_ + "/state", state));
  EXPECT_EQ(PackWriter::Open(file_, kPlan).error().message,
            folder_ + "/state: is damaged; remove the folder it is in to start over");
  state[50] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(folder_ + "/state", state));
  std::filesystem::resize_file(folder_ + "/data", 4100);
  EXPECT_EQ(PackWriter::Open(file_, kPlan).error().message,
            folder_ + "/data: has 4100 bytes, at least 4106 were written; remove the folder it is in to start over");
}

}  // namespace
}  // namespace assay
