#include "assay/run/log.h"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>

#include "assay/base/file.h"
#include "assay/merkle/tiles.h"
#include "assay/merkle/tree.h"
#include "support/scratch.h"

namespace assay {
namespace {

Digest D(std::string_view text) { return HashBytes(AsBytes(text)); }

TEST(LogEntry, RoundTripsAndRefusesEverythingElse) {
  const LogEntry entry{.step = 70, .state_root = D("s"), .batch_root = D("b"), .loss_bits = 0x40490fdb, .previous = D("p")};
  const Bytes bytes = Encode(entry);
  EXPECT_EQ(bytes.size(), 125u);
  EXPECT_EQ(*DecodeLogEntry(bytes, "e"), entry);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeLogEntry(ByteSpan(bytes).first(size), "e")) << size;
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(DecodeLogEntry(longer, "e"));
  for (std::size_t i = 0; i < 17; ++i) {
    Bytes bad = bytes;
    bad[i] ^= 1;
    EXPECT_FALSE(DecodeLogEntry(bad, "e")) << i;
  }
  Bytes far = bytes;
  far[17 + 4] = 1;  // step 2^32
  EXPECT_FALSE(DecodeLogEntry(far, "e"));
}

class RunLogTest : public testing::Test {
 protected:
  void SetUp() override { path_ = scratch_.path(); }

  void Grow(RunLog& log, std::size_t size) {
    while (log.entries().size() < size) {
      const auto step = static_cast<std::int64_t>(log.entries().size());
      log.Append(log.Next(step, D("state" + std::to_string(step)), D("batch"), 7));
    }
  }
  Result<RunLog> Read() { return RunLog::Read(path_, key_.verify_key(), D("t")); }
  std::vector<std::string> Files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file()) files.push_back(std::filesystem::relative(entry.path(), path_).string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  SigningKey key_ = SigningKey::Generate("test");
  testkit::Scratch scratch_;
  std::string path_;
};

TEST_F(RunLogTest, GrowsOverTileBordersAndKeepsOnlyItsTiles) {
  RunLog log(D("t"));
  for (std::size_t size : {1u, 2u, 255u, 256u, 257u, 700u}) {
    Grow(log, size);
    ASSERT_TRUE(log.Write(path_, "test/j", key_));
    const auto read = Read();
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->entries(), log.entries());
    EXPECT_EQ(read->checkpoint(), (Checkpoint{"test/j", size, log.root()}));
    std::vector<std::string> expected = TilePaths(size);
    expected.push_back("checkpoint");
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(Files(), expected) << size;
  }
}

TEST_F(RunLogTest, EveryFlippedByteIsFound) {
  RunLog log(D("t"));
  Grow(log, 3);
  ASSERT_TRUE(log.Write(path_, "test/j", key_));
  for (const std::string& file : Files()) {
    const std::string path = path_ + "/" + file;
    const Bytes good = *ReadFile(path, 1 << 20);
    for (std::size_t i = 0; i < good.size(); ++i) {
      Bytes bad = good;
      bad[i] ^= static_cast<std::uint8_t>(1 << (i % 8));
      ASSERT_TRUE(WriteFileAtomic(path, bad));
      EXPECT_FALSE(Read()) << file << " byte " << i;
    }
    ASSERT_TRUE(WriteFileAtomic(path, good));
  }
  EXPECT_TRUE(Read());
}

TEST_F(RunLogTest, RefusesAnotherTrajectoryAnotherKeyAndABrokenChain) {
  RunLog log(D("t"));
  Grow(log, 3);
  ASSERT_TRUE(log.Write(path_, "test/j", key_));
  EXPECT_FALSE(RunLog::Read(path_, key_.verify_key(), D("u")));
  EXPECT_FALSE(RunLog::Read(path_, SigningKey::Generate("test").verify_key(), D("t")));

  // Well signed, but the second entry does not name the first.
  std::vector<Bytes> entries;
  for (LogEntry entry : log.entries()) {
    if (entry.step == 1) entry.previous = D("x");
    entries.push_back(Encode(entry));
  }
  for (const TileFile& tile : NewTiles(entries, 0)) ASSERT_TRUE(WriteFileAtomic(path_ + "/" + tile.path, tile.content));
  std::vector<Digest> hashes;
  for (const Bytes& entry : entries) hashes.push_back(LeafHash(entry));
  const Checkpoint checkpoint{.origin = "test/j", .size = 3, .root = TreeRoot(hashes)};
  ASSERT_TRUE(WriteFileAtomic(path_ + "/checkpoint", AsBytes(SignCheckpoint(checkpoint, key_))));
  const auto read = Read();
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("the entry of step 1 does not follow"), std::string::npos) << read.error().message;
  EXPECT_TRUE(RunLog::Examine(path_, key_.verify_key(), D("t")).error().of_signer);
}

// Bytes that a signature covers are its signer's; whatever else is wrong with the files, nobody can say who made it so.
TEST_F(RunLogTest, DamageIsToldFromWhatTheSignerSigned) {
  RunLog log(D("t"));
  Grow(log, 3);
  ASSERT_TRUE(log.Write(path_, "test/j", key_));
  const auto of_signer = [&](std::uint64_t max_entries = 3) {
    const auto read = RunLog::Examine(path_, key_.verify_key(), D("t"), max_entries);
    EXPECT_FALSE(read);
    return read.error().of_signer;
  };
  for (const std::string& file : Files()) {
    if (file == "checkpoint") continue;
    const std::string path = path_ + "/" + file;
    const Bytes good = *ReadFile(path, 1 << 20);
    for (std::size_t i = 0; i < good.size(); i += 7) {
      Bytes bad = good;
      bad[i] ^= 1;
      ASSERT_TRUE(WriteFileAtomic(path, bad));
      EXPECT_FALSE(of_signer()) << file << " byte " << i;
    }
    ASSERT_TRUE(RemoveFile(path));
    EXPECT_FALSE(of_signer()) << file;
    ASSERT_TRUE(WriteFileAtomic(path, good));
  }
  EXPECT_TRUE(of_signer(2)) << "more entries than the job has";
  const std::string path = path_ + "/checkpoint";
  const Bytes note = *ReadFile(path, 1 << 20);
  Bytes bad = note;
  bad[5] = 'x';
  ASSERT_TRUE(WriteFileAtomic(path, bad));
  EXPECT_FALSE(of_signer()) << "the signature does not fit";
  bad = note;
  bad.resize(bad.size() / 2);
  ASSERT_TRUE(WriteFileAtomic(path, bad));
  EXPECT_FALSE(of_signer()) << "torn";
  ASSERT_TRUE(RemoveFile(path));
  EXPECT_FALSE(of_signer()) << "missing";
}

TEST_F(RunLogTest, ATruncatedLogIsRewrittenBeforeItGrowsAgain) {
  RunLog log(D("t"));
  Grow(log, 300);
  ASSERT_TRUE(log.Write(path_, "test/j", key_));
  log.Truncate(299);
  ASSERT_TRUE(log.Write(path_, "test/k", key_));
  EXPECT_EQ(Read()->entries().size(), 299u);
  log.Append(log.Next(500, D("other"), D("batch"), 8));
  ASSERT_TRUE(log.Write(path_, "test/k", key_));
  EXPECT_EQ(Read()->entries().back().step, 500);
}

}  // namespace
}  // namespace assay
