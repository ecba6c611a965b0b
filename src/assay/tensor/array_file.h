// Arrays of somebody else's making, by name: of a .npz file, of a safetensors file, or of a folder in which array NAME is the file NAME.npy.
//
// Which of them a path is follows from what lies there, not from its name. The bytes may come from anyone; of a deflated member nothing
// is unpacked beyond its header before the header's shape and the archive agree on its size, and the allowance has it. Thread safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "assay/base/allowance.h"
#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/tensor/safetensors.h"

namespace assay {

struct OutsideArray {
  StoredTensor array;                 // as it is stored: type, shape and bytes
  std::shared_ptr<const void> owner;  // of the bytes; null where the caller's are
};

// Errors name the path and, where there is no such array, those that there are.
Result<OutsideArray> ReadArray(const std::string& path, std::string_view name, Allowance& allowance);
// The same of the bytes of a .npz or safetensors file, which must outlive the array.
Result<OutsideArray> ParseArray(ByteSpan file, std::string_view name, std::string_view what, Allowance& allowance);
Result<OutsideArray> ParseArray(ByteSpan file, std::string_view name, std::string_view what);

}  // namespace assay
