// The part of Book about workers: who they are, what they hold, and what they brought.
#include <sstream>

#include "assay/coordinator/book.h"
#include "assay/seal/announcement.h"

namespace assay::coordinator {

using store::Rows;
using store::Transaction;

Result<std::string> AnnouncedRecipient(const Registration& registration, const std::string& vkey) {
  if (registration.announcement.empty()) return std::string();
  ASSAY_ASSIGN(const VerifyKey key, VerifyKey::Parse(vkey));
  ASSAY_ASSIGN(const Announcement announced, OpenAnnouncement(registration.announcement, key, "recipient"));
  // Whoever trains also audits; what only audits need not say so, since a worker learns of its role here.
  if (announced.purpose == SealPurpose::kAuditor && registration.role != "auditor")
    return Err("recipient: is announced for audits alone, expected the purpose worker");
  return announced.recipient.ToString();
}

namespace {

constexpr char kNobody[] = "";  // the account of keys that were taken from theirs

// When an announcement was made; 0: there is none.
std::uint64_t MadeOf(const std::string& announcement, const std::string& vkey) {
  const auto key = VerifyKey::Parse(vkey);
  if (!key || announcement.empty()) return 0;
  const auto announced = OpenAnnouncement(announcement, *key, "recipient");
  return announced ? announced->made : 0;
}

}  // namespace

Status Book::AddWorker(const std::string& account, const std::string& vkey, const Registration& says) {
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  ASSAY_TRY(AnnouncedRecipient(says, vkey));
  return database_.Write([&](Transaction& t) -> Status {
    // Of several announcements the latest counts, so that an old request that is sent again takes nothing back.
    Registration counts = says;
    ASSAY_ASSIGN(const Rows before,
                 t.Run("SELECT announcement FROM workers WHERE point = $1 AND role = $2", {point, says.role}));
    if (!before.empty()) {
      ASSAY_ASSIGN(const std::string announced, before[0].Text(0));
      if (MadeOf(announced, vkey) > MadeOf(says.announcement, vkey)) counts.announcement = announced;
    }
    ASSAY_ASSIGN(const std::string recipient, AnnouncedRecipient(counts, vkey));
    // A key belongs to whoever registered it first, also after it was released; the row of another account stays as it is.
    ASSAY_TRY(t.Run(
        "INSERT INTO workers (point, vkey, account, made, seen, hardware, recipient, clean, evidence, announcement, role) "
        "VALUES ($1, $2, $3, $4, $4, $5, $6, 0, '', $7, $8) ON CONFLICT (point) DO UPDATE SET seen = excluded.seen, "
        "hardware = excluded.hardware, recipient = excluded.recipient, announcement = excluded.announcement, "
        "role = excluded.role, account = excluded.account WHERE workers.account = excluded.account OR workers.account = $9",
        {point, vkey, account, Now(), says.hardware, recipient, counts.announcement, says.role, kNobody}));
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT account FROM workers WHERE point = $1", {point}));
    ASSAY_ASSIGN(const std::string owner, rows[0].Text(0));
    return owner == account ? Status() : Err("the key {} is {}", vkey, kKeyOfAnother);
  });
}

Result<bool> Book::ReleaseWorker(const std::string& vkey) {
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  return database_.Write([&](Transaction& t) -> Result<bool> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT 1 FROM workers WHERE point = $1 AND account <> $2", {point, kNobody}));
    if (rows.empty()) return false;
    ASSAY_TRY(t.Run("INSERT INTO accounts (id, made) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", {kNobody, Now()}));
    // What it announced was perhaps not its own idea either.
    ASSAY_TRY(t.Run("UPDATE workers SET account = $2, recipient = '', announcement = '' WHERE point = $1", {point, kNobody}));
    return true;
  });
}

