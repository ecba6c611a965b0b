#include "assay/train/job_paths.h"

#include <filesystem>

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxJobBytes = 1 << 20;

// With links followed, so that ".." means the same to the system.
fs::path Real(const fs::path& path) {
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(path, failed);
  return failed ? fs::absolute(path).lexically_normal() : real;
}

bool ShareAFolder(const fs::path& a, const fs::path& b) {
  const fs::path one = a.relative_path(), other = b.relative_path();
  return !one.empty() && !other.empty() && *one.begin() == *other.begin();
}

std::string Portable(const std::string& path, const std::string& run_path) {
  const fs::path real = Real(path), run = Real(run_path), here = Real(".");
  if (ShareAFolder(real, run)) return real.lexically_relative(run).string();
  const fs::path below = real.lexically_relative(here);
  const bool is_below = !below.empty() && *below.begin() != "..";
  return (is_below ? below : real.filename()).string();
}

}  // namespace

std::vector<std::string*> PathsOf(Job& job) {
  std::vector<std::string*> paths = {&job.data.path, &job.data.vocabulary, &job.init_weights};
  if (job.model_folder) paths.push_back(&*job.model_folder);
  return paths;
}

Job PortableJob(Job job, const std::string& run_path) {
  for (std::string* path : PathsOf(job)) {
    if (!path->empty()) *path = Portable(*path, run_path);
  }
  return job;
}

Result<Job> LoadRunJob(const RunDirectory& run, const std::string& data_path) {
  ASSAY_ASSIGN(const Bytes text, ReadFile(run.job_path(), kMaxJobBytes));
  ASSAY_ASSIGN(Job job, ParseJob({reinterpret_cast<const char*>(text.data()), text.size()}, run.job_path()));
  for (std::string* path : PathsOf(job)) {
    if (path->empty()) continue;
    if (const std::string there = (fs::path(run.path()) / *path).string(); Exists(there)) *path = there;
  }
  if (!data_path.empty()) job.data.path = data_path;
  return job;
}

Status UseData(Job& job, const std::string& data_path) {
  if (data_path.empty()) return {};
  if (!Exists(data_path)) return Err("--data {}: No such file or directory", data_path);
  job.data.path = data_path;
  return {};
}

Status CheckFilesOf(const RunDirectory& run, const Job& job, const std::string& data_path) {
  const auto missing = [](const std::string& path) { return !path.empty() && !Exists(path); };
  // A path of job.toml that leads to nothing from there or from here.
  const auto places = [&](const std::string& path) {
    const std::string from_run = (fs::path(run.path()) / path).lexically_normal().string();
    return fs::path(path).is_absolute() || from_run == path ? fmt::format("is not at {}", path)
                                                            : fmt::format("is neither at {} nor at {}", from_run, path);
  };
  if (missing(job.data.path)) {
    if (!data_path.empty()) return Err("--data {}: No such file or directory", data_path);
    return Err("{}: its data {}; say where it is with --data PATH", run.path(), places(job.data.path));
  }
  for (const auto& [what, path] : {std::pair("the vocabulary of its data", job.data.vocabulary),
                                   std::pair("the file or folder of weights that it starts from", job.init_weights)}) {
    if (missing(path)) return Err("{}: {} {}; put it there", run.path(), what, places(path));
  }
  return {};
}

}  // namespace assay
