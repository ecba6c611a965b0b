// Book: everything that can happen to orders, each as one transaction.
//
// Every call may come twice: a repetition changes nothing and says what the first said. A lease is fenced by its number, and what comes under one that has
// ended is refused with `Refusal::kEnded`. Whoever calls has been authenticated; that the account may touch the order, and that the worker holds the lease, is
// checked here. Leases end by time in Sweep alone, and by no clock that others see (stillness.h).
//
// Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/coordinator/chronicle.h"
#include "assay/coordinator/stillness.h"
#include "assay/store/clock.h"
#include "assay/store/database.h"

namespace assay::coordinator {

struct BookOptions {
  std::int64_t lease_ms = 60'000;  // how long a lease lasts without a sign of life
  std::shared_ptr<store::Clock> clock = store::SystemClock();
  std::function<Digest()> draw{};  // 32 bytes that nobody can foretell; must be given
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

class Book {
 public:
  // The database has the schema. All must outlive the book.
  Book(store::Database& database, const SigningKey& key, BookOptions options);

  Status AddAccount(const std::string& account);
  // Pins the key to the account. An error where another account has it.
  Status AddWorker(const std::string& account, const std::string& vkey);

  // The order's id.
  Result<std::string> Submit(const std::string& account, const std::string& envelope);
  Status Cancel(const std::string& order, const std::string& by);
  // In the order of their coming, from `after` on.
  Result<std::vector<OrderLine>> List(const std::string& account, std::int64_t after, std::int64_t limit);
  Result<Chapter> Read(const std::string& order, std::int64_t from, std::size_t max_bytes);
  Result<std::string> AccountOf(const std::string& order);

  // What the worker should do: the lease that it holds already, or a new one; nothing where nobody wants it.
  Result<std::optional<GivenLease>> Next(const std::string& vkey);
  Status Renew(const std::string& vkey, const std::string& order, life::LeaseNumber lease);
  Status Commit(const std::string& vkey, const std::string& order, life::Committed committed);
  Status Receive(const std::string& vkey, const std::string& order, life::Received received);
  Status Report(const std::string& vkey, const std::string& order, life::Audited audited);
  Status GiveBack(const std::string& vkey, const std::string& order, life::Released released);

  // A dispute that nobody has taken, or whose holder has not been heard of for a lease's time; taken again by who holds it, it lasts longer.
  Result<std::optional<OpenDispute>> TakeDispute(const std::string& holder);
  // Refused where somebody else holds the dispute by now.
  Status Judge(const std::string& holder, const std::string& order, life::Judged judged);

  // Ends leases that have run out, and decides what has become due. To be called every few seconds by every process.
  Status Sweep();

 private:
  Status EndLease(store::Transaction& t, const std::string& order, life::LeaseNumber lease);
  // Writes the entry, ends the lease where it does, and what follows at once: waiving, the end of other leases, the decision.
  Status Happen(store::Transaction& t, const std::string& order, life::Event event);
  Status Settle(store::Transaction& t, const std::string& order, std::shared_ptr<const Written> written);
  Status OnDecision(store::Transaction& t, const Written& written);
  Status UnderLease(const std::string& vkey, const std::string& order, life::LeaseNumber lease, life::Event event);
  Result<std::optional<GivenLease>> GiveNew(store::Transaction& t, const std::string& vkey, const std::string& point,
                                            const std::string& account);
  std::int64_t Now() const { return options_.clock->WallMs(); }

  store::Database& database_;
  Chronicle chronicle_;
  const BookOptions options_;
  Stillness leases_, disputes_;
};

}  // namespace assay::coordinator
