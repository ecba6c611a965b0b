#include "assay/run/segments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/base/check.h"

namespace assay {
namespace {

// A stream of numbers that follows from its seed alone.
class Draws {
 public:
  explicit Draws(const Digest& seed) : seed_(seed) {}
  // Uniform below `bound`: numbers from the incomplete last stretch are thrown away.
  std::uint64_t Below(std::uint64_t bound) {
    const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / bound * bound;
    for (;;) {
      const std::uint64_t number = Next();
      if (number < limit) return number % bound;
    }
  }

 private:
  std::uint64_t Next() {
    ByteWriter out;
    out.Raw(seed_.bytes);
    out.U64(counter_++);
    const Digest digest = HashBytes(out.bytes());
    std::uint64_t number = 0;
    for (int i = 7; i >= 0; --i) number = number << 8 | digest.bytes[static_cast<std::size_t>(i)];
    return number;
  }
  Digest seed_;
  std::uint64_t counter_ = 0;
};

}  // namespace

std::vector<Segment> SegmentsOf(std::int64_t steps, std::int64_t every) {
  std::vector<Segment> segments;
  const std::int64_t length = every == 0 ? steps : every;
  for (std::int64_t begin = 0; begin < steps; begin += length) segments.push_back({begin, std::min(begin + length, steps)});
  return segments;
}

std::int64_t SampleSize(std::int64_t n, double percent) {
  const auto share = static_cast<std::int64_t>(std::ceil(static_cast<double>(n) * percent / 100));
  return std::clamp<std::int64_t>(share, std::min<std::int64_t>(n, 1), n);
}

std::vector<std::int64_t> DrawSegments(const Digest& receipt_hash, ByteSpan nonce, std::int64_t n, std::int64_t count) {
  ASSAY_CHECK(count >= 0 && count <= n);
  ByteWriter out;
  out.String("assay/sample/1");
  out.Raw(receipt_hash.bytes);
  out.Blob(nonce);
  Draws draws(HashBytes(out.bytes()));
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto j = i + static_cast<std::int64_t>(draws.Below(static_cast<std::uint64_t>(n - i)));
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(j)]);
  }
  all.resize(static_cast<std::size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

double ChanceOfCatching(std::int64_t n, std::int64_t count, std::int64_t bad) {
  if (bad > n - count) return bad > 0 ? 1.0 : 0.0;
  double missed = 1;
  for (std::int64_t i = 0; i < bad; ++i) missed *= static_cast<double>(n - count - i) / static_cast<double>(n - i);
  return 1 - missed;
}

}  // namespace assay