Result<std::vector<WorkerLine>> Book::Workers(bool everybody) {
  return database_.Read([&](Transaction& t) -> Result<std::vector<WorkerLine>> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT vkey, account, role, hardware, announcement, made, seen, clean, evidence FROM workers "
                       "WHERE (evidence = '' AND account <> $2) OR $1 = 1 ORDER BY made, point LIMIT 10000",
                       {std::int64_t{everybody ? 1 : 0}, kNobody}));
    std::vector<WorkerLine> lines;
    for (const store::Row& row : rows) {
      WorkerLine line;
      ASSAY_ASSIGN(line.key, row.Text(0));
      ASSAY_ASSIGN(line.account, row.Text(1));
      ASSAY_ASSIGN(line.role, row.Text(2));
      ASSAY_ASSIGN(line.hardware, row.Text(3));
      ASSAY_ASSIGN(line.announcement, row.Text(4));
      ASSAY_ASSIGN(line.made_ms, row.Integer(5));
      ASSAY_ASSIGN(line.seen_ms, row.Integer(6));
      ASSAY_ASSIGN(line.clean, row.Integer(7));
      ASSAY_ASSIGN(const std::string evidence, row.Text(8));
      std::istringstream names(evidence);
      for (std::string name; names >> name;) line.evidence.push_back(name);
      lines.push_back(std::move(line));
    }
    return lines;
  });
}

Result<Book::Candidate> Book::CandidateOf(Transaction& t, const std::string& vkey) {
  Candidate worker{.vkey = vkey, .point = {}, .account = {}, .recipient = {}, .role = {}};
  ASSAY_ASSIGN(worker.point, PointOf(vkey));
  ASSAY_ASSIGN(const Rows rows,
               t.Run("SELECT account, evidence, recipient, role FROM workers WHERE point = $1", {worker.point}));
  if (rows.empty()) return Err("the key {} is not registered", vkey);
  ASSAY_ASSIGN(worker.account, rows[0].Text(0));
  if (worker.account == kNobody) return Err("the key {} is not registered", vkey);
  ASSAY_ASSIGN(const std::string evidence, rows[0].Text(1));
  ASSAY_ASSIGN(worker.recipient, rows[0].Text(2));
  ASSAY_ASSIGN(worker.role, rows[0].Text(3));
  if (!evidence.empty()) return Err("the key {} is convicted by evidence {} and gets no work", vkey, evidence);
  return worker;
}

Result<std::optional<GivenLease>> Book::Held(const std::string& account, const std::string& vkey) {
  return database_.Read([&](Transaction& t) -> Result<std::optional<GivenLease>> {
    ASSAY_ASSIGN(const Candidate worker, CandidateOf(t, vkey));
    if (worker.account != account) return Err("the key {} is {}", vkey, kKeyOfAnother);
    return FindHeld(t, worker.point);
  });
}

Result<WorkerNews> Book::News(const std::string& vkey, const std::vector<std::string>& orders) {
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  return database_.Read([&](Transaction& t) -> Result<WorkerNews> {
    WorkerNews news;
    for (const std::string& order : orders) {
      ASSAY_ASSIGN(const Rows found, t.Run("SELECT verdict FROM orders WHERE id = $1", {order}));
      Result<std::string> verdict = found.empty() ? Result<std::string>("unknown") : found[0].Text(0);
      if (!verdict) return tl::unexpected(verdict.error());
      if (!verdict->empty()) {
        news.decided.push_back(order);
        continue;
      }
      ASSAY_ASSIGN(
          const Rows ended,
          t.Run("SELECT number FROM leases WHERE order_id = $1 AND worker = $2 AND open = 0 ORDER BY number", {order, point}));
      if (ended.empty()) continue;
      ASSAY_ASSIGN(const auto written, chronicle_.Read(t, order));
      for (const store::Row& row : ended) {
        ASSAY_ASSIGN(const life::LeaseNumber number, row.Integer(0));
        const life::Lease* lease = written->life.Find(number);
        if (lease != nullptr && lease->state == life::Lease::State::kGone) news.cancelled.emplace_back(order, number);
      }
    }
    return news;
  });
}

