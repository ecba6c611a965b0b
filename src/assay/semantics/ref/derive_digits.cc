#include "assay/semantics/ref/derive_digits.h"

#include "assay/numerics/fma.h"
#include "assay/semantics/ref/attention_digits.h"
#include "assay/semantics/ref/derive_fold.h"

namespace assay::ref::derive {
namespace {

// Two operands of which every element has a leaf of its own are 32 leaves; so are rows of up to 256 elements, each in two leaves.
constexpr std::int64_t kFactorsAtOnce = 16;
constexpr std::int64_t kWeightedAtOnce = 16;

// A value larger than the greatest of its block shows that the latter is false; it counts as 0.
std::int32_t IntegerOf(float x, std::uint32_t largest, int digits) {
  const std::uint32_t exponent = numerics::DigitExponent(largest);
  if (exponent == 0 || MagnitudeBits(x) > largest) return 0;
  return numerics::DigitInteger(x, numerics::DigitFactor(exponent, digits));
}

float ScaleOf(std::uint32_t largest, int digits) { return numerics::DigitScale(numerics::DigitExponent(largest), digits); }

void Need(const DigitOperand& operand, const DigitPlace& place, Range steps, NeedList& needs) {
  for (std::int64_t k = steps.begin; k < steps.end; ++k) {
    if (const std::int64_t at = place(k); at != kNoPlace) needs.Add(operand.input, at);
  }
}

// The bits of a magnitude as parties show them: NaN in its one form.
std::uint32_t ShownMagnitude(float x) { return MagnitudeBits(numerics::CanonicalNan(x)); }

// The greatest bit pattern of the magnitudes in a block.
struct Largest {
  DigitOperand operand;

  void Need(Range steps, NeedList& needs) const { derive::Need(operand, operand.shared, steps, needs); }
  Value Run(Value start, Range steps, Inputs in) const {
    for (std::int64_t k = steps.begin; k < steps.end; ++k) {
      start = std::max(start, ShownMagnitude(in.Floats(static_cast<std::size_t>(operand.input))[operand.shared(k)]));
    }
    return start;
  }
};

// Products of digits: 256 · order 0 + order 1, or order 2.
Value SumOf(std::int32_t a, std::int32_t b, int digits, bool lower) {
  DigitLine x(digits), y(digits);
  x.PushInteger(a);
  y.PushInteger(b);
  const OrderSums sums = Multiply(x, 0, y, 0, 1);
  return lower ? sums.lower : sums.upper;
}

struct DigitProducts {
  DigitProduct product;
  std::uint32_t largest_a, largest_b;
  bool lower;

  void Need(Range steps, NeedList& needs) const {
    for (const DigitOperand* operand : {&product.a, &product.b}) derive::Need(*operand, operand->factor, steps, needs);
  }
  Value Run(Value start, Range steps, Inputs in) const {
    const auto integer = [&](const DigitOperand& operand, std::uint32_t largest, std::int64_t k) {
      const std::int64_t at = operand.factor(k);
      return at == kNoPlace ? 0 : IntegerOf(in.Floats(static_cast<std::size_t>(operand.input))[at], largest, product.digits);
    };
    for (std::int64_t k = steps.begin; k < steps.end; ++k) {
      start += SumOf(integer(product.a, largest_a, k), integer(product.b, largest_b, k), product.digits, lower);
    }
    return start;
  }
};

float Joined(Values sums, int digits) { return OrderSums{At(sums, 0), At(sums, 1)}.Joined(digits); }

NodePtr MakeProduct(const DigitProduct& product) {
  Formula::Spec spec;
  for (const DigitOperand& operand : {product.a, product.b}) {
    spec.parts.push_back(
        [operand](Values) { return MakeFold(Largest{operand}, 0, {0, operand.shared_count}, kFactorsAtOnce); });
  }
  for (const bool lower : {false, true}) {
    if (lower && product.digits == 2) continue;
    spec.parts.push_back([product, lower](Values before) {
      const DigitProducts terms{product, At(before, 0), At(before, 1), lower};
      return MakeFold(terms, 0, {0, product.count}, kFactorsAtOnce);
    });
  }
  spec.rule = [digits = product.digits](Values parts, Inputs) {
    return Bits(
        numerics::DigitBlockSum(Joined(parts.subspan(2), digits), ScaleOf(parts[0], digits), ScaleOf(parts[1], digits)));
  };
  return MakeFormula(std::move(spec));
}

// The total after blocks `blocks`, of block sums, or of totals after many blocks each.
class DigitSumNode final : public Node {
 public:
  using Product = std::function<DigitProduct(std::int64_t block)>;

