#include "assay/run/events.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

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

constexpr std::string_view kNamePrefix = "events.out.tfevents.";
constexpr std::size_t kFrameHead = 12;  // length and its checksum

// The names of the event files in `directory`, oldest first.
Result<std::vector<std::string>> EventFiles(const std::string& directory) {
  ASSAY_ASSIGN(std::vector<std::string> names, ListDirectory(directory));
  std::erase_if(names, [](const std::string& name) { return !IsEventFileName(name); });
  return names;
}

// When the file was begun, in microseconds, as its name says; 0 when it does not.
std::int64_t MicrosOf(std::string_view name) {
  name.remove_prefix(kNamePrefix.size());
  std::int64_t seconds = 0, micros = 0;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, seconds);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.' || seconds > (std::int64_t{1} << 40)) return 0;
  const auto second = std::from_chars(first.ptr + 1, end, micros);
  return second.ec == std::errc{} && micros >= 0 && micros < 1000000 ? seconds * 1000000 + micros : 0;
}

std::uint32_t U32At(ByteSpan bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// The step of an event, where it names one: the field after the wall time. A restart names the step that comes next.
std::optional<std::int64_t> StepOf(ByteSpan event) {
  constexpr std::size_t kAt = 9;
  if (event.size() <= kAt || event[0] != (field::kWallTime << 3 | 1) || event[kAt] != field::kStep << 3) return std::nullopt;
  std::uint64_t step = 0;
  for (std::size_t i = kAt + 1, shift = 0; i < event.size() && shift < 63; ++i, shift += 7) {
    step |= std::uint64_t{event[i] & 0x7fu} << shift;
    if ((event[i] & 0x80) != 0) continue;
    const bool restart = i + 1 < event.size() && event[i + 1] == (field::kSessionLog << 3 | 2);
    return static_cast<std::int64_t>(step) - (restart ? 1 : 0);
  }
  return std::nullopt;
}

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
  ASSAY_ASSIGN(const std::vector<std::string> earlier, EventFiles(directory));
  // A clock that was set back does not change the order of the files.
  const std::int64_t micros =
      std::max(static_cast<std::int64_t>(now * 1e6), earlier.empty() ? 0 : MicrosOf(earlier.back()) + 1);
  const std::string name = fmt::format("{}{}.{:06}.{}.{}", kNamePrefix, micros / 1000000, micros % 1000000,
                                       host[0] == '\0' ? "host" : host.data(), ::getpid());
  const std::string path = JoinPath(directory, name);
  ByteWriter opening;
  opening.Raw(FrameRecord(EncodeVersionEvent(now)));
  if (first_step > 0) opening.Raw(FrameRecord(EncodeRestartEvent(now, first_step + 1)));
  ASSAY_TRY(WriteFileAtomic(path, opening.bytes()));
  ASSAY_ASSIGN(AppendFile file, AppendFile::Open(path));
  return EventWriter(std::move(file));
}

Status EventWriter::Write(std::int64_t step, std::span<const Scalar> scalars) {
  return file_.Append(FrameRecord(EncodeScalarEvent(WallTime(), step, scalars)));
}

bool IsEventFileName(std::string_view name) { return name.starts_with(kNamePrefix); }

EventScan ScanEvents(ByteSpan file) {
  EventScan scan;
  while (scan.whole < file.size()) {
    const ByteSpan rest = file.subspan(scan.whole);
    scan.torn = rest.size() < kFrameHead;
    if (scan.torn || MaskedCrc(rest.first(8)) != U32At(rest, 8)) return scan;
    std::uint64_t length = 0;
    std::memcpy(&length, rest.data(), sizeof(length));
    scan.torn = length > rest.size() - kFrameHead || rest.size() - kFrameHead - length < 4;
    if (scan.torn) return scan;
    const ByteSpan data = rest.subspan(kFrameHead, length);
    if (MaskedCrc(data) != U32At(rest, kFrameHead + length)) return scan;
    if (const auto step = StepOf(data)) scan.last_step = *step;
    ++scan.records;
    scan.whole += kFrameHead + length + 4;
  }
  return scan;
}

Status RepairEvents(const std::string& directory) {
  ASSAY_ASSIGN(const std::vector<std::string> names, EventFiles(directory));
  if (names.empty()) return {};
  const std::string path = JoinPath(directory, names.back());
  std::uint64_t size = 0;
  {
    ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(path));
    const EventScan scan = ScanEvents(file.bytes());
    size = scan.records == 0 ? file.bytes().size() : scan.whole;
  }
  return TruncateDurably(path, size);
}

}  // namespace assay
