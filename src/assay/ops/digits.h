// The optional attribute `digits` of contractions (docs/NUMERICS.md, section 7): how many digits the operands are cut into. Pure; thread safe.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/graph/op_def.h"
#include "assay/ops/infer.h"

namespace assay::ops {

// The last entry of the schema of an op that can go by digits.
inline constexpr AttrSpec kDigits = {"digits", AttrKind::kInt, true};

// For shape rules: the attribute is absent, or 2 or 3.
inline Status ExpectDigits(const Attrs& attrs, std::size_t at) {
  return attrs.size() > at ? ExpectBetween("digits", attrs.Int(at), 2, 3) : Status{};
}

// 2 or 3, or 0 for an op that does not go by digits. Of ops that were cut out of another (narrow.h), which have more attributes than the schema, none does.
inline int DigitsOf(const OpDef& def, const Attrs& attrs) {
  return HasOptional(attrs, def.attrs) ? static_cast<int>(attrs.Int(attrs.size() - 1)) : 0;
}
inline int DigitsOf(const OpInstance& op) { return DigitsOf(*op.def, op.attrs); }

// Test cases of the op that do not go by digits: rounded jobs have no others.
inline std::vector<OpCase> CasesWithoutDigits(const OpDef& def) {
  std::vector<OpCase> cases = def.cases();
  std::erase_if(cases, [&](const OpCase& c) { return DigitsOf(def, c.attrs) != 0; });
  return cases;
}

// `attrs` and, unless `digits` is 0, the attribute.
inline Attrs WithDigits(Attrs attrs, int digits) {
  if (digits != 0) attrs.Append(std::int64_t{digits});
  return attrs;
}

}  // namespace assay::ops
