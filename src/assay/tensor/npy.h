// NumPy's .npy files: a magic number, a header that is a Python dictionary, and the elements.
//
// Taken are arrays in C order of little-endian numbers, with exactly the bytes that their shape asks for. Fortran order, big-endian,
// structured and object types are refused with what to do about it; nothing of the header is ever evaluated. Pure; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/tensor/safetensors.h"
#include "assay/tensor/shape.h"

namespace assay {

struct NpyHeader {
  StoredType type = StoredType::kF32;
  Shape shape;
  std::size_t begin = 0;    // of the elements
  std::uint64_t bytes = 0;  // of the elements
};

// No header is longer, with all that stands before the elements.
inline constexpr std::size_t kMaxNpyHeader = std::size_t{1} << 16;
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// From the first kMaxNpyHeader bytes of a file, or all of them. `what` names the source in errors.
Result<NpyHeader> ParseNpyHeader(ByteSpan start, std::string_view what);
// The array, without a name; its data lies in `file`, which must outlive it.
Result<StoredTensor> ParseNpy(ByteSpan file, std::string_view what);

}  // namespace assay
