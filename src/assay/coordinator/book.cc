#include "assay/coordinator/book.h"

#include "assay/coordinator/blob_rights.h"

namespace assay::coordinator {
namespace {

using life::LeaseNumber;
using store::Rows;
using store::Transaction;

Result<std::int64_t> RecordOf(Transaction& t, const std::string& vkey) {
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  ASSAY_ASSIGN(const Rows rows, t.Run("SELECT clean FROM workers WHERE point = $1", {point}));
  if (rows.empty()) return 0;
  return rows[0].Integer(0);
}

}  // namespace

Book::Book(store::Database& database, const SigningKey& key, BookOptions options)
    : database_(database), chronicle_(key), options_(std::move(options)) {}

Status Book::AddAccount(const std::string& account) {
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("INSERT INTO accounts (id, made) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", {account, Now()}));
    return {};
  });
}

Result<std::string> Book::Submit(const std::string& account, const std::string& envelope, const Admit& admit) {
  ASSAY_ASSIGN(const life::Order order, life::OpenOrder(envelope, "order"));
  if (order.coordinator != chronicle_.key().verify_key().ToString())
    return Err("order: is meant for another coordinator, {}", order.coordinator);
  return Change(order.id, [&](Transaction& t) -> Result<std::string> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT o.account, e.text FROM orders o JOIN entries e ON e.order_id = o.id AND e.n = 0 WHERE o.id = $1",
                       {order.id}));
    if (rows.empty()) {
      if (admit) ASSAY_TRY(admit(t));
      ASSAY_TRY(chronicle_.Begin(t, account, envelope, Now()));
      return order.id;
    }
    ASSAY_ASSIGN(const std::string owner, rows[0].Text(0));
    ASSAY_ASSIGN(const std::string text, rows[0].Text(1));
    ASSAY_ASSIGN(const life::Entry first, life::ParseEntry(text, "order " + order.id));
    if (owner != account || std::get<life::Submitted>(first.event).order != envelope)
      return Err("order {}: there is another of this id", order.id);
    return order.id;
  });
}

Status Book::Cancel(const std::string& order, const std::string& by) {
  return Change(order, [&](Transaction& t) -> Status {
    ASSAY_ASSIGN(const auto written, chronicle_.Read(t, order));
    if (written->life.cancelled()) return {};
    if (written->life.decision())
      return Err("order {}: is decided already: {}", order, life::Name(written->life.decision()->verdict));
    return Happen(t, order, life::Cancelled{.by = by});
  });
}

Result<std::vector<OrderLine>> Book::List(const std::string& account, std::int64_t after, std::int64_t limit) {
  return database_.Read([&](Transaction& t) -> Result<std::vector<OrderLine>> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT id, job, verdict, seq, made FROM orders WHERE account = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                       {account, after, limit}));
    std::vector<OrderLine> lines;
    for (const store::Row& row : rows) {
      OrderLine line;
      ASSAY_ASSIGN(line.id, row.Text(0));
      ASSAY_ASSIGN(line.job, row.Text(1));
      ASSAY_ASSIGN(line.verdict, row.Text(2));
      ASSAY_ASSIGN(line.seq, row.Integer(3));
      ASSAY_ASSIGN(line.made_ms, row.Integer(4));
      lines.push_back(std::move(line));
    }
    return lines;
  });
}

Result<Chapter> Book::Read(const std::string& order, std::int64_t from, std::size_t max_bytes) {
  return database_.Read([&](Transaction& t) { return chronicle_.ReadFrom(t, order, from, max_bytes); });
}

Result<std::string> Book::AccountOf(const std::string& order) {
  return database_.Read([&](Transaction& t) -> Result<std::string> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT account FROM orders WHERE id = $1", {order}));
    if (rows.empty()) return Err("there is no order {}", order);
    return rows[0].Text(0);
  });
}

Result<std::shared_ptr<const Written>> Book::Look(const std::string& order) {
  return database_.Read([&](Transaction& t) { return chronicle_.Read(t, order); });
}

Result<std::optional<GivenLease>> Book::Next(const std::string& vkey) {
  bool is_new = false;
  auto next = database_.Write([&](Transaction& t) -> Result<std::optional<GivenLease>> {
    is_new = false;
    ASSAY_ASSIGN(const Candidate worker, CandidateOf(t, vkey));
    ASSAY_ASSIGN(std::optional<GivenLease> given, FindHeld(t, worker.point));
    if (given) {
      ASSAY_TRY(t.Run("UPDATE leases SET beat = beat + 1 WHERE order_id = $1 AND number = $2", {given->order, given->lease}));
      return given;
    }
    ASSAY_ASSIGN(given, GiveNew(t, worker));
    is_new = given.has_value();
    return given;
  });
  if (next && *next && is_new) Tell((*next)->order);
  return next;
}

