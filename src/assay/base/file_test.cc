#include "assay/base/file.h"
#include "support/scratch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace assay {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override { directory_ = scratch_.path(); }
  std::string Path(std::string_view name) const { return JoinPath(directory_, name); }
  std::string Text(const std::string& path) const {
    const auto bytes = ReadFile(path, 1 << 20);
    return bytes ? std::string(bytes->begin(), bytes->end()) : "ERROR: " + bytes.error().message;
  }
  testkit::Scratch scratch_;
  std::string directory_;
};

TEST_F(FileTest, WritesReadsAndReplaces) {
  ASSERT_TRUE(WriteFileAtomic(Path("a"), AsBytes("one")));
  EXPECT_EQ(Text(Path("a")), "one");
  ASSERT_TRUE(WriteFileAtomic(Path("a"), [](FileSink& sink) -> Status {
    ASSAY_TRY(sink.Write("tw"));
    return sink.Write("o");
  }));
  EXPECT_EQ(Text(Path("a")), "two");
  EXPECT_EQ(*ListDirectory(directory_), std::vector<std::string>{"a"});
  const auto map = MappedFile::Open(Path("a"));
  ASSERT_TRUE(map);
  EXPECT_EQ(std::string(map->bytes().begin(), map->bytes().end()), "two");
}

TEST_F(FileTest, EmptyFile) {
  ASSERT_TRUE(WriteFileAtomic(Path("a"), ByteSpan{}));
  EXPECT_EQ(Text(Path("a")), "");
  EXPECT_EQ(MappedFile::Open(Path("a"))->bytes().size(), 0u);
  EXPECT_EQ(*ReadThrough(Path("a")), 0u);
}

TEST_F(FileTest, ReadThroughTellsTheSize) {
  ASSERT_TRUE(WriteFileAtomic(Path("a"), Bytes(600001)));
  EXPECT_EQ(*ReadThrough(Path("a")), 600001u);
  EXPECT_EQ(ReadThrough(Path("b")).error().message, Path("b") + ": cannot open: No such file or directory");
  EXPECT_FALSE(ReadThrough(directory_));
}

// Read byte by byte this would take an hour.
TEST_F(FileTest, ReadThroughSkipsHoles) {
  constexpr std::uintmax_t kTerabytes = std::uintmax_t{3} << 40;
  ASSERT_TRUE(WriteFileAtomic(Path("a"), AsBytes("beginning")));
  std::error_code error;
  std::filesystem::resize_file(Path("a"), kTerabytes, error);
  if (error) GTEST_SKIP() << "the file system has no files of that size: " << error.message();
  EXPECT_EQ(*ReadThrough(Path("a")), kTerabytes);
}

TEST_F(FileTest, FailedBodyLeavesTheOldFileAndNoTemporary) {
  ASSERT_TRUE(WriteFileAtomic(Path("a"), AsBytes("old")));
  const Status status = WriteFileAtomic(Path("a"), [](FileSink& sink) -> Status {
    ASSAY_TRY(sink.Write("half"));
    return Err("the body failed");
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the body failed");
  EXPECT_EQ(Text(Path("a")), "old");
  EXPECT_EQ(*ListDirectory(directory_), std::vector<std::string>{"a"});
}

// A file size limit stands in for a full disk: the write fails half way.
TEST_F(FileTest, FullDiskNamesThePathAndLeavesNothing) {
  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit tiny{.rlim_cur = 4096, .rlim_max = limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tiny);
  const Status status = WriteFileAtomic(Path("big"), Bytes(1 << 16));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, previous);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, Path("big") + ": cannot write: File too large");
  EXPECT_TRUE(ListDirectory(directory_)->empty());
}

