// Initial values of a state, drawn as docs/NUMERICS.md, section 4, says: stream 0x10000000 + i for state tensor i.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "assay/base/check.h"
#include "assay/exec/step.h"
#include "assay/numerics/random.h"

namespace assay {
namespace {

constexpr std::uint32_t kInitStream = 0x10000000u;
constexpr std::int64_t kGrain = 1 << 16;  // a multiple of the four elements of a block

// The values of numerics::DrawNormal for the elements of one block, with each logarithm taken once.
std::array<float, 4> NormalBlock(const numerics::DrawKey& key, std::uint32_t block) {
  using numerics::Scalar;
  const PhiloxBlock draws = numerics::DrawBlock(key, block);
  std::array<float, 4> normal;
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const float u = 1.0f - numerics::UniformFrom(draws[pair]);
    const float angle = 6.283185307f * numerics::UniformFrom(draws[pair + 1]);
    const float radius = std::sqrt(-2.0f * numerics::Log<Scalar>(u));
    normal[pair] = radius * numerics::Cos<Scalar>(angle);
    normal[pair + 1] = radius * numerics::Sin<Scalar>(angle);
  }
  return normal;
}

// Elements [begin, end), to values[0] on; begin is a multiple of four.
void FillRange(const Init& init, const numerics::DrawKey& key, std::span<float> values, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 4) {
    const auto block = static_cast<std::uint32_t>(i / 4);
    std::array<float, 4> four{};
    switch (init.kind) {
      case InitKind::kConstant: four.fill(init.value); break;
      case InitKind::kNormal:
        four = NormalBlock(key, block);
        for (float& x : four) x = x * init.value;
        break;
      case InitKind::kUniform: {
        const PhiloxBlock draws = numerics::DrawBlock(key, block);
        for (std::size_t k = 0; k < 4; ++k) four[k] = (2.0f * numerics::UniformFrom(draws[k]) - 1.0f) * init.value;
        break;
      }
    }
    std::copy_n(four.begin(), std::min<std::int64_t>(4, end - i), values.begin() + static_cast<std::ptrdiff_t>(i - begin));
  }
}

numerics::DrawKey KeyOf(std::uint64_t seed, std::size_t tensor) {
  return {.seed = seed, .stream = kInitStream + static_cast<std::uint32_t>(tensor), .step = 0, .microbatch = 0};
}

}  // namespace

Bytes InitialBytes(const Program& program, std::uint64_t seed, std::size_t tensor, Range range) {
  const StateSpec& spec = program.state[tensor];
  ASSAY_CHECK(range.begin % 4 == 0 && range.begin <= range.end && range.end <= spec.type.elements());
  Bytes bytes(static_cast<std::size_t>(range.size()) * SizeOf(spec.type.dtype));
  if (spec.type.dtype != DType::kF32) return bytes;  // a program has no other initial value for it than zero
  std::vector<float> values(static_cast<std::size_t>(range.size()));
  FillRange(spec.init, KeyOf(seed, tensor), values, range.begin, range.end);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

State InitialState(const Program& program, std::uint64_t seed, ThreadPool* pool) {
  State state;
  for (std::size_t i = 0; i < program.state.size(); ++i) {
    const StateSpec& spec = program.state[i];
    Tensor tensor(spec.type);  // zeros
    if (spec.init.kind != InitKind::kConstant || std::bit_cast<std::uint32_t>(spec.init.value) != 0) {
      ASSAY_CHECK(spec.type.dtype == DType::kF32);
      const numerics::DrawKey key = KeyOf(seed, i);
      const std::span<float> values = tensor.Span<float>();
      const auto fill = [&](std::int64_t begin, std::int64_t end, int) {
        FillRange(spec.init, key, values.subspan(static_cast<std::size_t>(begin)), begin, end);
      };
      if (pool != nullptr) {
        pool->ParallelFor(tensor.elements(), kGrain, fill);
      } else {
        fill(0, tensor.elements(), 0);
      }
    }
    state.push_back(std::move(tensor));
  }
  return state;
}

HostState::HostState(const State& state) : state_(&state) {
  if (std::ranges::all_of(state, [](const Tensor& tensor) { return tensor.space().is_host(); })) return;
  state_ = &copy_;
  for (const Tensor& tensor : state) copy_.push_back(tensor.CopyTo(HostMemory()));
}

State MoveTo(MemorySpace& space, State state) {
  for (Tensor& tensor : state) {
    if (&tensor.space() != &space) tensor = tensor.CopyTo(space);
  }
  return state;
}

}  // namespace assay
