#include "assay/tensor/weight_files.h"

#include <algorithm>
#include <set>

#include "assay/base/quote.h"
#include "assay/base/strict_json.h"

namespace assay {
namespace {

constexpr int kIndexDepth = 4;
constexpr std::size_t kMaxFileName = 255;

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxFileName && name.ends_with(".safetensors") && !name.starts_with('.') &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

using Places = std::map<std::string, std::string>;  // the file of each tensor

Result<Places> ReadIndex(const std::string& path, Allowance& allowance) {
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxWeightsIndex));
  ASSAY_ASSIGN(const auto parsing, allowance.Borrow((1 + kJsonGrowth) * bytes.size()));
  return ParseWeightsIndex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::vector<std::string> NamesIn(const Places& places) {
  std::set<std::string> names;
  for (const auto& [tensor, file] : places) names.insert(file);
  return {names.begin(), names.end()};
}

// One file is whole by itself, so it is preferred, as others do.
bool HasIndex(const std::string& folder) {
  return !Exists(JoinPath(folder, kWeightsFile)) && Exists(JoinPath(folder, kWeightsIndex));
}

Status CheckPlaces(const Places& places, const std::string& index, const std::vector<std::string>& names,
                   std::span<const Safetensors> files) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const StoredTensor& tensor : files[i].tensors()) {
      const auto place = places.find(tensor.name);
      if (place == places.end()) return Err("{}: says nothing of tensor {}, which {} has", index, Quote(tensor.name), names[i]);
      if (place->second != names[i]) {
        return Err("{}: tensor {}: expected {}, which has it, got {}", index, Quote(tensor.name), names[i], place->second);
      }
      ++found;
    }
  }
  if (found == places.size()) return {};
  for (const auto& [tensor, name] : places) {
    const auto file = static_cast<std::size_t>(std::ranges::lower_bound(names, name) - names.begin());
    if (files[file].Find(tensor) == nullptr)
      return Err("{}: tensor {} is missing, {} says", files[file].what(), Quote(tensor), index);
  }
  return {};
}

}  // namespace

Result<Places> ParseWeightsIndex(std::string_view text, std::string_view what) {
  if (text.size() > kMaxWeightsIndex) return Err("{}: has {} bytes, at most {} are read", what, text.size(), kMaxWeightsIndex);
  ASSAY_ASSIGN(const nlohmann::json root, ParseJsonObject(text, what, kIndexDepth));
  const auto map = root.find("weight_map");
  if (map == root.end() || !map->is_object() || map->empty()) {
    return Err("{}: weight_map: expected an object of tensors and their files", what);
  }
  Places places;
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !IsPlainName(file.get_ref<const std::string&>())) {
      return Err("{}: weight_map: {}: expected the name of a .safetensors file in the same folder, got {}", what, Quote(tensor),
                 DescribeJson(file));
    }
    places.emplace(tensor, file.get<std::string>());
    names.insert(file.get<std::string>());
  }
  if (names.size() > kMaxWeightFiles)
    return Err("{}: weight_map: {} files, at most {} allowed", what, names.size(), kMaxWeightFiles);
  return places;
}

Result<std::vector<std::string>> WeightFileNames(const std::string& folder, Allowance& allowance) {
  if (!HasIndex(folder)) {
    if (Exists(JoinPath(folder, kWeightsFile))) return std::vector<std::string>{kWeightsFile};
    return Err("{}: expected {} or {} in this folder", folder, kWeightsFile, kWeightsIndex);
  }
  ASSAY_ASSIGN(const Places places, ReadIndex(JoinPath(folder, kWeightsIndex), allowance));
  return NamesIn(places);
}

Result<WeightFiles> WeightFiles::Open(const std::string& path, Allowance& allowance) {
  WeightFiles out;
  if (!IsDirectory(path)) {
    ASSAY_ASSIGN(Safetensors file, Safetensors::Open(path, allowance));
    out.files_.push_back(std::move(file));
    return out;
  }
  if (!HasIndex(path)) {
    ASSAY_TRY(WeightFileNames(path, allowance));
    return Open(JoinPath(path, kWeightsFile), allowance);
  }
  const std::string index = JoinPath(path, kWeightsIndex);
  ASSAY_ASSIGN(const Places places, ReadIndex(index, allowance));
  const std::vector<std::string> names = NamesIn(places);
  for (const std::string& name : names) {
    ASSAY_ASSIGN(Safetensors file, Safetensors::Open(JoinPath(path, name), allowance));
    out.files_.push_back(std::move(file));
  }
  ASSAY_TRY(CheckPlaces(places, index, names, out.files_));
  return out;
}

Result<WeightFiles> WeightFiles::Open(const std::string& path) {
  Allowance everything;
  return Open(path, everything);
}

}  // namespace assay
