// TimingBackend: a backend that measures how long each op takes and otherwise does what the one behind it does.
//
// Ops that run inside a fused group are measured on the threads that run them; their time is divided by the number of threads, so that the
// sum over all ops compares with the wall clock. Contractions by digits are run several times, first without their products, which tells what making
// digits takes, and then whole; the least time of each counts. The backend behind must outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "assay/backend/host.h"

namespace assay::cli {

struct OpTiming {
  double seconds = 0;
  double digit_seconds = 0;  // of these, to make digits of operands
  std::int64_t calls = 0;    // whole ops, or pieces of fused ones
  bool fused = false;        // ran inside a fused group at least once
};

class TimingBackend : public HostBackend {
 public:
  TimingBackend(HostBackend& backend, std::size_t ops) : HostBackend(backend.pool()), backend_(backend), cells_(ops) {}

  std::string_view name() const override { return backend_.name(); }
  void Run(const KernelArgs& args) override;
  void RunElements(const KernelArgs& args, std::int64_t begin, std::int64_t end) override;
  bool in_place() const override { return backend_.in_place(); }

  std::vector<OpTiming> Timings() const;  // by OpIndex
  void Reset();

 private:
  struct Cell {
    std::atomic<std::int64_t> whole_ns{0}, pieces_ns{0}, digits_ns{0}, calls{0};
  };
  // Of so many runs of the whole op.
  std::int64_t LeastNs(const KernelArgs& args, int turns);

  HostBackend& backend_;
  std::vector<Cell> cells_;
};

}  // namespace assay::cli
