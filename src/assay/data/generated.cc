#include "assay/data/generated.h"

#include <cmath>

#include "assay/base/bytes.h"
#include "assay/base/check.h"
#include "assay/base/philox.h"

namespace assay {
namespace {

constexpr std::uint32_t kPatternStream = 0x50000000u, kNoiseStream = 0x50000001u, kShiftStream = 0x50000002u;
constexpr std::int64_t kGrid = 4;  // a pattern is kGrid x kGrid patches

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

}  // namespace

GeneratedDataset::GeneratedDataset(const GeneratedConfig& config, std::int64_t begin, std::int64_t end)
    : config_(config), begin_(begin), end_(end) {
  ASSAY_CHECK(0 <= begin && begin < end && end <= config.samples && config.classes >= 1);
  const std::int64_t size = config.image > 0 ? kGrid * kGrid * config.channels : config.features;
  for (std::int64_t k = 0; k < config.classes; ++k) {
    Draws draws(config.seed, kPatternStream, static_cast<std::uint64_t>(k));
    for (std::int64_t i = 0; i < size; ++i) patterns_.push_back(draws.Uniform());
  }
}

std::int64_t GeneratedDataset::elements() const {
  return config_.image > 0 ? config_.image * config_.image * config_.channels : config_.features;
}

std::vector<std::pair<std::string, TensorType>> GeneratedDataset::fields() const {
  const std::pair<std::string, TensorType> labels{"labels", {DType::kI32, {}}};
  if (config_.image > 0) return {{"images", {DType::kF32, {config_.image, config_.image, config_.channels}}}, labels};
  return {{"features", {DType::kF32, {config_.features}}}, labels};
}

void GeneratedDataset::Load(std::int64_t index, const DrawContext&, std::int64_t row, std::span<Tensor> batch) const {
  ASSAY_CHECK(index >= 0 && index < samples() && batch.size() == 2);
  const auto sample = static_cast<std::uint64_t>(begin_ + index);
  const std::int64_t label = (begin_ + index) % config_.classes;
  batch[1].Span<std::int32_t>()[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(label);
  float* out = batch[0].Span<float>().data() + row * elements();
  Draws noise(config_.seed, kNoiseStream, sample);
  if (config_.image == 0) {
    const float* centre = patterns_.data() + label * config_.features;
    for (std::int64_t i = 0; i < config_.features; ++i) out[i] = std::fma(config_.noise, noise.Uniform(), centre[i]);
    return;
  }
  const float* pattern = patterns_.data() + label * kGrid * kGrid * config_.channels;
  const std::int64_t side = config_.image;
  Draws shift(config_.seed, kShiftStream, sample);
  const auto limit = static_cast<std::uint64_t>(side / kGrid + 1);
  const auto dy = static_cast<std::int64_t>((shift.Next() * limit) >> 32),
             dx = static_cast<std::int64_t>((shift.Next() * limit) >> 32);
  for (std::int64_t h = 0; h < side; ++h) {
    for (std::int64_t w = 0; w < side; ++w) {
      const std::int64_t patch = ((h + dy) % side * kGrid / side) * kGrid + (w + dx) % side * kGrid / side;
      for (std::int64_t c = 0; c < config_.channels; ++c) {
        *out++ = std::fma(config_.noise, noise.Uniform(), pattern[patch * config_.channels + c]);
      }
    }
  }
}

std::string GeneratedDataset::description() const {
  if (config_.image > 0) {
    return fmt::format("generated {0}x{0}x{1} images, {2} samples, {3} classes", config_.image, config_.channels, samples(),
                       config_.classes);
  }
  return fmt::format("generated vectors of {} features, {} samples, {} classes", config_.features, samples(), config_.classes);
}

Digest GeneratedDataset::Content() const {
  ByteWriter out;
  out.String("assay.data.generated.1");
  for (std::int64_t v : {begin_, end_, config_.classes, config_.image, config_.channels, config_.features}) out.I64(v);
  out.F32(config_.noise);
  out.U64(config_.seed);
  return HashBytes(out.bytes());
}

}  // namespace assay
