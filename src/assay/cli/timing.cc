#include "assay/cli/timing.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "assay/cli/step_parts.h"

namespace assay::cli {
namespace {

std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::int64_t TimingBackend::LeastNs(const KernelArgs& args, int turns) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int turn = 0; turn < turns; ++turn) {
    const std::int64_t begin = NowNs();
    backend_.Run(args);
    least = std::min(least, NowNs() - begin);
  }
  return least;
}

void TimingBackend::Run(const KernelArgs& args) {
  constexpr int kTurns = 3;  // of what is subtracted from one another: on a busy machine any single run may be the slow one
  Cell& cell = cells_[args.op->def->index];
  const bool in_parts = MakesDigits(*args.op) && backend_.LeaveOutProducts(true);
  if (in_parts) {
    cell.digits_ns.fetch_add(LeastNs(args, kTurns), std::memory_order_relaxed);
    backend_.LeaveOutProducts(false);
  }
  cell.whole_ns.fetch_add(LeastNs(args, in_parts ? kTurns : 1), std::memory_order_relaxed);
  cell.calls.fetch_add(1, std::memory_order_relaxed);
}

void TimingBackend::RunElements(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t start = NowNs();
  backend_.RunElements(args, begin, end);
  Cell& cell = cells_[args.op->def->index];
  cell.pieces_ns.fetch_add(NowNs() - start, std::memory_order_relaxed);
  cell.calls.fetch_add(1, std::memory_order_relaxed);
}

std::vector<OpTiming> TimingBackend::Timings() const {
  std::vector<OpTiming> timings;
  for (const Cell& cell : cells_) {
    const auto pieces = static_cast<double>(cell.pieces_ns.load()) / pool().threads();
    timings.push_back({.seconds = 1e-9 * (static_cast<double>(cell.whole_ns.load()) + pieces),
                       .digit_seconds = 1e-9 * static_cast<double>(cell.digits_ns.load()),
                       .calls = cell.calls.load(),
                       .fused = cell.pieces_ns.load() > 0});
  }
  return timings;
}

void TimingBackend::Reset() {
  for (Cell& cell : cells_) {
    cell.whole_ns = 0;
    cell.pieces_ns = 0;
    cell.digits_ns = 0;
    cell.calls = 0;
  }
}

}  // namespace assay::cli
