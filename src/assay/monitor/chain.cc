#include "assay/monitor/chain.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace assay::monitor {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHashBytes = 32;

struct Frame {
  ByteSpan payload;
  Digest hash;
};

// The frame at the beginning of `rest`; none where it ends before.
std::optional<Frame> FrameAt(ByteSpan rest, bool& too_long) {
  std::uint32_t length = 0;
  too_long = false;
  if (rest.size() < kLengthBytes) return std::nullopt;
  std::memcpy(&length, rest.data(), sizeof(length));
  too_long = length > kMaxPayload;
  if (too_long || rest.size() - kLengthBytes < length + kHashBytes) return std::nullopt;
  Frame frame{.payload = rest.subspan(kLengthBytes, length), .hash = {}};
  std::memcpy(frame.hash.bytes.data(), rest.data() + kLengthBytes + length, kHashBytes);
  return frame;
}

// Whether the first record is one of a sound chain of another run.
bool IsForeign(const Frame& frame) {
  const auto record = DecodeRecord(frame.payload, "record");
  const auto* session = record ? std::get_if<SessionRecord>(&record->body) : nullptr;
  if (session == nullptr) return false;
  const auto signer = VerifyKey::Parse(session->signer);
  return signer && ChainHash(ChainStart(session->trajectory, *signer), frame.payload) == frame.hash;
}

// What keeps a record that decodes from standing where it does.
std::string MisplacedBy(const Record& record, const ChainScan& before, const Digest& trajectory, const VerifyKey& signer) {
  if (record.index != before.records) return fmt::format("has index {}, expected {}", record.index, before.records);
  const auto* session = std::get_if<SessionRecord>(&record.body);
  if (before.records == 0 && session == nullptr) return "is no session, with which telemetry begins";
  if (session != nullptr && (session->trajectory != trajectory || session->signer != signer.ToString())) {
    return "is a session of another run";
  }
  if (const auto* seal = std::get_if<SealRecord>(&record.body);
      seal != nullptr && !signer.Verify(SealedMessage(before.hash, record), seal->signature)) {
    return "is a seal whose signature does not fit";
  }
  return "";
}

}  // namespace

Digest ChainStart(const Digest& trajectory, const VerifyKey& signer) {
  Sha256 hash;
  hash.Update(AsBytes(kTelemetryHead));
  hash.Update(trajectory.bytes);
  hash.Update(AsBytes(signer.ToString() + "\n"));
  return hash.Finish();
}

Digest ChainHash(const Digest& before, ByteSpan payload) {
  Sha256 hash;
  hash.Update(before.bytes);
  hash.Update(payload);
  return hash.Finish();
}

Bytes FramedRecord(ByteSpan payload, const Digest& hash) {
  ByteWriter out;
  out.U32(static_cast<std::uint32_t>(payload.size()));
  out.Raw(payload);
  out.Raw(hash.bytes);
  return out.Take();
}

ChainScan ScanTelemetry(ByteSpan file, const Digest& trajectory, const VerifyKey& signer, const OnRecord& each) {
  ChainScan scan;
  scan.hash = ChainStart(trajectory, signer);
  ContinueScan(file, trajectory, signer, each, scan);
  return scan;
}

void ContinueScan(ByteSpan rest, const Digest& trajectory, const VerifyKey& signer, const OnRecord& each, ChainScan& scan) {
  scan.end = ChainScan::End::kWhole;
  scan.problem.clear();
  const auto stop = [&](ChainScan::End end, std::string problem) {
    scan.end = end;
    scan.problem = std::move(problem);
  };
  if (scan.whole == 0) {
    const ByteSpan head = rest.first(std::min(rest.size(), kTelemetryHead.size()));
    if (!std::ranges::equal(head, AsBytes(kTelemetryHead.substr(0, head.size()))))
      return stop(ChainScan::End::kBroken, "does not begin with 'assay/telemetry/1'");
    if (head.size() < kTelemetryHead.size()) return stop(ChainScan::End::kTorn, "its first line is cut off");
    scan.whole = head.size();
    rest = rest.subspan(head.size());
  }
  while (!rest.empty()) {
    bool too_long = false;
    const auto frame = FrameAt(rest, too_long);
    const std::string where = fmt::format("record {} at byte {}", scan.records, scan.whole);
    if (too_long) return stop(ChainScan::End::kBroken, where + " is longer than a record can be");
    if (!frame) return stop(ChainScan::End::kTorn, where + " is cut off");
    if (ChainHash(scan.hash, frame->payload) != frame->hash) {
      if (scan.records == 0 && IsForeign(*frame)) return stop(ChainScan::End::kForeign, "is of another run or another signer");
      return stop(ChainScan::End::kBroken, where + " does not fit the hashes of the chain");
    }
    const auto record = DecodeRecord(frame->payload, where);
    if (!record) return stop(ChainScan::End::kBroken, record.error().message);
    if (const std::string wrong = MisplacedBy(*record, scan, trajectory, signer); !wrong.empty())
      return stop(ChainScan::End::kBroken, fmt::format("{} {}", where, wrong));
    const std::size_t bytes = kLengthBytes + frame->payload.size() + kHashBytes;
    ++scan.records;
    scan.whole += bytes;
    scan.hash = frame->hash;
    if (const auto* seal = std::get_if<SealRecord>(&record->body)) {
      scan.sealed = scan.records;
      scan.last_step = seal->step;
    } else if (const auto* step = std::get_if<StepRecord>(&record->body)) {
      scan.last_step = step->step;
    }
    if (each) each(*record, scan.hash);
    rest = rest.subspan(bytes);
  }
}

}  // namespace assay::monitor
