// Rounder: what a backend rounds its results with while a step runs: plainly, writing decisions down, or following those of somebody else (docs/ROUNDING.md).
//
// Between Begin and End one step runs. The backend announces each rounded result by Next, in the order of the step and while nothing is being rounded, and then rounds its elements block by
// block, from any threads. Every element of a result is rounded once.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/numerics/grid.h"
#include "assay/rounding/decision_log.h"

namespace assay::rounding {

// A decision that no correct evaluation can have taken, or a log that is not of this step.
struct Inadmissible {
  std::uint64_t result = 0;   // which result of the step, counted by Next; the number of results if it is about none of them
  std::uint64_t element = 0;  // of that result
  std::optional<Decision> decision{};  // none if it is about none of them
  std::string reason;
};

// "decides element 17 of result 3 as 0.25, which no correct evaluation leads to".
std::string Describe(const Inadmissible& inadmissible);

struct StepReport {
  Bytes log;                                 // of a recorded step; of a followed one, what was followed
  std::uint64_t elements = 0;                // that have a bound
  std::uint64_t decisions = 0;               // written or followed
  std::uint64_t corrections = 0;             // followed, and different from what was rounded to here
  std::optional<Inadmissible> inadmissible;  // the first
};

enum class Rule {
  kBound,  // decisions where the bound leaves the value open
  kPaper,  // the published rule: a symbol for each element, by a threshold
};

class Rounder {
 public:
  explicit Rounder(int bits, Rule rule = Rule::kBound, double tau = 0x1p-25) : grid_(bits), rule_(rule), tau_(tau) {}

  const numerics::Grid& grid() const { return grid_; }
  Rule rule() const { return rule_; }

  void BeginPlain();
  void BeginRecord();
  void BeginFollow(DecisionLog log);  // kBound
  // What End of a recorded step gave, by the rule. An error leaves the rounder as it was.
  Status BeginFollow(ByteSpan log, std::string_view what);
  StepReport End();

  // A result of so many elements with bounds comes next. Returns the position of its first.
  std::uint64_t Next(std::uint64_t elements);

  std::uint64_t results() const { return results_.size(); }  // announced in this step

  // kPaper: the threshold for the results from here on, called where Next is.
  void set_tau(double tau) { tau_ = tau; }

  // Whether Round needs the bounds of elements [begin, end).
  bool WantsBounds(std::uint64_t begin, std::uint64_t end) const;

  // Whether decisions are being written down by their bounds. Results that are far from every boundary by a bound that is larger than theirs need not go through Round then.
  bool records() const { return mode_ == Mode::kRecord && rule_ == Rule::kBound; }

  // Rounds n results that start at `position`. e[i] bounds the distance of y[i] from the truth (the E of docs/ROUNDING.md); null where WantsBounds said no. Thread safe.
  void Round(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  // The same for results without a bound: they have no position.
  void RoundExact(const double* y, std::int64_t n, float* out) const;

 private:
  enum class Mode { kPlain, kRecord, kFollow };

  void Begin(Mode mode);
  void Record(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  void FollowDecisions(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  void RecordSymbols(const double* y, std::int64_t n, std::uint64_t position);
  void FollowSymbols(const double* y, std::int64_t n, std::uint64_t position, float* out);
  void CheckLog(StepReport& report) const;
  // The decisions about [begin, end) of a log that is followed.
  std::span<const Decision> DecisionsIn(std::uint64_t begin, std::uint64_t end) const;

  numerics::Grid grid_;
  Rule rule_;
  double tau_;
  Mode mode_ = Mode::kPlain;
  std::uint64_t next_ = 0;
  std::uint64_t expected_ = 0;          // elements of the step, by the log that is followed
  std::vector<std::uint64_t> results_;  // first positions
  std::vector<std::uint8_t> symbols_;   // kPaper
  Bytes log_;                           // kPaper, followed

  std::mutex mutex_;                 // of what follows while a step is recorded or followed
  std::vector<Decision> decisions_;  // only read while they are followed
  std::uint64_t followed_ = 0;
  std::uint64_t corrections_ = 0;
  std::optional<Decision> inadmissible_;  // the first by position
};

}  // namespace assay::rounding
