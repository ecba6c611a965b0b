#include "assay/model/forward.h"

namespace assay::model {

ValueId Forward::Conv1d(ValueId x, const std::string& name) {
  return ops_.Binary(op::add, ops_.Matmul(x, (*this)[name + ".weight"]), (*this)[name + ".bias"]);
}

ValueId Forward::Linear(ValueId x, const std::string& name, bool bias) {
  const ValueId y = ops_.Matmul(x, (*this)[name + ".weight"], false, true);
  return bias ? ops_.Binary(op::add, y, (*this)[name + ".bias"]) : y;
}

ValueId Forward::Dropout(ValueId x, float p) {
  if (!train_ || p == 0) return x;
  return ops_.Dropout(x, rng_, p, NextStream());
}

Status CheckRange(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) return Err("{}: expected an integer in {} .. {}, got {}", field, low, high, value);
  return {};
}

Status CheckSequence(std::int64_t sequence, std::int64_t context) {
  if (sequence >= 1 && sequence <= context) return {};
  return Err("batch.sequence: expected an integer in 1 .. {}, because model.context is {}, got {}", context, context, sequence);
}

}  // namespace assay::model
