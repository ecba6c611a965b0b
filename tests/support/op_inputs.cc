#include "support/op_inputs.h"

#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include "assay/base/check.h"
#include "assay/base/philox.h"

namespace assay::testkit {
namespace {

constexpr PhiloxKey kKey = {0x61737361u, 0x79u};

std::uint32_t Fnv(std::uint32_t hash, std::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619u;
  return hash;
}

float Uniform(std::uint32_t draw) { return static_cast<float>(draw >> 8) * 0x1p-24f; }

float SpecialDraw(std::uint32_t stream, std::uint32_t i) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  static const std::array<float, 24> kSpecials = {0.0f,
                                                  -0.0f,
                                                  kInf,
                                                  -kInf,
                                                  std::bit_cast<float>(0x7fc00000u),
                                                  std::bit_cast<float>(0xffc12345u),
                                                  std::bit_cast<float>(0x7f800001u),
                                                  std::bit_cast<float>(1u),
                                                  std::bit_cast<float>(0x80000001u),
                                                  std::bit_cast<float>(0x007fffffu),
                                                  std::bit_cast<float>(0x807fffffu),
                                                  0x1p-126f,
                                                  -0x1p-126f,
                                                  std::numeric_limits<float>::max(),
                                                  -std::numeric_limits<float>::max(),
                                                  1.0f,
                                                  -1.0f,
                                                  88.7f,
                                                  -87.4f,
                                                  -103.9f,
                                                  1e10f,
                                                  -1e10f,
                                                  1e-20f,
                                                  0x1p24f};
  const std::uint32_t choice = Draw(stream ^ 0x5bd1e995u, i);
  if (choice % 4 != 0) return NormalDraw(stream, i);
  return kSpecials[choice / 4 % kSpecials.size()];
}

std::int64_t TargetDraw(std::uint32_t stream, std::uint32_t i, std::int64_t limit) {
  const std::uint32_t draw = Draw(stream, i);
  switch (draw % 16) {
    case 0: return -1;
    case 1: return -2;
    case 2: return limit;
    case 3: return std::numeric_limits<std::int32_t>::max();
    case 4: return std::numeric_limits<std::int32_t>::min();
    default: return limit == 0 ? 0 : static_cast<std::int64_t>(draw / 16) % limit;
  }
}

float RunsDraw(std::uint32_t stream, std::uint32_t i) {
  constexpr std::uint32_t kRun = 97;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 3> kNotFinite = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()};
  const std::uint32_t run = i / kRun, draw = Draw(stream ^ 0x72756e73u, run);
  const float normal = NormalDraw(stream, i);
  const bool chosen = i % kRun == (draw >> 8) % kRun;
  switch (draw % 12) {
    case 0: return chosen ? normal : 0.0f;
    case 1: return std::bit_cast<float>(Draw(stream, i) & 0x807fffffu);
    case 2: return chosen ? 3e38f : normal;
    case 3: return chosen ? -1e20f : normal;
    case 4: return NormalDraw(stream, run);
    case 5: return normal * 1e30f;
    case 6: return normal * 1e-30f;
    case 7: return 0.0f;
    case 8: return run % 4 != 0 || !chosen ? normal : kNotFinite[run / 4 % 3];
    default: return normal;
  }
}

float FloatDraw(Fill fill, std::uint32_t stream, std::uint32_t i) {
  switch (fill) {
    case Fill::kNormal: return NormalDraw(stream, i);
    case Fill::kPositive: return 0.1f + 1.9f * Uniform(Draw(stream, i));
    case Fill::kSpecial: return SpecialDraw(stream, i);
    case Fill::kRuns: return RunsDraw(stream, i);
    default: CheckFailed("a fill for floats", __FILE__, __LINE__);
  }
}

std::int64_t IntDraw(const OpCase& c, Fill fill, std::uint32_t stream, std::uint32_t i) {
  const std::uint32_t draw = Draw(stream, i);
  switch (fill) {
    case Fill::kIndex: return c.index_limit == 0 ? 0 : static_cast<std::int64_t>(draw) % c.index_limit;
    case Fill::kTarget: return TargetDraw(stream, i, c.index_limit);
    case Fill::kRng: return i < 2 ? draw : draw % 100;
    case Fill::kStep: return 1 + draw % 1000;
    default: CheckFailed("a fill for integers", __FILE__, __LINE__);
  }
}

template <class T>
void FillInts(Tensor& tensor, const OpCase& c, Fill fill, std::uint32_t stream) {
  std::uint32_t i = 0;
  for (T& x : tensor.Span<T>()) x = static_cast<T>(IntDraw(c, fill, stream, i++));
}

void FillTensor(Tensor& tensor, const OpCase& c, Fill fill, std::uint32_t stream) {
  std::uint32_t i = 0;
  switch (tensor.dtype()) {
    case DType::kF32:
      for (float& x : tensor.Span<float>()) x = FloatDraw(fill, stream, i++);
      break;
    case DType::kF64:
      for (double& x : tensor.Span<double>()) x = static_cast<double>(FloatDraw(fill, stream, i++));
      break;
    case DType::kI32: FillInts<std::int32_t>(tensor, c, fill, stream); break;
    case DType::kU32: FillInts<std::uint32_t>(tensor, c, fill, stream); break;
    case DType::kI64: FillInts<std::int64_t>(tensor, c, fill, stream); break;
    case DType::kU8: FillInts<std::uint8_t>(tensor, c, fill, stream); break;
    case DType::kU16: FillInts<std::uint16_t>(tensor, c, fill, stream); break;
  }
}

}  // namespace

std::uint32_t StreamOf(const OpDef& def, const OpCase& c, std::size_t input) {
  return Fnv(Fnv(Fnv(2166136261u, def.name), "/"), c.name) + static_cast<std::uint32_t>(input) * 0x9e3779b9u;
}

std::uint32_t Draw(std::uint32_t stream, std::uint32_t i) { return Philox(kKey, {i / 4, stream, 0, 0})[i % 4]; }

float NormalDraw(std::uint32_t stream, std::uint32_t i) {
  std::int32_t sum = 0;
  for (std::uint32_t word : Philox(kKey, {i, stream, 1, 0})) sum += static_cast<std::int32_t>((word & 0xffffu) + (word >> 16));
  // Eight uniform values in [0, 65535]: mean 262140, standard deviation 65536 * sqrt(8 / 12).
  return static_cast<float>(sum - 262140) * 0x1p-16f * 1.2247449f;
}

std::vector<Tensor> CaseInputs(const OpDef& def, const OpCase& c) {
  ASSAY_CHECK(c.in.size() == c.fill.size());
  std::vector<Tensor> inputs;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    inputs.emplace_back(c.in[k]);
    FillTensor(inputs.back(), c, c.fill[k], StreamOf(def, c, k));
  }
  return inputs;
}

OpInstance CaseInstance(const OpDef& def, const OpCase& c) {
  auto out = def.infer(c.attrs, c.in);
  if (!out) CheckFailed((std::string(def.name) + "/" + c.name + ": " + out.error().message).c_str(), __FILE__, __LINE__);
  return {&def, c.attrs, c.in, *out};
}

}  // namespace assay::testkit
