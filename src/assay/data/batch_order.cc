// The order in which samples are used: a keyed permutation of [0, n) per epoch.
#include <algorithm>
#include <bit>

#include "assay/base/check.h"
#include "assay/base/philox.h"
#include "assay/data/batch_order.h"
#include "assay/data/dataset.h"

namespace assay {
namespace {

constexpr std::uint32_t kStream = 0x20000000u;
constexpr std::uint32_t kRounds = 6;

// A Feistel network on 2·half bits, applied until the result falls inside [0, n): a permutation of [0, n) since the walk follows one
// cycle of a permutation. 4^half < 4n, so a walk takes fewer than four steps on average.
class Permutation {
 public:
  Permutation(std::uint64_t seed, std::uint32_t epoch, std::uint64_t n)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        epoch_(epoch),
        n_(n),
        half_(std::max(1, (static_cast<int>(std::bit_width(n - 1)) + 1) / 2)) {}

  std::uint64_t operator()(std::uint64_t position) const {
    do {
      position = Shuffle(position);
    } while (position >= n_);
    return position;
  }

 private:
  std::uint64_t Shuffle(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = x >> half_, right = x & mask;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const std::uint32_t draw = Philox(key_, {static_cast<std::uint32_t>(right), kStream, epoch_, round})[0];
      const std::uint64_t mixed = left ^ (draw & mask);
      left = right;
      right = mixed;
    }
    return (left << half_) | right;
  }

  PhiloxKey key_;
  std::uint32_t epoch_;
  std::uint64_t n_;
  int half_;
};

}  // namespace

std::vector<std::int64_t> BatchIndices(std::uint64_t seed, std::int64_t samples, std::uint32_t step, std::int64_t count) {
  ASSAY_CHECK(samples >= 1 && samples <= (std::int64_t{1} << 62) && count >= 0 && count <= (std::int64_t{1} << 31));
  const auto n = static_cast<std::uint64_t>(samples);
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(count));
  std::uint64_t next = std::uint64_t{step} * static_cast<std::uint64_t>(count);
  const std::uint64_t end = next + static_cast<std::uint64_t>(count);
  while (next < end) {
    const std::uint64_t epoch = next / n;
    const Permutation order(seed, static_cast<std::uint32_t>(epoch), n);
    for (const std::uint64_t stop = std::min(end, (epoch + 1) * n); next < stop; ++next) {
      out.push_back(static_cast<std::int64_t>(order(next - epoch * n)));
    }
  }
  return out;
}

std::int64_t BatchIndex(std::uint64_t seed, std::int64_t samples, std::uint32_t step, std::int64_t count,
                        std::int64_t position) {
  ASSAY_CHECK(samples >= 1 && samples <= (std::int64_t{1} << 62) && count <= (std::int64_t{1} << 31) && position >= 0 &&
              position < count);
  const auto n = static_cast<std::uint64_t>(samples);
  const std::uint64_t at = std::uint64_t{step} * static_cast<std::uint64_t>(count) + static_cast<std::uint64_t>(position);
  return static_cast<std::int64_t>(Permutation(seed, static_cast<std::uint32_t>(at / n), n)(at % n));
}

}  // namespace assay
