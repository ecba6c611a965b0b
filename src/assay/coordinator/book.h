// Book: everything that can happen to orders, each as one transaction.
//
// Every call may come twice: a repetition changes nothing and says what the first said. A lease is fenced by its number, and what comes under one that has
// ended is refused (LeaseState says why). Whoever calls has been authenticated; that the account may touch the order, and that the worker holds the lease, is
// checked here. Leases end by time in Sweep alone, and by no clock that others see (stillness.h).
//
// Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/coordinator/chronicle.h"
#include "assay/coordinator/registration.h"
#include "assay/coordinator/stillness.h"
#include "assay/store/clock.h"
#include "assay/store/database.h"

namespace assay::coordinator {

struct BookOptions {
  std::int64_t lease_ms = 60'000;  // how long a lease lasts without a sign of life
  std::shared_ptr<store::Clock> clock = store::SystemClock();
  std::function<Digest()> draw{};  // 32 bytes that nobody can foretell; must be given
  // Leases of one order go to workers of different accounts, not only to different keys: where accounts stand for people who are known.
  bool distinct_accounts = false;
  // Told of every order that something has happened to, once that is durable, by the thread that made it happen. It must not wait.
  std::function<void(const std::string& order)> changed{};
  bool announce_verdicts = false;  // keep a row for each decision until it has been announced (verdict_hook.h)
};

struct OrderLine {
  std::string id, job, verdict;  // verdict: empty while it is open
  std::int64_t seq = 0, made_ms = 0;
};

struct GivenLease {
  std::string order{};
  life::LeaseNumber lease = 0;
  life::Role role = life::Role::kTrain;
  life::LeaseNumber of = 0;
  std::string nonce{};
  std::int64_t ends_in_ms = 0;
};

// A dispute that a process has taken upon itself.
struct OpenDispute {
  std::string order;
  std::vector<life::LeaseNumber> among;
};

// A run as its worker handed it in.
struct BroughtRun {
  std::string worker;  // public key
  std::string receipt;
  std::vector<life::OrderFile> files{};
};

// What has become of orders that a worker keeps something of.
struct WorkerNews {
  std::vector<std::pair<std::string, life::LeaseNumber>> cancelled{};  // leases of its own that ended without a result
  std::vector<std::string> decided{};                                  // or unknown
};

enum class LeaseState { kNone, kOpen, kEnded };  // kNone: there is none, or it is another worker's

class Book {
 public:
  // The database has the schema. All must outlive the book.
  Book(store::Database& database, const SigningKey& key, BookOptions options);

  Status AddAccount(const std::string& account);
  // Pins the key to the account and takes what the worker says of itself. An error where another account has the key.
  Status AddWorker(const std::string& account, const std::string& vkey, const Registration& says = {});
  // Takes the key from its account, so that whoever proves it next has it; its record and its conviction stay. False where it is registered to none.
  Result<bool> ReleaseWorker(const std::string& vkey);
  // Those that may be given work, for clients to choose from; `everybody`: the convicted too.
  Result<std::vector<WorkerLine>> Workers(bool everybody);

  // The order's id. `admit` is asked within the transaction, of an order that is not there yet.
  using Admit = std::function<Status(store::Transaction& t)>;
  Result<std::string> Submit(const std::string& account, const std::string& envelope, const Admit& admit = {});
  Status Cancel(const std::string& order, const std::string& by);
  // In the order of their coming, from `after` on.
  Result<std::vector<OrderLine>> List(const std::string& account, std::int64_t after, std::int64_t limit);
  Result<Chapter> Read(const std::string& order, std::int64_t from, std::size_t max_bytes);
  Result<std::string> AccountOf(const std::string& order);

