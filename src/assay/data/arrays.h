// Own data: an array of inputs, one sample after the other along its first axis, and an array with a label for each.
//
// What is committed to is the inputs as they lie in the file, bytes or binary32 numbers (other floating-point types are turned into these
// when they are opened), and the labels as 32-bit integers; so it does not matter which kind of file they came from. A sample is f32: bytes
// are divided by 255, numbers are taken as they are. docs/formats/data.md. Immutable; safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/data/decoder.h"
#include "assay/tensor/array_file.h"

namespace assay {

// Labels are below this, which is as many classes as a model can have.
inline constexpr std::int32_t kMaxLabels = 1 << 20;

class LabelledArrays {
 public:
  // The arrays of these names at `path`.
  static Result<std::shared_ptr<const LabelledArrays>> Open(const std::string& path, std::string_view inputs,
                                                            std::string_view labels, Allowance& allowance);
  // `what` names the source in errors. Every number is finite and every label in range, or it is an error.
  static Result<std::shared_ptr<const LabelledArrays>> Make(OutsideArray inputs, const OutsideArray& labels,
                                                            std::string_view what, Allowance& allowance);

  std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }
  std::int32_t largest_label() const { return largest_; }
  DType dtype() const { return dtype_; }
  const Shape& sample() const { return sample_; }
  ByteSpan input_bytes() const { return inputs_; }
  ByteSpan label_bytes() const { return {reinterpret_cast<const std::uint8_t*>(labels_.data()), 4 * labels_.size()}; }

 private:
  Status TakeInputs(OutsideArray inputs, std::string_view what, Allowance& allowance);
  Status TakeLabels(const OutsideArray& labels, std::string_view what, Allowance& allowance);
  std::shared_ptr<const void> owner_;  // of the inputs, where they are taken as they lie
  Tensor converted_;                   // the inputs otherwise
  ByteSpan inputs_;
  DType dtype_ = DType::kF32;
  Shape sample_;
  std::vector<std::int32_t> labels_;
  std::int32_t largest_ = 0;
};

// Samples [begin, end).
DataPart ArraysPart(std::shared_ptr<const LabelledArrays> arrays, std::int64_t begin, std::int64_t end);

// What a sample is by a layout.
struct SampleGeometry {
  std::int64_t features = 0;                         // flat
  std::int64_t height = 0, width = 0, channels = 0;  // images
};
// An error when samples of this shape are no images.
Result<SampleGeometry> GeometryOf(const Shape& sample, ArrayLayout layout);

class ArraysDecoder : public SampleDecoder {
 public:
  // Wants a descriptor that passes Check, and the geometry of its samples by the rule's layout.
  ArraysDecoder(const ArraysDescriptor& descriptor, const SampleRule& rule, const SampleGeometry& geometry);
  std::int64_t samples() const override { return data_.count; }
  SampleFields fields() const override;
  std::vector<SourceRange> Sources(std::int64_t index) const override;
  Status Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources, std::int64_t row,
                std::span<Tensor> batch) const override;

 private:
  ArraysDescriptor data_;
  SampleRule rule_;
  SampleGeometry geometry_;
};

}  // namespace assay
