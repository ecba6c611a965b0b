#include "assay/platform/work_limits.h"

#include <algorithm>

#include "assay/base/allowance.h"
#include "assay/monitor/usage.h"
#include "assay/train/memory_fit.h"

namespace assay::platform {
namespace {

constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::int64_t kEntryBytes = 256;      // of the log and its tiles, at most
constexpr std::int64_t kEventBytes = 512;      // of a step's events
constexpr std::int64_t kSpareDisk = 16 << 20;  // headers, and what else is small
constexpr std::int64_t kEnough = std::int64_t{1} << 60;

std::int64_t Least(std::int64_t a, std::int64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

std::int64_t StateBytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const StateSpec& spec : program.state) bytes += static_cast<std::int64_t>(spec.type.bytes());
  return bytes;
}

std::int64_t LargestTensor(const Program& program) {
  std::int64_t bytes = 0;
  for (const StateSpec& spec : program.state) bytes = std::max(bytes, static_cast<std::int64_t>(spec.type.bytes()));
  return bytes;
}

std::int64_t Snapshots(const Job& job) {
  const std::int64_t taken = 1 + (job.snapshot.start ? 1 : 0) + (job.snapshot.every > 0 ? job.steps / job.snapshot.every : 0);
  return job.snapshot.keep > 0 ? std::min(taken, job.snapshot.keep + 1) : taken;
}

std::int64_t Times(std::int64_t a, std::int64_t b) { return b != 0 && a > kEnough / b ? kEnough : a * b; }

// `memory`: of state and work space.
Needs NeedsWith(std::int64_t memory, const PreparedJob& prepared, bool sealed) {
  const std::int64_t state = StateBytes(prepared.program);
  Needs needs{.memory = memory};
  // Weights to start from are loaded tensor by tensor, beside the one that is replaced, and perhaps turned over.
  if (!prepared.job.init_weights.empty()) needs.memory += 2 * LargestTensor(prepared.program);
  const std::int64_t entries = 2 + prepared.job.steps / std::max<std::int64_t>(1, prepared.job.commit_every);
  const std::int64_t run = std::min(kEnough, Times(state, Snapshots(prepared.job) + 1) + entries * kEntryBytes +
                                                 prepared.job.steps * kEventBytes + kSpareDisk);
  needs.disk = sealed ? 2 * run : run;
  return needs;
}

}  // namespace

Room RoomFor(const life::LeaseLimits& order, const Room& offered) {
  return {.memory = Least(order.memory, offered.memory),
          .disk = Least(order.disk, offered.disk),
          .seconds = Least(order.seconds, offered.seconds)};
}

Needs NeedsOf(const PreparedJob& prepared, Backend& backend, bool sealed) {
  if (backend.AsHost() == nullptr) return LeastNeedsOf(prepared, sealed);
  return NeedsWith(static_cast<std::int64_t>(TrainingBytes(prepared.program, backend)), prepared, sealed);
}

// A device's state comes to the host for snapshots.
Needs LeastNeedsOf(const PreparedJob& prepared, bool sealed) {
  return NeedsWith(StateBytes(prepared.program), prepared, sealed);
}

Needs HostNeedsOf(const PreparedJob& prepared, bool sealed) {
  return NeedsWith(static_cast<std::int64_t>(TrainingBytesOnHost(prepared)), prepared, sealed);
}

std::int64_t BytesOf(const std::vector<life::OrderFile>& files) {
  std::int64_t bytes = 0;
  for (const life::OrderFile& file : files) bytes = std::min(kEnough, bytes + std::min(kEnough, file.bytes));
  return bytes;
}

Left LeftHere(const std::string& path) { return {.memory = monitor::AvailableMemory(), .disk = monitor::FreeDisk(path)}; }

Status CheckRoom(const Needs& needs, const Room& room, const Left& left, const Needs& used) {
  if (room.memory > 0 && needs.memory > room.memory - used.memory)
    return tl::unexpected(TakesTooMuch(std::min(kEnough, needs.memory) + used.memory, room.memory));
  if (needs.memory > left.memory) return tl::unexpected(TakesMoreThanFree(needs.memory, left.memory));
  if (room.disk > 0 && needs.disk > room.disk - used.disk) {
    return Err("disk: the work takes {} more, and may take {}", Amount(needs.disk),
               Amount(std::max<std::int64_t>(0, room.disk - used.disk)));
  }
  if (needs.disk > left.disk)
    return Err("disk: the work takes {} more, and {} are free here", Amount(needs.disk), Amount(left.disk));
  return {};
}

std::optional<std::string> Exceeded(const Room& room, const Taken& taken) {
  if (room.memory > 0 && taken.memory > room.memory) {
    return fmt::format("memory: {} are in use, {} are allowed", Amount(taken.memory), Amount(room.memory));
  }
  if (room.disk > 0 && taken.disk > room.disk) {
    return fmt::format("disk: {} are in use, {} are allowed", Amount(taken.disk), Amount(room.disk));
  }
  if (room.seconds > 0 && taken.ms / kMsPerSecond >= room.seconds) {
    return fmt::format("time: {} s have passed, {} s are allowed", taken.ms / kMsPerSecond, room.seconds);
  }
  return std::nullopt;
}

}  // namespace assay::platform
