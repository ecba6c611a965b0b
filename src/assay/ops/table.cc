#include "assay/ops/table.h"

#include <array>

#include "assay/base/check.h"
#include "assay/ops/define.h"

namespace assay {
namespace {

constexpr bool kElementwise = true;
constexpr bool kGeneral = false;

OpDef Complete(OpDef def, OpIndex index, std::string_view name, std::uint16_t wire_id, std::uint16_t version, bool elementwise,
               Results results) {
  def.index = index;
  def.name = name;
  def.wire_id = wire_id;
  def.version = version;
  def.elementwise = elementwise;
  def.results = results;
  ASSAY_CHECK(def.infer != nullptr && def.cost != nullptr && def.dependencies != nullptr && def.cases != nullptr);
  return def;
}

}  // namespace

const OpTable& Ops() {
  static const std::array<OpDef, op::kCount> defs = {
#define ASSAY_OP(name, wire_id, version, kind, results) \
  Complete(ops::Define_##name(), op::name, #name, wire_id, version, k##kind, Results::k##results),
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
  };
  static const std::array<const OpDef*, op::kCount> pointers = [] {
    std::array<const OpDef*, op::kCount> p{};
    for (std::size_t i = 0; i < defs.size(); ++i) p[i] = &defs[i];
    return p;
  }();
  static const OpTable table{pointers};
  return table;
}

}  // namespace assay
