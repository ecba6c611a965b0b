#include "assay/data/cifar10.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/base/philox.h"

namespace assay {
namespace {

constexpr std::uint32_t kStream = 0x30000000u;
constexpr std::int64_t kPad = 4;
constexpr float kMean[3] = {0.4914f, 0.4822f, 0.4465f};
constexpr float kDeviation[3] = {0.2470f, 0.2435f, 0.2616f};

struct Placement {
  std::int64_t dy = 0, dx = 0;
  bool mirror = false;
};

std::int64_t Shift(std::uint32_t draw) {
  return static_cast<std::int64_t>((std::uint64_t{draw} * (2 * kPad + 1)) >> 32) - kPad;
}

Placement Draw(const DrawContext& context) {
  const PhiloxKey key{static_cast<std::uint32_t>(context.seed), static_cast<std::uint32_t>(context.seed >> 32)};
  const PhiloxBlock draw = Philox(key, {static_cast<std::uint32_t>(context.position), kStream, context.step, 0});
  return {Shift(draw[0]), Shift(draw[1]), (draw[2] >> 31) != 0};
}

}  // namespace

Result<std::shared_ptr<const CifarRecords>> CifarRecords::Open(const std::vector<std::string>& paths) {
  auto out = std::make_shared<CifarRecords>();
  for (const std::string& path : paths) {
    ASSAY_ASSIGN(MappedFile file, MappedFile::Open(path));
    ASSAY_TRY(out->Append(file.bytes(), path));
    out->files_.push_back(std::move(file));
  }
  return out;
}

Result<std::shared_ptr<const CifarRecords>> CifarRecords::Parse(ByteSpan bytes, std::string_view what) {
  auto out = std::make_shared<CifarRecords>();
  ASSAY_TRY(out->Append(bytes, what));
  return out;
}

Status CifarRecords::Append(ByteSpan bytes, std::string_view what) {
  if (bytes.empty() || bytes.size() % kCifarRecord != 0) {
    return Err("{}: {}-byte records expected, file has {} bytes", what, kCifarRecord, bytes.size());
  }
  for (std::size_t at = 0; at < bytes.size(); at += kCifarRecord) {
    if (bytes[at] >= kCifarClasses) {
      return Err("{}: record {}: label {}, expected 0 .. {}", what, at / kCifarRecord, bytes[at], kCifarClasses - 1);
    }
  }
  parts_.push_back(bytes);
  size_ += static_cast<std::int64_t>(bytes.size() / kCifarRecord);
  return {};
}

ByteSpan CifarRecords::operator[](std::int64_t i) const {
  for (ByteSpan part : parts_) {
    const auto records = static_cast<std::int64_t>(part.size() / kCifarRecord);
    if (i < records) return part.subspan(static_cast<std::size_t>(i) * kCifarRecord, kCifarRecord);
    i -= records;
  }
  CheckFailed("record index in range", __FILE__, __LINE__);
}

Digest CifarRecords::Content(std::int64_t begin, std::int64_t end) const {
  ByteWriter head;
  head.String("assay.data.cifar10.1");
  head.I64(end - begin);
  Sha256 hash;
  hash.Update(head.bytes());
  for (std::int64_t i = begin; i < end; ++i) hash.Update((*this)[i]);
  return hash.Finish();
}

CifarDataset::CifarDataset(std::shared_ptr<const CifarRecords> records, std::int64_t begin, std::int64_t end, bool augment)
    : records_(std::move(records)), begin_(begin), end_(end), augment_(augment), values_(3 * 256) {
  ASSAY_CHECK(0 <= begin && begin < end && end <= records_->size());
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t v = 0; v < 256; ++v) values_[c * 256 + v] = (static_cast<float>(v) / 255.0f - kMean[c]) / kDeviation[c];
  }
}

std::vector<std::pair<std::string, TensorType>> CifarDataset::fields() const {
  return {{"images", {DType::kF32, {kCifarSide, kCifarSide, kCifarChannels}}}, {"labels", {DType::kI32, {}}}};
}

void CifarDataset::Load(std::int64_t index, const DrawContext& context, std::int64_t row, std::span<Tensor> batch) const {
  ASSAY_CHECK(index >= 0 && index < samples() && batch.size() == 2);
  constexpr std::int64_t kPixels = kCifarSide * kCifarSide;
  const ByteSpan record = (*records_)[begin_ + index];
  const Placement place = augment_ && context.train ? Draw(context) : Placement{};
  batch[1].Span<std::int32_t>()[static_cast<std::size_t>(row)] = record[0];
  float* out = batch[0].Span<float>().data() + row * kPixels * kCifarChannels;
  for (std::int64_t h = 0; h < kCifarSide; ++h) {
    for (std::int64_t w = 0; w < kCifarSide; ++w) {
      const std::int64_t from_h = h + place.dy;
      const std::int64_t from_w = (place.mirror ? kCifarSide - 1 - w : w) + place.dx;
      const bool inside = from_h >= 0 && from_h < kCifarSide && from_w >= 0 && from_w < kCifarSide;
      for (std::int64_t c = 0; c < kCifarChannels; ++c) {
        const auto at = static_cast<std::size_t>(1 + c * kPixels + from_h * kCifarSide + from_w);
        *out++ = inside ? values_[static_cast<std::size_t>(c) * 256 + record[at]] : 0.0f;
      }
    }
  }
}

std::string CifarDataset::description() const {
  return fmt::format("CIFAR-10, {} images{}", samples(), augment_ ? ", random crops and flips" : "");
}

}  // namespace assay
