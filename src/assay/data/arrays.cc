#include "assay/data/arrays.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "assay/base/check.h"
#include "assay/data/augment.h"

namespace assay {
namespace {

std::uint32_t WordAt(ByteSpan bytes, std::size_t i) {
  const std::uint8_t* at = bytes.data() + 4 * i;
  return at[0] | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[3]} << 24;
}

bool IsFinite(std::uint32_t word) { return (word & 0x7f800000u) != 0x7f800000u; }

Status CheckFinite(ByteSpan words, std::string_view what, const Allowance& allowance = {}) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 22;
  for (std::size_t i = 0; i < words.size() / 4; ++i) {
    if (i % kAtOnce == 0) ASSAY_TRY(allowance.Check());
    if (!IsFinite(WordAt(words, i))) return Err("{}: element {} is not a finite binary32 number", what, i);
  }
  return {};
}

Status CheckLabel(std::string_view what, std::int64_t index, std::int64_t label) {
  if (label >= 0 && label < kMaxLabels) return {};
  return Err("{}: label {} of sample {}, expected 0 .. {}", what, label, index, kMaxLabels - 1);
}

// Numbers of another floating-point type as binary32: those of 16 bits exactly, those of 64 rounded to the nearest; what is too large
// becomes an infinity, which is refused like any other.
Result<Tensor> ToFloat(const StoredTensor& array, Allowance& allowance) {
  ASSAY_TRY(allowance.Take(static_cast<std::uint64_t>(array.shape.elements()) * sizeof(float)));
  ASSAY_ASSIGN(const auto copy, allowance.Borrow(array.type == StoredType::kF64 ? array.data.size() : 0));
  ASSAY_ASSIGN(Tensor tensor, array.Load());
  if (tensor.dtype() != DType::kF64) return tensor;
  Tensor out(DType::kF32, tensor.shape());
  std::ranges::transform(tensor.Span<double>(), out.Span<float>().begin(), [](double v) { return static_cast<float>(v); });
  return out;
}

template <class T>
void Widen(const Tensor& from, std::vector<std::int64_t>& to) {
  for (const T v : from.Span<T>()) to.push_back(static_cast<std::int64_t>(v));
}

// "f32", as docs/JOBS.md has it.
std::string TypeWord(StoredType type) {
  std::string word(Name(type));
  for (char& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return word;
}

Result<std::vector<std::int64_t>> Integers(const StoredTensor& array, std::string_view what) {
  const auto own = array.OwnType();
  std::vector<std::int64_t> out;
  if (own && *own != DType::kF32 && *own != DType::kF64) {
    ASSAY_ASSIGN(const Tensor tensor, array.Load());
    out.reserve(static_cast<std::size_t>(tensor.elements()));
    switch (*own) {
      case DType::kU8: Widen<std::uint8_t>(tensor, out); return out;
      case DType::kU16: Widen<std::uint16_t>(tensor, out); return out;
      case DType::kI32: Widen<std::int32_t>(tensor, out); return out;
      case DType::kU32: Widen<std::uint32_t>(tensor, out); return out;
      case DType::kI64: Widen<std::int64_t>(tensor, out); return out;
      default: break;
    }
  }
  return Err("{}: labels are {}, expected u8, u16, u32, i32 or i64; save {}.astype(\"int64\")", what, TypeWord(array.type),
             array.name);
}

// Where there is no such array, `key` of the job can name another.
Result<OutsideArray> ReadNamed(const std::string& path, std::string_view name, std::string_view key, Allowance& allowance) {
  return ReadArray(path, name, allowance).map_error([&](Error error) {
    if (error.message.find("has no array") != std::string::npos)
      error.message += fmt::format("; {} names the one to take", key);
    return error;
  });
}

}  // namespace

