// Zip archives, as far as NumPy's .npz files use them: members that are stored or deflated, also beyond 4 GiB (zip64).
//
// The bytes may come from anyone. Every offset, length and count is checked before use; encrypted archives, archives in several parts and
// members of the same name are refused. Nothing is unpacked here, and what is kept is bounded by the number of members. Value types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay {

struct ZipMember {
  std::string name;
  bool deflated = false;
  ByteSpan packed;         // as it lies in the archive
  std::uint64_t size = 0;  // unpacked; equal to packed.size() unless deflated
  std::uint32_t crc = 0;   // of the unpacked bytes
};

// In the order of the archive's directory. `bytes` must outlive them; `what` names the source in errors.
Result<std::vector<ZipMember>> ParseZip(ByteSpan bytes, std::string_view what);

}  // namespace assay
