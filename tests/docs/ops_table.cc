#include <fmt/format.h>

#include <algorithm>

#include "assay/ops/table.h"
#include "docs/tables.h"

namespace assay::docs {
namespace {

std::string_view KindName(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt: return "int";
    case AttrKind::kFloat: return "float";
    case AttrKind::kInts: return "list";
  }
  CheckFailed("known kind of attribute", __FILE__, __LINE__);
}

std::string AttributesOf(const OpDef& def) {
  std::string text;
  for (const AttrSpec& spec : def.attrs)
    text +=
        fmt::format("{}{}{} `{}`", text.empty() ? "" : ", ", spec.optional ? "optional " : "", KindName(spec.kind), spec.name);
  return text;
}

// How many inputs the op has; ops that take any number have cases with several.
std::string InputsOf(const OpDef& def) {
  std::size_t least = SIZE_MAX, most = 0;
  for (const OpCase& c : def.cases()) {
    least = std::min(least, c.in.size());
    most = std::max(most, c.in.size());
  }
  return least == most ? fmt::format("{}", least) : fmt::format("{} or more", least);
}

std::size_t OutputsOf(const OpDef& def) {
  const OpCase c = def.cases().front();
  return def.infer(c.attrs, c.in).value().size();
}

}  // namespace

std::vector<std::string> OpNames(bool attributes) {
  std::vector<std::string> names;
  for (OpIndex i = 0; i < op::kCount; ++i) {
    names.emplace_back(Ops()[i].name);
    if (!attributes) continue;
    for (const AttrSpec& spec : Ops()[i].attrs) names.emplace_back(spec.name);
  }
  return names;
}

std::string OpsTable() {
  std::string text =
      "| id | op | version | attributes, in this order | inputs | outputs | elementwise |\n|---:|---|---:|---|---:|---:|---|\n";
  for (OpIndex i = 0; i < op::kCount; ++i) {
    const OpDef& def = Ops()[i];
    text += fmt::format("| {} | `{}` | {} | {} | {} | {} | {} |\n", def.wire_id, def.name, def.version, AttributesOf(def),
                        InputsOf(def), OutputsOf(def), def.elementwise ? "yes" : "");
  }
  return text;
}

}  // namespace assay::docs
