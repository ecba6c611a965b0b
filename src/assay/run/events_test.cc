#include "assay/run/events.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

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

TEST(Events, FileHoldsTheRecordsInOrder) {
  std::string directory = testing::TempDir() + "/assay_events_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  {
    auto writer = EventWriter::Create(directory, 7);
    ASSERT_TRUE(writer) << writer.error().message;
    const Scalar scalars[] = {{"loss", 1.0f}, {"lr", 0.5f}};
    ASSERT_TRUE(writer->Write(8, scalars));
  }
  const auto names = ListDirectory(directory);
  ASSERT_EQ(names->size(), 1u);
  EXPECT_TRUE(names->front().starts_with("events.out.tfevents."));
  const auto bytes = ReadFile(JoinPath(directory, names->front()), 1 << 20);
  ASSERT_TRUE(bytes);
  ByteReader in(*bytes, "events");
  int records = 0;
  while (in.remaining() > 0) {
    const auto size = in.U64();
    ASSERT_TRUE(size);
    ASSERT_TRUE(in.U32());
    const auto data = in.Raw(*size);
    ASSERT_TRUE(data);
    ASSERT_TRUE(in.U32());
    ++records;
  }
  EXPECT_EQ(records, 3);
  ASSERT_TRUE(RemoveFile(JoinPath(directory, names->front())));
  ::rmdir(directory.c_str());
}

}  // namespace
}  // namespace assay
