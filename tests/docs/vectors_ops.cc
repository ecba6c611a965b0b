// Ops: a few of each op's own test cases, small ones with their bits, larger ones drawn, and a small one with awkward values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "assay/merkle/sha256.h"
#include "assay/ops/digits.h"
#include "assay/ops/table.h"
#include "assay/semantics/ref/ref.h"
#include "docs/json.h"
#include "docs/op_cases.h"
#include "docs/vectors.h"
#include "support/op_inputs.h"

namespace assay::docs {
namespace {

constexpr std::int64_t kSmall = 40;     // elements of a tensor that is written down
constexpr std::int64_t kLarge = 12000;  // of all tensors of a case together: what a slow reader can compute in a moment
constexpr double kCostly = 2e6;         // operations of a case
constexpr std::size_t kSmallCases = 3;  // of an op
constexpr std::size_t kLargeCases = 4;

std::int64_t ElementsOf(const OpDef& def, const OpCase& c) {
  std::int64_t n = 0;
  for (const TensorType& type : c.in) n += type.elements();
  for (const TensorType& type : testkit::CaseInstance(def, c).out) n += type.elements();
  return n;
}

std::int64_t Widest(const OpDef& def, const OpCase& c) {
  std::int64_t n = 0;
  for (const TensorType& type : c.in) n = std::max(n, type.elements());
  for (const TensorType& type : testkit::CaseInstance(def, c).out) n = std::max(n, type.elements());
  return n;
}

std::string_view FillName(Fill fill) {
  switch (fill) {
    case Fill::kNormal: return "normal";
    case Fill::kPositive: return "positive";
    case Fill::kSpecial: return "special";
    case Fill::kRuns: return "runs";
    case Fill::kIndex: return "index";
    case Fill::kTarget: return "target";
    case Fill::kRng: return "rng";
    case Fill::kStep: return "step";
  }
  CheckFailed("known fill", __FILE__, __LINE__);
}

std::string Input(const OpDef& def, const OpCase& c, std::size_t k, const Tensor& tensor) {
  if (tensor.elements() <= kSmall) return Object({{"type", Type(tensor.type())}, {"bits", Elements(tensor)}});
  const std::string stream = fmt::format("{}", testkit::StreamOf(def, c, k));
  if (c.fill[k] == Fill::kIndex || c.fill[k] == Fill::kTarget) {
    return Object({{"type", Type(tensor.type())},
                   {"draw", Quoted(FillName(c.fill[k]))},
                   {"stream", stream},
                   {"limit", fmt::format("{}", c.index_limit)}});
  }
  return Object({{"type", Type(tensor.type())}, {"draw", Quoted(FillName(c.fill[k]))}, {"stream", stream}});
}

std::string Output(const Tensor& tensor) {
  if (tensor.elements() <= kSmall) return Object({{"type", Type(tensor.type())}, {"bits", Elements(tensor)}});
  return Object({{"type", Type(tensor.type())}, {"sha256", Quoted(HashBytes(tensor.bytes()).hex())}});
}

std::string Entry(const OpDef& def, const OpCase& c) {
  const OpInstance op = testkit::CaseInstance(def, c);
  const std::vector<Tensor> inputs = testkit::CaseInputs(def, c);
  std::vector<Tensor> outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<std::string> ins, outs;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    in.push_back(inputs[k].data());
    ins.push_back(Input(def, c, k, inputs[k]));
  }
  for (const TensorType& type : op.out) outputs.emplace_back(type);
  for (Tensor& tensor : outputs) out.push_back(tensor.data());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    ref::Compute(def.index, {&op, in, out}, static_cast<int>(k), {0, op.out[k].elements()});
    outs.push_back(Output(outputs[k]));
  }
  return Object({{"op", Quoted(def.name)},
                 {"case", Quoted(c.name)},
                 {"attributes", Attributes(c.attrs)},
                 {"in", fmt::format("[{}]", fmt::join(ins, ", "))},
                 {"out", fmt::format("[{}]", fmt::join(outs, ", "))}});
}

TensorType F32(Shape shape) { return {DType::kF32, shape}; }

