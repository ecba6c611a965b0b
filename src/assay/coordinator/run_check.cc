#include "assay/coordinator/run_check.h"

#include <algorithm>

#include "assay/dispute/claim.h"
#include "assay/job/limits.h"

namespace assay::coordinator {
namespace {

constexpr std::string_view kModel = "model.safetensors";

const life::OrderFile* Find(const std::vector<life::OrderFile>& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &life::OrderFile::name);
  return found == files.end() ? nullptr : &*found;
}

Status CheckFile(store::Blobs& blobs, BlobRights& rights, const std::string& account, const life::OrderFile& file) {
  ASSAY_ASSIGN(const bool seen, rights.MaySee(account, file.sha256));
  ASSAY_ASSIGN(const bool whole, blobs.Has(file.sha256));
  if (!seen || !whole) return Err("{}: blob {} is not there; upload it first", file.name, file.sha256.hex());
  ASSAY_ASSIGN(const std::uint64_t size, blobs.Size(file.sha256));
  if (static_cast<std::int64_t>(size) != file.bytes)
    return Err("{}: has {} bytes, the result says {}", file.name, size, file.bytes);
  return {};
}

Status CheckClaimed(store::Blobs& blobs, const life::Order& order, const life::Received& received,
                    const std::vector<life::OrderFile>& files) {
  const life::OrderFile* job = Find(files, "job.bin");
  const life::OrderFile* program = Find(files, "program.bin");
  if (job == nullptr || program == nullptr) return Err("the result has no job.bin and program.bin");
  ASSAY_ASSIGN(Bytes job_bytes, ReadBlob(blobs, job->sha256, kMaxJobBytes));
  ASSAY_ASSIGN(Bytes program_bytes, ReadBlob(blobs, program->sha256, kMaxProgramBytes));
  if (JobId(job_bytes, program_bytes) != order.job)
    return Err("job.bin and program.bin are not those of job {}", order.job.hex());
  ASSAY_ASSIGN(const dispute::Terms terms, dispute::Terms::Make(std::move(job_bytes), std::move(program_bytes)));
  ASSAY_ASSIGN(const dispute::Claim claim, dispute::OpenClaim(received.receipt, "receipt"));
  ASSAY_TRY(dispute::CheckClaim(claim, terms));
  const life::OrderFile& model = *Find(files, kModel);
  if (model.sha256 != claim.receipt.model) return Err("{}: is not the file that the receipt names", kModel);
  if (model.bytes != received.model) return Err("{}: has {} bytes, the result says {}", kModel, model.bytes, received.model);
  return {};
}

}  // namespace

Result<Bytes> ReadBlob(store::Blobs& blobs, const Digest& hash, std::size_t max_bytes) {
  ASSAY_ASSIGN(const auto reader, blobs.OpenForReading(hash));
  if (reader->size() > max_bytes)
    return Err("blob {}: has {} bytes, at most {} are allowed", hash.hex(), reader->size(), max_bytes);
  Bytes bytes(static_cast<std::size_t>(reader->size()));
  ASSAY_TRY(reader->Read(0, bytes));
  return bytes;
}

Status CheckRun(store::Blobs& blobs, BlobRights& rights, const std::string& account, const life::Order& order,
                const life::Received& received, const std::vector<life::OrderFile>& files) {
  const std::string* before = nullptr;
  for (const life::OrderFile& file : files) {
    if (!life::IsFileName(file.name) || file.bytes < 0) return Err("the result: a file's name or size is not one");
    if (before != nullptr && *before >= file.name)
      return Err("the result: its files are not in ascending order of their names");
    before = &file.name;
    ASSAY_TRY(CheckFile(blobs, rights, account, file));
  }
  if (Find(files, kModel) == nullptr) return Err("the result has no {}", kModel);
  return order.sealed.empty() ? CheckClaimed(blobs, order, received, files) : Status();
}

}  // namespace assay::coordinator
