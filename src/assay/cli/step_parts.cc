#include "assay/cli/step_parts.h"

#include <algorithm>
#include <numeric>

#include "assay/base/check.h"
#include "assay/ops/digits.h"
#include "assay/ops/table.h"

namespace assay::cli {

std::string_view PartName(StepPart part) {
  switch (part) {
    case StepPart::kDigits: return "digits";
    case StepPart::kProducts: return "products";
    case StepPart::kAttention: return "attention";
    case StepPart::kRows: return "rows";
    case StepPart::kElementwise: return "elementwise";
    case StepPart::kOptimizer: return "optimizer";
    case StepPart::kOther: return "other";
  }
  CheckFailed("known part of a step", __FILE__, __LINE__);
}

StepPart PartOf(const OpDef& op) {
  switch (op.index) {
    case op::matmul:
    case op::conv2d:
    case op::conv2d_grad_x:
    case op::conv2d_grad_w: return StepPart::kProducts;
    case op::attention:
    case op::attention_grad: return StepPart::kAttention;
    case op::sgd:
    case op::adam:
    case op::adamw:
    case op::sum_squares:
    case op::clip_scale: return StepPart::kOptimizer;
    case op::row_sum:
    case op::col_sum:
    case op::row_max:
    case op::row_max_grad:
    case op::softmax:
    case op::softmax_grad:
    case op::cross_entropy:
    case op::cross_entropy_grad:
    case op::layernorm:
    case op::layernorm_grad_x:
    case op::layernorm_grad_params:
    case op::rmsnorm:
    case op::rmsnorm_grad_x:
    case op::rmsnorm_grad_gamma:
    case op::batchnorm_train:
    case op::batchnorm_infer:
    case op::batchnorm_grad: return StepPart::kRows;
    default: return op.elementwise ? StepPart::kElementwise : StepPart::kOther;
  }
}

bool MakesDigits(const OpInstance& op) { return ops::DigitsOf(op) != 0 && PartOf(*op.def) == StepPart::kProducts; }

void PartSeconds::Add(StepPart part, double seconds, double digits) {
  digits = std::min(digits, seconds);
  seconds_[static_cast<std::size_t>(part)] += seconds - digits;
  seconds_[static_cast<std::size_t>(StepPart::kDigits)] += digits;
}

double PartSeconds::total() const { return std::accumulate(seconds_.begin(), seconds_.end(), 0.0); }

}  // namespace assay::cli
