#include "assay/audit/state_difference.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"
#include "assay/model/import.h"

namespace assay {
namespace {

constexpr std::size_t kMaxNames = 3;

std::string NamesOf(const std::vector<TensorDifference>& differences, const Program& program) {
  std::vector<std::string> names;
  for (const TensorDifference& difference : differences) {
    if (names.size() == kMaxNames) {
      const std::size_t others = differences.size() - kMaxNames;
      names.push_back(fmt::format("{} other{}", others, others == 1 ? "" : "s"));
      break;
    }
    names.push_back(program.state[difference.tensor].name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string ElementOf(const Tensor& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  switch (tensor.type().dtype) {
    case DType::kF32: return fmt::format("{}", tensor.Span<float>()[at]);
    case DType::kI64: return fmt::format("{}", tensor.Span<std::int64_t>()[at]);
    default: return "another value";
  }
}

}  // namespace

std::vector<TensorDifference> CompareStates(std::span<const Tensor> claimed, std::span<const Tensor> right,
                                            std::span<const Tensor> before) {
  ASSAY_CHECK(claimed.size() == right.size() && (before.empty() || before.size() == right.size()));
  std::vector<TensorDifference> differences;
  for (std::size_t t = 0; t < right.size(); ++t) {
    const ByteSpan a = claimed[t].bytes(), b = right[t].bytes();
    if (std::ranges::equal(a, b)) continue;
    const std::size_t width = SizeOf(right[t].type().dtype);
    TensorDifference difference{.tensor = t, .first = -1};
    for (std::size_t i = 0; i < b.size(); i += width) {
      if (std::equal(a.begin() + static_cast<std::ptrdiff_t>(i), a.begin() + static_cast<std::ptrdiff_t>(i + width),
                     b.begin() + static_cast<std::ptrdiff_t>(i))) {
        continue;
      }
      if (difference.first < 0) {
        difference.first = static_cast<std::int64_t>(i / width);
        difference.leaf = static_cast<std::int64_t>(i / kLeafBytes);
      }
      ++difference.elements;
    }
    difference.unchanged = !before.empty() && std::ranges::equal(a, before[t].bytes());
    differences.push_back(difference);
  }
  return differences;
}

std::string InWords(const std::vector<TensorDifference>& differences, const PreparedJob& prepared,
                    std::span<const Tensor> claimed, std::span<const Tensor> right) {
  ASSAY_CHECK(!differences.empty());
  const Program& program = prepared.program;
  std::set<std::string> model;
  for (const StateSpec& spec : ModelState(prepared.job.model)) model.insert(spec.name);
  std::vector<TensorDifference> unchanged, weights;
  for (const TensorDifference& difference : differences) {
    if (difference.unchanged) unchanged.push_back(difference);
    if (model.contains(program.state[difference.tensor].name)) weights.push_back(difference);
  }
  if (unchanged.size() == differences.size()) {
    return fmt::format("left {} as {}", NamesOf(unchanged, program), unchanged.size() == 1 ? "it was" : "they were");
  }
  const std::vector<TensorDifference>& shown = weights.empty() ? differences : weights;
  const TensorDifference& first = shown.front();
  const std::string element =
      fmt::format("first differing result: element {} of {} is {}, should be {}", first.first, program.state[first.tensor].name,
                  ElementOf(claimed[first.tensor], first.first), ElementOf(right[first.tensor], first.first));
  if (weights.empty()) {
    return fmt::format("gives other optimizer state but the right weights: {}; {}", NamesOf(differences, program), element);
  }
  return fmt::format("gives other values in {} of {} state tensors: {}; {}", differences.size(), right.size(),
                     NamesOf(shown, program), element);
}

std::optional<WrittenDifference> FirstWritten(const std::vector<TensorDifference>& differences, const Program& program) {
  const StepNodes nodes(program);
  std::optional<WrittenDifference> first;
  for (const TensorDifference& difference : differences) {
    const auto writer = nodes.WriterOf(program.state[difference.tensor].name);
    if (!writer) continue;
    if (!first || std::pair(writer->node, writer->output) < std::pair(first->writer.node, first->writer.output)) {
      first = WrittenDifference{difference, *writer};
    }
  }
  return first;
}

}  // namespace assay
