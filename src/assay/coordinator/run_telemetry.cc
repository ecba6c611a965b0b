#include "assay/coordinator/run_telemetry.h"

#include <algorithm>

#include "assay/coordinator/run_check.h"
#include "assay/job/limits.h"
#include "assay/monitor/chain.h"
#include "assay/train/prepare.h"

namespace assay::coordinator {
namespace {

constexpr std::int64_t kMostTelemetry = 64 << 20;

const life::OrderFile* FileOf(const std::vector<life::OrderFile>& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &life::OrderFile::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace

Result<std::vector<tracking::Point>> PointsOfRun(store::Blobs& blobs, const std::vector<life::OrderFile>& files,
                                                 const Receipt& receipt) {
  std::vector<tracking::Point> points;
  const life::OrderFile* telemetry = FileOf(files, "telemetry.bin");
  const life::OrderFile* job = FileOf(files, "job.bin");
  if (telemetry == nullptr || job == nullptr || telemetry->bytes > kMostTelemetry) return points;
  ASSAY_ASSIGN(const Bytes job_bytes, ReadBlob(blobs, job->sha256, kMaxJobBytes));
  ASSAY_ASSIGN(const DecodedJob decoded, DecodeJob(job_bytes));
  ASSAY_ASSIGN(const VerifyKey signer, VerifyKey::Parse(receipt.signer));
  ASSAY_ASSIGN(const Bytes bytes, ReadBlob(blobs, telemetry->sha256, static_cast<std::size_t>(kMostTelemetry)));
  tracking::PointMaker maker(ThroughputOf(decoded.job).per_step);
  monitor::ScanTelemetry(bytes, receipt.trajectory, signer, [&](const monitor::Record& record, const Digest&) {
    if (auto point = maker.Take(record)) points.push_back(*std::move(point));
  });
  return points;
}

}  // namespace assay::coordinator
