#include "assay/train/published_model.h"

#include <algorithm>
#include <utility>

#include "assay/base/file.h"
#include "assay/data/tokenizer_json.h"
#include "assay/model/hf_config.h"
#include "assay/tensor/weight_files.h"

namespace assay {
namespace {

constexpr char kConfigFile[] = "config.json";
constexpr std::uint64_t kMaxCopied = std::uint64_t{64} << 20;

using Copy = std::pair<std::string, std::string>;  // a file, and its name in the folder

void AddFrom(const std::string& folder, std::span<const std::pair<const char*, const char*>> names, std::vector<Copy>& copies) {
  for (const auto& [name, written] : names) {
    const std::string path = JoinPath(folder, name);
    const bool there = std::ranges::find(copies, written, &Copy::second) != copies.end();
    if (!folder.empty() && !there && IsPlainFile(path)) copies.emplace_back(path, written);
  }
}

// GPT-2's own two files have other names there.
constexpr std::pair<const char*, const char*> kTokenizerFiles[] = {{kTokenizerFile, kTokenizerFile},
                                                                   {"tokenizer_config.json", "tokenizer_config.json"},
                                                                   {"special_tokens_map.json", "special_tokens_map.json"},
                                                                   {"vocab.json", "vocab.json"},
                                                                   {"merges.txt", "merges.txt"},
                                                                   {"encoder.json", "vocab.json"},
                                                                   {"vocab.bpe", "merges.txt"}};
constexpr std::pair<const char*, const char*> kModelFiles[] = {{"generation_config.json", "generation_config.json"}};

std::vector<Copy> CopiesOf(const PublishedSources& sources) {
  std::vector<Copy> copies;
  AddFrom(sources.tokenizer, kTokenizerFiles, copies);
  AddFrom(sources.model, kModelFiles, copies);
  return copies;
}

Status CheckEmpty(const std::string& folder) {
  if (!IsTaken(folder)) return {};
  if (!IsDirectory(folder)) return Err("{}: is a file, expected a folder that is new or empty", folder);
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(folder));
  return names.empty() ? Status() : Err("{}: holds '{}' already; choose a new or empty folder", folder, names.front());
}

}  // namespace

PublishedSources SourcesOf(const Job& job) {
  PublishedSources sources;
  if (IsDirectory(job.init_weights)) sources.model = job.init_weights;
  if (job.data.kind == DataKind::kBpe) sources.tokenizer = job.data.vocabulary;
  // Of token files nothing says otherwise; characters are no tokens of that folder.
  if (job.data.kind == DataKind::kTokens) sources.tokenizer = sources.model;
  return sources;
}

Result<std::vector<std::string>> WritePublishedModel(const std::string& folder, const ModelConfig& model,
                                                     std::span<const TensorRef> weights, const PublishedSources& sources) {
  ASSAY_TRY(CheckEmpty(folder));
  std::string source;
  if (const auto bytes = ReadFile(JoinPath(sources.model, kConfigFile), kMaxHfConfig); bytes && !sources.model.empty()) {
    source.assign(bytes->begin(), bytes->end());
  }
  ASSAY_ASSIGN(const std::string config, WriteHfConfig(model, source));
  ASSAY_TRY(MakeDirectories(folder));
  std::vector<std::string> names = {kConfigFile, kWeightsFile};
  for (const auto& [path, name] : CopiesOf(sources)) {
    ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxCopied));
    ASSAY_TRY(WriteFileAtomic(JoinPath(folder, name), bytes));
    names.push_back(name);
  }
  ASSAY_TRY(WriteSafetensors(JoinPath(folder, kWeightsFile), weights, {{"format", "pt"}}));
  ASSAY_TRY(WriteFileAtomic(JoinPath(folder, kConfigFile), AsBytes(config)));
  std::ranges::sort(names);
  return names;
}

}  // namespace assay
