#include "assay/backend/vendor_cuda/device_rounder.h"

#include <fmt/format.h>

#include "assay/backend/cuda/cuda.h"
#include "assay/backend/cuda/launch-inl.h"

namespace assay::vendor_cuda {
namespace {

constexpr std::size_t kRoom = std::size_t{1} << 22;  // close calls of a step, 100 MB
constexpr std::int64_t kThreads = 256;

__global__ void SetFlags(const rounding::Decision* decisions, std::int64_t count, std::uint64_t first, std::uint32_t* flags) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const std::uint64_t i = decisions[k].position - first;
  atomicOr(flags + (i >> 5), 1u << (i & 31));
}

__global__ void RoundAll(numerics::Grid grid, float* values, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    values[i] = grid.Round(values[i]);
  }
}

}  // namespace

DeviceRounder::DeviceRounder(rounding::Rounder& rounder, MemorySpace& memory, cudaStream_t stream)
    : rounder_(rounder), memory_(memory), stream_(stream) {
  rounder_.set_elsewhere(this);
}

DeviceRounder::~DeviceRounder() { rounder_.set_elsewhere(nullptr); }

void DeviceRounder::BeginStep() {
  step_ = rounder_.steps();
  const Tally none;
  if (tally_.bytes() == 0) tally_ = Allocation(memory_, sizeof(Tally));
  memory_.CopyIn(tally_.data(), &none, sizeof none);
  if (rounder_.records() && close_.bytes() == 0) close_ = Allocation(memory_, kRoom * sizeof(rounding::CloseCall));
  if (!rounder_.follows()) return;
  const std::span<const rounding::Decision> decisions = rounder_.decisions();
  if (decisions_.bytes() < decisions.size_bytes()) {
    decisions_ = {};
    decisions_ = Allocation(memory_, decisions.size_bytes());
  }
  memory_.CopyIn(decisions_.data(), decisions.data(), decisions.size_bytes());
}

std::vector<Sink> DeviceRounder::SinksFor(const KernelArgs& args, bool rounds) {
  if (step_ != rounder_.steps()) BeginStep();
  const bool exact = vendor::IsExact(args.op->def->index);
  std::vector<Sink> sinks(args.out.size());
  std::size_t words = 0, used = 0;  // of flags
  for (std::size_t k = 0; k < sinks.size(); ++k) words += static_cast<std::size_t>(args.out_type(k).elements()) / 32 + 64;
  if (rounds && rounder_.follows() && flags_.bytes() < words * sizeof(std::uint32_t)) {
    flags_ = {};
    flags_ = Allocation(memory_, words * sizeof(std::uint32_t));
  }
  for (std::size_t k = 0; k < sinks.size(); ++k) {
    if (args.out_type(k).dtype != DType::kF32) continue;
    Sink& sink = sinks[k];
    sink.out = args.Out<float>(k);
    sink.grid = rounder_.grid();
    if (exact) continue;
    sink.kind = Sink::Kind::kPlain;
    if (!rounds) continue;
    const std::int64_t n = args.out_type(k).elements();
    sink.first = rounder_.Next(static_cast<std::uint64_t>(n));
    sink.tally = static_cast<Tally*>(tally_.data());
    if (rounder_.records()) {
      sink.kind = Sink::Kind::kRecord;
      sink.close = static_cast<rounding::CloseCall*>(close_.data());
      sink.room = kRoom;
    } else if (rounder_.follows()) {
      Follow(sink, n, used);
    }
  }
  return sinks;
}

void DeviceRounder::Follow(Sink& sink, std::int64_t elements, std::size_t& used) {
  const auto about = rounder_.DecisionsIn(sink.first, sink.first + static_cast<std::uint64_t>(elements));
  if (about.empty()) return;
  const std::size_t words = static_cast<std::size_t>(elements) / 32 + 1;
  auto* flags = static_cast<std::uint32_t*>(flags_.data()) + used;
  used += (words + 31) / 32 * 32;
  const auto* decisions =
      static_cast<const rounding::Decision*>(decisions_.data()) + (about.data() - rounder_.decisions().data());
  const auto count = static_cast<std::int64_t>(about.size());
  cuda::Check(cudaMemsetAsync(flags, 0, words * sizeof(std::uint32_t), stream_), "clearing flags");
  SetFlags<<<cuda::GridFor(count, kThreads), kThreads, 0, stream_>>>(decisions, count, sink.first, flags);
  cuda::CheckLaunch("SetFlags");
  sink.kind = Sink::Kind::kFollow;
  sink.flags = flags;
  sink.decisions = decisions;
  sink.decision_count = count;
}

void DeviceRounder::Finish(rounding::Rounder& rounder) {
  if (step_ != rounder.steps()) return;  // nothing ran on the device
  Tally tally;
  memory_.CopyOut(&tally, tally_.data(), sizeof tally);
  if (tally.close > kRoom) {
    throw cuda::DeviceError(
        fmt::format("GPU: a step with {} close calls of rounding; there is room for {}", tally.close, kRoom));
  }
  std::vector<rounding::CloseCall> close(tally.close);
  memory_.CopyOut(close.data(), close_.data(), close.size() * sizeof(rounding::CloseCall));
  rounder.AddClose(close);
  if (tally.followed > 0) {
    rounder.AddFollowed(tally.followed, tally.corrections,
                        tally.refused == ~0ull ? std::nullopt : std::optional<std::uint64_t>(tally.refused));
  }
}

void RoundInPlace(const numerics::Grid& grid, float* values, std::int64_t n, cudaStream_t stream) {
  if (n == 0) return;
  RoundAll<<<cuda::GridFor(n, kThreads), kThreads, 0, stream>>>(grid, values, n);
  cuda::CheckLaunch("RoundAll");
}

}  // namespace assay::vendor_cuda
