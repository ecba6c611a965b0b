#include "assay/data/cifar.h"

#include <utility>

#include "assay/base/check.h"
#include "assay/data/augment.h"

namespace assay {
namespace {

struct Moments {
  float mean[3], deviation[3];
};
constexpr Moments kTen = {{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}};
constexpr Moments kHundred = {{0.5071f, 0.4867f, 0.4408f}, {0.2675f, 0.2565f, 0.2761f}};

// A CIFAR-100 record has its coarse label first.
std::uint8_t LabelOf(ByteSpan record, std::int64_t classes) { return record[classes == kCifarFine ? 1 : 0]; }

Status CheckLabel(std::string_view what, std::int64_t record, std::uint8_t label, std::int64_t classes) {
  if (label < classes) return {};
  return Err("{}: record {}: label {}, expected 0 .. {}", what, record, label, classes - 1);
}

}  // namespace

Result<std::shared_ptr<const CifarRecords>> CifarRecords::Open(const std::vector<std::string>& paths, std::int64_t classes,
                                                               Allowance& allowance) {
  auto out = std::make_shared<CifarRecords>(classes);
  for (const std::string& path : paths) {
    ASSAY_ASSIGN(MappedFile file, MappedFile::Open(path));
    ASSAY_TRY(allowance.Take(file.bytes().size(), Allowance::Kind::kMapped));
    ASSAY_TRY(out->Append(file.bytes(), path));
    out->files_.push_back(std::move(file));
  }
  return out;
}

Result<std::shared_ptr<const CifarRecords>> CifarRecords::Parse(ByteSpan bytes, std::string_view what, std::int64_t classes) {
  auto out = std::make_shared<CifarRecords>(classes);
  ASSAY_TRY(out->Append(bytes, what));
  return out;
}

Status CifarRecords::Append(ByteSpan bytes, std::string_view what) {
  const std::size_t size = CifarRecordBytes(classes_);
  if (bytes.empty() || bytes.size() % size != 0) {
    return Err("{}: {}-byte records expected, file has {} bytes", what, size, bytes.size());
  }
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const std::uint8_t label = LabelOf(bytes.subspan(at, size), classes_);
    ASSAY_TRY(CheckLabel(what, static_cast<std::int64_t>(at / size), label, classes_));
  }
  parts_.push_back(bytes);
  size_ += static_cast<std::int64_t>(bytes.size() / size);
  return {};
}

DataPart CifarPart(std::shared_ptr<const CifarRecords> records, std::int64_t begin, std::int64_t end) {
  ASSAY_CHECK(0 <= begin && begin <= end && end <= records->size());
  const std::uint64_t size = CifarRecordBytes(records->classes());
  const auto first = static_cast<std::uint64_t>(begin) * size, last = static_cast<std::uint64_t>(end) * size;
  const CifarDescriptor descriptor{end - begin, records->classes()};
  return {descriptor, {records->array().Slice(first, last)}, std::move(records)};
}

CifarDecoder::CifarDecoder(const CifarDescriptor& descriptor, bool augment)
    : data_(descriptor), augment_(augment), values_(3 * 256) {
  ASSAY_CHECK(Check(DataDescriptor(descriptor)));
  const Moments& moments = data_.classes == kCifarClasses ? kTen : kHundred;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t v = 0; v < 256; ++v) {
      values_[c * 256 + v] = (static_cast<float>(v) / 255.0f - moments.mean[c]) / moments.deviation[c];
    }
  }
}

SampleFields CifarDecoder::fields() const {
  return {{"images", {DType::kF32, {kCifarSide, kCifarSide, kCifarChannels}}}, {"labels", {DType::kI32, {}}}};
}

std::vector<SourceRange> CifarDecoder::Sources(std::int64_t index) const {
  ASSAY_CHECK(index >= 0 && index < data_.count);
  const std::uint64_t size = CifarRecordBytes(data_.classes), begin = static_cast<std::uint64_t>(index) * size;
  return {{0, begin, begin + size}};
}

Status CifarDecoder::Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources, std::int64_t row,
                            std::span<Tensor> batch) const {
  ASSAY_CHECK(sources.size() == 1 && sources[0].size() == CifarRecordBytes(data_.classes) && batch.size() == 2);
  constexpr std::int64_t kPixels = kCifarSide * kCifarSide;
  const std::uint8_t label = LabelOf(sources[0], data_.classes);
  ASSAY_TRY(CheckLabel("data", index, label, data_.classes));
  batch[1].Span<std::int32_t>()[static_cast<std::size_t>(row)] = label;
  const ByteSpan pixels = sources[0].subspan(CifarLabelBytes(data_.classes));
  const Placement place = augment_ && context.train ? DrawPlacement(context) : Placement{};
  PlaceImage(place, kCifarSide, kCifarSide, kCifarChannels, batch[0].Span<float>().data() + row * kPixels * kCifarChannels,
             [&](std::int64_t y, std::int64_t x, std::int64_t c) {
               const std::uint8_t byte = pixels[static_cast<std::size_t>(c * kPixels + y * kCifarSide + x)];
               return values_[static_cast<std::size_t>(c) * 256 + byte];
             });
  return {};
}

}  // namespace assay
