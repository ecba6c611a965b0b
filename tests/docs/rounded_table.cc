#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "assay/base/check.h"
#include "assay/ops/digits.h"
#include "assay/ops/narrow.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/formula.h"
#include "docs/tables.h"
#include "support/op_inputs.h"

namespace assay::docs {
namespace {

// Whether every element of every case is some binary32 as it is: nothing was computed.
bool OnlyMoves(const OpDef& def) {
  for (const OpCase& c : ops::CasesWithoutDigits(def)) {
    const OpInstance op = testkit::CaseInstance(def, c);
    const std::vector<Tensor> inputs = testkit::CaseInputs(def, c);
    std::vector<const void*> in;
    for (const Tensor& input : inputs) in.push_back(input.data());
    const std::vector<void*> out(op.out.size(), nullptr);
    std::vector<rounded::True> x(static_cast<std::size_t>(op.out[0].elements()));
    rounded::FormulaOf<rounded::True>(def.index)({&op, in, out}, 0, {0, op.out[0].elements()}, x.data());
    if (!std::ranges::all_of(x, &rounded::True::narrow)) return false;
  }
  return true;
}

enum Kind : std::size_t { kMoved, kExact, kOpened, kTold };

Kind KindOf(const OpDef& def) {
  if (!def.has_bound()) {
    ASSAY_CHECK(OnlyMoves(def) == (def.results == Results::kMoved));  // what the table of ops says of it is so
    return def.results == Results::kMoved ? kMoved : kExact;
  }
  const std::vector<OpCase> cases = def.cases();
  const bool told =
      std::ranges::any_of(cases, [&](const OpCase& c) { return ops::MaxOperandWords(testkit::CaseInstance(def, c)) > 0; });
  return told ? kTold : kOpened;
}

}  // namespace

std::string RoundedOpsTable() {
  std::array<std::string, 4> names;
  for (OpIndex i = 0; i < op::kCount; ++i) {
    std::string& list = names[KindOf(Ops()[i])];
    list += fmt::format("{}`{}`", list.empty() ? "" : " ", Ops()[i].name);
  }
  return fmt::format(
      "| result | ops |\n|---|---|\n| moved | {} |\n| exact | {} |\n| bounded; elements depend on a few words | {} |\n"
      "| bounded; words are told where they lie in more than 32 blocks | {} |\n",
      names[kMoved], names[kExact], names[kOpened], names[kTold]);
}

std::vector<std::string> BoundedOpNames() {
  std::vector<std::string> names;
  for (OpIndex i = 0; i < op::kCount; ++i) {
    if (Ops()[i].has_bound()) names.emplace_back(Ops()[i].name);
  }
  return names;
}

}  // namespace assay::docs
