// Rounder: what a backend rounds its results with while a step runs: plainly, writing decisions down, or following those of somebody else (docs/ROUNDING.md).
//
// Between Begin and End one step runs. The backend announces each rounded result by Next, in the order of the step and while nothing is being rounded, and then rounds its elements block by
// block, from any threads. Every element of a result is rounded once.
//
// A log that is followed can be examined besides: wherever it says something else than would have been written here, the element is doubtful. The backend takes the doubts after each op, evaluates
// these elements exactly and refuses what does not stand up to it, by the test that a dispute applies (by_log.h). What holds then holds for every correct evaluation: where the log says what
// one of them would have written, that one is the proof.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/numerics/grid.h"
#include "assay/rounding/by_log.h"
#include "assay/rounding/decision_log.h"

namespace assay::rounding {

// A decision that no correct evaluation can have taken, one that every correct evaluation writes down and that is not there, or a log that is not of this step.
struct Inadmissible {
  std::uint64_t result = 0;   // which result of the step, counted by Next; the number of results if it is about none of them
  std::uint64_t element = 0;  // of that result
  std::optional<Decision> decision{};  // none if it is about none of them, or is missing
  bool missing = false;
  std::string reason;
};

// To be read after "the rounding log": "decides element 17 of result 3 as 0.25: no correct evaluation rounds so".
std::string Describe(const Inadmissible& inadmissible);

// A decision that was followed and is not what was rounded to here.
struct Correction {
  std::uint64_t result = 0;    // as in Inadmissible
  double y = 0;                // what was computed here
  double reach = 0;            // its D
  std::uint64_t position = 0;  // as in Decision
};

struct StepReport {
  Bytes log;                                 // of a recorded step; of a followed one, what was followed
  std::uint64_t elements = 0;                // that have a bound
  std::uint64_t decisions = 0;               // written or followed
  std::uint64_t corrections = 0;             // followed, and different from what was rounded to here
  std::vector<Correction> corrected;         // kBound: these, in no order
  std::optional<Inadmissible> inadmissible;  // the first
  // Of a step that was amended: the log of what was done here. Decisions of the log that was followed, as far as they were; of everything else that is close by
  // its own bounds, what it was rounded to.
  std::optional<Bytes> own{};
  bool examined = false;  // what was followed has been examined
};

class Rounder;

// Results that are rounded where the host does not see them, on a device: what came of it is handed over by SetDecisions or AddFollowed before a step ends.
class RoundedElsewhere {
 public:
  virtual ~RoundedElsewhere() = default;
  virtual void Finish(Rounder& rounder) = 0;
};

// What becomes of a log that is followed.
enum class Scrutiny {
  kFollow,   // decisions within D of what is computed here are taken
  kExamine,  // and held against the truth where they are not what would have been written here, as far as the backend can
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

  // Logs are coded on its threads. Begin... and End are then called where the pool's ParallelFor may be. It must outlive the rounder, or be taken away by null.
  void set_pool(ThreadPool* pool) { pool_ = pool; }

  void BeginPlain();
  void BeginRecord();
  void BeginFollow(DecisionLog log, Scrutiny scrutiny = Scrutiny::kFollow);  // kBound; decisions ascend by position
  // What End of a recorded step gave, by the rule. An error leaves the rounder as it was.
  Status BeginFollow(ByteSpan log, std::string_view what, Scrutiny scrutiny = Scrutiny::kFollow);
  // The same, of somebody whose log may be false: where it is, values are rounded as they are here, and the report has a log that says so beside the one that was
  // followed. A log that cannot be read is one without decisions. Where results are rounded elsewhere it is BeginFollow.
  Status BeginAmend(ByteSpan log, std::string_view what);
  StepReport End();

  // A result of so many elements with bounds comes next. Returns the position of its first.
  std::uint64_t Next(std::uint64_t elements);

  std::uint64_t results() const { return results_.size(); }  // announced in this step
  std::uint64_t steps() const { return steps_; }             // begun so far, each in one of the three ways

  // For results that are rounded elsewhere. It must outlive the rounder, or be taken away by null.
  void set_elsewhere(RoundedElsewhere* elsewhere) { elsewhere_ = elsewhere; }
  bool follows() const { return mode_ == Mode::kFollow; }
  std::uint64_t expected() const { return expected_; }                // elements of the step, by the log that is followed
  std::span<const Decision> decisions() const { return decisions_; }  // all that are followed, by position
  // Those about [begin, end).
  std::span<const Decision> DecisionsIn(std::uint64_t begin, std::uint64_t end) const;
  // All decisions of a step that is recorded.
  void SetDecisions(DecisionLogWriter decisions) { elsewhere_decided_ = std::move(decisions); }
  // So many decisions were followed, so many of them corrected a value; `refused` is the position of the first that is inadmissible.
  void AddFollowed(std::uint64_t followed, std::uint64_t corrections, std::optional<std::uint64_t> refused);