Result<std::shared_ptr<const LabelledArrays>> LabelledArrays::Open(const std::string& path, std::string_view inputs,
                                                                   std::string_view labels, Allowance& allowance) {
  ASSAY_ASSIGN(OutsideArray x, ReadNamed(path, inputs, "data.inputs", allowance));
  ASSAY_ASSIGN(const OutsideArray y, ReadNamed(path, labels, "data.labels", allowance));
  return Make(std::move(x), y, path, allowance);
}

Result<std::shared_ptr<const LabelledArrays>> LabelledArrays::Make(OutsideArray inputs, const OutsideArray& labels,
                                                                   std::string_view what, Allowance& allowance) {
  auto out = std::make_shared<LabelledArrays>();
  const Shape& shape = inputs.array.shape;
  if (labels.array.shape.rank() != 1) {
    return Err("{}: labels {} have shape {}, expected [N], one for each sample", what, labels.array.name,
               ToString(labels.array.shape));
  }
  if (shape.rank() < 2 || shape[0] != labels.array.shape[0]) {
    return Err("{}: inputs {} have shape {}, expected [{}, ...], one sample for each label{}", what, inputs.array.name,
               ToString(shape), labels.array.shape[0],
               shape.rank() == 1 ? fmt::format("; one number per sample is [{}, 1]", shape[0]) : "");
  }
  if (shape.elements() == 0)
    return Err("{}: inputs {} have shape {}, expected at least one element", what, inputs.array.name, ToString(shape));
  out->sample_ = Shape(shape.dims().subspan(1));
  ASSAY_TRY(out->TakeInputs(std::move(inputs), what, allowance));
  ASSAY_TRY(out->TakeLabels(labels, what, allowance));
  return out;
}

Status LabelledArrays::TakeInputs(OutsideArray inputs, std::string_view what, Allowance& allowance) {
  const std::string where = fmt::format("{}: {}", what, inputs.array.name);
  switch (inputs.array.type) {
    case StoredType::kU8:
      dtype_ = DType::kU8;
      inputs_ = inputs.array.data;
      break;
    case StoredType::kF32: inputs_ = inputs.array.data; break;
    case StoredType::kF16:
    case StoredType::kBF16:
    case StoredType::kF64: {
      ASSAY_ASSIGN(converted_, ToFloat(inputs.array, allowance));
      inputs_ = converted_.bytes();
      break;
    }
    default:
      return Err("{}: is {}, expected u8, f16, bf16, f32 or f64; save {}.astype(\"float32\")", where,
                 TypeWord(inputs.array.type), inputs.array.name);
  }
  owner_ = std::move(inputs.owner);
  return dtype_ == DType::kF32 ? CheckFinite(inputs_, where, allowance) : Status{};
}

Status LabelledArrays::TakeLabels(const OutsideArray& labels, std::string_view what, Allowance& allowance) {
  const std::string where = fmt::format("{}: {}", what, labels.array.name);
  const auto count = static_cast<std::uint64_t>(labels.array.shape.elements());
  ASSAY_ASSIGN(const auto widened, allowance.Borrow(labels.array.data.size() + count * sizeof(std::int64_t)));
  ASSAY_TRY(allowance.Take(count * sizeof(std::int32_t)));
  ASSAY_ASSIGN(const std::vector<std::int64_t> values, Integers(labels.array, where));
  labels_.reserve(values.size());
  for (const std::int64_t v : values) {
    ASSAY_TRY(CheckLabel(where, size(), v));
    labels_.push_back(static_cast<std::int32_t>(v));
    largest_ = std::max(largest_, labels_.back());
  }
  return {};
}

DataPart ArraysPart(std::shared_ptr<const LabelledArrays> arrays, std::int64_t begin, std::int64_t end) {
  ASSAY_CHECK(0 <= begin && begin <= end && end <= arrays->size());
  const ArraysDescriptor descriptor{end - begin, arrays->dtype(), arrays->sample()};
  const auto cut = [&](ByteSpan bytes) {
    const std::size_t each = bytes.size() / static_cast<std::size_t>(arrays->size());
    return DataArray({bytes.subspan(each * static_cast<std::size_t>(begin), each * static_cast<std::size_t>(end - begin))});
  };
  return {descriptor, {cut(arrays->input_bytes()), cut(arrays->label_bytes())}, std::move(arrays)};
}

