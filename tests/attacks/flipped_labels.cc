#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

Result<Hooks> FlippedLabels(const Setting& setting) {
  const std::size_t field = LabelField(*setting.prepared.data.train);
  const std::int32_t count = LabelCount(setting.prepared);
  const SampleEdit flip = [field, count](const Sample& sample) {
    for (std::int32_t& label : Row<std::int32_t>(sample.batch[field], sample.row)) label = (label + 1) % count;
  };
  return Hooks{
      .data = [&setting, flip](std::unique_ptr<Dataset> honest) { return EditEveryFourth(setting, std::move(honest), flip); }};
}

}  // namespace assay::attacks
