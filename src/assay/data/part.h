// DataPart: a training or validation part as it is committed to: what describes it, and the arrays that hold its bytes.
//
// The data root (root.h, docs/formats/data.md) is a pure function of a part; samples are made from its descriptor and ranges of its
// arrays (decoder.h). Value types; immutable after opening, safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct TokensDescriptor {
  std::int64_t count = 0;
  friend bool operator==(const TokensDescriptor&, const TokensDescriptor&) = default;
};

// CIFAR-10, or CIFAR-100 by its coarse or fine labels: 10, 20 or 100 classes.
struct CifarDescriptor {
  std::int64_t count = 0, classes = 10;
  friend bool operator==(const CifarDescriptor&, const CifarDescriptor&) = default;
};

// Samples [begin, end) of an endless list.
struct GeneratedDescriptor {
  std::int64_t begin = 0, end = 0;
  std::int64_t classes = 0;
  std::int64_t image = 0, channels = 0;  // images
  std::int64_t features = 0;             // feature vectors, when image is 0
  float noise = 0;
  std::uint64_t seed = 0;
  friend bool operator==(const GeneratedDescriptor&, const GeneratedDescriptor&) = default;
};

// An array of inputs [count, sample...] of bytes or binary32 numbers, and as many labels.
struct ArraysDescriptor {
  std::int64_t count = 0;
  DType dtype = DType::kF32;  // of the inputs: f32 or u8
  Shape sample;               // at least one axis
  friend bool operator==(const ArraysDescriptor&, const ArraysDescriptor&) = default;
};

using DataDescriptor = std::variant<TokensDescriptor, CifarDescriptor, GeneratedDescriptor, ArraysDescriptor>;

// The bytes of the first leaf of the data root.
Bytes Encode(const DataDescriptor& descriptor);
// Accepts exactly what Encode writes of data that can be; `what` names the source in errors.
Result<DataDescriptor> DecodeDescriptor(ByteSpan bytes, std::string_view what);
// Whether data can be like this. A descriptor that comes with somebody's proof passes through here before anything is computed from it.
Status Check(const DataDescriptor& descriptor);

struct ArraySpec {
  std::string_view name;
  TensorType type;
};
// The arrays that a part has; they follow from its descriptor, so a root has one reading.
std::vector<ArraySpec> ArraysOf(const DataDescriptor& descriptor);

// The bytes of one array, in one piece or in several that follow each other (a CIFAR-10 folder has five files).
class DataArray {
 public:
  DataArray() = default;
  explicit DataArray(std::vector<ByteSpan> pieces);

  std::uint64_t size() const { return size_; }
  // The bytes [begin, end) where they lie, or, where they lie in several pieces, copied into `scratch`.
  ByteSpan Fetch(std::uint64_t begin, std::uint64_t end, Bytes& scratch) const;
  DataArray Slice(std::uint64_t begin, std::uint64_t end) const;

 private:
  std::vector<ByteSpan> Shares(std::uint64_t begin, std::uint64_t end) const;
  std::vector<ByteSpan> pieces_;
  std::uint64_t size_ = 0;
};

struct DataPart {
  DataDescriptor descriptor;
  std::vector<DataArray> arrays;      // parallel to ArraysOf(descriptor)
  std::shared_ptr<const void> owner;  // of the arrays' bytes
};

}  // namespace assay
