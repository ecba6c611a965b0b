#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

#include "assay/base/philox.h"
#include "assay/numerics/functions.h"
#include "docs/json.h"
#include "docs/vectors.h"

namespace assay::docs {
namespace {

using numerics::Scalar;

float FromBits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Where a formula begins or ends, with the values next to it on both sides and both signs.
constexpr float kEdges[] = {
    0x1p-149f,  0x1p-127f,  0x1p-126f,  0x1p-100f,  0x1p-24f,   0x1p-12f, 0.3465736f,
    0.5f,       0.6f,       2.0f / 3,   0.7853982f, 1.0f,       4.0f / 3, 1.5707964f,
    2.0f,       3.1415927f, 3.919f,     3.95f,      9.0f,       10.0f,    87.33655f,
    88.0f,      88.72283f,  89.0f,      103.27893f, 103.97208f, 105.0f,   8388608.0f,
    131071.99f, 131072.0f,  16367.173f, 1e10f,      0x1p100f,   0x1p127f, std::numeric_limits<float>::max()};

std::vector<float> Arguments() {
  std::vector<float> x = {0.0f,
                          -0.0f,
                          FromBits(0x7f800000),
                          FromBits(0xff800000),
                          FromBits(0x7fc00000),
                          FromBits(0xffc12345),
                          FromBits(0x7f800001)};
  for (float edge : kEdges) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(edge);
    for (std::uint32_t b : {bits - 1, bits, bits + 1}) {
      if (b >= 0x7f800000) continue;
      x.push_back(FromBits(b));
      x.push_back(-FromBits(b));
    }
  }
  // Random bits, then numbers of the sizes that networks have.
  for (std::uint32_t i = 0; i < 48; ++i) x.push_back(FromBits(Philox({1, 0}, {i, 0, 0, 0})[0]));
  for (std::uint32_t i = 0; i < 48; ++i) {
    x.push_back(static_cast<float>(static_cast<std::int32_t>(Philox({1, 0}, {i, 1, 0, 0})[0])) * 0x1p-28f);
  }
  return x;
}

// NaN has many patterns inside a function; vectors show what an operator makes of it.
std::string Pair(float x, float y) { return Quoted(fmt::format("{} {}", Bits(x), Bits(numerics::CanonicalNan(y)))); }

std::string OfOne(float (*function)(float)) {
  std::vector<std::string> pairs;
  for (float x : Arguments()) pairs.push_back(Pair(x, function(x)));
  return Lines(pairs, 2);
}

std::string OfPow() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<std::string> entries;
  const auto add = [&](float x, float y) {
    entries.push_back(
        Quoted(fmt::format("{} {} {}", Bits(x), Bits(y), Bits(numerics::CanonicalNan(numerics::PowScalar(x, y))))));
  };
  for (float x : {0.0f, 1.0f, 0.5f, 1.5f, 0.99999994f, 1.0000001f, 0x1p-149f, kInfinity, FromBits(0x7fc00000)}) {
    for (float y : {0.0f, 1.0f, 2.0f, 3.0f, 0.5f, 1e6f, 16777216.0f, 8388607.5f, 3e38f, kInfinity, FromBits(0x7fc00000)}) {
      for (float a : {x, -x}) {
        for (float b : {y, -y}) add(a, b);
      }
    }
  }
  for (float beta : {0.9f, 0.95f, 0.999f, 0.1f, 10000.0f, 500000.0f}) {
    for (float y : {0.015625f, 0.3125f, 0.96875f, 1.0f, 7.0f, 100.0f, 1000.0f, 123456.0f}) add(beta, y);
  }
  for (std::uint32_t i = 0; i < 48; ++i) {
    const PhiloxBlock draw = Philox({1, 0}, {i, 2, 0, 0});
    add(FromBits(draw[0] & 0x7fffffff), static_cast<float>(static_cast<std::int32_t>(draw[1])) * 0x1p-29f);
  }
  return Lines(entries, 2);
}

}  // namespace

std::string FunctionVectors() {
  const std::pair<const char*, float (*)(float)> functions[] = {
      {"exp", numerics::Exp<Scalar>},     {"log", numerics::Log<Scalar>},   {"sqrt", Scalar::Sqrt},
      {"rsqrt", numerics::Rsqrt<Scalar>}, {"tanh", numerics::Tanh<Scalar>}, {"erf", numerics::Erf<Scalar>},
      {"sin", numerics::Sin<Scalar>},     {"cos", numerics::Cos<Scalar>}};
  std::string text = "{\n";
  for (const auto& [name, function] : functions) text += fmt::format("  \"{}\": {},\n", name, OfOne(function));
  return text + fmt::format("  \"pow\": {}\n}}\n", OfPow());
}

}  // namespace assay::docs