// Cases beside the ops' own: images small enough to be written down, and reductions that are as long as they have to be to show their order.
std::vector<OpCase> MoreCases(std::string_view op) {
  const auto floats = [](std::vector<TensorType> in, Attrs attrs, const char* name) {
    return OpCase{.name = name, .attrs = std::move(attrs), .in = in, .fill = std::vector(in.size(), Fill::kNormal)};
  };
  const std::int64_t one = 1, none = 0;
  const TensorType rng{DType::kU32, {4}};
  if (op == "row_sum" || op == "row_max") return {floats({F32({1, 1100})}, {one}, "long")};
  if (op == "col_sum") return {floats({F32({4200, 1})}, {one}, "long")};
  if (op == "sum_squares") return {floats({F32({1100})}, {}, "long")};
  if (op == "matmul") return {floats({F32({1, 600}), F32({600, 2})}, {none, none}, "long")};
  if (op == "layernorm") return {floats({F32({1, 1100}), F32({1100}), F32({1100})}, {1e-5f}, "long")};
  if (op == "batchnorm_train") return {floats({F32({130, 2}), F32({2}), F32({2})}, {1e-5f}, "long")};
  if (op == "conv2d") {
    return {floats({F32({1, 3, 4, 2}), F32({2, 2, 3, 1})}, {std::int64_t{2}, one, std::int64_t{2}}, "tiny"),
            floats({F32({1, 2, 3, 70}), F32({2, 2, 2, 70})}, {one, one, one}, "long")};
  }
  if (op == "conv2d_grad_x") {
    const std::int64_t two = 2, three = 3, four = 4;
    return {floats({F32({1, 2, 2, 2}), F32({2, 2, 3, 1})}, {two, one, two, three, four}, "tiny"),
            floats({F32({1, 3, 3, 70}), F32({70, 2, 2, 2})}, {one, one, one, two, two}, "long")};
  }
  if (op == "conv2d_grad_w") {
    const std::int64_t two = 2, three = 3;
    return {floats({F32({1, 3, 4, 2}), F32({1, 2, 2, 2})}, {two, one, two, two, three}, "tiny"),
            floats({F32({2, 12, 12, 1}), F32({2, 12, 12, 2})}, {one, one, one, three, three}, "long")};
  }
  if (op == "max_pool2d" || op == "avg_pool2d") {
    return {floats({F32({1, 4, 5, 2})}, {std::int64_t{3}, std::int64_t{2}, std::int64_t{2}, one}, "tiny")};
  }
  if (op == "max_pool2d_grad" || op == "avg_pool2d_grad") {
    const Attrs attrs{std::int64_t{3}, std::int64_t{2}, std::int64_t{2}, one, std::int64_t{4}, std::int64_t{5}};
    OpCase c = floats({F32({1, 2, 3, 2})}, attrs, "tiny");
    if (op == "max_pool2d_grad") {
      c.in.push_back({DType::kI32, {1, 2, 3, 2}});
      c.fill.push_back(Fill::kIndex);
      c.index_limit = 20;
    }
    return {c};
  }
  const TensorType q = F32({1, 2, 2, 3}), k = F32({1, 130, 1, 3});
  const Attrs attrs{one, 0.5f, 0.25f, std::int64_t{6}};
  OpCase c{
      .name = "long", .attrs = attrs, .in = {q, k, k, rng}, .fill = {Fill::kNormal, Fill::kNormal, Fill::kNormal, Fill::kRng}};
  if (op == "attention") return {c};
  c.in = {q, k, k, q, F32({1, 2, 2}), q, rng};
  c.fill = {Fill::kNormal, Fill::kNormal, Fill::kNormal, Fill::kNormal, Fill::kPositive, Fill::kNormal, Fill::kRng};
  if (op == "attention_grad") {
    // Many queries of several heads to one head of keys.
    OpCase grouped = c;
    const TensorType many = F32({1, 130, 8, 1}), keys = F32({1, 130, 1, 1});
    grouped.name = "grouped";
    grouped.attrs = {one, 0.5f, 0.0f, std::int64_t{6}};
    grouped.in = {many, keys, keys, many, F32({1, 8, 130}), many, rng};
    return {c, grouped};
  }
  return {};
}

// The first small case that is not empty, with awkward values where it has normal ones.
std::vector<OpCase> AwkwardCase(const OpDef& def, const std::vector<OpCase>& cases) {
  for (OpCase c : cases) {
    if (c.in.empty() || Widest(def, c) > kSmall || Widest(def, c) < 6) continue;
    c.name = "awkward";
    for (std::size_t k = 0; k < c.in.size(); ++k) {
      const bool counted = c.in[k].shape.rank() == 0 && c.in.size() > 1;  // a learning rate or a step
      if (c.in[k].dtype == DType::kF32 && !counted) c.fill[k] = Fill::kSpecial;
    }
    return {c};
  }
  return {};
}

// Keeps `count` cases, and up to twice as many while each has other attributes than those before it.
void DistinctFirst(std::vector<OpCase>& cases, std::size_t count) {
  std::vector<OpCase> first, rest;
  for (OpCase& c : cases) {
    const bool known = std::ranges::any_of(first, [&](const OpCase& other) { return other.attrs == c.attrs; });
    (known ? rest : first).push_back(std::move(c));
  }
  first.resize(std::min(2 * count, first.size()));
  for (OpCase& c : rest) {
    if (first.size() < count) first.push_back(std::move(c));
  }
  cases = std::move(first);
}

}  // namespace

