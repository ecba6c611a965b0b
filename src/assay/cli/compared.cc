#include "assay/cli/compared.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "assay/base/file.h"
#include "assay/run/directory.h"
#include "assay/run/receipt.h"
#include "assay/train/job_paths.h"
#include "assay/train/prepare.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxJobBytes = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaxReceiptBytes = std::uint64_t{1} << 16;

// A run names its data from its own directory, and a job file from where it lies: only whole paths can be compared. What is not there stays as it is written.
void ResolvePaths(Job& job) {
  for (std::string* path : PathsOf(job)) {
    if (path->empty() || !Exists(*path)) continue;
    std::error_code failed;
    const auto whole = std::filesystem::weakly_canonical(*path, failed);
    if (!failed) *path = whole.string();
  }
}

Result<Compared> OpenRun(const std::string& target, const std::string& data) {
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(target));
  const std::string path = JoinPath(run.path(), "job.bin");
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxJobBytes));
  if (HashBytes(bytes) != run.header().job_bin) return Err("{}: is not the file that 'id' names; assay fsck says more", path);
  ASSAY_ASSIGN(DecodedJob decoded, DecodeJob(bytes));
  Compared out{.target = target, .job = std::move(decoded.job)};
  out.id = run.identity().job;
  out.data = run.identity().data;
  out.weights = decoded.inputs.weights;
  out.signer = run.signer().ToString();
  // What is not part of the identity is in job.toml alone.
  if (auto written = LoadRunJob(run, data)) {
    out.job.name = written->name;
    out.job.eval = written->eval;
    out.job.snapshot = written->snapshot;
    out.job.data = written->data;
    out.job.init_weights = written->init_weights;
  } else {
    out.notes.push_back(fmt::format("{}: {}; only what was committed to is compared", target, written.error().message));
  }
  ASSAY_ASSIGN(out.log, RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory));
  if (const auto file = ReadFile(run.receipt_path(), kMaxReceiptBytes)) {
    const auto receipt =
        OpenReceipt({reinterpret_cast<const char*>(file->data()), file->size()}, run.signer(), run.receipt_path());
    if (!receipt) return tl::unexpected(receipt.error());
    out.delivered = receipt->weights;
  }
  return out;
}

Result<Compared> OpenJob(const std::string& target, const std::string& data) {
  ASSAY_ASSIGN(Job job, LoadJob(target));
  ASSAY_TRY(UseData(job, data));
  Compared out{.target = target, .job = job};
  auto prepared = Prepare(std::move(job));
  if (!prepared) {
    out.notes.push_back(fmt::format("{}: {}; the job's id is not known", target, prepared.error().message));
    return out;
  }
  out.job = std::move(prepared->job);
  out.id = prepared->identity.job;
  out.data = prepared->identity.data;
  out.weights = prepared->inputs.weights;
  return out;
}

std::string HexOf(const std::optional<Digest>& digest) { return digest ? digest->hex() : std::string(); }

const char* WhatDiffers(const LogEntry& a, const LogEntry& b) {
  if (a.batch_root != b.batch_root) return "batches";
  if (a.state_root != b.state_root) return "states";
  if (a.loss_bits != b.loss_bits) return "losses";
  return "rounding logs";
}

}  // namespace

Result<Compared> OpenCompared(const std::string& target, const std::string& data) {
  auto compared = RunDirectory::IsRun(target) ? OpenRun(target, data) : OpenJob(target, data);
  if (compared) ResolvePaths(compared->job);
  return compared;
}

std::vector<Difference> DifferencesOf(const Compared& a, const Compared& b) {
  std::vector<Difference> out;
  std::map<std::string, std::string> of_b;
  const std::vector<JobSetting> left = JobSettings(a.job), right = JobSettings(b.job);
  for (const JobSetting& setting : right) of_b[setting.name] = setting.value;
  for (const JobSetting& setting : left) {
    const auto other = of_b.find(setting.name);
    const std::string value = other == of_b.end() ? "" : other->second;
    // A job whose data is not here does not have what only its data tells.
    const bool open = value.empty() && !b.id;
    if (value != setting.value && !open) out.push_back({setting.name, setting.value, value, setting.identifies});
    if (other != of_b.end()) of_b.erase(other);
  }
  for (const JobSetting& setting : right) {
    if (of_b.contains(setting.name) && a.id) out.push_back({setting.name, "", setting.value, setting.identifies});
  }
  // Where the data of one is not here, nothing can be said about whether it is the same.
  if (a.data && b.data && *a.data != *b.data) out.push_back({"data (root)", HexOf(a.data), HexOf(b.data), true, true});
  if (a.weights != b.weights && a.id && b.id)
    out.push_back({"starting weights (SHA-256)", HexOf(a.weights), HexOf(b.weights), true, true});
  // What makes another job comes first.
  std::vector<Difference> sorted;
  for (const bool identifies : {true, false}) {
    std::copy_if(out.begin(), out.end(), std::back_inserter(sorted),
                 [&](const Difference& d) { return d.identifies == identifies; });
  }
  return sorted;
}

Agreement CompareLogs(const RunLog& a, const RunLog& b) {
  Agreement agreement;
  std::size_t i = 0, j = 0;
  // Runs of different commit intervals have entries for some steps in common.
  while (i < a.entries().size() && j < b.entries().size()) {
    const LogEntry &x = a.entries()[i], &y = b.entries()[j];
    if (x.step != y.step) {
      ++(x.step < y.step ? i : j);
      continue;
    }
    const bool same_interval = i == j;
    if (x.state_root != y.state_root || x.loss_bits != y.loss_bits ||
        (same_interval && (x.batch_root != y.batch_root || x.rounding_root != y.rounding_root))) {
      agreement.differs_at = x.step;
      agreement.what = WhatDiffers(x, y);
      return agreement;
    }
    agreement.agree_until = x.step;
    ++i, ++j;
  }
  return agreement;
}

}  // namespace assay::cli
