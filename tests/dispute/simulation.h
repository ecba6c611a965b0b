// A seeded simulation of a dispute and of all that liars do around it: a virtual clock, a network that delays, drops, duplicates, reorders and corrupts, a referee that comes back from its
// saved events, honest providers that are restarted at any moment and forget everything, liars who speak to the honest directly (strangers.h), hand out receipts of others, come under many
// names with one claim, and edit evidence (edits.h). One seed gives one course of events, whatever the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/dispute/referee.h"
#include "stage.h"
#include "strangers.h"

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
  kRefusing,   // refuses the dispute, or at times a question
  kAnything,   // each time something else
};
inline constexpr int kHabits = 11;

struct Actor {
  Key key = 0;
  std::size_t run = 0;     // that its receipt is for
  std::size_t speaks = 0;  // that it answers by
  Habit habit = Habit::kHonest;
  std::string receipt{};
  bool poses = false;  // the receipt is another's; it has no key to sign for it
};

struct Scenario {
  const Stage& stage;
  std::vector<Actor> actors{};
  bool pinned = true;   // the honest name the referees that may ask them
  bool second = false;  // and have named one that should not be
  bool safe() const { return pinned && !second; }
  std::int64_t open_bouts = 16;  // what strangers get of each honest party that names nobody
  std::size_t edits = 20;
  std::size_t acts = 20;  // of strangers, at most
  std::size_t games = 1;  // that they referee
};

struct Simulated {
  std::string problem;  // empty: everything was as it has to be
  std::size_t events = 0, crashes = 0, restarts = 0, rounds = 0, bouts = 0, matches = 0;
  std::size_t poses = 0;      // receipts of others that were handed out
  std::size_t unheard = 0;    // honest parties that name nobody and had not enough left for the dispute
  std::size_t refusals = 0;   // that the referee met
  std::size_t reordered = 0;  // games that were played once more in another order
  Deeds deeds;
  std::size_t edits = 0, invalid = 0, less = 0, same = 0, more = 0;  // of those: no evidence, and how many it convicts
  std::size_t judged = 0;                                            // evidence of hostile referees
  std::size_t honest_convicted = 0, wrong_verdicts = 0;
  double most_used = 0;  // of its budget, by an honest party in the dispute
  std::vector<Standing> standings{};
};

// Plays it and checks what must hold in every play:
// - no honest party is guilty: by the referee, by a judge of the evidence, of evidence that was edited, of evidence from hostile referees;
// - where the honest have named the referee alone they stand, whoever claimed something else fell, the verdict names their claim, and strangers are told nothing;
// - who stands does not depend on the order in which providers are listed;
// - there, what the dispute costs an honest party is within its stated budget;
// - where an honest party has opened the dispute the referee is never denied anything in it, and strangers are told no more than what is open to all;
// - where an honest party refused the dispute, because strangers had used up what it has for them, nobody who claims something else wins by that;
// - a judge finds what the referee found.
Simulated Simulate(const Scenario& scenario, std::uint64_t seed);

// What strangers get of each honest party: few bouts, or enough for many disputes.
std::int64_t SomeBouts(Dice& dice);
// Actors for a stage: honest ones, liars of all habits, crowds with one claim, posers.
void FillIn(Scenario& scenario, std::size_t most, Dice& dice);

// A dispute over the toy job, all of it from the seed.
Simulated SimulateToy(std::uint64_t seed);
// A dispute over real runs of small jobs (simulation_real.cc).
Simulated SimulateReal(std::uint64_t seed);

}  // namespace assay::dispute
