#include "assay/run/events.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>

#include "assay/base/crc32c.h"

namespace assay {
namespace {

double WallTime() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::uint32_t MaskedCrc(ByteSpan bytes) { return std::rotr(Crc32c(bytes), 15) + 0xa282ead8u; }

// The few protocol buffer encodings that events need.
class ProtoWriter {
 public:
  void Double(std::uint32_t field, double v) {
    Tag(field, 1);
    out_.F64(v);
  }
  void Float(std::uint32_t field, float v) {
    Tag(field, 5);
    out_.F32(v);
  }
  void Int(std::uint32_t field, std::int64_t v) {
    Tag(field, 0);
    Varint(static_cast<std::uint64_t>(v));
  }
  void Block(std::uint32_t field, ByteSpan bytes) {
    Tag(field, 2);
    Varint(bytes.size());
    out_.Raw(bytes);
  }
  Bytes Take() { return out_.Take(); }

 private:
  void Tag(std::uint32_t field, std::uint32_t wire_type) { Varint(field << 3 | wire_type); }
  void Varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) out_.U8(static_cast<std::uint8_t>(v | 0x80));
    out_.U8(static_cast<std::uint8_t>(v));
  }
  ByteWriter out_;
};

// Field numbers of tensorflow.Event, Summary, Summary.Value and SessionLog.
namespace field {
constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kValueTag = 1, kValueSimple = 2;
constexpr std::uint32_t kSessionStatus = 1;
}  // namespace field
constexpr std::int64_t kSessionStart = 1;

}  // namespace

Bytes FrameRecord(ByteSpan data) {
  ByteWriter length;
  length.U64(data.size());
  ByteWriter out;
  out.Raw(length.bytes());
  out.U32(MaskedCrc(length.bytes()));
  out.Raw(data);
  out.U32(MaskedCrc(data));
  return out.Take();
}

Bytes EncodeVersionEvent(double wall_time_s) {
  ProtoWriter event;
  event.Double(field::kWallTime, wall_time_s);
  event.Block(field::kFileVersion, AsBytes("brain.Event:2"));
  return event.Take();
}

Bytes EncodeRestartEvent(double wall_time_s, std::int64_t step) {
  ProtoWriter session;
  session.Int(field::kSessionStatus, kSessionStart);
  ProtoWriter event;
  event.Double(field::kWallTime, wall_time_s);
  event.Int(field::kStep, step);
  event.Block(field::kSessionLog, session.Take());
  return event.Take();
}

Bytes EncodeScalarEvent(double wall_time_s, std::int64_t step, std::span<const Scalar> scalars) {
  ProtoWriter summary;
  for (const Scalar& scalar : scalars) {
    ProtoWriter value;
    value.Block(field::kValueTag, AsBytes(scalar.tag));
    value.Float(field::kValueSimple, scalar.value);
    summary.Block(field::kSummaryValue, value.Take());
  }
  ProtoWriter event;
  event.Double(field::kWallTime, wall_time_s);
  event.Int(field::kStep, step);
  event.Block(field::kSummary, summary.Take());
  return event.Take();
}

Result<EventWriter> EventWriter::Create(const std::string& directory, std::int64_t first_step) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const double now = WallTime();
  const auto micros = static_cast<std::int64_t>(now * 1e6);
  const std::string name = fmt::format("events.out.tfevents.{}.{:06}.{}.{}", micros / 1000000, micros % 1000000,
                                       host[0] == '\0' ? "host" : host.data(), ::getpid());
  ASSAY_ASSIGN(AppendFile file, AppendFile::Open(JoinPath(directory, name)));
  EventWriter writer(std::move(file));
  ASSAY_TRY(writer.file_.Append(FrameRecord(EncodeVersionEvent(now))));
  if (first_step > 0) ASSAY_TRY(writer.file_.Append(FrameRecord(EncodeRestartEvent(now, first_step))));
  return writer;
}

Status EventWriter::Write(std::int64_t step, std::span<const Scalar> scalars) {
  return file_.Append(FrameRecord(EncodeScalarEvent(WallTime(), step, scalars)));
}

}  // namespace assay
