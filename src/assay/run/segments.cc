#include "assay/run/segments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

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

bool IsSegment(const Segment& segment, std::int64_t steps, std::int64_t every) {
  const std::int64_t length = every == 0 ? steps : every;
  return segment.begin >= 0 && segment.begin < steps && segment.begin % length == 0 &&
         segment.end == std::min(segment.begin + length, steps);
}

std::int64_t SampleSize(std::int64_t n, double percent) {
  const auto share = static_cast<std::int64_t>(std::ceil(static_cast<double>(n) * percent / 100));
  return std::clamp<std::int64_t>(share, std::min<std::int64_t>(n, 1), n);
}

// A list of 0 .. n-1 of which the first `count` elements are swapped with later ones; only elements that have moved are kept.
std::vector<std::int64_t> DrawNumbers(const Digest& seed, std::int64_t n, std::int64_t count) {
  ASSAY_CHECK(count >= 0 && count <= n);
  Draws draws(seed);
  std::unordered_map<std::int64_t, std::int64_t> moved;
  const auto at = [&](std::int64_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? i : found->second;
  };
  std::vector<std::int64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto j = i + static_cast<std::int64_t>(draws.Below(static_cast<std::uint64_t>(n - i)));
    drawn.push_back(at(j));
    moved[j] = at(i);
  }
  std::ranges::sort(drawn);
  return drawn;
}

std::vector<std::int64_t> DrawSegments(const Digest& receipt_hash, ByteSpan nonce, std::int64_t n, std::int64_t count) {
  ByteWriter out;
  out.String("assay/sample/1");
  out.Raw(receipt_hash.bytes);
  out.Blob(nonce);
  return DrawNumbers(HashBytes(out.bytes()), n, count);
}

double ChanceOfCatching(std::int64_t n, std::int64_t count, std::int64_t bad) {
  if (bad > n - count) return bad > 0 ? 1.0 : 0.0;
  double missed = 1;
  for (std::int64_t i = 0; i < bad; ++i) missed *= static_cast<double>(n - count - i) / static_cast<double>(n - i);
  return 1 - missed;
}

}  // namespace assay
