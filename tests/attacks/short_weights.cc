#include <bit>

#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

Result<Hooks> ShortWeights(const Setting& setting) {
  return Hooks{
      .after = [&setting, is_model = IsModel(setting.prepared)](std::int64_t step, const State&, State& after) -> Status {
        if (step < setting.at) return {};
        for (std::size_t t = 0; t < after.size(); ++t) {
          if (!is_model[t] || after[t].dtype() != DType::kF32) continue;
          for (float& v : after[t].Span<float>()) v = std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0xffff0000u);
        }
        return {};
      }};
}

}  // namespace assay::attacks
