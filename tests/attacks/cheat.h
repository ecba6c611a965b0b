// Dishonest trainers. A cheat is a handful of hooks into a training loop that does everything else as an honest one would and
// commits to whatever comes out: signatures, chain, tiles, snapshots, weights and receipt of the run that it leaves agree with
// each other and with the job that was asked for, unless disagreeing is the cheat. What a state was trained on is lied about
// where that is harder to find out: batch roots are the expected ones.
//
// Each cheat is one file; table.cc lists them all with what an audit must report. Not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/run/directory.h"
#include "assay/train/stepper.h"

namespace assay::attacks {

// Where a run's first falsehood is.
struct Lie {
  std::optional<std::int64_t> step{};  // counted from 1; 0: the starting state; none: no replay is needed to see it
  std::optional<std::int64_t> node{};
  std::optional<std::int64_t> leaf{};
};

// What a cheat has to work with. All of it outlives the hooks.
struct Setting {
  const PreparedJob& prepared;  // the job that was asked for
  const SigningKey& key;        // and who was asked
  Backend& backend;
  ThreadPool& pool;
  std::int64_t at = 1;  // the step, counted from 1, where it begins to cheat
  Lie& lie;             // a cheat adds what only it knows
};

// Empty hooks do what an honest trainer does.
struct Hooks {
  std::function<void(Job& job)> job{};          // another job than was asked for, from the id on
  std::function<SigningKey()> signer{};         // another signer, from the id on
  std::function<Status(State& state)> start{};  // the starting state
  std::function<std::unique_ptr<Dataset>(std::unique_ptr<Dataset> honest)> data{};
  std::function<void(StepPlan& plan)> plan{};
  // Instead of running the plan.
  std::function<Result<StepOutcome>(Stepper& stepper, State& state, const StepPlan& plan)> run{};
  // The state after `step` steps, `before` being the one that the step started from.
  std::function<Status(std::int64_t step, const State& before, State& after)> after{};
  bool admits_batches = false;                                // commits to the batches that it used, not to the job's
  std::function<Status(const RunDirectory& run)> finished{};  // what is done to the complete run
};

// What an audit must say of a run that a cheat left.
enum class Where {
  kClaims,    // no step: the run contradicts itself or what was asked for
  kClaimsAt,  // the same, and the step at which it began to cheat is known from the claims alone
  kStart,     // step 0
  kFirst,     // step 1
  kAt,        // the step at which it began to cheat
  kLast,      // the last step
};
enum class Locating {
  kAny,    // none need be named
  kNamed,  // one must be, where the audit can compare states: at a step with a snapshot
  kExact,  // the very node and leaf that the cheat tampered with
};
struct Finding {
  Where where = Where::kAt;
  Locating node = Locating::kAny;
  std::string_view reason{};  // phrases, one of which the reason contains, separated by '|'
  bool damage = false;        // damaged, not refuted: nothing that was signed is left to speak against anybody
};

struct Cheat {
  std::string_view name;
  std::string_view what;
  Finding finding{};
  Result<Hooks> (*make)(const Setting& setting) = nullptr;
};

std::span<const Cheat> Cheats();
std::span<const Cheat> RoundedCheats();         // of fp64-rounded jobs alone
const Cheat* FindCheat(std::string_view name);  // in either

struct CheatRequest {
  const Job& job;
  std::string out;      // must not exist or be empty
  std::int64_t at = 0;  // 0: the middle of the job
};

// Leaves a finished run of the job in `out` and tells where it is false.
Result<Lie> RunCheat(const Cheat& cheat, const CheatRequest& request, const SigningKey& key, Backend& backend,
                     ThreadPool& pool);
// The same with hooks that are in no table.
Status RunHooks(const Hooks& hooks, const Setting& setting, const std::string& out);

}  // namespace assay::attacks