  // For backends that examine: they say so, and after each op take the doubts, positions in ascending order, and refuse those that do not hold.
  void set_examiner(bool examiner) { examiner_ = examiner; }
  bool examines() const { return examines_; }  // the step that runs
  std::vector<std::uint64_t> TakeDoubts();
  // What the log makes of the value that was written at a position of the last result announced, or one before it of the same op. Thread safe.
  ByLog Judge(std::uint64_t position, const numerics::DoubleDouble& x, double e, float value) const;
  void RefuseAt(std::uint64_t position);
  bool amends() const { return amends_; }  // the step that runs
  // Of a doubt in a step that is amended: refuses it, and returns what the element is rounded to here, which takes the place of what was followed, if anything was.
  std::optional<float> Overrule(std::uint64_t position);
  // Whether a doubt in a step that is amended has no bearing any more: the log leaves something out, and has been refused already.
  bool IsSettled(std::uint64_t position) const;

  // kPaper: the threshold for the results from here on, called where Next is.
  void set_tau(double tau) { tau_ = tau; }

  // Whether Round needs the bounds of elements [begin, end).
  bool WantsBounds(std::uint64_t begin, std::uint64_t end) const;

  // Whether decisions are being written down by their bounds.
  bool records() const { return mode_ == Mode::kRecord && rule_ == Rule::kBound; }
  // Whether bounds are wanted only to find what is close among elements [begin, end): if they are far from every boundary by a bound that is larger than theirs they need not go through Round.
  bool WantsOnlyClose(std::uint64_t begin, std::uint64_t end) const {
    return records() || (examines_ && rule_ == Rule::kBound && DecisionsIn(begin, end).empty());
  }

  // Rounds n results that start at `position`. e[i] bounds the distance of y[i] from the truth (the E of docs/ROUNDING.md); null where WantsBounds said no. Thread safe.
  void Round(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  // The same for results without a bound: they have no position.
  void RoundExact(const double* y, std::int64_t n, float* out) const;

 private:
  enum class Mode { kPlain, kRecord, kFollow };

  // What is wrong at a position.
  struct Refused {
    std::uint64_t position = 0;
    std::optional<Decision> decision{};  // none: it is missing
  };

  void Begin(Mode mode, Scrutiny scrutiny = Scrutiny::kFollow);
  void Record(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  // Rounds, and lists what is close and not in the log.
  void RoundAndDoubt(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  void FollowDecisions(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  void Amend(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  void RecordSymbols(const double* y, std::int64_t n, std::uint64_t position);
  void FollowSymbols(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out);
  void Refuse(const Refused& refused);  // with the mutex held
  void CheckLog(StepReport& report) const;
  void FinishAmended(StepReport& report);
  std::uint64_t ResultAt(std::uint64_t position) const;

  numerics::Grid grid_;
  Rule rule_;
  double tau_;
  Mode mode_ = Mode::kPlain;
  bool examiner_ = false, examines_ = false;
  std::uint64_t steps_ = 0;
  RoundedElsewhere* elsewhere_ = nullptr;
  ThreadPool* pool_ = nullptr;
  std::uint64_t next_ = 0;
  std::uint64_t expected_ = 0;          // elements of the step, by the log that is followed
  std::vector<std::uint64_t> results_;  // first positions
  std::vector<std::uint8_t> symbols_;   // kPaper
  bool amends_ = false;                 // while a log is followed: it may be false
  std::string unreadable_;              // why it could not be read
  std::vector<std::uint8_t> own_symbols_;
  Bytes log_;  // that is followed, where it was given as bytes

  std::mutex mutex_;                 // of what follows while a step is recorded or followed
  std::vector<Decision> decisions_;  // only read while they are followed
  std::vector<Decision> own_;        // amended: what was decided here, with what was followed
  std::vector<Decision> scratch_;
  std::optional<DecisionLogWriter> elsewhere_decided_;
  std::uint64_t followed_ = 0;
  std::uint64_t corrections_ = 0;
  std::vector<Correction> corrected_;
  std::vector<std::uint64_t> doubts_;
  std::optional<Refused> inadmissible_;  // the first by position
};

}  // namespace assay::rounding
