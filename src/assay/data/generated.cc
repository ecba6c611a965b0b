#include "assay/data/generated.h"

#include <cmath>

#include "assay/base/check.h"
#include "assay/base/philox.h"
#include "assay/numerics/fma.h"

namespace assay {
namespace {

constexpr std::uint32_t kPatternStream = 0x50000000u, kNoiseStream = 0x50000001u, kShiftStream = 0x50000002u;
constexpr std::int64_t kGrid = 4;                         // a pattern is kGrid x kGrid patches
constexpr std::int64_t kMaxKept = std::int64_t{1} << 24;  // elements of patterns; beyond, each is drawn when it is needed

// Draws of one stream and substream, element by element; consecutive elements share a block.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t stream, std::uint64_t index)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, stream, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)} {}
  std::uint32_t Next() {
    if (used_ == 4) {
      block_ = Philox(key_, counter_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }
  // Uniform on the multiples of 2^-23 in [-1, 1).
  float Uniform() { return static_cast<float>(static_cast<std::int32_t>(Next() >> 8) - (1 << 23)) * 0x1p-23f; }

 private:
  PhiloxKey key_;
  PhiloxBlock counter_;
  PhiloxBlock block_{};
  std::size_t used_ = 4;
};

std::int64_t PatternSize(const GeneratedDescriptor& data) {
  return data.image > 0 ? kGrid * kGrid * data.channels : data.features;
}

void AppendPattern(const GeneratedDescriptor& data, std::int64_t k, std::vector<float>& out) {
  Draws draws(data.seed, kPatternStream, static_cast<std::uint64_t>(k));
  for (std::int64_t i = 0; i < PatternSize(data); ++i) out.push_back(draws.Uniform());
}

}  // namespace

GeneratedDecoder::GeneratedDecoder(const GeneratedDescriptor& descriptor) : data_(descriptor) {
  ASSAY_CHECK(Check(DataDescriptor(descriptor)));
  patterns_.reserve(static_cast<std::size_t>(PatternBytes(data_) / sizeof(float)));
  if (PatternBytes(data_) == 0) return;
  for (std::int64_t k = 0; k < data_.classes; ++k) AppendPattern(data_, k, patterns_);
}

SampleFields GeneratedDecoder::fields() const {
  const std::pair<std::string, TensorType> labels{"labels", {DType::kI32, {}}};
  if (data_.image > 0) return {{"images", {DType::kF32, {data_.image, data_.image, data_.channels}}}, labels};
  return {{"features", {DType::kF32, {data_.features}}}, labels};
}

const float* GeneratedDecoder::Pattern(std::int64_t k, std::vector<float>& scratch) const {
  if (!patterns_.empty()) return patterns_.data() + k * PatternSize(data_);
  AppendPattern(data_, k, scratch);
  return scratch.data();
}

Status GeneratedDecoder::Decode(std::int64_t index, const DrawContext&, std::span<const ByteSpan>, std::int64_t row,
                                std::span<Tensor> batch) const {
  ASSAY_CHECK(index >= 0 && index < samples() && batch.size() == 2);
  const std::int64_t sample = data_.begin + index, label = sample % data_.classes;
  batch[1].Span<std::int32_t>()[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(label);
  std::vector<float> scratch;
  const float* pattern = Pattern(label, scratch);
  if (data_.image > 0) {
    float* out = batch[0].Span<float>().data() + row * data_.image * data_.image * data_.channels;
    DrawImage(static_cast<std::uint64_t>(sample), pattern, out);
    return {};
  }
  float* out = batch[0].Span<float>().data() + row * data_.features;
  Draws noise(data_.seed, kNoiseStream, static_cast<std::uint64_t>(sample));
  for (std::int64_t i = 0; i < data_.features; ++i) out[i] = numerics::Fma(data_.noise, noise.Uniform(), pattern[i]);
  return {};
}

void GeneratedDecoder::DrawImage(std::uint64_t sample, const float* pattern, float* out) const {
  Draws noise(data_.seed, kNoiseStream, sample), shift(data_.seed, kShiftStream, sample);
  const std::int64_t side = data_.image;
  const auto limit = static_cast<std::uint64_t>(side / kGrid + 1);
  const auto dy = static_cast<std::int64_t>((shift.Next() * limit) >> 32),
             dx = static_cast<std::int64_t>((shift.Next() * limit) >> 32);
  for (std::int64_t h = 0; h < side; ++h) {
    for (std::int64_t w = 0; w < side; ++w) {
      const std::int64_t patch = ((h + dy) % side * kGrid / side) * kGrid + (w + dx) % side * kGrid / side;
      for (std::int64_t c = 0; c < data_.channels; ++c) {
        *out++ = numerics::Fma(data_.noise, noise.Uniform(), pattern[patch * data_.channels + c]);
      }
    }
  }
}

std::uint64_t PatternBytes(const GeneratedDescriptor& d) {
  if (d.classes > kMaxKept / PatternSize(d)) return 0;
  return static_cast<std::uint64_t>(d.classes * PatternSize(d)) * sizeof(float);
}

std::string DescribeGenerated(const GeneratedDescriptor& d) {
  const std::int64_t samples = d.end - d.begin;
  if (d.image > 0) {
    return fmt::format("generated {0}x{0}x{1} images, {2} samples, {3} classes", d.image, d.channels, samples, d.classes);
  }
  return fmt::format("generated vectors of {} features, {} samples, {} classes", d.features, samples, d.classes);
}

}  // namespace assay
