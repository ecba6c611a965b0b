// World: clients, workers and coordinators of one simulated platform, with a clock, a network and a database that fail as the seed has it.
//
// The coordinators are the real Book over a real database in memory; workers and clients act in an order that is drawn. Their messages come twice, late or not
// at all, coordinators are killed and started again, clocks jump, the database fails before or after a commit. What must hold all the while is checked after
// every act, and what must hold in the end at the end. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/coordinator/book.h"
#include "support/fake_clock.h"
#include "support/faulty_store.h"

namespace assay::testkit {

// Small numbers from a seed (SplitMix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  int Below(int n) { return static_cast<int>(Next() % static_cast<std::uint64_t>(n)); }
  bool Percent(int percent) { return Below(100) < percent; }

 private:
  std::uint64_t state_;
};

struct Tally {
  std::int64_t orders = 0, acts = 0, faults = 0, restarts = 0, leases = 0, disputes = 0;
  std::int64_t verdicts[5] = {};
};

class World {
 public:
  explicit World(std::uint64_t seed);
  ~World();
  // Plays to the end. The first thing that does not hold, in words; empty: all does.
  std::string Play(Tally& tally);

 private:
  enum class Nature { kHonest, kLiar, kSlanderer, kVanishing, kLate, kHitAndRun };
  struct Worker {
    int number = 0;
    Nature nature = Nature::kHonest;
    std::optional<coordinator::GivenLease> lease{};
    int committed = 0;  // entries of its log
    bool answering = true;
    bool gone = false;  // for ever, storm or calm
  };
  struct Client {
    std::string order, envelope;
    bool submitted = false, gives_up = false;
    bool sealed = false;  // it is its own referee
    life::Life life{};
    std::vector<Digest> leaves{};
  };
  struct Coordinator {
    std::shared_ptr<FakeClock> clock;
    std::unique_ptr<coordinator::Book> book;
  };

  void Start(Coordinator& coordinator);
  void Act();
  void ActAs(Worker& worker);
  void Finish(Worker& worker);
  void ActAs(Client& client);
  void ActAsReferee();
  void JudgeOwn(Client& client);
  // What a dispute among these leases finds.
  life::Judged Decide(const life::Life& seen, const std::vector<life::LeaseNumber>& among);
  void AddWorker(int number);
  void Complain(std::string what);
  void CheckEnd(Tally& tally);
  void Note(const Status& status);
  coordinator::Book& AnyBook() { return *coordinators_[static_cast<std::size_t>(dice_.Below(2))].book; }
  int ClaimOf(const Worker& worker) const { return worker.nature == Nature::kLiar ? worker.number + 1 : 0; }
  Worker* Find(const std::string& vkey);

  Dice dice_;
  bool calm_ = false;  // nothing fails any more
  std::unique_ptr<store::Database> database_;
  Coordinator coordinators_[2];
  std::vector<Worker> workers_;
  std::vector<Client> clients_;
  std::optional<coordinator::OpenDispute> dispute_;
  std::string wrong_;
  Tally tally_;
};

}  // namespace assay::testkit
