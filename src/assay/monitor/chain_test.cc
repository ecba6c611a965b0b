#include "assay/monitor/chain.h"

#include <gtest/gtest.h>

#include <bit>

#include "assay/monitor/telemetry_file.h"
#include "support/scratch.h"

namespace assay::monitor {
namespace {

const Digest kTrajectory = HashBytes(AsBytes("trajectory"));

SigningKey KeyOf(std::uint8_t byte) {
  ed25519::Seed seed{};
  seed.fill(byte);
  return SigningKey("test", seed);
}

SessionRecord SessionOf(const VerifyKey& signer) {
  return {.job = kTrajectory, .trajectory = kTrajectory, .signer = signer.ToString(), .steps = 9, .device = "cpu"};
}

class ChainTest : public testing::Test {
 protected:
  // A session, three steps, a sample, a seal.
  void Write(const SigningKey& key, const std::string& path) {
    auto file = TelemetryFile::Open(path, kTrajectory, key.verify_key());
    ASSERT_TRUE(file) << file.error().message;
    Add(*file, {.body = SessionOf(key.verify_key())});
    for (std::int64_t step = 1; step <= 3; ++step) Add(*file, {.mono_us = step, .body = StepRecord{0, step - 1, step, 7}});
    Add(*file, {.mono_us = 4, .body = SampleRecord{.step = 3, .cpu_us = 5, .resident = 6, .gpu = GpuFigures{.power_mw = 7}}});
    Record seal{.index = file->next_index(), .mono_us = 5, .body = SealRecord{.step = 3, .job = kTrajectory, .log_size = 1}};
    std::get<SealRecord>(seal.body).signature = key.Sign(SealedMessage(file->hash(), seal));
    Add(*file, seal);
    ASSERT_TRUE(file->Write() && file->Sync());
  }
  static void Add(TelemetryFile& file, Record record) { file.Add(record); }
  Bytes Content() const { return ReadFile(path_, 1 << 20).value(); }
  ChainScan Scan(ByteSpan bytes) const { return ScanTelemetry(bytes, kTrajectory, key_.verify_key(), {}); }
  // The frames of a file, each as its bytes.
  static std::vector<Bytes> Frames(const Bytes& file) {
    std::vector<Bytes> frames;
    for (std::size_t at = kTelemetryHead.size(); at < file.size();) {
      const std::size_t size = 4 + std::size_t{file[at]} + (std::size_t{file[at + 1]} << 8U) + 32;
      frames.emplace_back(file.begin() + static_cast<std::ptrdiff_t>(at),
                          file.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
    }
    return frames;
  }
  static Bytes Joined(const std::vector<Bytes>& frames) {
    Bytes out(kTelemetryHead.begin(), kTelemetryHead.end());
    for (const Bytes& frame : frames) out.insert(out.end(), frame.begin(), frame.end());
    return out;
  }

  testkit::Scratch scratch_;
  std::string path_ = scratch_ / "telemetry.bin";
  SigningKey key_ = KeyOf(1);
};

TEST_F(ChainTest, RecordsAreReadAsTheyWereWritten) {
  Write(key_, path_);
  std::vector<Record> records;
  const ChainScan scan = ScanTelemetry(Content(), kTrajectory, key_.verify_key(),
                                       [&](const Record& record, const Digest&) { records.push_back(record); });
  EXPECT_EQ(scan.end, ChainScan::End::kWhole) << scan.problem;
  EXPECT_EQ(scan.records, 6u);
  EXPECT_EQ(scan.sealed, 6u);
  EXPECT_EQ(scan.last_step, 3);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(std::get<SessionRecord>(records[0].body), SessionOf(key_.verify_key()));
  EXPECT_EQ(std::get<SampleRecord>(records[4].body).gpu->power_mw, 7);
  for (const Record& record : records) EXPECT_EQ(DecodeRecord(Encode(record), "record").value(), record);
}

TEST_F(ChainTest, EveryByteCounts) {
  Write(key_, path_);
  const Bytes file = Content();
  for (std::size_t i = 0; i < file.size(); ++i) {
    Bytes bad = file;
    bad[i] ^= static_cast<std::uint8_t>(1 << i % 8);
    EXPECT_NE(Scan(bad).end, ChainScan::End::kWhole) << i;
  }
}

TEST_F(ChainTest, ATornEndIsToldFromABrokenChain) {
  Write(key_, path_);
  const Bytes file = Content();
  std::uint64_t whole = 0;
  for (std::size_t size = 0; size <= file.size(); ++size) {
    const ChainScan scan = Scan(ByteSpan(file).first(size));
    EXPECT_GE(scan.whole, whole);
    whole = scan.whole;
    const bool at_the_end_of_one = size >= kTelemetryHead.size() && scan.whole == size;
    EXPECT_EQ(scan.end, at_the_end_of_one ? ChainScan::End::kWhole : ChainScan::End::kTorn) << size;
  }
}

TEST_F(ChainTest, DroppedRepeatedAndReorderedRecordsBreakIt) {
  Write(key_, path_);
  const std::vector<Bytes> frames = Frames(Content());
  ASSERT_EQ(Joined(frames), Content());
  for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
    std::vector<Bytes> dropped = frames, repeated = frames, swapped = frames;
    dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(i));
    repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(i), frames[i]);
    std::swap(swapped[i], swapped[i + 1]);
    for (const auto& edited : {dropped, repeated, swapped}) EXPECT_EQ(Scan(Joined(edited)).end, ChainScan::End::kBroken) << i;
  }
}

