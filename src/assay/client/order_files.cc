#include "assay/client/order_files.h"

#include <algorithm>
#include <filesystem>

#include "assay/base/file.h"
#include "assay/data/tokenizer_json.h"
#include "assay/tensor/weight_files.h"

namespace assay::client {
namespace {

constexpr std::size_t kMaxName = 100;

// What of a file's name an order may carry.
std::string Tame(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (char& c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  if (name.size() > kMaxName) name = name.substr(name.size() - kMaxName);
  return name.empty() || name == "." || name == ".." ? "file" : name;
}

// What is read of a folder, by the kind of data.
std::vector<std::string> PartsOf(const DataConfig& data) {
  switch (data.kind) {
    case DataKind::kCifar10:
      return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
              "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    case DataKind::kCifar100: return {"train.bin", "test.bin"};
    case DataKind::kArrays: return {data.inputs + ".npy", data.labels + ".npy"};
    default: return {};
  }
}

// What is read of a folder of weights.
Result<std::vector<std::string>> WeightParts(const std::string& path) {
  if (!IsDirectory(path)) return std::vector<std::string>();
  Allowance everything;
  ASSAY_ASSIGN(std::vector<std::string> names, WeightFileNames(path, everything));
  if (!Exists(JoinPath(path, kWeightsFile))) names.emplace_back(kWeightsIndex);
  return names;
}

class Collector {
 public:
  // The path that the job has in the order.
  Result<std::string> Add(const std::string& folder, const std::string& path, const std::vector<std::string>& parts) {
    if (!IsDirectory(path)) return AddFile(folder, path, Tame(path));
    if (parts.empty()) return Err("{}: is a folder, expected a file", path);
    for (const std::string& part : parts) ASSAY_TRY(AddFile(folder, JoinPath(path, part), part));
    return folder;
  }
  std::vector<NamedFile> Take() {
    std::ranges::sort(files_, {}, &NamedFile::name);
    return std::move(files_);
  }

 private:
  Result<std::string> AddFile(const std::string& folder, const std::string& path, const std::string& name) {
    if (!IsPlainFile(path)) return Err("{}: there is no such file", path);
    files_.push_back({.name = folder + "/" + name, .path = path});
    return files_.back().name;
  }
  std::vector<NamedFile> files_;
};

}  // namespace

Result<OrderFiles> FilesOf(const Job& job) {
  Job sent = job;
  Collector collector;
  if (!job.data.path.empty()) {
    ASSAY_ASSIGN(sent.data.path, collector.Add("data", job.data.path, PartsOf(job.data)));
  }
  if (!job.data.vocabulary.empty()) {
    ASSAY_ASSIGN(sent.data.vocabulary, collector.Add("vocabulary", job.data.vocabulary, VocabularyFiles(job.data.vocabulary)));
  }
  if (!job.init_weights.empty()) {
    ASSAY_ASSIGN(const std::vector<std::string> parts, WeightParts(job.init_weights));
    ASSAY_ASSIGN(sent.init_weights, collector.Add("weights", job.init_weights, parts));
  }
  return OrderFiles{.job_toml = ToToml(sent), .files = collector.Take()};
}

}  // namespace assay::client
