// Safetensors files, Hugging Face's format: u64 header length, JSON header, then the tensors' bytes.
//
// The reader accepts what the published format allows: every length, offset and count is checked before use, tensors may neither overlap
// nor leave gaps, and nothing is allocated beyond a multiple of the header, which the allowance has. The writer's bytes are canonical: names sorted,
// header padded with spaces to a multiple of eight bytes, tensors in name order without gaps. Thread safe once open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/base/file.h"
#include "assay/base/result.h"
#include "assay/tensor/tensor.h"

namespace assay {

// The format's element types. Those without a DType of ours can be listed and skipped; F16 and BF16 widen to f32 exactly.
enum class StoredType : std::uint8_t { kBool, kU8, kI8, kI16, kU16, kF16, kBF16, kI32, kU32, kF32, kF64, kI64, kU64 };
std::size_t SizeOf(StoredType type);
std::string_view Name(StoredType type);  // "F32"

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  Shape shape;
  ByteSpan data;  // not aligned

  // The DType with the same bytes, where there is one.
  std::optional<DType> OwnType() const;
  // Whether its bytes are those of a tensor of this type.
  bool Is(const TensorType& other) const;
  // A copy in the DType of the same meaning; F16 and BF16 become f32. An error for BOOL, I8, I16 and U64.
  Result<Tensor> Load() const;
};

class Safetensors {
 public:
  // `what` names the source in errors; `bytes` must outlive the object.
  static Result<Safetensors> Parse(ByteSpan bytes, std::string_view what, Allowance& allowance);
  static Result<Safetensors> Open(const std::string& path, Allowance& allowance);
  static Result<Safetensors> Parse(ByteSpan bytes, std::string_view what);
  static Result<Safetensors> Open(const std::string& path);

  std::span<const StoredTensor> tensors() const { return tensors_; }  // in name order
  const StoredTensor* Find(std::string_view name) const;              // null when there is none
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& what() const { return what_; }
  ByteSpan bytes() const { return bytes_; }  // the whole file
  // Whether the file is, byte for byte, what EncodeSafetensors writes for these tensors and this metadata.
  bool IsCanonical() const;

 private:
  std::string what_;
  MappedFile file_;
  ByteSpan bytes_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

struct TensorRef {
  std::string_view name;
  const Tensor* tensor = nullptr;
};

// Names must be unique and non-empty. Streams to a temporary file that replaces `path` only when complete.
Status WriteSafetensors(const std::string& path, std::span<const TensorRef> tensors,
                        const std::map<std::string, std::string>& metadata = {});
// The same bytes in memory.
Result<Bytes> EncodeSafetensors(std::span<const TensorRef> tensors, const std::map<std::string, std::string>& metadata = {});

}  // namespace assay
