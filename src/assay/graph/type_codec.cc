#include "assay/graph/type_codec.h"

#include <algorithm>

#include "assay/graph/program_limits.h"

namespace assay {

bool WithinLimits(const Shape& shape) {
  std::int64_t elements = 1;
  for (std::int64_t extent : shape.dims()) {
    if (extent > kMaxElements || (extent > 0 && elements > kMaxElements / extent)) return false;
    elements *= extent;
  }
  return true;
}

void EncodeType(const TensorType& type, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>(type.dtype));
  out.U8(static_cast<std::uint8_t>(type.shape.rank()));
  for (std::int64_t extent : type.shape.dims()) out.I64(extent);
}

Result<TensorType> DecodeType(ByteReader& in) {
  TensorType type;
  ASSAY_ASSIGN(std::uint8_t code, in.U8());
  if (!IsDType(code)) return Err("program: unknown element type {}", code);
  type.dtype = static_cast<DType>(code);
  ASSAY_ASSIGN(std::uint8_t rank, in.U8());
  if (rank > Shape::kMaxRank) return Err("program: rank {}, at most {} allowed", rank, Shape::kMaxRank);
  for (int axis = 0; axis < rank; ++axis) {
    ASSAY_ASSIGN(std::int64_t extent, in.I64());
    if (extent < 0) return Err("program: extent {} is negative", extent);
    type.shape.Append(extent);
  }
  if (!WithinLimits(type.shape)) return Err("program: {} has more than 2^34 elements", ToString(type));
  return type;
}

Status CheckName(std::string_view name) {
  const bool graphic = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (name.empty() || !graphic) return Err("program: a name is empty or holds something else than visible ASCII characters");
  if (name.size() > kMaxNameBytes)
    return Err("program: a name has {} characters, at most {} allowed", name.size(), kMaxNameBytes);
  return {};
}

Result<std::string> DecodeName(ByteReader& in) {
  ASSAY_ASSIGN(std::string name, in.String());
  ASSAY_TRY(CheckName(name));
  return name;
}

}  // namespace assay
