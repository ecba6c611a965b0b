// Shape rules: what types an op gives, and what it refuses. Each op's cases, and copies of them in which one thing was changed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "assay/ops/table.h"
#include "docs/json.h"
#include "docs/vectors.h"

namespace assay::docs {
namespace {

struct Application {
  Attrs attrs;
  std::vector<TensorType> in;
};

constexpr std::size_t kEach = 12;  // changed applications of an op that are written down

Attrs WithValue(const Attrs& attrs, std::size_t at, AttrValue value) {
  Attrs out;
  for (std::size_t i = 0; i < attrs.size(); ++i) out.Append(i == at ? value : attrs[i]);
  return out;
}

void ChangeAttribute(const Application& a, std::size_t at, std::vector<Application>& out) {
  const auto add = [&](AttrValue value) { out.push_back({WithValue(a.attrs, at, std::move(value)), a.in}); };
  if (std::holds_alternative<std::int64_t>(a.attrs[at])) {
    for (std::int64_t v :
         {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{5},
          std::int64_t{16}, std::int64_t{1} << 24, (std::int64_t{1} << 24) + 1, std::int64_t{0x0fffffff},
          std::int64_t{0x10000000}, std::int64_t{0x7fffffff}, std::int64_t{0x80000000}, std::int64_t{0xffffffff},
          std::int64_t{1} << 32, (std::int64_t{1} << 34) + 1}) {
      add(v);
    }
  } else if (std::holds_alternative<float>(a.attrs[at])) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (float v : {0.0f, -0.0f, -1.0f, 0.5f, 0.99999994f, 1.0f, 1e30f, 1.1e30f, kInfinity, -kInfinity,
                    std::bit_cast<float>(0x7fc00000u)})
      add(v);
  } else {
    const auto list = std::get<std::vector<std::int64_t>>(a.attrs[at]);
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::int64_t v :
           {std::int64_t{-1}, std::int64_t{0}, list[i] + 1, std::int64_t{1} << 34, (std::int64_t{1} << 34) + 1}) {
        auto changed = list;
        changed[i] = v;
        add(changed);
      }
    }
    auto longer = list;
    longer.push_back(1);
    add(longer);
    longer.insert(longer.begin(), 9 - std::min<std::size_t>(longer.size(), 9), 1);
    add(longer);
    if (!list.empty()) add(std::vector(list.begin() + 1, list.end()));
  }
}

void ChangeInput(const Application& a, std::size_t k, std::vector<Application>& out) {
  const auto add = [&](TensorType type) {
    Application changed = a;
    changed.in[k] = type;
    out.push_back(std::move(changed));
  };
  const TensorType& type = a.in[k];
  for (DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kI64, DType::kF64}) {
    if (dtype != type.dtype) add({dtype, type.shape});
  }
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    for (std::int64_t extent : {std::int64_t{0}, std::int64_t{1}, type.shape[axis] + 1, 2 * type.shape[axis]}) {
      TensorType changed = type;
      changed.shape.Set(axis, extent);
      add(changed);
    }
  }
  if (type.shape.rank() > 0) {
    add({type.dtype, Shape(type.shape.dims().subspan(1))});
    add({type.dtype, Shape(type.shape.dims().first(type.shape.dims().size() - 1))});
  }
  if (type.shape.rank() == Shape::kMaxRank) return;
  TensorType longer = type;
  longer.shape.Append(1);
  add(longer);
}

std::vector<Application> Changed(const Application& a) {
  std::vector<Application> out;
  for (std::size_t i = 0; i < a.attrs.size(); ++i) ChangeAttribute(a, i, out);
  for (std::size_t k = 0; k < a.in.size(); ++k) ChangeInput(a, k, out);
  Application more = a, less = a;
  if (!a.in.empty()) {
    more.in.push_back(a.in.back());
    less.in.pop_back();
    out.insert(out.end(), {more, less});
  }
  return out;
}

std::string Entry(const OpDef& def, const Application& a) {
  const auto list = [](const std::vector<TensorType>& types) {
    std::vector<std::string> names;
    for (const TensorType& type : types) names.push_back(Type(type));
    return fmt::format("[{}]", fmt::join(names, ", "));
  };
  const auto out = def.infer(a.attrs, a.in);
  return Object(
      {{"op", Quoted(def.name)}, {"attributes", Attributes(a.attrs)}, {"in", list(a.in)}, {"out", out ? list(*out) : "null"}});
}

void Append(const OpDef& def, std::vector<std::string>& entries) {
  const std::vector<OpCase> cases = def.cases();
  const Application first{cases.front().attrs, cases.front().in};
  std::set<std::string> seen;
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < std::min<std::size_t>(cases.size(), 12); ++i) {
    for (const Application& a : Changed({cases[i].attrs, cases[i].in})) {
      std::string entry = Entry(def, a);
      if (seen.insert(entry).second) changed.push_back(std::move(entry));
    }
  }
  // Evenly from all of them, and the same ones everywhere.
  const std::size_t wanted = std::min(kEach, changed.size());
  entries.push_back(Entry(def, first));
  for (std::size_t i = 0; i < wanted; ++i) entries.push_back(changed[(2 * i + 1) * changed.size() / (2 * wanted)]);
}

}  // namespace

std::string TypeVectors() {
  std::vector<std::string> entries;
  for (OpIndex i = 0; i < op::kCount; ++i) Append(Ops()[i], entries);
  return Lines(entries) + "\n";
}

}  // namespace assay::docs
