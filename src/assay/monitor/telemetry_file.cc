#include "assay/monitor/telemetry_file.h"

#include <optional>

namespace assay::monitor {
namespace {

Result<ChainScan> ScanFile(const std::string& path, const Digest& trajectory, const VerifyKey& signer, std::uint64_t& size) {
  ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(path));
  size = file.bytes().size();
  return ScanTelemetry(file.bytes(), trajectory, signer, {});
}

// A file whose first line is cut off begins anew.
bool BeginsWell(const ChainScan& scan) { return scan.whole >= kTelemetryHead.size() && scan.end != ChainScan::End::kForeign; }

}  // namespace

Result<TelemetryFile> TelemetryFile::Open(const std::string& path, const Digest& trajectory, const VerifyKey& signer) {
  if (!Exists(path)) ASSAY_TRY(WriteFileAtomic(path, AsBytes(kTelemetryHead)));
  std::uint64_t size = 0;
  ASSAY_ASSIGN(const ChainScan scan, ScanFile(path, trajectory, signer, size));
  if (!BeginsWell(scan)) {
    return Err("{}: {}; remove it, or train with --no-telemetry", path,
               scan.problem.empty() ? "is no telemetry" : scan.problem);
  }
  if (scan.whole < size) ASSAY_TRY(TruncateDurably(path, scan.whole));
  ASSAY_ASSIGN(AppendFile file, AppendFile::Open(path));
  return TelemetryFile(std::move(file), scan);
}

Digest TelemetryFile::Add(Record& record) {
  record.index = next_++;
  const Bytes payload = Encode(record);
  hash_ = ChainHash(hash_, payload);
  const Bytes framed = FramedRecord(payload, hash_);
  waiting_.insert(waiting_.end(), framed.begin(), framed.end());
  return hash_;
}

Status TelemetryFile::Write() {
  if (waiting_.empty()) return {};
  ASSAY_TRY(file_.Append(waiting_));
  waiting_.clear();
  return {};
}

Status RepairTelemetry(const std::string& path, const Digest& trajectory, const VerifyKey& signer) {
  if (!Exists(path)) return {};
  std::uint64_t size = 0;
  ASSAY_ASSIGN(const ChainScan scan, ScanFile(path, trajectory, signer, size));
  return BeginsWell(scan) && scan.whole < size ? TruncateDurably(path, scan.whole) : Status();
}

}  // namespace assay::monitor
