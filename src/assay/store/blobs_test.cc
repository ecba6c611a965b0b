#include "assay/store/blobs.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "assay/base/file.h"
#include "support/fake_clock.h"
#include "support/scratch.h"

namespace assay::store {
namespace {

Bytes Content(std::size_t size, std::uint8_t salt = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 31 + i / 251 + salt);
  return bytes;
}

class BlobsTest : public ::testing::Test {
 protected:
  BlobsTest() {
    options_.reserve_bytes = 0;
    options_.clock = clock_;
    blobs_ = Open();
  }
  std::unique_ptr<Blobs> Open() { return std::move(*Blobs::Open(scratch_ / "blobs", options_)); }

  // The whole of it in pieces.
  Status Upload(Blobs& blobs, std::string_view owner, ByteSpan bytes) {
    const Digest hash = HashBytes(bytes);
    ASSAY_ASSIGN(std::uint64_t at, blobs.Begin(hash, owner, bytes.size()));
    while (at < bytes.size()) {
      ASSAY_ASSIGN(at, blobs.Append(hash, owner, at, bytes.subspan(at, std::min<std::size_t>(1000, bytes.size() - at))));
    }
    if (bytes.empty()) ASSAY_TRY(blobs.Append(hash, owner, 0, {}));
    return blobs.Finish(hash, owner);
  }
  Bytes Read(const Digest& hash) {
    const auto reader = blobs_->OpenForReading(hash);
    if (!reader) return {};
    Bytes bytes((*reader)->size());
    EXPECT_TRUE((*reader)->Read(0, bytes));
    return bytes;
  }
  std::size_t Partials() const { return ListDirectory(scratch_ / "blobs/partial")->size(); }

