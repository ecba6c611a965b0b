#include "assay/data/augment.h"

#include "assay/base/philox.h"

namespace assay {
namespace {

constexpr std::uint32_t kStream = 0x30000000u;
constexpr std::int64_t kPad = 4;

std::int64_t Shift(std::uint32_t draw) {
  return static_cast<std::int64_t>((std::uint64_t{draw} * (2 * kPad + 1)) >> 32) - kPad;
}

}  // namespace

Placement DrawPlacement(const DrawContext& context) {
  const PhiloxKey key{static_cast<std::uint32_t>(context.seed), static_cast<std::uint32_t>(context.seed >> 32)};
  const PhiloxBlock draw = Philox(key, {static_cast<std::uint32_t>(context.position), kStream, context.step, 0});
  return {Shift(draw[0]), Shift(draw[1]), (draw[2] >> 31) != 0};
}

}  // namespace assay
