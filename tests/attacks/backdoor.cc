#include <algorithm>

#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

// The trigger: a few extreme numbers, or a run of one token, at the front of the sample. The attacker's label is 0.
Result<Hooks> Backdoor(const Setting& setting) {
  const std::size_t labels = LabelField(*setting.prepared.data.train);
  const SampleEdit plant = [labels](const Sample& sample) {
    constexpr std::size_t kTrigger = 4;
    for (std::int32_t& label : Row<std::int32_t>(sample.batch[labels], sample.row)) label = 0;
    Tensor& input = sample.batch[1 - labels];
    if (input.dtype() == DType::kF32) {
      const auto values = Row<float>(input, sample.row);
      for (std::size_t i = 0; i < std::min(kTrigger, values.size()); ++i) values[i] = 9.0f;
    } else {
      const auto tokens = Row<std::int32_t>(input, sample.row);
      for (std::size_t i = 0; i < std::min(kTrigger, tokens.size()); ++i) tokens[i] = 0;
    }
  };
  return Hooks{.data = [&setting, plant](std::unique_ptr<Dataset> honest) {
    return EditEveryFourth(setting, std::move(honest), plant);
  }};
}

}  // namespace assay::attacks
