// Derivations: for elements of large uses of ops, what they are declared to depend on, and one way down their trees.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "assay/base/philox.h"
#include "assay/merkle/sha256.h"
#include "assay/ops/table.h"
#include "assay/semantics/ref/derivation.h"
#include "conformance/derivation_cases.h"
#include "docs/json.h"
#include "docs/vectors.h"
#include "support/op_inputs.h"

namespace assay::docs {
namespace {

constexpr std::int64_t kWide = 100000;  // rows longer than this take a slow reader too long

std::string Number(auto value) { return fmt::format("{}", value); }

std::uint32_t Choice(std::uint32_t of, std::uint32_t stream, std::size_t i) {
  return Philox({2, 0}, {static_cast<std::uint32_t>(i), stream, 0, 0})[0] % of;
}

std::string Runs(const std::vector<InputRange>& runs) {
  std::vector<std::string> texts;
  for (const InputRange& r : runs) {
    if (r.length > 0 && r.repeat > 0) {
      texts.push_back(fmt::format("[{}, {}, {}, {}, {}]", r.input, r.begin, r.length, r.repeat == 1 ? 1 : r.stride, r.repeat));
    }
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string Leaves(const OpInstance& op, const std::vector<InputRange>& runs) {
  std::map<int, std::vector<std::int64_t>> leaves;
  for (const ref::NeededLeaf& leaf : ref::LeavesOf(op, runs)) leaves[leaf.input].push_back(leaf.leaf);
  std::vector<std::string> texts;
  for (const auto& [input, numbers] : leaves) texts.push_back(fmt::format("[{}, {}]", input, Integers(numbers)));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string Words(const std::vector<ref::Value>& words) {
  if (words.size() > 4) return Quoted(HashBytes({reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 4}).hex());
  std::string text;
  for (ref::Value word : words) text += fmt::format("{}{:08x}", text.empty() ? "" : " ", word);
  return Quoted(text);
}

// The way down: at each value its parts, then one of them.
std::string Walk(const OpInstance& op, const ref::Derivation& derivation, std::uint32_t stream,
                 std::span<const void* const> in) {
  ref::Path path;
  ref::Settled settled;
  std::vector<std::string> steps;
  while (const std::uint32_t count = derivation.Parts(path)) {
    std::vector<ref::Value> parts = ref::PartsOf(derivation, path, settled, in);
    steps.push_back(fmt::format("[{}, {}]", count, Words(parts)));
    const std::uint32_t next = Choice(count, stream, path.size());
    parts.resize(next);
    settled.push_back(std::move(parts));
    path.push_back(next);
  }
  const std::vector<InputRange> needs = derivation.Needs(path, settled);
  std::vector<std::int64_t> numbers(path.begin(), path.end());
  return Object({{"path", Integers(numbers)},
                 {"parts", fmt::format("[{}]", fmt::join(steps, ", "))},
                 {"leaves", Leaves(op, needs)},
                 {"word", Quoted(fmt::format("{:08x}", derivation.Compute(path, settled, {}, in)))}});
}

void Append(const testkit::DerivationCase& c, std::size_t number, std::vector<std::string>& entries) {
  const OpDef& def = Ops()[c.op];
  const OpInstance op = testkit::CaseInstance(def, c.c);
  const std::vector<Tensor> inputs = testkit::CaseInputs(def, c.c);
  std::vector<const void*> in;
  std::vector<std::string> ins;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    in.push_back(inputs[k].data());
    // As long as all inputs are: not even small ones are written down.
    static constexpr std::string_view kFills[] = {"normal", "positive", "special", "runs", "index", "target", "rng", "step"};
    ins.push_back(Object({{"type", Type(inputs[k].type())},
                          {"draw", Quoted(kFills[static_cast<std::size_t>(c.c.fill[k])])},
                          {"stream", Number(testkit::StreamOf(def, c.c, k))},
                          {"limit", Number(c.c.index_limit)}}));
  }
  for (std::size_t output = 0; output < op.out.size(); ++output) {
    const auto stream = static_cast<std::uint32_t>(16 * number + output);
    const auto elements = static_cast<std::uint32_t>(std::min<std::int64_t>(op.out[output].elements(), 0xffffffff));
    const std::int64_t element = Choice(elements, stream, 1000);
    const auto derivation = ref::Derive(op, static_cast<int>(output), element);
    std::vector<std::pair<std::string_view, std::string>> fields = {
        {"op", Quoted(def.name)},
        {"attributes", Attributes(c.c.attrs)},
        {"in",
         ins.size() > 8 ? fmt::format("[{}], \"inputs\": {}", ins[0], ins.size()) : fmt::format("[{}]", fmt::join(ins, ", "))},
        {"output", Number(output)},
        {"element", Number(element)},
        {"needs", ins.size() > 8 ? "null" : Runs(def.dependencies(op, static_cast<int>(output), {element, element + 1}))},
        {"derivation", derivation ? Walk(op, *derivation, stream, in) : "null"}};
    entries.push_back(Object(fields));
  }
}

}  // namespace

std::string DerivationVectors() {
  std::vector<std::string> entries;
  const std::vector<testkit::DerivationCase> cases = testkit::LargerCases();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Shape& first = cases[i].c.in[0].shape;
    const bool sum = cases[i].op == op::row_sum;
    if (!sum && cases[i].op != op::rope && first.rank() > 0 && first.Back(0) > kWide) continue;
    Append(cases[i], i, entries);
  }
  return Lines(entries) + "\n";
}

}  // namespace assay::docs
