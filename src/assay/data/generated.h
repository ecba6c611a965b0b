// Generated data with something to learn: noisy points round one centre per class, and noisy, shifted copies of one coarse pattern per class.
//
// A sample is a pure function of the parameters and its index, so nothing is stored; docs/NUMERICS.md, section 4, gives the draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/data/dataset.h"
#include "assay/merkle/sha256.h"

namespace assay {

struct GeneratedConfig {
  std::int64_t samples = 0, classes = 0;
  std::int64_t image = 0, channels = 0;  // images
  std::int64_t features = 0;             // feature vectors, when image is 0
  float noise = 0;
  std::uint64_t seed = 0;
};

class GeneratedDataset : public Dataset {
 public:
  // Samples [begin, end) of the set.
  GeneratedDataset(const GeneratedConfig& config, std::int64_t begin, std::int64_t end);
  std::int64_t samples() const override { return end_ - begin_; }
  std::vector<std::pair<std::string, TensorType>> fields() const override;
  void Load(std::int64_t index, const DrawContext& context, std::int64_t row, std::span<Tensor> batch) const override;
  std::string description() const override;
  Digest Content() const;

 private:
  std::int64_t elements() const;  // of a sample
  GeneratedConfig config_;
  std::int64_t begin_, end_;
  std::vector<float> patterns_;  // [class][element of its centre or coarse pattern]
};

}  // namespace assay