Result<std::optional<GivenLease>> Book::FindHeld(Transaction& t, const std::string& point) {
  ASSAY_ASSIGN(const Rows held,
               t.Run("SELECT order_id, number FROM leases WHERE worker = $1 AND open = 1 ORDER BY order_id LIMIT 1", {point}));
  if (held.empty()) return std::optional<GivenLease>();
  GivenLease given{.ends_in_ms = options_.lease_ms};
  ASSAY_ASSIGN(given.order, held[0].Text(0));
  ASSAY_ASSIGN(given.lease, held[0].Integer(1));
  ASSAY_ASSIGN(const auto written, chronicle_.Read(t, given.order));
  const life::Lease& lease = *written->life.Find(given.lease);
  given.role = lease.role;
  given.of = lease.role == life::Role::kAudit ? lease.of : lease.challenges;
  given.nonce = lease.nonce;
  return std::optional<GivenLease>(given);
}

Result<std::optional<GivenLease>> Book::GiveNew(Transaction& t, const Candidate& worker) {
  // Oldest first; runs of one order go to different keys. Who could not open a sealed order is not given it. Challenges are given when they arise (Settle).
  ASSAY_ASSIGN(
      const Rows rows,
      t.Run("SELECT w.order_id, w.kind, w.target FROM wants w WHERE "
            "(w.kind = 'audit' OR (w.kind = 'run' AND $4 <> 'auditor')) AND NOT EXISTS (SELECT 1 FROM leases l WHERE "
            "l.order_id = w.order_id AND (l.worker = $1 OR ($5 = 1 AND l.account = $2))) AND (NOT EXISTS (SELECT 1 FROM "
            "sealed_to s "
            "WHERE s.order_id = w.order_id) OR EXISTS (SELECT 1 FROM sealed_to s WHERE s.order_id = w.order_id AND "
            "s.recipient = $3)) ORDER BY w.seq LIMIT 1",
            {worker.point, worker.account, worker.recipient, worker.role, std::int64_t{options_.distinct_accounts ? 1 : 0}}));
  if (rows.empty()) return std::optional<GivenLease>();
  GivenLease given{.ends_in_ms = options_.lease_ms};
  ASSAY_ASSIGN(given.order, rows[0].Text(0));
  ASSAY_ASSIGN(const std::string kind, rows[0].Text(1));
  ASSAY_ASSIGN(given.of, rows[0].Integer(2));
  if (kind == "audit") {
    given.role = life::Role::kAudit;
    given.nonce = options_.draw().hex();
  }
  ASSAY_ASSIGN(const auto before, chronicle_.Read(t, given.order));
  given.lease = before->life.next_lease();
  ASSAY_TRY(chronicle_.Append(
      t, given.order,
      life::Leased{.lease = given.lease, .role = given.role, .worker = worker.vkey, .of = given.of, .nonce = given.nonce},
      Now()));
  ASSAY_TRY(t.Run("INSERT INTO leases (order_id, number, worker, account, open, beat) VALUES ($1, $2, $3, $4, 1, 0)",
                  {given.order, given.lease, worker.point, worker.account}));
  for (const life::OrderFile& file : before->life.order().files)
    ASSAY_TRY(BlobRights::Grant(t, worker.account, file.sha256, file.bytes, Now()));
  if (given.role == life::Role::kAudit) {
    ASSAY_ASSIGN(const BroughtRun audited, FindRun(t, *before, given.of));
    for (const life::OrderFile& file : audited.files)
      ASSAY_TRY(BlobRights::Grant(t, worker.account, file.sha256, file.bytes, Now()));
  }
  return std::optional<GivenLease>(given);
}

Status Book::Renew(const std::string& vkey, const std::string& order, LeaseNumber lease) {
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("UPDATE leases SET beat = beat + 1 WHERE order_id = $1 AND number = $2 AND worker = $3 AND open = 1",
                       {order, lease, point}));
    return rows.changed == 1 ? Status() : Err("lease {} of order {} has ended or is another worker's", lease, order);
  });
}