Result<SampleGeometry> GeometryOf(const Shape& sample, ArrayLayout layout) {
  if (layout == ArrayLayout::kFlat) return SampleGeometry{.features = sample.elements()};
  if (sample.rank() == 2) return SampleGeometry{.height = sample[0], .width = sample[1], .channels = 1};
  if (sample.rank() != 3) {
    return Err("data: samples of shape {} are not images, expected [H, W] or {}", ToString(sample),
               layout == ArrayLayout::kNhwc ? "[H, W, C]" : "[C, H, W]");
  }
  if (layout == ArrayLayout::kNhwc) return SampleGeometry{.height = sample[0], .width = sample[1], .channels = sample[2]};
  return SampleGeometry{.height = sample[1], .width = sample[2], .channels = sample[0]};
}

ArraysDecoder::ArraysDecoder(const ArraysDescriptor& descriptor, const SampleRule& rule, const SampleGeometry& geometry)
    : data_(descriptor), rule_(rule), geometry_(geometry) {
  ASSAY_CHECK(Check(DataDescriptor(descriptor)));
}

SampleFields ArraysDecoder::fields() const {
  const std::pair<std::string, TensorType> labels{"labels", {DType::kI32, {}}};
  if (rule_.layout == ArrayLayout::kFlat) return {{"features", {DType::kF32, {geometry_.features}}}, labels};
  return {{"images", {DType::kF32, {geometry_.height, geometry_.width, geometry_.channels}}}, labels};
}

std::vector<SourceRange> ArraysDecoder::Sources(std::int64_t index) const {
  ASSAY_CHECK(index >= 0 && index < data_.count);
  const auto i = static_cast<std::uint64_t>(index);
  const std::uint64_t bytes = static_cast<std::uint64_t>(data_.sample.elements()) * SizeOf(data_.dtype);
  return {{0, i * bytes, (i + 1) * bytes}, {1, 4 * i, 4 * (i + 1)}};
}

Status ArraysDecoder::Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources,
                             std::int64_t row, std::span<Tensor> batch) const {
  const std::int64_t elements = data_.sample.elements();
  ASSAY_CHECK(sources.size() == 2 && sources[0].size() == static_cast<std::size_t>(elements) * SizeOf(data_.dtype) &&
              sources[1].size() == 4 && batch.size() == 2);
  const bool words = data_.dtype == DType::kF32;
  const auto label = std::bit_cast<std::int32_t>(WordAt(sources[1], 0));
  ASSAY_TRY(CheckLabel("data", index, label));
  if (words) ASSAY_TRY(CheckFinite(sources[0], fmt::format("data: sample {}", index)));
  batch[1].Span<std::int32_t>()[static_cast<std::size_t>(row)] = label;

  const auto value = [&](std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    return words ? std::bit_cast<float>(WordAt(sources[0], i)) : static_cast<float>(sources[0][i]) / 255.0f;
  };
  float* out = batch[0].Span<float>().data() + row * elements;
  if (rule_.layout == ArrayLayout::kFlat) {
    for (std::int64_t i = 0; i < elements; ++i) out[i] = value(i);
    return {};
  }
  const std::int64_t height = geometry_.height, width = geometry_.width, channels = geometry_.channels;
  const bool last = rule_.layout == ArrayLayout::kNhwc;
  const std::int64_t pixel = last ? channels : 1, plane = last ? 1 : height * width, line = width * pixel;
  const Placement place = rule_.augment && context.train ? DrawPlacement(context) : Placement{};
  PlaceImage(place, height, width, channels, out,
             [&](std::int64_t y, std::int64_t x, std::int64_t c) { return value(y * line + x * pixel + c * plane); });
  return {};
}

}  // namespace assay
