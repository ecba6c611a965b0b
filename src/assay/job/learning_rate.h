// Learning-rate schedules: a pure function of the step, computed with numerics/ alone (docs/NUMERICS.md, section 6), because the
// rate is an input of every step.
#pragma once

#include <cstdint>

namespace assay {

enum class ScheduleKind : std::uint8_t { kConstant = 0, kWarmupCosine = 1, kStep = 2 };

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  float lr = 1e-3f;
  std::int64_t warmup = 0;    // steps of linear warm-up, before any kind
  float min_lr = 0;           // warmup_cosine: the rate at and after `length`
  std::int64_t length = 0;    // warmup_cosine: the step at which min_lr is reached; job files default it to their `steps`
  std::int64_t every = 1000;  // step: the rate is multiplied by `gamma` every so many steps
  float gamma = 0.1f;
};

// `step` counts from 0.
float LearningRate(const Schedule& schedule, std::int64_t step);

}  // namespace assay