  testkit::Scratch scratch_;
  std::shared_ptr<testkit::FakeClock> clock_ = std::make_shared<testkit::FakeClock>();
  BlobOptions options_;
  std::unique_ptr<Blobs> blobs_;
};

TEST_F(BlobsTest, WhatGoesInComesOut) {
  for (const std::size_t size : {0u, 1u, 999u, 1000u, 123'456u}) {
    const Bytes content = Content(size);
    const Digest hash = HashBytes(content);
    EXPECT_FALSE(*blobs_->Has(hash));
    EXPECT_FALSE(blobs_->Size(hash));
    EXPECT_FALSE(blobs_->OpenForReading(hash));
    ASSERT_TRUE(Upload(*blobs_, "me", content));
    EXPECT_TRUE(*blobs_->Has(hash));
    EXPECT_EQ(*blobs_->Size(hash), size);
    EXPECT_EQ(Read(hash), content);
    EXPECT_TRUE(Exists(scratch_ / "blobs/whole/" + hash.hex().substr(0, 2) + "/" + hash.hex().substr(2, 2) + "/" + hash.hex()));
  }
  EXPECT_EQ(Partials(), 0u);
}

TEST_F(BlobsTest, RangesAreReadAndChecked) {
  const Bytes content = Content(5000);
  ASSERT_TRUE(Upload(*blobs_, "me", content));
  const auto reader = std::move(*blobs_->OpenForReading(HashBytes(content)));
  Bytes part(100);
  EXPECT_TRUE(reader->Read(4900, part));
  EXPECT_TRUE(std::equal(part.begin(), part.end(), content.begin() + 4900));
  EXPECT_FALSE(reader->Read(4901, part));
  EXPECT_FALSE(reader->Read(~std::uint64_t{0}, part));
  // What is open stays readable when it is removed.
  EXPECT_TRUE(*blobs_->RemoveIf(HashBytes(content), clock_->WallMs(), [] { return true; }));
  EXPECT_FALSE(*blobs_->RemoveIf(HashBytes(content), clock_->WallMs(), [] { return true; }));
  EXPECT_FALSE(*blobs_->Has(HashBytes(content)));
  EXPECT_TRUE(reader->Read(0, part));
}

TEST_F(BlobsTest, ARepeatedRequestDoesNoHarm) {
  const Bytes content = Content(3000);
  const ByteSpan bytes = content;
  const Digest hash = HashBytes(content);
  EXPECT_EQ(*blobs_->Append(hash, "me", 0, bytes.first(1000)), 1000u);
  EXPECT_EQ(*blobs_->Append(hash, "me", 0, bytes.first(1000)), 1000u);
  EXPECT_EQ(*blobs_->Append(hash, "me", 500, bytes.subspan(500, 1000)), 1500u);
  EXPECT_EQ(*blobs_->Append(hash, "me", 100, bytes.subspan(100, 10)), 1500u);
  const auto gap = blobs_->Append(hash, "me", 1501, bytes.subspan(1501));
  EXPECT_NE(gap.error().message.find("1500 bytes are there, the next cannot begin at 1501"), std::string::npos)
      << gap.error().message;
  EXPECT_FALSE(blobs_->Append(hash, "me", 0, bytes.subspan(1)));
  EXPECT_EQ(*blobs_->Append(hash, "me", 1500, bytes.subspan(1500)), 3000u);
  EXPECT_TRUE(blobs_->Finish(hash, "me"));
  EXPECT_TRUE(blobs_->Finish(hash, "me"));
  EXPECT_EQ(*blobs_->Begin(hash, "me", 3000), 3000u);
  EXPECT_EQ(*blobs_->Append(hash, "me", 1500, bytes.subspan(1500)), 3000u);
  EXPECT_EQ(Partials(), 0u);
  EXPECT_FALSE(blobs_->Begin(hash, "me", 2999));
  EXPECT_EQ(Read(hash), content);
}

TEST_F(BlobsTest, OneOwnerDoesNotSpoilAnothers) {
  const Bytes content = Content(2000), lies = Content(2000, 1);
  const Digest hash = HashBytes(content);
  EXPECT_TRUE(blobs_->Append(hash, "me", 0, ByteSpan(content).first(1000)));
  EXPECT_TRUE(blobs_->Append(hash, "you", 0, lies));
  const auto refused = blobs_->Finish(hash, "you");
  EXPECT_NE(refused.error().message.find("have the hash " + HashBytes(lies).hex()), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(refused.error().system);
  EXPECT_FALSE(*blobs_->Has(hash));
  EXPECT_EQ(*blobs_->Begin(hash, "you", 2000), 0u);  // begins anew
  EXPECT_EQ(*blobs_->Begin(hash, "me", 2000), 1000u);
  EXPECT_TRUE(blobs_->Append(hash, "me", 1000, ByteSpan(content).subspan(1000)));
  EXPECT_TRUE(blobs_->Finish(hash, "me"));
  EXPECT_EQ(Read(hash), content);
  EXPECT_FALSE(blobs_->Finish(HashBytes(lies), "you"));  // never begun
}

TEST_F(BlobsTest, AnUploadSurvivesRestartsAndOtherProcesses) {
  const Bytes content = Content(40'000);
  const ByteSpan bytes = content;
  const Digest hash = HashBytes(content);
  ASSERT_TRUE(blobs_->Append(hash, "me", 0, bytes.first(10'000)));
  const auto other = Open();
  EXPECT_EQ(*other->Begin(hash, "me", 40'000), 10'000u);
  ASSERT_TRUE(other->Append(hash, "me", 10'000, bytes.subspan(10'000, 10'000)));
  ASSERT_TRUE(blobs_->Append(hash, "me", 20'000, bytes.subspan(20'000, 10'000)));
  blobs_ = Open();
  ASSERT_TRUE(blobs_->Append(hash, "me", 30'000, bytes.subspan(30'000)));
  ASSERT_TRUE(other->Finish(hash, "me"));
  EXPECT_TRUE(blobs_->Finish(hash, "me"));
  EXPECT_EQ(Read(hash), content);
  EXPECT_EQ(Partials(), 0u);
}

// The hash that one process remembers is of a file that another replaced meanwhile by one with a false beginning.
TEST_F(BlobsTest, ARememberedHashIsOfThisFile) {
  const Bytes content = Content(2000);
  Bytes lies = content;
  lies[5] ^= 1;
  const Digest hash = HashBytes(content);
  const auto other = Open();
  ASSERT_TRUE(blobs_->Append(hash, "me", 0, ByteSpan(content).first(1000)));
  ASSERT_TRUE(other->Abandon(hash, "me"));
  ASSERT_TRUE(other->Append(hash, "me", 0, ByteSpan(lies).first(1000)));
  ASSERT_TRUE(blobs_->Append(hash, "me", 1000, ByteSpan(content).subspan(1000)));
  EXPECT_FALSE(blobs_->Finish(hash, "me"));
  EXPECT_FALSE(*blobs_->Has(hash));
}

TEST_F(BlobsTest, BytesThatChangedOnTheDiskAreRefused) {
  const Bytes content = Content(2000);
  const Digest hash = HashBytes(content);
  ASSERT_TRUE(blobs_->Append(hash, "me", 0, content));
  const std::string path = scratch_ / "blobs/partial/" + (*ListDirectory(scratch_ / "blobs/partial"))[0];
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(77).put('\0');
  blobs_ = Open();
  EXPECT_FALSE(blobs_->Finish(hash, "me"));
  EXPECT_TRUE(Upload(*blobs_, "me", content));
}

TEST_F(BlobsTest, ManyAtOnceSendTheSame) {
  const Bytes content = Content(50'000);
  const auto other = Open();
  std::vector<std::thread> senders;
  std::atomic<int> finished = 0;
  for (int i = 0; i < 6; ++i) {
    senders.emplace_back([&, i] {
      // All of them send from the start, whoever was there before.
      Blobs& mine = i % 2 == 0 ? *blobs_ : *other;
      const Digest hash = HashBytes(content);
      const std::string owner = i < 4 ? "me" : "you";
      for (std::uint64_t at = 0; at < content.size(); at += 1000) {
        const auto there = mine.Append(hash, owner, at, ByteSpan(content).subspan(at, 1000));
        EXPECT_TRUE(there) << there.error().message;
      }
      if (mine.Finish(hash, owner)) ++finished;
    });
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(finished, 6);
  EXPECT_EQ(Read(HashBytes(content)), content);
}

TEST_F(BlobsTest, LimitsAreKept) {
  options_.max_blob_bytes = 10'000;
  options_.quota = [](std::string_view owner, std::uint64_t bytes) -> Status {
    if (owner == "small" && bytes > 100) return Err("small may have 100 bytes");
    return {};
  };
  std::uint64_t free = 6000;
  options_.reserve_bytes = 1000;
  options_.free_bytes = [&]() -> Result<std::uint64_t> { return free; };
  blobs_ = Open();
  const Bytes content = Content(20'000);
  const Digest hash = HashBytes(content);
  EXPECT_FALSE(blobs_->Begin(hash, "me", 10'001));
  EXPECT_FALSE(blobs_->Append(hash, "me", 0, content));
  EXPECT_FALSE(blobs_->Append(hash, "me", ~std::uint64_t{0}, content));
  EXPECT_EQ(blobs_->Append(hash, "small", 0, ByteSpan(content).first(101)).error().message, "small may have 100 bytes");
  EXPECT_TRUE(blobs_->Append(hash, "small", 0, ByteSpan(content).first(100)));
  EXPECT_TRUE(blobs_->Begin(hash, "me", 5000));
  const auto full = blobs_->Begin(hash, "me", 5001);
  EXPECT_TRUE(full.error().system);
  EXPECT_NE(full.error().message.find(
                "the disk is full: 6000 bytes are free, of which 1000 are kept in reserve, and 5001 are needed"),
            std::string::npos)
      << full.error().message;
  free = 999;
  EXPECT_FALSE(blobs_->Append(hash, "me", 0, ByteSpan(content).first(1)));
}

TEST_F(BlobsTest, AFullDiskLeavesTheUploadAsItWas) {
  const Bytes content = Content(100'000);
  const Digest hash = HashBytes(content);
  ASSERT_TRUE(blobs_->Append(hash, "me", 0, ByteSpan(content).first(30'000)));
  // A limit of the process stands in for the end of the disk.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{50'000, before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto full = blobs_->Append(hash, "me", 30'000, ByteSpan(content).subspan(30'000));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(full);
  EXPECT_TRUE(full.error().system);
  EXPECT_NE(full.error().message.find("cannot write: the disk is full"), std::string::npos) << full.error().message;
  EXPECT_EQ(*blobs_->Begin(hash, "me", 100'000), 30'000u);
  EXPECT_TRUE(blobs_->Append(hash, "me", 30'000, ByteSpan(content).subspan(30'000)));
  EXPECT_TRUE(blobs_->Finish(hash, "me"));
}

// Large ones are hashed beside the writing, small ones after it.
TEST_F(BlobsTest, PiecesOfAllSizesGiveTheHash) {
  const Bytes content = Content(700'000);
  const Digest hash = HashBytes(content);
  std::uint64_t at = 0;
  for (const std::size_t size : {200'000u, 10u, 65'536u, 65'535u, 100'000u, 1u, 268'918u}) {
    const auto there = blobs_->Append(hash, "me", at, ByteSpan(content).subspan(at, size));
    ASSERT_TRUE(there) << there.error().message;
    at += size;
    EXPECT_EQ(*there, at);
  }
  ASSERT_EQ(at, content.size());
  EXPECT_TRUE(blobs_->Finish(hash, "me"));
  EXPECT_EQ(Read(hash), content);
}

TEST_F(BlobsTest, AbandonedUploadsAreSwept) {
  const Bytes old = Content(100), fresh = Content(200);
  ASSERT_TRUE(blobs_->Append(HashBytes(old), "me", 0, ByteSpan(old).first(50)));
  clock_->Pass(10'000);
  ASSERT_TRUE(blobs_->Append(HashBytes(fresh), "me", 0, ByteSpan(fresh).first(50)));
  EXPECT_EQ(*blobs_->Sweep(10'001), 0);
  EXPECT_EQ(*blobs_->Sweep(10'000), 1);
  EXPECT_EQ(*blobs_->Begin(HashBytes(old), "me", 100), 0u);
  EXPECT_EQ(*blobs_->Begin(HashBytes(fresh), "me", 200), 50u);
  // A clock that was far ahead does not keep an upload for ever.
  clock_->SetWall(0);
  EXPECT_EQ(*blobs_->Sweep(10'000), 0);
  clock_->Pass(10'000);
  EXPECT_EQ(*blobs_->Sweep(10'000), 1);
  EXPECT_TRUE(blobs_->Abandon(HashBytes(fresh), "me"));
  EXPECT_EQ(Partials(), 0u);
}

TEST_F(BlobsTest, WhatIsRenewedOrNotAgreedToStays) {
  const Bytes content = Content(100);
  const Digest hash = HashBytes(content);
  EXPECT_FALSE(*blobs_->Renew(hash)) << "there is none";
  ASSERT_TRUE(Upload(*blobs_, "me", content));
  const std::int64_t first_ms = clock_->WallMs();
  int asked = 0;
  const auto agree = [&]() -> Result<bool> { return ++asked > 0; };
  EXPECT_FALSE(*blobs_->RemoveIf(hash, first_ms - 1, agree));
  EXPECT_EQ(asked, 0) << "it is too young";
  EXPECT_FALSE(*blobs_->RemoveIf(hash, first_ms, []() -> Result<bool> { return false; }));
  EXPECT_FALSE(blobs_->RemoveIf(hash, first_ms, []() -> Result<bool> { return Err("no"); }));
  clock_->Pass(5000);
  EXPECT_TRUE(*blobs_->Renew(hash));
  EXPECT_FALSE(*blobs_->RemoveIf(hash, first_ms + 4999, agree));
  // Another upload of the same is a sign of life too.
  clock_->Pass(5000);
  ASSERT_TRUE(Upload(*blobs_, "you", content));
  EXPECT_FALSE(*blobs_->RemoveIf(hash, first_ms + 9999, agree));
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(*blobs_->RemoveIf(hash, first_ms + 10'000, agree));
  EXPECT_FALSE(*blobs_->Has(hash));
}

// Whoever finishes an upload while the blob is being removed has a blob in the end, in this process or another.
TEST_F(BlobsTest, AnUploadThatEndsDuringARemovalIsNotLost) {
  options_.each_sends = true;
  blobs_ = Open();
  const auto other = Open();
  const Bytes content = Content(1000);
  const Digest hash = HashBytes(content);
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(Upload(*blobs_, "me", content));
    std::thread sender;
    const auto removed = blobs_->RemoveIf(hash, clock_->WallMs(), [&]() -> Result<bool> {
      sender = std::thread([&] { EXPECT_TRUE(Upload(round % 2 == 0 ? *other : *blobs_, "you", content)); });
      std::this_thread::sleep_for(std::chrono::milliseconds(round % 5));
      return true;
    });
    sender.join();
    ASSERT_TRUE(removed) << removed.error().message;
    EXPECT_TRUE(*removed);
    ASSERT_EQ(Read(hash), content) << "round " << round;
  }
}

TEST_F(BlobsTest, ListsWhatIsThere) {
  std::vector<Digest> hashes;
  for (std::uint8_t i = 0; i < 50; ++i) {
    const Bytes content = Content(10, i);
    hashes.push_back(HashBytes(content));
    ASSERT_TRUE(Upload(*blobs_, "me", content));
  }
  std::sort(hashes.begin(), hashes.end());
  std::vector<Digest> listed;
  for (int first = 0; first < 256; ++first) {
    const auto some = blobs_->List(static_cast<std::uint8_t>(first));
    ASSERT_TRUE(some);
    for (const BlobInfo& info : *some) {
      listed.push_back(info.hash);
      EXPECT_EQ(info.size, 10u);
      EXPECT_EQ(info.finished_ms, clock_->WallMs());
    }
  }
  EXPECT_EQ(listed, hashes);
}

TEST_F(BlobsTest, AnOwnersNameNamesNoPath) {
  const Bytes content = Content(100);
  for (const std::string& owner : {std::string("../../../outside"), std::string("/etc/x"), std::string("a\0b", 3),
                                   std::string(5000, 'x'), std::string()}) {
    ASSERT_TRUE(blobs_->Append(HashBytes(content), owner, 0, content)) << owner;
  }
  EXPECT_EQ(Partials(), 5u);
  EXPECT_EQ(ListDirectory(scratch_.path())->size(), 1u);
  EXPECT_EQ(ListDirectory(scratch_ / "blobs")->size(), 2u);
}

TEST_F(BlobsTest, AFolderThatCannotBeMadeIsOneClearLine) {
  std::ofstream(scratch_ / "file") << "x";
  const auto refused = Blobs::Open(scratch_ / "file/blobs");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().system);
  EXPECT_EQ(refused.error().message, scratch_ / "file" + ": is not a directory");
}

}  // namespace
}  // namespace assay::store
