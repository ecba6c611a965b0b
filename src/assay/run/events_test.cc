#include "assay/run/events.h"
#include "support/scratch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

namespace assay {
namespace {

// Computed from the format's description. Every TensorBoard file begins with a frame of 24 bytes whose length checksum is the one below.
TEST(Events, FrameVectors) {
  EXPECT_EQ(Hex(FrameRecord(AsBytes("abc"))),
            "0300000000000000"
            "b099490e"
            "616263"
            "6e57f121");
  EXPECT_EQ(Hex(ByteSpan(FrameRecord(Bytes(24))).first(12)),
            "1800000000000000"
            "a37f4b22");
}

// Event(wall_time=1.5, step=300, summary=Summary(value=[Summary.Value(tag="loss", simple_value=2.0)])) by the rules of protocol buffers.
TEST(Events, ScalarVector) {
  const Scalar loss{"loss", 2.0f};
  EXPECT_EQ(Hex(EncodeScalarEvent(1.5, 300, {&loss, 1})),
            "09000000000000f83f"
            "10ac02"
            "2a0d"
            "0a0b"
            "0a046c6f7373"
            "1500000040");
}

TEST(Events, VersionAndRestartVectors) {
  EXPECT_EQ(Hex(EncodeVersionEvent(0)),
            "090000000000000000"
            "1a0d" +
                Hex(AsBytes("brain.Event:2")));
  EXPECT_EQ(Hex(EncodeRestartEvent(0, 1)),
            "090000000000000000"
            "1001"
            "3a02"
            "0801");
}

class EventFileTest : public testing::Test {
 protected:
  void SetUp() override { directory_ = scratch_.path(); }
  std::string Path(std::size_t file) const { return JoinPath(directory_, ListDirectory(directory_)->at(file)); }
  Bytes Content(std::size_t file) const { return ReadFile(Path(file), 1 << 20).value(); }
  // A file that goes on after step 7 and has one step more.
  void Write() {
    auto writer = EventWriter::Create(directory_, 7);
    ASSERT_TRUE(writer) << writer.error().message;
    const Scalar scalars[] = {{"loss", 1.0f}, {"lr", 0.5f}};
    ASSERT_TRUE(writer->Write(8, scalars));
    ASSERT_TRUE(writer->Sync());
  }
  testkit::Scratch scratch_;
  std::string directory_;
};

TEST_F(EventFileTest, HoldsTheRecordsInOrder) {
  Write();
  ASSERT_EQ(ListDirectory(directory_)->size(), 1u);
  EXPECT_TRUE(IsEventFileName(ListDirectory(directory_)->front()));
  const Bytes file = Content(0);
  const EventScan scan = ScanEvents(file);
  EXPECT_EQ(scan.records, 3u);
  EXPECT_EQ(scan.whole, file.size());
  EXPECT_EQ(scan.last_step, 8);
  // What earlier files say of step 7 stays: nobody computes it again.
  const Bytes restart = FrameRecord(EncodeRestartEvent(0, 8));
  const ByteSpan step =
      ByteSpan(restart).subspan(12 + 9, restart.size() - 12 - 9 - 4);  // and the mark of a restart: what follows the wall time
  EXPECT_NE(std::search(file.begin(), file.end(), step.begin(), step.end()), file.end());
}

TEST_F(EventFileTest, ScanStopsAtWhatIsNotARecord) {
  Write();
  const Bytes file = Content(0);
  std::vector<std::uint64_t> ends = {0};  // of the records
  for (std::size_t size = 1; size <= file.size(); ++size) {
    const EventScan scan = ScanEvents(ByteSpan(file).first(size));
    if (scan.whole > ends.back()) ends.push_back(scan.whole);
    EXPECT_EQ(scan.whole, ends.back());
    EXPECT_EQ(scan.torn, scan.whole < size);
  }
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_EQ(ScanEvents(ByteSpan(file).first(ends[1])).last_step, 0);
  EXPECT_EQ(ScanEvents(ByteSpan(file).first(ends[2])).last_step, 7);
  for (std::size_t i = 0; i < file.size(); ++i) {
    Bytes bad = file;
    bad[i] ^= static_cast<std::uint8_t>(1 << i % 8);
    const EventScan scan = ScanEvents(bad);
    EXPECT_LE(scan.whole, i) << i;
    EXPECT_EQ(scan.whole, *(std::upper_bound(ends.begin(), ends.end(), i) - 1)) << i;
  }
}

TEST_F(EventFileTest, RepairCutsTheNewestFileBehindItsLastRecord) {
  ASSERT_TRUE(RepairEvents(directory_));
  Write();
  Write();
  const Bytes first = Content(0), second = Content(1);
  for (const std::size_t file : {0u, 1u}) ASSERT_TRUE(AppendFile::Open(Path(file))->Append(Bytes{1, 2, 3}));
  ASSERT_TRUE(RepairEvents(directory_));
  EXPECT_EQ(Content(0).size(), first.size() + 3);
  EXPECT_EQ(Content(1), second);
  ASSERT_TRUE(RepairEvents(directory_));
  EXPECT_EQ(Content(1), second);
  // Nothing is made of a file that does not even begin well.
  ASSERT_TRUE(WriteFileAtomic(Path(1), AsBytes("no events at all")));
  ASSERT_TRUE(RepairEvents(directory_));
  EXPECT_EQ(Content(1).size(), 16u);
}

TEST_F(EventFileTest, NamesAscendAlsoWhenTheClockGoesBack) {
  ASSERT_TRUE(WriteFileAtomic(directory_ + "/events.out.tfevents.7999999999.999999.host.1", AsBytes("x")));
  Write();
  Write();
  const auto names = ListDirectory(directory_);
  EXPECT_TRUE(names->at(1).starts_with("events.out.tfevents.8000000000.000000.")) << names->at(1);
  EXPECT_TRUE(names->at(2).starts_with("events.out.tfevents.8000000000.000001.")) << names->at(2);
}

}  // namespace
}  // namespace assay
