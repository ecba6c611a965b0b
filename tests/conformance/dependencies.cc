// A referee recomputes a block of an output from the declared input ranges alone. So: everything outside of them is replaced by garbage,
// and the reference must give the same bytes and write nothing outside the block.
#include <algorithm>
#include <bit>
#include <cstring>

#include "assay/semantics/ref/ref.h"
#include "conformance/case_run.h"
#include "support/guarded.h"
#include "support/op_inputs.h"

namespace assay::testkit {
namespace {

constexpr std::uint32_t kGarbageStream = 0x6a7ba6e;

// Elements whose value may matter, per input.
using Mask = std::vector<std::vector<bool>>;

// Marks what the ranges name; an error if they leave the input.
std::string MarkRanges(const CaseRun& run, std::span<const InputRange> ranges, Mask& mask) {
  for (const TensorType& type : run.op.in) mask.emplace_back(static_cast<std::size_t>(type.elements()), false);
  for (const InputRange& range : ranges) {
    if (range.input < 0 || static_cast<std::size_t>(range.input) >= mask.size()) return fmt::format("no input {}", range.input);
    std::vector<bool>& elements = mask[static_cast<std::size_t>(range.input)];
    for (std::int64_t r = 0; r < range.repeat && range.length > 0; ++r) {
      const std::int64_t begin = range.begin + r * range.stride;
      if (begin < 0 || range.length < 0 || begin + range.length > static_cast<std::int64_t>(elements.size())) {
        return fmt::format("input {}: range [{}, {}) lies outside of its {} elements", range.input, begin, begin + range.length,
                           elements.size());
      }
      std::fill_n(elements.begin() + begin, range.length, true);
    }
  }
  return {};
}

template <class T>
void Replace(Tensor& tensor, const std::vector<bool>& keep, const auto& garbage) {
  const auto span = tensor.Span<T>();
  for (std::size_t i = 0; i < span.size(); ++i) {
    if (!keep[i]) span[i] = static_cast<T>(garbage(static_cast<std::uint32_t>(i)));
  }
}

// Floats become NaN or something huge; indices become other valid indices, because a kernel may use them before it knows better.
void Spoil(const CaseRun& run, std::size_t k, Tensor& tensor, const std::vector<bool>& keep) {
  const auto number = [&](std::uint32_t i) {
    const std::uint32_t draw = Draw(kGarbageStream, i);
    return run.c.index_limit > 0 ? draw % static_cast<std::uint32_t>(run.c.index_limit) : draw % 64;
  };
  switch (run.op.in[k].dtype) {
    case DType::kF32:
      Replace<float>(tensor, keep, [](std::uint32_t i) { return i % 2 == 0 ? std::bit_cast<float>(0x7fc12345u) : 3e38f; });
      break;
    case DType::kI32: Replace<std::int32_t>(tensor, keep, number); break;
    case DType::kU32: Replace<std::uint32_t>(tensor, keep, number); break;
    case DType::kI64: Replace<std::int64_t>(tensor, keep, number); break;
    default: break;
  }
}

std::string CheckRange(const CaseRun& run, std::size_t output, Range range) {
  const TensorType& type = run.op.out[output];
  const std::vector<InputRange> ranges = run.def.dependencies(run.op, static_cast<int>(output), range);
  Mask mask;
  if (std::string error = MarkRanges(run, ranges, mask); !error.empty()) return error;
  std::vector<Tensor> inputs;
  std::vector<const void*> in;
  for (std::size_t k = 0; k < run.inputs.size(); ++k) {
    inputs.push_back(run.inputs[k].Clone());
    Spoil(run, k, inputs.back(), mask[k]);
  }
  for (const Tensor& t : inputs) in.push_back(t.data());
  GuardedBuffer buffer(type.bytes());
  std::vector<void*> out(run.op.out.size(), nullptr);
  out[output] = buffer.data();
  ref::Compute(run.def.index, {&run.op, in, out}, static_cast<int>(output), range);
  const std::size_t begin = static_cast<std::size_t>(range.begin) * SizeOf(type.dtype);
  const std::size_t end = static_cast<std::size_t>(range.end) * SizeOf(type.dtype);
  if (!buffer.UntouchedOutside(begin, end)) return "wrote outside of the range";
  const Bytes content = buffer.Content();
  return DescribeDifference(type, output, ByteSpan(content).subspan(begin, end - begin),
                            run.expected[output].bytes().subspan(begin, end - begin));
}

std::vector<Range> RangesOf(std::int64_t n) {
  if (n == 0) return {{0, 0}};
  std::vector<Range> ranges = {
      {0, n}, {0, 1}, {n - 1, n}, {n / 2, n / 2}, {0, std::min<std::int64_t>(n, 1024)}, {n / 1024 * 1024, n}};
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::int64_t begin = Draw(kGarbageStream + 1, 2 * i) % n;
    const std::int64_t length = 1 + Draw(kGarbageStream + 1, 2 * i + 1) % 80;
    ranges.push_back({begin, std::min(n, begin + length)});
  }
  return ranges;
}

}  // namespace

std::string CheckDependencies(const CaseRun& run, std::int64_t& comparisons) {
  for (std::size_t output = 0; output < run.op.out.size(); ++output) {
    for (const Range range : RangesOf(run.op.out[output].elements())) {
      ++comparisons;
      const std::string error = CheckRange(run, output, range);
      if (!error.empty()) return fmt::format("output {}, elements [{}, {}): {}", output, range.begin, range.end, error);
    }
  }
  return {};
}

}  // namespace assay::testkit