TEST_F(ChainTest, AnotherRunAndAnotherKeyAreForeign) {
  const SigningKey other = KeyOf(2);
  Write(other, path_);
  EXPECT_EQ(Scan(Content()).end, ChainScan::End::kForeign);
  EXPECT_EQ(ScanTelemetry(Content(), HashBytes(AsBytes("another")), other.verify_key(), {}).end, ChainScan::End::kForeign);
  EXPECT_EQ(ScanTelemetry(Content(), kTrajectory, other.verify_key(), {}).end, ChainScan::End::kWhole);
  EXPECT_FALSE(TelemetryFile::Open(path_, kTrajectory, key_.verify_key()));
}

// The chain is right and the seal is signed by a key that is not the run's.
TEST_F(ChainTest, ASealOfAnotherKeyIsNone) {
  const SigningKey other = KeyOf(2);
  auto file = TelemetryFile::Open(path_, kTrajectory, key_.verify_key());
  Add(*file, {.body = SessionOf(key_.verify_key())});
  Record seal{.index = 1, .body = SealRecord{.job = kTrajectory}};
  std::get<SealRecord>(seal.body).signature = other.Sign(SealedMessage(file->hash(), seal));
  Add(*file, seal);
  ASSERT_TRUE(file->Write());
  const ChainScan scan = Scan(Content());
  EXPECT_EQ(scan.end, ChainScan::End::kBroken);
  EXPECT_NE(scan.problem.find("signature"), std::string::npos) << scan.problem;
}

TEST_F(ChainTest, OpeningCutsATornEndAndGoesOn) {
  Write(key_, path_);
  const Bytes whole = Content();
  ASSERT_TRUE(AppendFile::Open(path_)->Append(Bytes{120, 0, 0, 0, 3}));
  Write(key_, path_);
  const ChainScan scan = Scan(Content());
  EXPECT_EQ(scan.end, ChainScan::End::kWhole) << scan.problem;
  EXPECT_EQ(scan.records, 12u);
  ASSERT_TRUE(AppendFile::Open(path_)->Append(Bytes{1}));
  ASSERT_TRUE(RepairTelemetry(path_, kTrajectory, key_.verify_key()));
  EXPECT_EQ(Scan(Content()).end, ChainScan::End::kWhole);
  ASSERT_TRUE(RepairTelemetry(scratch_ / "none", kTrajectory, key_.verify_key()));
}

TEST(Iterations, FollowFromStepsAndSamples) {
  EXPECT_EQ(IterationOf(0, 4, 64), (Iteration{0, 0}));
  EXPECT_EQ(IterationOf(15, 4, 64), (Iteration{0, 15}));
  EXPECT_EQ(IterationOf(16, 4, 64), (Iteration{1, 0}));
  // 10 samples in steps of 4: the third step begins in the first epoch and ends in the second.
  EXPECT_EQ(IterationOf(2, 4, 10), (Iteration{0, 2}));
  EXPECT_EQ(IterationOf(3, 4, 10), (Iteration{1, 0}));
  EXPECT_EQ(IterationOf(5, 4, 10), (Iteration{2, 0}));
  EXPECT_EQ(IterationOf(1, 30, 10), (Iteration{3, 0}));  // more than an epoch in a step
}

}  // namespace
}  // namespace assay::monitor