std::vector<OpCase> CasesOfVectors(const OpDef& def) {
  std::vector<OpCase> chosen = MoreCases(def.name), small, large;
  std::vector<OpCase> all = chosen;
  for (const OpCase& c : ops::CasesWithoutDigits(def)) {
    all.push_back(c);
    if (Widest(def, c) <= kSmall) {
      small.push_back(c);
    } else if (ElementsOf(def, c) <= kLarge && def.cost(testkit::CaseInstance(def, c)).flops <= kCostly) {
      large.push_back(c);
    }
  }
  DistinctFirst(small, kSmallCases);
  chosen.insert(chosen.end(), small.begin(), small.end());
  for (OpCase& c : AwkwardCase(def, all)) chosen.push_back(std::move(c));
  // From the largest to the smallest in equal steps.
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < large.size(); ++i) order.emplace_back(-ElementsOf(def, large[i]), i);
  std::ranges::sort(order);
  const std::size_t most = std::min<std::size_t>(def.elementwise ? 1 : kLargeCases, large.size());
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(large[order[i * large.size() / most].second]);
  return chosen;
}

namespace {

// Operands of which some blocks are made of zeros, denormals, huge or tiny values, or are not finite; as many digits each way.
OpCase InRuns(std::string_view op) {
  const auto floats = [](std::vector<TensorType> in, Attrs attrs) {
    return OpCase{.name = "runs", .attrs = std::move(attrs), .in = in, .fill = std::vector(in.size(), Fill::kRuns)};
  };
  const std::int64_t one = 1, none = 0, two = 2;
  if (op == "matmul") return floats({F32({9, 300}), F32({8, 300})}, {none, one});
  if (op == "conv2d") return floats({F32({2, 5, 4, 40}), F32({7, 2, 2, 40})}, {two, one, one});
  if (op == "conv2d_grad_x")
    return floats({F32({2, 3, 3, 40}), F32({40, 2, 2, 7})}, {two, one, one, std::int64_t{5}, std::int64_t{4}});
  if (op == "conv2d_grad_w") return floats({F32({3, 17, 17, 3}), F32({3, 17, 17, 2})}, {one, none, one, one, one});
  const TensorType q = F32({1, 70, 2, 9}), k = F32({1, 70, 1, 9}), rng{DType::kU32, {4}};
  OpCase c = floats({q, k, k}, {one, 0.25f, 0.2f, std::int64_t{6}});
  if (op == "attention_grad") {
    for (const TensorType& type : {q, F32({1, 2, 70}), q}) c.in.push_back(type);
    c.fill = {Fill::kRuns, Fill::kRuns, Fill::kRuns, Fill::kNormal, Fill::kPositive, Fill::kRuns};
  }
  c.in.push_back(rng);
  c.fill.push_back(Fill::kRng);
  return c;
}

}  // namespace

std::vector<OpCase> DigitCasesOfVectors(const OpDef& def) {
  std::vector<OpCase> cases;
  for (const int digits : {2, 3}) {
    std::vector<OpCase> small, large;
    for (const OpCase& c : def.cases()) {
      if (ops::DigitsOf(def, c.attrs) != digits || !std::ranges::none_of(c.fill, [](Fill f) { return f == Fill::kRuns; }))
        continue;
      if (Widest(def, c) <= kSmall) {
        small.push_back(c);
      } else if (ElementsOf(def, c) <= kLarge && def.cost(testkit::CaseInstance(def, c)).flops <= kCostly) {
        large.push_back(c);
      }
    }
    DistinctFirst(small, 1);
    cases.insert(cases.end(), small.begin(), small.end());
    if (!large.empty()) cases.push_back(large[large.size() / 2]);
    if (!small.empty() || !large.empty()) {
      OpCase runs = InRuns(def.name);
      runs.attrs = ops::WithDigits(runs.attrs, digits);
      cases.push_back(std::move(runs));
    }
  }
  return cases;
}

std::string OpVectors() {
  std::vector<std::string> entries;
  for (OpIndex i = 0; i < op::kCount; ++i) {
    for (const OpCase& c : CasesOfVectors(Ops()[i])) entries.push_back(Entry(Ops()[i], c));
    for (const OpCase& c : DigitCasesOfVectors(Ops()[i])) entries.push_back(Entry(Ops()[i], c));
  }
  return Lines(entries) + "\n";
}

}  // namespace assay::docs
