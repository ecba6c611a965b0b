#include "support/random_graph.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "assay/base/philox.h"
#include "assay/graph/autodiff.h"
#include "assay/ops/builder.h"
#include "support/op_inputs.h"

namespace assay::testkit {
namespace {

const Shape kSmall{6, 10};
const Shape kFlat{60};
const Shape kRow{10};
const Shape kColumn{6};
const Shape kWide{3, 3000};  // three blocks, the last not full
const Shape kLong{17001};    // more than one thread takes at a time
const Shape kScalar{};

class Generator {
 public:
  Generator(std::uint64_t seed, int nodes, bool gradients)
      : choose_(seed),
        b_(Ops()),
        ops_(b_, seed % 4 < 2 ? 0 : static_cast<int>(seed % 4)),
        nodes_(nodes),
        gradients_(gradients) {}

  RandomGraph Make() && {
    DeclareInputs();
    for (int i = 0; i < nodes_; ++i) AddNode();
    if (gradients_) AddGradients();
    ChooseOutputs();
    RandomGraph made{std::move(b_).Finish(), {}, {}};
    for (const NamedValue& input : made.graph.inputs()) made.inputs.push_back(MakeInput(made.graph.type(input.value)));
    ChooseAliases(made);
    return made;
  }

 private:
  void DeclareInputs() {
    for (const Shape& shape : {kSmall, kSmall, kFlat, kRow, kColumn, kWide, kWide, kLong, kScalar}) {
      floats_.push_back(b_.Input(fmt::format("x{}", floats_.size()), {DType::kF32, shape}));
    }
    rng_ = b_.Input("rng", {DType::kU32, {4}});
  }

  Tensor MakeInput(const TensorType& type) {
    Tensor t(type);
    if (type.dtype == DType::kU32) {
      for (std::uint32_t& x : t.Span<std::uint32_t>()) x = choose_.Below(1u << 30);
    } else {
      for (float& x : t.Span<float>()) x = choose_.OneIn(50) ? 0.0f : choose_.Normal();
    }
    return t;
  }

  ValueId Any() {  // recent values more often, so that chains form
    const auto n = static_cast<std::uint32_t>(floats_.size());
    return floats_[choose_.OneIn(2) ? n - 1 - choose_.Below(std::min(n, 4u)) : choose_.Below(n)];
  }

  std::optional<ValueId> AnyOf(const Shape& shape) {
    std::vector<ValueId> fitting;
    for (ValueId v : floats_) {
      if (b_.shape(v) == shape) fitting.push_back(v);
    }
    if (fitting.empty()) return std::nullopt;
    return fitting[fitting.size() - 1 - choose_.Below(std::min<std::uint32_t>(static_cast<std::uint32_t>(fitting.size()), 5))];
  }

  void Keep(ValueId v) { floats_.push_back(v); }

  void AddNode() {
    const ValueId x = Any();
    const Shape shape = b_.shape(x);
    switch (choose_.Below(12)) {
      case 0:
      case 1: {
        static constexpr std::array<OpIndex, 4> kUnary = {op::tanh, op::relu, op::gelu_tanh, op::sigmoid};
        return Keep(ops_.Unary(kUnary[choose_.Below(4)], x));
      }
      case 2: return Keep(ops_.Scale(x, choose_.Normal()));
      case 3: return Keep(ops_.AddScalar(x, 0.5f));
      case 4:
      case 5:
      case 6: {
        static constexpr std::array<OpIndex, 4> kBinary = {op::add, op::sub, op::mul, op::maximum};
        return Keep(b_.Add(kBinary[choose_.Below(4)], {}, {x, *AnyOf(shape)}).front());
      }
      case 7: return Keep(ops_.Dropout(x, rng_, 0.25f, static_cast<std::int64_t>(choose_.Below(100))));
      case 8: return AddBroadcast(x);
      case 9:
        if (shape == kSmall) return Keep(ops_.Reshape(x, kFlat));
        if (shape == kFlat) return Keep(ops_.Reshape(x, kSmall));
        return Keep(ops_.Reshape(x, Shape{1, shape.elements()}));
      case 10: return Keep(ops_.Add(x, ops_.Fill(shape, choose_.Normal())));
      default: return AddGeneral(x);
    }
  }

  void AddBroadcast(ValueId x) {
    if (b_.shape(x) == kSmall) return Keep(ops_.Binary(op::add, x, *AnyOf(kRow)));
    if (b_.shape(x) == kWide) return Keep(ops_.Binary(op::mul, x, *AnyOf(kScalar)));
    if (b_.shape(x) == kRow) return Keep(ops_.BroadcastTo(x, kSmall));
    Keep(ops_.Neg(x));
  }

  void AddGeneral(ValueId x) {
    const Shape shape = b_.shape(x);
    if (shape == kSmall) {
      switch (choose_.Below(4)) {
        case 0: return Keep(ops_.ColSum(x, 1));
        case 1: return Keep(ops_.RowSum(x, 1));
        case 2: return Keep(ops_.Matmul(ops_.Matmul(x, *AnyOf(kSmall), false, true), x));
        default: return Keep(ops_.Softmax(x));
      }
    }
    if (shape == kColumn || shape == kRow) return Keep(ops_.RowSum(x, 0));
    if (shape == kWide) return Keep(ops_.Softmax(x));
    Keep(ops_.Unary(op::sin, x));
  }

  void AddGradients() {
    std::optional<ValueId> loss;
    for (int i = 0; i < 4; ++i) {
      const ValueId term = ops_.RowSum(Any(), 0);
      loss = loss ? ops_.Add(*loss, term) : term;
    }
    const std::vector<ValueId> wrt(floats_.begin(), floats_.begin() + 9);
    const std::vector<ValueId> d = Gradients(b_, *loss, wrt, kAutodiffOps);
    for (std::size_t k = 0; k < d.size(); ++k) b_.Output(fmt::format("d{}", k), d[k]);
    b_.Output("loss", *loss);
  }

  void ChooseOutputs() {
    const std::uint32_t count = 1 + choose_.Below(6);
    for (std::uint32_t i = 0; i < count; ++i)
      b_.Output(fmt::format("y{}", i), choose_.OneIn(10) ? floats_[choose_.Below(9)] : Any());
    b_.Output("last", floats_.back());
  }

  void ChooseAliases(RandomGraph& made) {
    std::vector<bool> taken(made.graph.inputs().size(), false);
    for (std::size_t k = 0; k < made.graph.outputs().size(); ++k) {
      for (std::size_t i = 0; i < taken.size(); ++i) {
        const bool fits = made.graph.type(made.graph.inputs()[i].value) == made.graph.type(made.graph.outputs()[k].value);
        if (taken[i] || !fits || choose_.OneIn(3)) continue;
        taken[i] = true;
        made.aliases.emplace_back(k, i);
        break;
      }
    }
  }

  Choices choose_;
  GraphBuilder b_;
  OpBuilder ops_;
  int nodes_;
  bool gradients_;
  std::vector<ValueId> floats_;
  ValueId rng_ = 0;
};

}  // namespace

std::uint32_t Choices::Below(std::uint32_t n) {
  const PhiloxKey key = {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)};
  const std::uint32_t i = next_++;
  return Philox(key, {i / 4, 0, 0, 7})[i % 4] % n;
}

float Choices::Normal() { return NormalDraw(static_cast<std::uint32_t>(seed_), next_++); }

RandomGraph MakeRandomGraph(std::uint64_t seed, int nodes, bool gradients) { return Generator(seed, nodes, gradients).Make(); }

}  // namespace assay::testkit
