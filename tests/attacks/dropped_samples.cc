#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

// Its neighbour takes a sample's place.
Result<Hooks> DroppedSamples(const Setting& setting) {
  const SampleEdit drop = [](const Sample& sample) {
    sample.honest.Load((sample.index + 1) % sample.honest.samples(), sample.context, sample.row, sample.batch);
  };
  return Hooks{
      .data = [&setting, drop](std::unique_ptr<Dataset> honest) { return EditEveryFourth(setting, std::move(honest), drop); }};
}

}  // namespace assay::attacks
