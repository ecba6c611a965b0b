#include "assay/backend/cublas/device_rounder.h"

#include <fmt/format.h>

#include "assay/backend/cuda/cuda.h"
#include "assay/backend/cuda/launch-inl.h"

namespace assay::cublas {
namespace {

constexpr std::size_t kRoom = std::size_t{1} << 22;              // decisions of a step, 100 MB
constexpr std::uint64_t kMostFollowed = std::uint64_t{1} << 36;  // elements of a step that is followed: 8 GB of flags
constexpr std::int64_t kOpsOfMark = 24;

__global__ void SetFlags(const rounding::Decision* decisions, std::int64_t count, std::uint32_t* flags) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k < count) atomicOr(flags + (decisions[k].position >> 5), 1u << (decisions[k].position & 31));
}

__global__ void RoundAll(numerics::Grid grid, float* values, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    values[i] = grid.Round(values[i]);
  }
}

__global__ void Tell(const unsigned long long* count, unsigned long long* to) { *to = *count; }

}  // namespace

void TellCount(const unsigned long long* count, unsigned long long* to, cudaStream_t stream) {
  Tell<<<1, 1, 0, stream>>>(count, to);
  cuda::CheckLaunch("TellCount");
}

DeviceRounder::DeviceRounder(rounding::Rounder& rounder, MemorySpace& memory, cudaStream_t stream)
    : rounder_(rounder),
      memory_(memory),
      stream_(stream),
      staged_(nullptr, [](void* data) { static_cast<void>(cudaFreeHost(data)); }),
      fetcher_(stream) {
  rounder_.set_elsewhere(this);
}

DeviceRounder::~DeviceRounder() { rounder_.set_elsewhere(nullptr); }

rounding::Decision* DeviceRounder::Staged(std::size_t count) {
  if (count > staged_count_) {
    staged_.reset();
    staged_count_ = 0;
    void* data = nullptr;
    cuda::Check(cudaMallocHost(&data, 2 * count * sizeof(rounding::Decision)), "allocating memory for decisions");
    staged_.reset(static_cast<rounding::Decision*>(data));
    staged_count_ = 2 * count;
  }
  return staged_.get();
}

void DeviceRounder::BeginStep() {
  step_ = rounder_.steps();
  const Tally none;
  if (tally_.bytes() == 0) tally_ = Allocation(memory_, sizeof(Tally));
  memory_.CopyIn(tally_.data(), &none, sizeof none);
  ops_ = 0;
  if (rounder_.records()) {
    if (taken_.bytes() == 0) taken_ = Allocation(memory_, kRoom * sizeof(rounding::Decision));
    fetcher_.Begin(&static_cast<const Tally*>(tally_.data())->decisions, static_cast<const rounding::Decision*>(taken_.data()),
                   kRoom);
  }
  if (rounder_.follows()) BeginFollow();
}

// A step has as many elements as the log says, or none of it can be followed; the Rounder sees that at the end.
void DeviceRounder::BeginFollow() {
  const std::span<const rounding::Decision> decisions = rounder_.decisions();
  if (decisions.empty() || rounder_.expected() > kMostFollowed) return;
  if (decisions_.bytes() < decisions.size_bytes()) {
    decisions_ = {};
    decisions_ = Allocation(memory_, decisions.size_bytes());
  }
  const std::size_t flag_bytes = (rounder_.expected() / 32 + 1) * sizeof(std::uint32_t);
  if (flags_.bytes() < flag_bytes) {
    flags_ = {};
    flags_ = Allocation(memory_, flag_bytes);
  }
  rounding::Decision* staged = Staged(decisions.size());
  std::copy(decisions.begin(), decisions.end(), staged);
  cuda::Check(cudaMemcpyAsync(decisions_.data(), staged, decisions.size_bytes(), cudaMemcpyHostToDevice, stream_),
              "copying decisions");
  cuda::Check(cudaMemsetAsync(flags_.data(), 0, flag_bytes, stream_), "clearing flags");
  const auto count = static_cast<std::int64_t>(decisions.size());
  SetFlags<<<cuda::GridFor(count, kThreads), kThreads, 0, stream_>>>(static_cast<const rounding::Decision*>(decisions_.data()),
                                                                     count, static_cast<std::uint32_t*>(flags_.data()));
  cuda::CheckLaunch("SetFlags");
}

std::vector<Sink> DeviceRounder::SinksFor(const KernelArgs& args, bool rounds) {
  if (step_ != rounder_.steps()) BeginStep();
  if (rounder_.records() && ++ops_ % kOpsOfMark == 0) fetcher_.Mark();
  const bool exact = !args.op->def->has_bound();
  std::vector<Sink> sinks(args.out.size());
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
      sink.taken = static_cast<rounding::Decision*>(taken_.data());
      sink.room = kRoom;
    } else if (rounder_.follows()) {
      Follow(sink, n);
    }
  }
  return sinks;
}

void DeviceRounder::Follow(Sink& sink, std::int64_t elements) const {
  const std::uint64_t end = sink.first + static_cast<std::uint64_t>(elements);
  const auto about = rounder_.DecisionsIn(sink.first, end);
  if (about.empty() || end > rounder_.expected() || rounder_.expected() > kMostFollowed) return;
  sink.kind = Sink::Kind::kFollow;
  sink.flags = static_cast<const std::uint32_t*>(flags_.data());
  sink.decisions = static_cast<const rounding::Decision*>(decisions_.data()) + (about.data() - rounder_.decisions().data());
  sink.decision_count = static_cast<std::int64_t>(about.size());
}

void DeviceRounder::Finish(rounding::Rounder& rounder) {
  if (step_ != rounder.steps()) return;  // nothing ran on the device
  if (rounder.records()) return rounder.SetDecisions(fetcher_.Finish());
  Tally tally;
  memory_.CopyOut(&tally, tally_.data(), sizeof tally);
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

}  // namespace assay::cublas