Status Book::RenewAll(const std::vector<Beat>& beats) {
  if (beats.empty()) return {};
  return database_.Write([&](Transaction& t) -> Status {
    for (const Beat& beat : beats) {
      ASSAY_TRY(t.Run("UPDATE leases SET beat = beat + 1 WHERE order_id = $1 AND number = $2 AND worker = $3 AND open = 1",
                      {beat.order, beat.lease, beat.point}));
    }
    return {};
  });
}

Status Book::Saw(const std::vector<std::string>& points) {
  if (points.empty()) return {};
  return database_.Write([&](Transaction& t) -> Status {
    for (const std::string& point : points)
      ASSAY_TRY(t.Run("UPDATE workers SET seen = $1 WHERE point = $2 AND seen < $1", {Now(), point}));
    return {};
  });
}

Status Book::UnderLease(const std::string& vkey, const std::string& order, LeaseNumber lease, life::Event event,
                        const std::vector<life::OrderFile>& files) {
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  return Change(order, [&](Transaction& t) -> Status {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT open FROM leases WHERE order_id = $1 AND number = $2 AND worker = $3", {order, lease, point}));
    if (rows.empty()) return Err("lease {} of order {} is another worker's, or there is none", lease, order);
    ASSAY_ASSIGN(const std::int64_t open, rows[0].Integer(0));
    if (open == 0) {
      ASSAY_ASSIGN(const bool said, chronicle_.Said(t, order, event));
      return said ? Status() : Err("lease {} of order {} has ended", lease, order);
    }
    if (std::holds_alternative<life::Committed>(event)) {
      ASSAY_ASSIGN(const bool said, chronicle_.Said(t, order, event));
      if (said) return {};
    }
    for (const life::OrderFile& file : files) {
      ASSAY_TRY(t.Run("INSERT INTO run_files (order_id, lease, name, sha256, bytes) VALUES ($1, $2, $3, $4, $5)",
                      {order, lease, file.name, file.sha256.hex(), file.bytes}));
      ASSAY_ASSIGN(const Rows owner, t.Run("SELECT account FROM orders WHERE id = $1", {order}));
      ASSAY_ASSIGN(const std::string client, owner[0].Text(0));
      ASSAY_TRY(BlobRights::Grant(t, client, file.sha256, file.bytes, Now()));
    }
    return Happen(t, order, event);  // a copy: the transaction may be tried again
  });
}

Status Book::Commit(const std::string& vkey, const std::string& order, life::Committed committed) {
  const LeaseNumber lease = committed.lease;
  return UnderLease(vkey, order, lease, std::move(committed));
}

Status Book::Receive(const std::string& vkey, const std::string& order, life::Received received,
                     const std::vector<life::OrderFile>& files) {
  const LeaseNumber lease = received.lease;
  return UnderLease(vkey, order, lease, std::move(received), files);
}

Status Book::Report(const std::string& vkey, const std::string& order, life::Audited audited) {
  const LeaseNumber lease = audited.lease;
  return UnderLease(vkey, order, lease, std::move(audited));
}

Status Book::GiveBack(const std::string& vkey, const std::string& order, life::Released released) {
  const LeaseNumber lease = released.lease;
  return UnderLease(vkey, order, lease, std::move(released));
}

Status Book::EndLease(Transaction& t, const std::string& order, LeaseNumber lease) {
  ASSAY_TRY(t.Run("UPDATE leases SET open = 0 WHERE order_id = $1 AND number = $2", {order, lease}));
  return {};
}

Status Book::Happen(Transaction& t, const std::string& order, life::Event event) {
  if (const auto* e = std::get_if<life::Received>(&event)) ASSAY_TRY(EndLease(t, order, e->lease));
  if (const auto* e = std::get_if<life::Audited>(&event)) ASSAY_TRY(EndLease(t, order, e->lease));
  if (const auto* e = std::get_if<life::Released>(&event)) ASSAY_TRY(EndLease(t, order, e->lease));
  ASSAY_ASSIGN(auto written, chronicle_.Append(t, order, std::move(event), Now()));
  return Settle(t, order, std::move(written));
}

