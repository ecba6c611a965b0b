#include "assay/cli/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "assay/base/check.h"
#include "assay/base/philox.h"
#include "assay/numerics/functions.h"

namespace assay::cli {
namespace {

constexpr std::uint32_t kSampleStream = 0x40000000u;  // docs/NUMERICS.md, section 4

std::uint32_t Draw(std::uint64_t seed, std::uint32_t position) {
  const PhiloxKey key = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  return Philox(key, {position / 4, kSampleStream, 0, 0})[position % 4];
}

}  // namespace

std::int64_t NextToken(std::span<const float> logits, const SamplerOptions& options, std::uint32_t position) {
  ASSAY_CHECK(!logits.empty());
  const auto score = [&](std::size_t id) {
    return std::isnan(logits[id]) ? -std::numeric_limits<float>::infinity() : logits[id];
  };
  const auto likelier = [&](std::size_t a, std::size_t b) { return score(a) > score(b) || (score(a) == score(b) && a < b); };
  std::vector<std::size_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  const auto best = *std::min_element(ids.begin(), ids.end(), likelier);
  if (options.temperature <= 0) return static_cast<std::int64_t>(best);
  if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < ids.size()) {
    std::nth_element(ids.begin(), ids.begin() + options.top_k, ids.end(), likelier);
    ids.resize(static_cast<std::size_t>(options.top_k));
    std::sort(ids.begin(), ids.end());
  }
  std::vector<double> sums;  // running, in id order
  double total = 0;
  for (std::size_t id : ids) {
    total += static_cast<double>(numerics::Exp<numerics::Scalar>((score(id) - score(best)) / options.temperature));
    sums.push_back(total);
  }
  const double point = (static_cast<double>(Draw(options.seed, position)) + 0.5) / 4294967296.0 * total;
  const auto chosen = std::upper_bound(sums.begin(), sums.end(), point);
  return static_cast<std::int64_t>(chosen == sums.end() ? best : ids[static_cast<std::size_t>(chosen - sums.begin())]);
}

}  // namespace assay::cli
