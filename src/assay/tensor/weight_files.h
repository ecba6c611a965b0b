// A model's weights as they are published: one safetensors file, or a folder with model.safetensors, or with the files that model.safetensors.index.json names.
//
// The index comes from outside: it is bounded, the names in it lead nowhere but into the folder, and it must say of every tensor of its files which file has it,
// and of no others. Files stay mapped. Thread safe once open.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/base/result.h"
#include "assay/tensor/safetensors.h"

namespace assay {

inline constexpr char kWeightsFile[] = "model.safetensors";
inline constexpr char kWeightsIndex[] = "model.safetensors.index.json";
inline constexpr std::uint64_t kMaxWeightsIndex = std::uint64_t{64} << 20;
inline constexpr std::size_t kMaxWeightFiles = 4096;

// Which file has which tensor, by an index. `what` names it in errors.
Result<std::map<std::string, std::string>> ParseWeightsIndex(std::string_view text, std::string_view what);

// The names of the files that the weights at a folder are made of, in ascending order; without the index.
Result<std::vector<std::string>> WeightFileNames(const std::string& folder, Allowance& allowance);

class WeightFiles {
 public:
  // A file or a folder.
  static Result<WeightFiles> Open(const std::string& path, Allowance& allowance);
  static Result<WeightFiles> Open(const std::string& path);

  // In the order of their names.
  std::span<const Safetensors> files() const { return files_; }

 private:
  std::vector<Safetensors> files_;
};

}  // namespace assay
