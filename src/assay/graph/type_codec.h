// The encoding of a tensor's type inside graphs and programs (docs/formats/program.md).
#pragma once

#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/tensor/tensor.h"

namespace assay {

// Random draws address elements by block, 32 bits of blocks of four (docs/NUMERICS.md): no tensor is larger.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 34;

// Whether the product of the extents stays within kMaxElements.
bool WithinLimits(const Shape& shape);

void EncodeType(const TensorType& type, ByteWriter& out);
Result<TensorType> DecodeType(ByteReader& in);

// Names are visible ASCII, so that whatever names something can be printed.
Status CheckName(std::string_view name);
Result<std::string> DecodeName(ByteReader& in);

}  // namespace assay
