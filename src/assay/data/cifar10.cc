#include "assay/data/cifar10.h"

#include <utility>

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

Status CheckLabel(std::string_view what, std::int64_t record, std::uint8_t label) {
  if (label < kCifarClasses) return {};
  return Err("{}: record {}: label {}, expected 0 .. {}", what, record, label, kCifarClasses - 1);
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
    ASSAY_TRY(CheckLabel(what, static_cast<std::int64_t>(at / kCifarRecord), bytes[at]));
  }
  parts_.push_back(bytes);
  size_ += static_cast<std::int64_t>(bytes.size() / kCifarRecord);
  return {};
}

DataPart CifarPart(std::shared_ptr<const CifarRecords> records, std::int64_t begin, std::int64_t end) {
  ASSAY_CHECK(0 <= begin && begin <= end && end <= records->size());
  const auto first = static_cast<std::uint64_t>(begin) * kCifarRecord, last = static_cast<std::uint64_t>(end) * kCifarRecord;
  return {CifarDescriptor{end - begin}, {records->array().Slice(first, last)}, std::move(records)};
}

CifarDecoder::CifarDecoder(const CifarDescriptor& descriptor, bool augment)
    : count_(descriptor.count), augment_(augment), values_(3 * 256) {
  ASSAY_CHECK(count_ >= 1);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t v = 0; v < 256; ++v) values_[c * 256 + v] = (static_cast<float>(v) / 255.0f - kMean[c]) / kDeviation[c];
  }
}

SampleFields CifarDecoder::fields() const {
  return {{"images", {DType::kF32, {kCifarSide, kCifarSide, kCifarChannels}}}, {"labels", {DType::kI32, {}}}};
}

std::vector<SourceRange> CifarDecoder::Sources(std::int64_t index) const {
  ASSAY_CHECK(index >= 0 && index < count_);
  const std::uint64_t begin = static_cast<std::uint64_t>(index) * kCifarRecord;
  return {{0, begin, begin + kCifarRecord}};
}

Status CifarDecoder::Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources, std::int64_t row,
                            std::span<Tensor> batch) const {
  ASSAY_CHECK(sources.size() == 1 && sources[0].size() == kCifarRecord && batch.size() == 2);
  constexpr std::int64_t kPixels = kCifarSide * kCifarSide;
  const ByteSpan record = sources[0];
  ASSAY_TRY(CheckLabel("data", index, record[0]));
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
  return {};
}

}  // namespace assay
