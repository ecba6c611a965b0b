// A seeded simulation of a dispute: a virtual clock, a network that delays, drops, duplicates, reorders and corrupts, and parties that crash: providers come back without what they
// were sent, the referee from its saved events. One seed gives one course of events, whatever the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assay/dispute/referee.h"

namespace assay::dispute {

// How somebody who is not honest behaves.
enum class Habit : std::uint8_t {
  kHonest,
  kConsistent,  // answers by its own run
  kSilent,
  kGarbling,
  kEquivocating,
  kReplaying,  // sends what it has seen, of others and of other disputes
  kOversized,
  kStalling,   // answers just before its clock runs out, or just after
  kBorrowing,  // answers by other runs
  kAnything,   // each time something else
};
inline constexpr int kHabits = 10;

struct Actor {
  Claim claim;
  Habit habit = Habit::kHonest;
  std::function<Result<Bytes>(const Question& question)> answer;  // by its own run
  std::function<Bytes(ByteSpan asked, Bytes body)> message;
};

struct Scenario {
  std::shared_ptr<const Law> law;
  std::vector<Actor> actors;
  std::vector<std::function<Result<Bytes>(const Question& question)>> runs;  // what liars may borrow
  std::function<std::string(const Record& record)> judge{};                  // what is wrong with the evidence
};

struct Simulated {
  std::string problem;  // empty: everything was as it has to be
  std::size_t events = 0, crashes = 0, rounds = 0, bouts = 0, matches = 0;
  std::int64_t time_ms = 0;
  std::vector<Standing> standings;
};

// Plays it and checks that the honest stand, that whoever claimed something else fell, that the bounds were kept and that the evidence convicts.
Simulated Simulate(const Scenario& scenario, std::uint64_t seed);

// A dispute over the toy job, all of it from the seed.
Simulated SimulateToy(std::uint64_t seed);
// A dispute over real runs of a small job (simulation_real.cc).
Simulated SimulateReal(std::uint64_t seed);

}  // namespace assay::dispute
