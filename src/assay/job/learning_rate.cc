#include "assay/job/learning_rate.h"

#include "assay/base/check.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/scalar.h"

namespace assay {
namespace {

constexpr float kPi = 3.14159265f;

// The division is in double: a binary32 step would be inexact above 2^24.
float Ratio(std::int64_t a, std::int64_t b) { return static_cast<float>(static_cast<double>(a) / static_cast<double>(b)); }

}  // namespace

float LearningRate(const Schedule& s, std::int64_t step) {
  ASSAY_CHECK(step >= 0);
  if (step < s.warmup) return s.lr * Ratio(step + 1, s.warmup);
  switch (s.kind) {
    case ScheduleKind::kConstant: return s.lr;
    case ScheduleKind::kWarmupCosine: {
      if (step >= s.length) return s.min_lr;
      const float angle = kPi * Ratio(step - s.warmup, s.length - s.warmup);
      const float share = 0.5f * (1.0f + numerics::Cos<numerics::Scalar>(angle));
      return numerics::Scalar::Fma(share, s.lr - s.min_lr, s.min_lr);
    }
    case ScheduleKind::kStep: return s.lr * numerics::Pow<numerics::Scalar>(s.gamma, static_cast<float>(step / s.every));
  }
  CheckFailed("known schedule", __FILE__, __LINE__);
}

}  // namespace assay