TEST_F(FileTest, ModeHoldsForTheTemporaryToo) {
  const mode_t mask = ::umask(0);
  unsigned during = 0;
  const Status status = WriteFileAtomic(Path("secret"),
                                        [&](FileSink& sink) {
                                          struct stat info{};
                                          ::stat(Path(ListDirectory(directory_)->at(0)).c_str(), &info);
                                          during = info.st_mode & 07777;
                                          return sink.Write("x");
                                        },
                                        {.mode = 0600});
  ::umask(mask);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(during, 0600u);
  struct stat info{};
  ASSERT_EQ(::stat(Path("secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_TRUE(ReadPrivateFile(Path("secret"), 10));
  ASSERT_EQ(::chmod(Path("secret").c_str(), 0640), 0);
  EXPECT_EQ(ReadPrivateFile(Path("secret"), 10).error().message,
            Path("secret") + ": others may read it (mode 0640), expected mode 0600; run chmod 600 on it");
}

TEST_F(FileTest, WithoutReplacingTheOldFileStays) {
  const WriteOptions keep{.replace = false};
  ASSERT_TRUE(WriteFileAtomic(Path("a"), AsBytes("old"), keep));
  EXPECT_EQ(WriteFileAtomic(Path("a"), AsBytes("new"), keep).error().message,
            Path("a") + ": exists already and is not overwritten");
  EXPECT_EQ(Text(Path("a")), "old");
  ASSERT_TRUE(MakeDirectories(Path("d")));
  EXPECT_FALSE(WriteFileAtomic(Path("d"), AsBytes("new"), keep));
  EXPECT_EQ(*ListDirectory(directory_), (std::vector<std::string>{"a", "d"}));
}

TEST_F(FileTest, ErrorsNameThePath) {
  const std::string missing = Path("missing");
  EXPECT_EQ(ReadFile(missing, 10).error().message, missing + ": cannot open: No such file or directory");
  EXPECT_EQ(MappedFile::Open(missing).error().message, missing + ": cannot open: No such file or directory");
  EXPECT_EQ(WriteFileAtomic(missing + "/x", AsBytes("x")).error().message,
            missing + "/x: cannot create: No such file or directory");
  EXPECT_EQ(ReadFile(directory_, 10).error().message, directory_ + ": is a directory, expected a file");
  ASSERT_TRUE(WriteFileAtomic(Path("long"), AsBytes("12345678901")));
  EXPECT_EQ(ReadFile(Path("long"), 10).error().message, Path("long") + ": has 11 bytes, expected at most 10");
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(Path("pipe"), 10).error().message, Path("pipe") + ": is not a plain file");
  EXPECT_FALSE(MakeDirectories(Path("long") + "/sub"));
  EXPECT_FALSE(RemoveFile(missing));
}

TEST_F(FileTest, DirectoriesAndAppend) {
  ASSERT_TRUE(MakeDirectories(Path("d")));
  ASSERT_TRUE(MakeDirectories(Path("d")));
  EXPECT_TRUE(IsDirectory(Path("d")));
  for (int round = 0; round < 2; ++round) {
    auto file = AppendFile::Open(Path("log"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Append(AsBytes("x")));
    ASSERT_TRUE(file->Sync());
  }
  EXPECT_EQ(Text(Path("log")), "xx");
}

TEST_F(FileTest, LockIsExclusiveUntilReleased) {
  {
    const auto first = FileLock::TryAcquire(Path("lock"));
    ASSERT_TRUE(first && first->has_value());
    const auto second = FileLock::TryAcquire(Path("lock"));
    ASSERT_TRUE(second);
    EXPECT_FALSE(second->has_value());
  }
  EXPECT_TRUE(FileLock::TryAcquire(Path("lock"))->has_value());
}

TEST_F(FileTest, ReadersShareALockAndKeepWritersOut) {
  EXPECT_FALSE(FileLock::TryShare(Path("lock")));  // which it does not create
  EXPECT_FALSE(Exists(Path("lock")));
  ASSERT_TRUE(WriteFileAtomic(Path("lock"), ByteSpan{}));
  {
    const auto first = FileLock::TryShare(Path("lock"));
    EXPECT_TRUE(first && first->has_value());
    EXPECT_TRUE(FileLock::TryShare(Path("lock"))->has_value());
    EXPECT_FALSE(FileLock::TryAcquire(Path("lock"))->has_value());
  }
  const auto writer = FileLock::TryAcquire(Path("lock"));
  EXPECT_TRUE(writer->has_value());
  EXPECT_FALSE(FileLock::TryShare(Path("lock"))->has_value());
}

TEST_F(FileTest, TreesAreListedWithoutFollowingLinks) {
  ASSERT_TRUE(MakeDirectories(Path("d")));
  ASSERT_TRUE(WriteFileAtomic(Path("d/b"), AsBytes("x")));
  ASSERT_TRUE(WriteFileAtomic(Path("a"), AsBytes("x")));
  ASSERT_EQ(::symlink(directory_.c_str(), Path("d/up").c_str()), 0);
  EXPECT_EQ(*ListTree(directory_), (std::vector<std::string>{"a", "d/b", "d/up"}));
  EXPECT_TRUE(SyncTree(directory_ + "/"));
  EXPECT_FALSE(ListTree(Path("missing")));
  ASSERT_TRUE(RemoveFileDurably(Path("d/up")));
  ASSERT_TRUE(RemoveFileDurably(Path("d/b")));
}

TEST_F(FileTest, RenamesAndTruncates) {
  ASSERT_TRUE(WriteFileAtomic(Path("a"), AsBytes("content")));
  ASSERT_TRUE(WriteFileAtomic(Path("b"), AsBytes("old")));
  ASSERT_TRUE(RenameDurably(Path("a"), Path("b")));
  EXPECT_EQ(*ListDirectory(directory_), std::vector<std::string>{"b"});
  ASSERT_TRUE(TruncateDurably(Path("b"), 3));
  EXPECT_EQ(Text(Path("b")), "con");
  EXPECT_FALSE(RenameDurably(Path("a"), Path("b")));
  EXPECT_FALSE(TruncateDurably(Path("a"), 0));
}

TEST(File, TemporaryNames) {
  EXPECT_TRUE(IsTemporaryName(".a.12-0.assay-tmp"));
  EXPECT_FALSE(IsTemporaryName("a.assay-tmp"));
  EXPECT_FALSE(IsTemporaryName(".a"));
}

}  // namespace
}  // namespace assay
