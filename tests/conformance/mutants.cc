#include "conformance/mutants.h"

#include <array>
#include <limits>

#include "assay/ops/table.h"
#include "support/random_graph.h"

namespace assay::testkit {
namespace {

constexpr int kMutantsPerOp = 400;

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : choose_(seed) {}

  OpCase Mutate(OpCase c) {
    const std::uint32_t changes = 1 + choose_.Below(3);
    for (std::uint32_t i = 0; i < changes; ++i) {
      const bool attribute = c.attrs.size() > 0 && (c.in.empty() || choose_.OneIn(2));
      if (attribute) {
        MutateAttribute(c);
      } else if (!c.in.empty()) {
        MutateInputs(c);
      }
    }
    c.fill.clear();
    for (const TensorType& type : c.in) c.fill.push_back(FillFor(type));
    if (c.index_limit <= 0) c.index_limit = 7;
    return c;
  }

 private:
  static Fill FillFor(const TensorType& type) {
    return type.dtype == DType::kF32 || type.dtype == DType::kF64 ? Fill::kSpecial : Fill::kTarget;
  }

  std::int64_t HostileInt(std::int64_t old) {
    static constexpr std::array<std::int64_t, 14> kInts = {-1,
                                                           0,
                                                           1,
                                                           2,
                                                           3,
                                                           8,
                                                           65,
                                                           1000,
                                                           std::int64_t{1} << 31,
                                                           std::int64_t{1} << 33,
                                                           std::int64_t{1} << 62,
                                                           std::numeric_limits<std::int64_t>::max(),
                                                           std::numeric_limits<std::int64_t>::min(),
                                                           -1000};
    if (choose_.OneIn(3)) return old < 1000000 && old > -1000000 ? old + (choose_.OneIn(2) ? 1 : -1) : old;
    return kInts[choose_.Below(kInts.size())];
  }

  float HostileFloat() {
    static constexpr std::array<float, 9> kFloats = {0.0f,
                                                     -0.0f,
                                                     1.0f,
                                                     -1.0f,
                                                     0.5f,
                                                     1e30f,
                                                     std::numeric_limits<float>::infinity(),
                                                     -std::numeric_limits<float>::infinity(),
                                                     std::numeric_limits<float>::quiet_NaN()};
    return kFloats[choose_.Below(kFloats.size())];
  }

  void MutateAttribute(OpCase& c) {
    const std::size_t chosen = choose_.Below(static_cast<std::uint32_t>(c.attrs.size()));
    Attrs changed;
    for (std::size_t i = 0; i < c.attrs.size(); ++i) {
      AttrValue value = c.attrs[i];
      if (i == chosen) {
        if (auto* integer = std::get_if<std::int64_t>(&value)) *integer = HostileInt(*integer);
        if (auto* real = std::get_if<float>(&value)) *real = HostileFloat();
        if (auto* list = std::get_if<std::vector<std::int64_t>>(&value)) MutateList(*list);
      }
      changed.Append(std::move(value));
    }
    c.attrs = std::move(changed);
  }

  void MutateList(std::vector<std::int64_t>& list) {
    switch (choose_.Below(3)) {
      case 0: list.push_back(HostileInt(1)); break;
      case 1:
        if (!list.empty()) list.pop_back();
        break;
      default:
        if (!list.empty()) {
          std::int64_t& entry = list[choose_.Below(static_cast<std::uint32_t>(list.size()))];
          entry = HostileInt(entry);
        }
    }
    if (choose_.OneIn(20)) list.assign(60, 1);
  }

  void MutateInputs(OpCase& c) {
    const std::size_t k = choose_.Below(static_cast<std::uint32_t>(c.in.size()));
    switch (choose_.Below(8)) {
      case 0: c.in.erase(c.in.begin() + static_cast<std::ptrdiff_t>(k)); break;
      case 1:
        if (c.in.size() < 40) c.in.push_back(c.in[k]);
        break;
      case 2: c.in[k].dtype = static_cast<DType>(1 + choose_.Below(7)); break;
      case 3: c.in[k] = c.in[choose_.Below(static_cast<std::uint32_t>(c.in.size()))]; break;
      default: MutateShape(c.in[k].shape);
    }
  }

  void MutateShape(Shape& shape) {
    std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
    switch (choose_.Below(4)) {
      case 0:
        if (dims.size() < Shape::kMaxRank) dims.insert(dims.begin(), 1 + choose_.Below(3));
        break;
      case 1:
        if (!dims.empty()) dims.pop_back();
        break;
      default:
        if (!dims.empty()) {
          // Types inside a program are bounded by its decoder.
          std::int64_t& extent = dims[choose_.Below(static_cast<std::uint32_t>(dims.size()))];
          const std::int64_t next = HostileInt(extent);
          if (next >= 0 && next <= (std::int64_t{1} << 33)) extent = next;
        }
    }
    shape = Shape(dims);
  }

  Choices choose_;
};

// Builds the one-node graph as a decoder would.
bool Accepts(const OpDef& def, const OpCase& c, std::vector<TensorType>& out) {
  GraphBuilder b(Ops());
  std::vector<ValueId> in;
  for (std::size_t k = 0; k < c.in.size(); ++k) in.push_back(b.Input(std::to_string(k), c.in[k]));
  const auto values = b.TryAdd(def.index, c.attrs, in);
  if (!values) return false;
  for (ValueId v : *values) out.push_back(b.type(v));
  return true;
}

bool WithinProgramLimits(std::span<const TensorType> types) {
  for (const TensorType& type : types) {
    double elements = 1;
    for (std::int64_t extent : type.shape.dims()) elements *= static_cast<double>(extent);
    if (elements > 0x1p34) return false;
  }
  return true;
}

}  // namespace

std::vector<OpCase> MutantsOf(const OpDef& def) {
  const std::vector<OpCase> cases = def.cases();
  Mutator mutator(0x600d + def.wire_id);
  std::vector<OpCase> mutants;
  for (int i = 0; i < kMutantsPerOp; ++i) {
    OpCase c = mutator.Mutate(cases[static_cast<std::size_t>(i) % cases.size()]);
    if (WithinProgramLimits(c.in)) mutants.push_back(std::move(c));
  }
  return mutants;
}

std::optional<OpInstance> Accepted(const OpDef& def, const OpCase& c) {
  std::vector<TensorType> out;
  if (!Accepts(def, c, out)) return std::nullopt;
  return OpInstance{&def, c.attrs, c.in, out};
}

std::string Describe(const OpDef& def, const OpCase& c) {
  std::string text = fmt::format("{}({})", def.name, ToString(c.attrs, def.attrs));
  for (const TensorType& type : c.in) text += fmt::format(" {}", ToString(type));
  return text;
}

}  // namespace assay::testkit
