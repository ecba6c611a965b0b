// Generated data with something to learn: noisy points round one centre per class, and noisy, shifted copies of one coarse pattern per class.
//
// A sample is a pure function of the parameters and its index, so nothing is stored; docs/NUMERICS.md, section 4, gives the draws.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/data/decoder.h"

namespace assay {

class GeneratedDecoder : public SampleDecoder {
 public:
  // Wants a descriptor that passes Check.
  explicit GeneratedDecoder(const GeneratedDescriptor& descriptor);
  std::int64_t samples() const override { return data_.end - data_.begin; }
  SampleFields fields() const override;
  std::vector<SourceRange> Sources(std::int64_t) const override { return {}; }
  Status Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources, std::int64_t row,
                std::span<Tensor> batch) const override;

 private:
  // The centre or coarse pattern of class k, perhaps in `scratch`.
  const float* Pattern(std::int64_t k, std::vector<float>& scratch) const;
  void DrawImage(std::uint64_t sample, const float* pattern, float* out) const;
  GeneratedDescriptor data_;
  std::vector<float> patterns_;  // of all classes, one after the other; empty when that would be too much
};

// What a decoder of such data keeps of patterns.
std::uint64_t PatternBytes(const GeneratedDescriptor& descriptor);
std::string DescribeGenerated(const GeneratedDescriptor& descriptor);  // for people

}  // namespace assay