  DigitSumNode(Product product, Range blocks, Value start) : product_(std::move(product)), blocks_(blocks), start_(start) {}

  std::uint32_t parts() const override { return static_cast<std::uint32_t>(CeilDiv(blocks_.size(), chunk())); }
  NodePtr Part(std::uint32_t i, Values before) const override {
    const std::int64_t begin = blocks_.begin + i * chunk();
    if (chunk() == 1) return MakeProduct(product_(begin));
    return std::make_unique<DigitSumNode>(product_, Range{begin, std::min(begin + chunk(), blocks_.end)},
                                          i == 0 ? start_ : At(before, std::int64_t{i} - 1));
  }
  void Needs(NeedList&) const override {}
  Value Compute(Values parts, Inputs) const override {
    if (chunk() > 1) return parts.back();
    float total = Float(start_);
    for (const Value sum : parts) total = total + Float(sum);
    return Bits(total);
  }

 private:
  std::int64_t chunk() const { return ChunkOf(blocks_.size(), 1); }

  Product product_;
  Range blocks_;
  Value start_;
};

// Rows with weights.
struct WeightedRowsSum {
  WeightedBlock block;
  std::vector<Value> weights;
  bool lower;

  void Need(Range steps, NeedList& needs) const {
    for (std::int64_t k = steps.begin; k < steps.end; ++k) needs.Add(block.input, block.begin(k), block.width);
  }
  Value Run(Value start, Range steps, Inputs in) const {
    const std::uint32_t largest = LargestOf(weights);
    for (std::int64_t k = steps.begin; k < steps.end; ++k) {
      const float* row = in.Floats(static_cast<std::size_t>(block.input)) + block.begin(k);
      std::uint32_t of_row = 0;
      for (std::int64_t d = 0; d < block.width; ++d) of_row = std::max(of_row, MagnitudeBits(row[d]));
      const std::int32_t weight = IntegerOf(FloatAt(weights, k), largest, block.digits);
      start += SumOf(weight, IntegerOf(row[block.column], of_row, block.digits), block.digits, lower);
    }
    return start;
  }
  static std::uint32_t LargestOf(Values values) {
    std::uint32_t largest = 0;
    for (const Value value : values) largest = std::max(largest, MagnitudeBits(Float(value)));
    return largest;
  }
};

}  // namespace

NodePtr MakeDigitSum(std::function<DigitProduct(std::int64_t block)> product, std::int64_t blocks) {
  if (blocks == 0) return MakeFormula({.parts = {}, .needs = {}, .rule = [](Values, Inputs) { return Bits(0.0f); }});
  if (blocks > 1) return std::make_unique<DigitSumNode>(std::move(product), Range{0, blocks}, Bits(0.0f));
  return std::make_unique<Finish>(MakeProduct(product(0)), std::vector<InputRange>{},
                                  [](Value sum, Inputs) { return Bits(0.0f + Float(sum)); });
}

NodePtr MakeWeightedBlock(WeightedBlock block) {
  Formula::Spec spec;
  for (std::int64_t k = 0; k < block.count; ++k) {
    spec.parts.push_back([weight = block.weight, k](Values) { return weight(k); });
  }
  for (const bool lower : {false, true}) {
    if (lower && block.digits == 2) continue;
    spec.parts.push_back([block, lower](Values before) {
      std::vector<Value> weights;
      for (std::int64_t k = 0; k < block.count; ++k) weights.push_back(At(before, k));
      return MakeFold(WeightedRowsSum{block, std::move(weights), lower}, 0, {0, block.count}, kWeightedAtOnce);
    });
  }
  spec.rule = [digits = block.digits, count = static_cast<std::size_t>(block.count), before = block.before](Values parts,
                                                                                                            Inputs) {
    const float scale = ScaleOf(WeightedRowsSum::LargestOf(parts.first(count)), digits);
    return Bits(numerics::Fma(Joined(parts.subspan(count), digits), scale, before));
  };
  return MakeFormula(std::move(spec));
}

}  // namespace assay::ref::derive
