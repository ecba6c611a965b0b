#include "assay/own/distance.h"

#include <algorithm>
#include <cmath>

#include "assay/base/check.h"

namespace assay::own {

Distance DistanceOf(std::span<const TensorRef> a, std::span<const TensorRef> b) {
  ASSAY_CHECK(a.size() == b.size());
  Distance distance;
  double squares = 0, dot = 0, norm_a = 0, norm_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSAY_CHECK(a[i].tensor->type() == b[i].tensor->type());
    if (a[i].tensor->type().dtype != DType::kF32) continue;
    const std::span<const float> left = a[i].tensor->Span<float>(), right = b[i].tensor->Span<float>();
    for (std::size_t k = 0; k < left.size(); ++k) {
      const auto x = static_cast<double>(left[k]), y = static_cast<double>(right[k]);
      const double gap = std::fabs(x - y);
      distance.l1 += gap;
      squares += gap * gap;
      distance.linf = std::max(distance.linf, gap);
      dot += x * y;
      norm_a += x * x;
      norm_b += y * y;
    }
  }
  distance.l2 = std::sqrt(squares);
  const double norms = std::sqrt(norm_a) * std::sqrt(norm_b);
  distance.cosine = norms > 0 ? 1 - dot / norms : squares > 0 ? 1 : 0;
  return distance;
}

}  // namespace assay::own