Status Book::Settle(Transaction& t, const std::string& order, std::shared_ptr<const Written> written) {
  // The first run of an order may go unchecked.
  const life::Policy& policy = written->life.order().policy;
  if (policy.probe < 100 && written->life.leases().size() == 1) {
    const life::Lease& first = written->life.leases().begin()->second;
    if (first.state == life::Lease::State::kHeld && !first.waived) {
      ASSAY_ASSIGN(const std::int64_t record, RecordOf(t, first.worker));
      const Digest draw = options_.draw();
      if (life::MayWaive(policy, record, draw)) {
        ASSAY_ASSIGN(written, chronicle_.Append(
                                  t, order, life::Waived{.lease = first.number, .record = record, .draw = draw.hex()}, Now()));
      }
    }
  }
  for (const LeaseNumber audit : life::WantedBy(written->life).challenges) {
    ASSAY_ASSIGN(written, Challenge(t, order, *written, audit));
  }
  if (written->life.cancelled() || written->life.undecided()) {
    const auto leases = written->life.leases();
    for (const auto& [number, lease] : leases) {
      if (lease.state != life::Lease::State::kOpen) continue;
      ASSAY_TRY(EndLease(t, order, number));
      ASSAY_ASSIGN(written,
                   chronicle_.Append(t, order, life::Released{.lease = number, .why = life::Ending::kCancelled}, Now()));
    }
  }
  const auto decision = life::WantedBy(written->life).decision;
  if (!decision) return {};
  ASSAY_ASSIGN(written, chronicle_.Append(t, order, *decision, Now()));
  return OnDecision(t, *written);
}

Result<std::shared_ptr<const Written>> Book::Challenge(Transaction& t, const std::string& order, const Written& written,
                                                       LeaseNumber audit) {
  const LeaseNumber lease = written.life.next_lease();
  const std::string& vkey = written.life.Find(audit)->worker;
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  ASSAY_ASSIGN(const Rows rows, t.Run("SELECT account FROM leases WHERE order_id = $1 AND number = $2", {order, audit}));
  if (rows.empty()) return Err("order {}: the table of leases has no lease {}", order, audit);
  ASSAY_ASSIGN(const std::string account, rows[0].Text(0));
  ASSAY_TRY(t.Run("INSERT INTO leases (order_id, number, worker, account, open, beat) VALUES ($1, $2, $3, $4, 1, 0)",
                  {order, lease, point, account}));
  return chronicle_.Append(t, order, life::Leased{.lease = lease, .worker = vkey, .of = audit}, Now());
}

Status Book::OnDecision(Transaction& t, const Written& written) {
  if (options_.announce_verdicts) {
    ASSAY_TRY(t.Run("INSERT INTO verdicts_due (order_id, holder, beat) VALUES ($1, '', 0) ON CONFLICT (order_id) DO NOTHING",
                    {written.life.order().id}));
  }
  // A record grows by jobs that were checked and held, and by nothing else.
  for (const life::Lease* run : written.life.Runs(life::Lease::State::kHeld)) {
    if (run->waived) continue;
    const life::Verdict verdict = written.life.decision()->verdict;
    if (verdict != life::Verdict::kVerified && verdict != life::Verdict::kRefereed) continue;
    ASSAY_ASSIGN(const std::string point, PointOf(run->worker));
    ASSAY_TRY(t.Run("UPDATE workers SET clean = clean + 1 WHERE point = $1", {point}));
  }
  return {};
}

Status Book::Sweep() {
  struct Open {
    std::string order;
    LeaseNumber lease = 0;
    std::int64_t beat = 0;
  };
  ASSAY_ASSIGN(const std::vector<Open> open, database_.Read([&](Transaction& t) -> Result<std::vector<Open>> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT order_id, number, beat FROM leases WHERE open = 1"));
    std::vector<Open> list;
    for (const store::Row& row : rows) {
      Open lease;
      ASSAY_ASSIGN(lease.order, row.Text(0));
      ASSAY_ASSIGN(lease.lease, row.Integer(1));
      ASSAY_ASSIGN(lease.beat, row.Integer(2));
      list.push_back(std::move(lease));
    }
    return list;
  }));
  const std::int64_t now = options_.clock->SteadyMs();
  for (const Open& lease : open) {
    if (!leases_.Still(fmt::format("{}/{}", lease.order, lease.lease), lease.beat, now, options_.lease_ms)) continue;
    ASSAY_TRY(Change(lease.order, [&](Transaction& t) -> Status {
      ASSAY_ASSIGN(const Rows rows, t.Run("SELECT 1 FROM leases WHERE order_id = $1 AND number = $2 AND open = 1 AND beat = $3",
                                          {lease.order, lease.lease, lease.beat}));
      if (rows.empty()) return {};
      return Happen(t, lease.order, life::Released{.lease = lease.lease, .why = life::Ending::kExpired});
    }));
  }
  leases_.Forget(now, 2 * options_.lease_ms);
  disputes_.Forget(now, 2 * options_.lease_ms);
  return {};
}

}  // namespace assay::coordinator