  // What the worker should do: the lease that it holds already, or a new one; nothing where nobody wants it. Leases of sealed orders are for workers whose
  // recipient the order is sealed to; a worker registered as an auditor is given audits alone, and holds the challenges of its own.
  Result<std::optional<GivenLease>> Next(const std::string& vkey);
  // The lease that it holds, without a sign of life. An error where the key is not registered to the account, or convicted.
  Result<std::optional<GivenLease>> Held(const std::string& account, const std::string& vkey);
  Result<WorkerNews> News(const std::string& vkey, const std::vector<std::string>& orders);
  // The key as it was registered, with its name, and the account that it is registered to.
  Result<std::optional<std::pair<std::string, std::string>>> Registered(const std::string& vkey);
  // Names what leases are wanted, the newest at least, so that a change can be seen; empty: none are.
  Result<std::string> WantsNow();
  Result<LeaseState> StateOf(const std::string& vkey, const std::string& order, life::LeaseNumber lease);
  // What a lease brought; an error where it brought nothing.
  Result<BroughtRun> RunOf(const std::string& order, life::LeaseNumber lease);
  Result<std::shared_ptr<const Written>> Look(const std::string& order);
  Status Renew(const std::string& vkey, const std::string& order, life::LeaseNumber lease);
  Status Commit(const std::string& vkey, const std::string& order, life::Committed committed);
  // Many signs of life at once: those that count are of leases which are open and this worker's.
  struct Beat {
    std::string point, order;  // the worker's key, as PointOf has it
    life::LeaseNumber lease = 0;
    friend auto operator<=>(const Beat&, const Beat&) = default;
  };
  Status RenewAll(const std::vector<Beat>& beats);
  // These workers, by PointOf, have just been heard of.
  Status Saw(const std::vector<std::string>& points);
  // The workers, by PointOf, that have an open lease.
  Result<std::set<std::string>> Holders();
  Status Receive(const std::string& vkey, const std::string& order, life::Received received,
                 const std::vector<life::OrderFile>& files = {});
  Status Report(const std::string& vkey, const std::string& order, life::Audited audited);
  Status GiveBack(const std::string& vkey, const std::string& order, life::Released released);

  // A dispute that nobody has taken, or whose holder has not been heard of for a lease's time; taken again by who holds it, it lasts longer. Never one of a
  // sealed order, whose client is its referee.
  Result<std::optional<OpenDispute>> TakeDispute(const std::string& holder);
  // A sign of life of who holds it. False where it is another's by now, or over.
  Result<bool> HoldDispute(const std::string& holder, const std::string& order);
  // Whoever comes next may take it at once.
  Status DropDispute(const std::string& holder, const std::string& order);
  // Refused where somebody else holds the dispute by now. That the evidence convicts who is named as convicted is the caller's to check (platform/outcome.h).
  Status Judge(const std::string& holder, const std::string& order, life::Judged judged);
  // The same by the client of a sealed order, who holds every dispute of it.
  Status JudgeSealed(const std::string& account, const std::string& order, life::Judged judged);

  // Ends leases that have run out, and decides what has become due. To be called every few seconds by every process.
  Status Sweep();

 private:
  Status EndLease(store::Transaction& t, const std::string& order, life::LeaseNumber lease);
  // Writes the entry, ends the lease where it does, and what follows at once: waiving, a challenge, the end of other leases, the decision.
  Status Happen(store::Transaction& t, const std::string& order, life::Event event);
  Status Settle(store::Transaction& t, const std::string& order, std::shared_ptr<const Written> written);
  // Gives an auditor that refutes the lease of its own run at once: an order does not wait for who never comes again, since this lease ends like any other.
  Result<std::shared_ptr<const Written>> Challenge(store::Transaction& t, const std::string& order, const Written& written,
                                                   life::LeaseNumber audit);
  Status OnDecision(store::Transaction& t, const Written& written);
  Status UnderLease(const std::string& vkey, const std::string& order, life::LeaseNumber lease, life::Event event,
                    const std::vector<life::OrderFile>& files = {});
  struct Candidate {
    std::string vkey, point, account, recipient, role;
  };
  Result<Candidate> CandidateOf(store::Transaction& t, const std::string& vkey);
  Result<std::optional<GivenLease>> FindHeld(store::Transaction& t, const std::string& point);
  Result<std::optional<GivenLease>> GiveNew(store::Transaction& t, const Candidate& worker);
  static Result<BroughtRun> FindRun(store::Transaction& t, const Written& written, life::LeaseNumber lease);
  Status Enter(store::Transaction& t, const std::string& order, const life::Judged& judged);
  // One transaction that changes an order; who looks on is told after it.
  template <class Function>
  auto Change(const std::string& order, Function&& function) {
    auto done = database_.Write(std::forward<Function>(function));
    if (done || done.error().unknown_outcome) Tell(order);
    return done;
  }
  void Tell(const std::string& order) const {
    if (options_.changed) options_.changed(order);
  }
  std::int64_t Now() const { return options_.clock->WallMs(); }

  store::Database& database_;
  Chronicle chronicle_;
  const BookOptions options_;
  Stillness leases_, disputes_;
};

}  // namespace assay::coordinator
