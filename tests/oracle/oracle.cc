#include "oracle/oracle.h"

#include "assay/base/check.h"
#include "assay/base/philox.h"
#include "assay/ops/table.h"

namespace assay::oracle {
namespace {

template <class T>
Array Widen(const Tensor& tensor) {
  Array out;
  for (T x : tensor.Span<T>()) out.push_back(static_cast<double>(x));
  return out;
}

}  // namespace

Arrays Forward(const OpInstance& op, const Arrays& in) {
  const Call call{op, in};
  switch (op.def->index) {
#define ASSAY_OP(name, wire_id, version, kind, results) \
  case op::name: return Oracle_##name(call);
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
    default: CheckFailed("an op of the table", __FILE__, __LINE__);
  }
}

Array ToArray(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32: return Widen<float>(tensor);
    case DType::kF64: return Widen<double>(tensor);
    case DType::kI32: return Widen<std::int32_t>(tensor);
    case DType::kU32: return Widen<std::uint32_t>(tensor);
    case DType::kI64: return Widen<std::int64_t>(tensor);
    case DType::kU8: return Widen<std::uint8_t>(tensor);
    case DType::kU16: return Widen<std::uint16_t>(tensor);
  }
  CheckFailed("known dtype", __FILE__, __LINE__);
}

bool Keeps(const Array& rng, double p, std::int64_t stream, std::int64_t i) {
  const auto word = [&](std::size_t k) { return static_cast<std::uint32_t>(rng[k]); };
  const PhiloxBlock block =
      Philox({word(0), word(1)}, {static_cast<std::uint32_t>(i / 4), static_cast<std::uint32_t>(stream), word(2), word(3)});
  return static_cast<double>(block[Index(i % 4)]) >= std::floor(p * 4294967296.0);
}

}  // namespace assay::oracle
