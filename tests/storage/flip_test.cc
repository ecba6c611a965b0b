// Every byte of a run directory is looked at: whichever is altered, Fsck names its file.
#include <gtest/gtest.h>

#include <fstream>

#include "storage/workload.h"

namespace assay::storage {
namespace {

void Overwrite(const std::string& path, ByteSpan content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  ASSERT_TRUE(out.flush().good());
}

class FlipTest : public testing::Test {
 protected:
  void Finished() {
    ASSERT_TRUE(work_.Train(Workload::kFive, run_));
    ASSERT_TRUE(work_.Trace(Workload::kFive, run_, 3));
    const auto report = work_.Check(run_);
    ASSERT_TRUE(report && report->verdict == FsckVerdict::kWhole && report->findings.empty()) << Describe(report);
  }

  // Whether the file is named, and as damaged where `damage`.
  bool Names(const std::string& file, bool damage) {
    const auto report = work_.Check(run_);
    if (!report) return false;
    if (damage && report->verdict != FsckVerdict::kDamaged) return false;
    for (const Finding& finding : report->findings) {
      if (finding.file == file && (finding.damage || !damage)) return true;
    }
    return false;
  }

  // Alters every byte of every file in turn, or one in `stride`.
  void FlipAll(bool damage, std::size_t stride) {
    std::size_t flips = 0;
    for (const auto& [file, content] : ReadFiles(run_)) {
      const std::string path = JoinPath(run_, file);
      std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
      for (std::size_t i = flips % stride; i < content.size(); i += stride, ++flips) {
        const auto put = [&](int byte) { stream.seekp(static_cast<std::streamoff>(i)).put(static_cast<char>(byte)).flush(); };
        // A blank for a blank is what a parser is most likely not to mind.
        put(content[i] == ' ' ? '\t' : content[i] ^ (1 << (flips % 8)));
        EXPECT_TRUE(Names(file, damage)) << file << " byte " << i << ": " << Describe(work_.Check(run_));
        put(content[i]);
      }
      ASSERT_TRUE(stream.good());
    }
    fmt::print("{} bytes altered\n", flips);
  }

  Workload work_;
  Scratch scratch_;
  std::string run_ = scratch_ / "run";
};

TEST_F(FlipTest, EveryByteOfAFinishedRun) {
  ASSERT_NO_FATAL_FAILURE(Finished());
  FlipAll(true, 1);
  EXPECT_EQ(work_.Check(run_)->verdict, FsckVerdict::kWhole);
}

// Here an end of the events may have been left by an interruption; it is named all the same.
TEST_F(FlipTest, EveryByteOfAnUnfinishedRun) {
  const Ended ended = work_.Spawn(Workload::kNine, run_, {"ASSAY_IO_ROOT=" + run_, "ASSAY_IO_FAULT=118:EIO"});
  ASSERT_NE(ended.status, 0);
  ASSERT_EQ(work_.Check(run_)->verdict, FsckVerdict::kUnfinished) << Describe(work_.Check(run_));
  ASSERT_TRUE(Exists(run_ + "/snapshots/step-0000000002.safetensors"));
  FlipAll(false, TheSettings().full ? 1 : 5);
}

TEST_F(FlipTest, EveryLengthAndEveryFile) {
  ASSERT_NO_FATAL_FAILURE(Finished());
  const Files files = ReadFiles(run_);
  for (const auto& [file, content] : files) {
    const std::string path = JoinPath(run_, file);
    const std::size_t stride = TheSettings().full ? 1 : 11;
    for (std::size_t size = 0; size < content.size(); size += stride) {
      Overwrite(path, ByteSpan(content).first(size));
      // Events may end after any of their records.
      if (!file.starts_with("events/")) {
        EXPECT_TRUE(Names(file, true)) << file << " cut to " << size << ": " << Describe(work_.Check(run_));
      }
    }
    Bytes longer = content;
    longer.push_back(0);
    Overwrite(path, longer);
    EXPECT_TRUE(Names(file, true)) << file << " with one byte more: " << Describe(work_.Check(run_));
    ASSERT_TRUE(RemoveFile(path));
    const bool needed = !file.starts_with("events/") && !file.starts_with("traces/") && file != "lock" &&
                        file != "snapshots/step-0000000004.safetensors";
    const FsckVerdict expected = file == "receipt.json" ? FsckVerdict::kUnfinished
                                 : needed               ? FsckVerdict::kDamaged
                                                        : FsckVerdict::kWhole;
    const auto report = work_.Check(run_);
    EXPECT_EQ(report->verdict, expected) << file << ": " << Describe(report);
    Overwrite(path, content);
  }
  EXPECT_EQ(work_.Check(run_)->verdict, FsckVerdict::kWhole);
}

// Two runs of the same job by the same signer: files of one in the other.
TEST_F(FlipTest, FilesOfAnotherRunAreFound) {
  ASSERT_NO_FATAL_FAILURE(Finished());
  const Files files = ReadFiles(run_);
  for (const auto& [file, content] : work_.variant(Workload::kNine).reference) {
    const auto ours = files.find(file);
    if (ours == files.end() || ours->second == content) continue;
    Overwrite(JoinPath(run_, file), content);
    const auto report = work_.Check(run_);
    EXPECT_EQ(report->verdict, FsckVerdict::kDamaged) << file << ": " << Describe(report);
    Overwrite(JoinPath(run_, file), ours->second);
  }
  ASSERT_TRUE(WriteFileAtomic(run_ + "/notes.txt", AsBytes("mine")));
  const auto report = work_.Check(run_);
  EXPECT_EQ(report->verdict, FsckVerdict::kWhole);
  EXPECT_EQ(Describe(report), "whole; notes.txt: is not a file of a run");
}

}  // namespace
}  // namespace assay::storage
