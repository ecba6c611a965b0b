// Life: what is known of an order after some entries of its log, and what follows from it.
//
// Apply takes one entry after the other and refuses what cannot stand there: the coordinator asks it before it writes, the client when it reads. Signatures of
// clients, workers and auditors are checked here; the coordinator's own, over the log's head, and what is in blobs (evidence, models) are the reader's business.
// Value type, not thread safe; everything follows from the entries alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/life/entry.h"
#include "assay/life/order.h"
#include "assay/life/report.h"
#include "assay/run/receipt.h"

namespace assay::life {

struct Lease {
  enum class State : std::uint8_t { kOpen, kGone, kHeld, kOut };  // an audit that is reported is held
  LeaseNumber number = 0;
  Role role = Role::kTrain;
  std::string worker;
  ed25519::PublicKey point{};  // the worker's: who it is, whatever its name
  State state = State::kOpen;
  std::int64_t since = 0;  // when it was given
  // Of a training lease.
  LeaseNumber challenges = 0;             // the audit that it has to make good; 0: none
  std::optional<Checkpoint> committed{};  // the last
  std::optional<Receipt> receipt{};
  std::string receipt_file{};
  std::int64_t model_bytes = 0;
  bool convicted = false;
  bool waived = false;
  // Of an audit.
  LeaseNumber of = 0;
  std::string nonce{};
  std::optional<Finding> finding{};
};

class Life {
 public:
  // An error leaves the life as it was.
  Status Apply(const Entry& entry);

  std::int64_t size() const { return size_; }
  std::int64_t last_time() const { return last_time_; }
  const Order& order() const { return order_; }  // once submitted
  const std::map<LeaseNumber, Lease>& leases() const { return leases_; }
  const Lease* Find(LeaseNumber number) const;
  LeaseNumber next_lease() const { return next_lease_; }
  bool cancelled() const { return cancelled_; }
  bool disputed() const { return disputes_ > 0; }  // some dispute was decided
  const std::optional<Decided>& decision() const { return decision_; }
  const std::vector<Judged>& disputes() const { return judged_; }
  bool undecided() const { return undecided_; }

  // Whether this key has had a lease in this life.
  bool Knows(const ed25519::PublicKey& worker) const;
  // Training leases in this state, in ascending order.
  std::vector<const Lease*> Runs(Lease::State state) const;

 private:
  // Each changes nothing before all that can be refused has been looked at.
  Status Check(const Submitted& event, const Entry& entry);
  Status Check(const Leased& event, const Entry& entry);
  Status Check(const Committed& event, const Entry& entry);
  Status Check(const Released& event, const Entry& entry);
  Status Check(const Received& event, const Entry& entry);
  Status Check(const Audited& event, const Entry& entry);
  Status Check(const Judged& event, const Entry& entry);
  Status Check(const Waived& event, const Entry& entry);
  Status Check(const Cancelled& event, const Entry& entry);
  Status Check(const Decided& event, const Entry& entry);
  Result<Lease*> OpenLease(LeaseNumber number, Role role);

  std::int64_t size_ = 0;
  std::int64_t last_time_ = 0;
  Order order_{};
  std::map<LeaseNumber, Lease> leases_;
  LeaseNumber next_lease_ = 1;
  std::vector<Judged> judged_;
  std::int64_t disputes_ = 0;
  bool undecided_ = false;
  bool cancelled_ = false;
  std::optional<Decided> decision_;
};

}  // namespace assay::life
