#include "assay/graph/op_def.h"

namespace assay {

std::optional<OpIndex> OpTable::FindWireId(std::uint16_t wire_id) const {
  for (std::size_t i = 0; i < defs_.size(); ++i) {
    if (defs_[i]->wire_id == wire_id) return static_cast<OpIndex>(i);
  }
  return std::nullopt;
}

std::optional<OpIndex> OpTable::FindName(std::string_view name) const {
  for (std::size_t i = 0; i < defs_.size(); ++i) {
    if (defs_[i]->name == name) return static_cast<OpIndex>(i);
  }
  return std::nullopt;
}

}  // namespace assay
