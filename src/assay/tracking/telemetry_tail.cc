#include "assay/tracking/telemetry_tail.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "assay/base/file.h"

namespace assay::tracking {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

}  // namespace

TelemetryTail::TelemetryTail(std::string path, const Digest& trajectory, VerifyKey signer)
    : path_(std::move(path)), trajectory_(trajectory), signer_(std::move(signer)) {
  scan_.hash = monitor::ChainStart(trajectory_, signer_);
}

Result<bool> TelemetryTail::Read(const monitor::OnRecord& each) {
  std::error_code none;
  const std::uint64_t size = std::filesystem::file_size(path_, none);
  if (none) return false;
  if (size < scan_.whole) return Err("{}: is shorter than it was", path_);
  if (size == scan_.whole) return false;
  ASSAY_ASSIGN(const Bytes piece, ReadFilePart(path_, scan_.whole, std::min(size - scan_.whole, kPiece)));
  const std::uint64_t records = scan_.records, whole = scan_.whole;
  monitor::ContinueScan(piece, trajectory_, signer_, each, scan_);
  if (scan_.end == monitor::ChainScan::End::kBroken || scan_.end == monitor::ChainScan::End::kForeign)
    return Err("{}: {}", path_, scan_.problem);
  return scan_.records > records || scan_.whole > whole;
}

}  // namespace assay::tracking
