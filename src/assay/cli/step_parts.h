// What the time of a training step goes into, by kind of work: `parts` of `assay bench --json`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "assay/graph/op_def.h"

namespace assay::cli {

enum class StepPart : std::uint8_t {
  kDigits,       // cutting operands of products into digits
  kProducts,     // matmul, convolutions and their gradients
  kAttention,    // with the digits made in it
  kRows,         // sums, norms, softmax and losses: reductions along rows or columns
  kElementwise,  // activations, sums of residuals, dropout, casts
  kOptimizer,
  kOther,  // layout, pooling, embeddings, rotary positions
};
inline constexpr std::size_t kStepParts = 7;

std::string_view PartName(StepPart part);

// That of an op, its digits aside.
StepPart PartOf(const OpDef& op);

// Whether it cuts its operands into digits in a pass that can be told apart from the products.
bool MakesDigits(const OpInstance& op);

// Seconds by part.
class PartSeconds {
 public:
  // `digits` of `seconds` went into making digits.
  void Add(StepPart part, double seconds, double digits = 0);
  double operator[](StepPart part) const { return seconds_[static_cast<std::size_t>(part)]; }
  double total() const;

 private:
  std::array<double, kStepParts> seconds_{};
};

}  // namespace assay::cli