Result<std::optional<std::pair<std::string, std::string>>> Book::Registered(const std::string& vkey) {
  using Found = std::optional<std::pair<std::string, std::string>>;
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  return database_.Read([&](Transaction& t) -> Result<Found> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT vkey, account FROM workers WHERE point = $1 AND account <> $2", {point, kNobody}));
    if (rows.empty()) return Found();
    ASSAY_ASSIGN(std::string key, rows[0].Text(0));
    ASSAY_ASSIGN(std::string account, rows[0].Text(1));
    return Found(std::pair(std::move(key), std::move(account)));
  });
}

Result<std::string> Book::WantsNow() {
  return database_.Read([&](Transaction& t) -> Result<std::string> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT order_id, kind, target FROM wants WHERE kind <> 'dispute' ORDER BY seq DESC LIMIT 256"));
    std::string all;
    for (const store::Row& row : rows) {
      ASSAY_ASSIGN(const std::string order, row.Text(0));
      ASSAY_ASSIGN(const std::string kind, row.Text(1));
      ASSAY_ASSIGN(const std::int64_t target, row.Integer(2));
      all += fmt::format("{} {} {};", order, kind, target);
    }
    return all.empty() ? all : HashBytes(AsBytes(all)).hex();
  });
}

Result<std::set<std::string>> Book::Holders() {
  return database_.Read([&](Transaction& t) -> Result<std::set<std::string>> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT worker FROM leases WHERE open = 1"));
    std::set<std::string> holders;
    for (const store::Row& row : rows) {
      ASSAY_ASSIGN(std::string worker, row.Text(0));
      holders.insert(std::move(worker));
    }
    return holders;
  });
}

Result<LeaseState> Book::StateOf(const std::string& vkey, const std::string& order, life::LeaseNumber lease) {
  ASSAY_ASSIGN(const std::string point, PointOf(vkey));
  return database_.Read([&](Transaction& t) -> Result<LeaseState> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT open FROM leases WHERE order_id = $1 AND number = $2 AND worker = $3", {order, lease, point}));
    if (rows.empty()) return LeaseState::kNone;
    ASSAY_ASSIGN(const std::int64_t open, rows[0].Integer(0));
    return open == 1 ? LeaseState::kOpen : LeaseState::kEnded;
  });
}

Result<BroughtRun> Book::RunOf(const std::string& order, life::LeaseNumber lease) {
  return database_.Read([&](Transaction& t) -> Result<BroughtRun> {
    ASSAY_ASSIGN(const auto written, chronicle_.Read(t, order));
    return FindRun(t, *written, lease);
  });
}

Result<BroughtRun> Book::FindRun(Transaction& t, const Written& written, life::LeaseNumber lease) {
  const std::string& order = written.life.order().id;
  const life::Lease* brought = written.life.Find(lease);
  if (brought == nullptr || !brought->receipt) return Err("lease {} of order {} has brought no run", lease, order);
  BroughtRun run{.worker = brought->worker, .receipt = brought->receipt_file};
  ASSAY_ASSIGN(
      const Rows rows,
      t.Run("SELECT name, sha256, bytes FROM run_files WHERE order_id = $1 AND lease = $2 ORDER BY name", {order, lease}));
  for (const store::Row& row : rows) {
    life::OrderFile file;
    ASSAY_ASSIGN(file.name, row.Text(0));
    ASSAY_ASSIGN(const std::string hash, row.Text(1));
    ASSAY_ASSIGN(file.bytes, row.Integer(2));
    const auto digest = Digest::FromHex(hash);
    if (!digest) return store::Broken("order {}: the hash of file {} of lease {} is none", order, file.name, lease);
    file.sha256 = *digest;
    run.files.push_back(std::move(file));
  }
  return run;
}

}  // namespace assay::coordinator
