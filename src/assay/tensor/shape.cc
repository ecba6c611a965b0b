#include "assay/tensor/shape.h"

#include <fmt/format.h>

namespace assay {

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) text += fmt::format("{}{}", axis == 0 ? "" : ", ", shape[axis]);
  return text + "]";
}

}  // namespace assay
