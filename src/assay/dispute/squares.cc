#include "assay/dispute/squares.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "assay/ops/table.h"

namespace assay::dispute {
namespace {

using numerics::DoubleDouble;

constexpr std::int64_t kRun = 4096, kFan = 512, kDirect = 32 * 1024;

}  // namespace

bool SquaresTree::Applies(const OpInstance& op) { return op.def->index == op::sum_squares && op.in[0].elements() > kDirect; }

// The least run, or run of runs, of which at most kFan make up the range.
std::int64_t SquaresTree::PartSize(Range range) const {
  std::int64_t size = kRun;
  while (size * kFan < range.size()) size *= kFan;
  return size;
}

std::size_t SquaresTree::Parts(Range range) const {
  if (range.size() <= kRun) return 0;
  const std::int64_t size = PartSize(range);
  return static_cast<std::size_t>((range.size() + size - 1) / size);
}

Result<Range> SquaresTree::RangeOf(const ref::Path& path) const {
  Range range{0, elements_};
  for (const std::uint32_t part : path) {
    if (part >= Parts(range)) return Err("a sum of squares has no such part");
    const std::int64_t size = PartSize(range), begin = range.begin + std::int64_t{part} * size;
    range = {begin, std::min(begin + size, range.end)};
  }
  return range;
}

std::vector<ref::Value> SquaresTree::Words(const DoubleDouble& value) {
  const bool number = value.hi() == value.hi();
  const std::uint64_t parts[] = {std::bit_cast<std::uint64_t>(number ? value.hi() : std::numeric_limits<double>::quiet_NaN()),
                                 std::bit_cast<std::uint64_t>(number ? value.lo() : 0.0)};
  std::vector<ref::Value> words;
  for (const std::uint64_t part : parts) {
    words.push_back(static_cast<ref::Value>(part));
    words.push_back(static_cast<ref::Value>(part >> 32));
  }
  return words;
}

DoubleDouble SquaresTree::OfRun(Range range, const float* x) {
  DoubleDouble sum;
  for (std::int64_t i = range.begin; i < range.end; ++i) sum += DoubleDouble(double{x[i]} * double{x[i]});
  return sum;
}

DoubleDouble SquaresTree::Join(std::span<const ref::Value> parts) {
  DoubleDouble sum;
  const auto read = [&](std::size_t i) {
    return std::bit_cast<double>(std::uint64_t{parts[i]} | std::uint64_t{parts[i + 1]} << 32);
  };
  for (std::size_t i = 0; i + kWords <= parts.size(); i += kWords) sum += DoubleDouble(read(i), read(i + 2));
  return sum;
}

DoubleDouble SquaresTree::ValueOf(Range range, const float* x) const {
  return Parts(range) == 0 ? OfRun(range, x) : Join(PartsOf(range, x));
}

std::vector<ref::Value> SquaresTree::PartsOf(Range range, const float* x) const {
  std::vector<ref::Value> words;
  if (Parts(range) == 0) return words;
  const std::int64_t size = PartSize(range);
  for (std::int64_t begin = range.begin; begin < range.end; begin += size) {
    const std::vector<ref::Value> value = Words(ValueOf({begin, std::min(begin + size, range.end)}, x));
    words.insert(words.end(), value.begin(), value.end());
  }
  return words;
}

}  // namespace assay::dispute
