// Rounder: what a backend rounds its results with while a step runs: plainly, writing decisions down, or following those of somebody else (docs/ROUNDING.md).
//
// Between Begin and End one step runs. The backend announces each rounded result by Next, in the order of the step, and then rounds its elements block by block, from any threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "assay/numerics/grid.h"
#include "assay/rounding/decision_log.h"

namespace assay::rounding {

// A decision that no correct evaluation can have taken, or a log that is not of this step.
struct Inadmissible {
  std::uint64_t result = 0;   // which result of the step, counted by Next
  std::uint64_t element = 0;  // of that result
  Decision decision;
};

// "decides element 17 of result 3 as 0.25, which no correct evaluation leads to".
std::string Describe(const Inadmissible& inadmissible);

struct StepReport {
  Bytes log;                              // of a recorded step; of a followed one, what was followed
  std::uint64_t elements = 0;             // that have a bound
  std::uint64_t decisions = 0;            // written or followed
  std::uint64_t corrections = 0;          // followed, and different from what was rounded to here
  std::optional<Inadmissible> inadmissible;  // the first
};

class Rounder {
 public:
  explicit Rounder(int bits) : grid_(bits) {}

  const numerics::Grid& grid() const { return grid_; }

  void BeginPlain();
  void BeginRecord();
  void BeginFollow(DecisionLog log);
  StepReport End();

  // A result of so many elements with bounds comes next. Returns the position of its first.
  std::uint64_t Next(std::uint64_t elements);

  std::uint64_t results() const { return results_.size(); }  // announced in this step

  // Whether Round needs the bounds of elements [begin, end).
  bool WantsBounds(std::uint64_t begin, std::uint64_t end) const;

  // Rounds n results that start at `position`. e[i] bounds the distance of y[i] from the truth (the E of docs/ROUNDING.md); null where WantsBounds said no. Thread safe.
  void Round(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  // The same for results without a bound: they have no position.
  void RoundExact(const double* y, std::int64_t n, float* out) const;

 private:
  enum class Mode { kPlain, kRecord, kFollow };
  numerics::Grid grid_;
  Mode mode_ = Mode::kPlain;
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::vector<std::uint64_t> results_;  // first positions
  std::vector<Decision> decisions_;
  Bytes log_;
  std::uint64_t corrections_ = 0;
  std::optional<Inadmissible> inadmissible_;
};

}  // namespace assay::rounding
