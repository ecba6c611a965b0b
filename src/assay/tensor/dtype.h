// Element types. The numeric values are frozen: they are hashed into programs and state roots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assay/base/check.h"

namespace assay {

enum class DType : std::uint8_t { kF32 = 1, kI32 = 2, kU32 = 3, kI64 = 4, kF64 = 5, kU8 = 6, kU16 = 7 };

constexpr std::size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
    case DType::kU32: return 4;
    case DType::kI64:
    case DType::kF64: return 8;
    case DType::kU8: return 1;
    case DType::kU16: return 2;
  }
  CheckFailed("known dtype", __FILE__, __LINE__);
}

constexpr std::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "f32";
    case DType::kI32: return "i32";
    case DType::kU32: return "u32";
    case DType::kI64: return "i64";
    case DType::kF64: return "f64";
    case DType::kU8: return "u8";
    case DType::kU16: return "u16";
  }
  CheckFailed("known dtype", __FILE__, __LINE__);
}

// Whether a byte read from outside names a dtype.
constexpr bool IsDType(std::uint8_t code) { return code >= 1 && code <= 7; }

}  // namespace assay
