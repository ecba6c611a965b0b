#include "assay/coordinator/chronicle.h"

#include <algorithm>

#include "assay/coordinator/blob_uses.h"
#include "assay/merkle/proof.h"
#include "assay/merkle/tree.h"

namespace assay::coordinator {
namespace {

Checkpoint HeadOf(const std::string& order, const Written& written) {
  return {.origin = OriginOf(order), .size = written.leaves.size(), .root = written.root};
}

// An entry that this or another coordinator has written.
Result<life::Entry> ParseKept(const std::string& text, const std::string& order) {
  auto entry = life::ParseEntry(text, "order " + order);
  if (!entry) return store::Broken("{}", entry.error().message);
  return entry;
}

}  // namespace

std::string OriginOf(std::string_view order) { return fmt::format("assay.life/{}", order); }
std::string PointOf(const VerifyKey& key) { return Hex(key.point()); }
Result<std::string> PointOf(const std::string& vkey) {
  ASSAY_ASSIGN(const VerifyKey key, VerifyKey::Parse(vkey));
  return PointOf(key);
}

Status Chronicle::Continue(store::Transaction& t, const std::string& order, Written& written) {
  ASSAY_ASSIGN(const store::Rows rows,
               t.Run("SELECT text FROM entries WHERE order_id = $1 AND n >= $2 ORDER BY n", {order, written.life.size()}));
  for (const store::Row& row : rows) {
    ASSAY_ASSIGN(const std::string text, row.Text(0));
    ASSAY_ASSIGN(const life::Entry entry, ParseKept(text, order));
    const Status follows = written.life.Apply(entry);
    if (!follows) return store::Broken("order {}: {}", order, follows.error().message);
    written.leaves.push_back(LeafHash(AsBytes(text)));
  }
  written.root = TreeRoot(written.leaves);
  return {};
}

Result<std::shared_ptr<const Written>> Chronicle::Read(store::Transaction& t, const std::string& order) {
  ASSAY_ASSIGN(const store::Rows found, t.Run("SELECT head FROM orders WHERE id = $1", {order}));
  if (found.empty()) return Err("there is no order {}", order);
  ASSAY_ASSIGN(const std::string head, found[0].Text(0));
  std::shared_ptr<const Written> kept;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = kept_.find(order); at != kept_.end()) kept = at->second;
  }
  if (kept != nullptr && kept->root.hex() == head) return kept;
  if (kept != nullptr) {
    Written written = *kept;
    // An error, or another root: what is kept is not the beginning of this life, but of a transaction that did not come through.
    if (Continue(t, order, written) && written.root.hex() == head) {
      auto read = std::make_shared<const Written>(std::move(written));
      Keep(order, read);
      return read;
    }
  }
  Written written;
  ASSAY_TRY(Continue(t, order, written));
  if (written.root.hex() != head)
    return store::Broken("order {}: its entries do not lead to the root that is kept with them", order);
  auto read = std::make_shared<const Written>(std::move(written));
  Keep(order, read);
  return read;
}

Result<std::shared_ptr<const Written>> Chronicle::Begin(store::Transaction& t, const std::string& account,
                                                        const std::string& envelope, std::int64_t now_ms) {
  ASSAY_ASSIGN(const life::Order order, life::OpenOrder(envelope, "order"));
  ASSAY_TRY(
      t.Run("INSERT INTO orders (id, seq, account, job, made, size, head, verdict, noted) "
            "VALUES ($1, (SELECT COALESCE(MAX(seq), 0) + 1 FROM orders), $2, $3, $4, 0, '', '', 1)",
            {order.id, account, order.job.hex(), now_ms}));
  for (const life::OrderFile& file : order.files) ASSAY_TRY(NoteUse(t, order.id, file.sha256));
  for (const std::string& recipient : order.sealed) {
    ASSAY_TRY(t.Run("INSERT INTO sealed_to (order_id, recipient) VALUES ($1, $2) ON CONFLICT (order_id, recipient) DO NOTHING",
                    {order.id, recipient}));
  }
  auto written = std::make_shared<Written>();
  ASSAY_TRY(Write(t, order.id, {.n = 0, .at = now_ms / 1000, .event = life::Submitted{.order = envelope}}, *written));
  return std::shared_ptr<const Written>(std::move(written));
}

Result<std::shared_ptr<const Written>> Chronicle::Append(store::Transaction& t, const std::string& order, life::Event event,
                                                         std::int64_t now_ms) {
  ASSAY_ASSIGN(const std::shared_ptr<const Written> before, Read(t, order));
  const std::int64_t at = std::max(now_ms / 1000, before->life.last_time());
  auto after = std::make_shared<Written>(*before);
  ASSAY_TRY(Write(t, order, {.n = before->life.size(), .at = at, .event = std::move(event)}, *after));
  return std::shared_ptr<const Written>(std::move(after));
}

Status Chronicle::Write(store::Transaction& t, const std::string& order, const life::Entry& entry, Written& written) {
  ASSAY_TRY(written.life.Apply(entry));
  const std::string text = life::ToText(entry);
  written.leaves.push_back(LeafHash(AsBytes(text)));
  written.root = TreeRoot(written.leaves);
  // Two processes that append at once write the same number: one of them fails and begins anew.
  ASSAY_TRY(t.Run("INSERT INTO entries (order_id, n, text) VALUES ($1, $2, $3)", {order, entry.n, text}));
  const auto& decision = written.life.decision();
  ASSAY_TRY(
      t.Run("UPDATE orders SET size = $2, head = $3, verdict = $4 WHERE id = $1",
            {order, entry.n + 1, written.root.hex(), decision ? std::string(life::Name(decision->verdict)) : std::string()}));
  return WriteWants(t, order, written.life);
}

Result<bool> Chronicle::Said(store::Transaction& t, const std::string& order, const life::Event& event) {
  // Newest first: what is repeated was said of late.
  ASSAY_ASSIGN(const store::Rows rows, t.Run("SELECT text FROM entries WHERE order_id = $1 ORDER BY n DESC LIMIT 64", {order}));
  for (const store::Row& row : rows) {
    ASSAY_ASSIGN(const std::string text, row.Text(0));
    ASSAY_ASSIGN(const life::Entry entry, ParseKept(text, order));
    if (entry.event == event) return true;
  }
  return false;
}

Result<Chapter> Chronicle::ReadFrom(store::Transaction& t, const std::string& order, std::int64_t from, std::size_t max_bytes) {
  ASSAY_ASSIGN(const std::shared_ptr<const Written> written, Read(t, order));
  const std::int64_t size = written->life.size();
  if (from < 0 || from > size) return Err("order {}: has {} entries, {} were asked for", order, size, from);
  Chapter chapter{
      .from = from, .entries = {}, .size = size, .checkpoint = SignCheckpoint(HeadOf(order, *written), key_), .proof = {}};
  if (from > 0 && from < size) chapter.proof = ProveConsistency(written->leaves, static_cast<std::uint64_t>(from));
  ASSAY_ASSIGN(const store::Rows rows,
               t.Run("SELECT text FROM entries WHERE order_id = $1 AND n >= $2 ORDER BY n LIMIT 256", {order, from}));
  std::size_t bytes = 0;
  for (const store::Row& row : rows) {
    ASSAY_ASSIGN(std::string text, row.Text(0));
    bytes += text.size();
    if (bytes > max_bytes && !chapter.entries.empty()) break;
    chapter.entries.push_back(std::move(text));
  }
  return chapter;
}

Status Chronicle::WriteWants(store::Transaction& t, const std::string& order, const life::Life& life) {
  const life::Wanted wanted = life::WantedBy(life);
  // A dispute that goes on stays with whoever has it.
  if (wanted.dispute.empty()) {
    ASSAY_TRY(t.Run("DELETE FROM wants WHERE order_id = $1", {order}));
  } else {
    ASSAY_TRY(t.Run("DELETE FROM wants WHERE order_id = $1 AND kind <> 'dispute'", {order}));
  }
  const auto add = [&](const std::string& kind, std::int64_t target) -> Status {
    ASSAY_TRY(
        t.Run("INSERT INTO wants (order_id, kind, target, worker, seq, holder, beat) "
              "VALUES ($1, $2, $3, '', (SELECT seq FROM orders WHERE id = $1), '', 0) ON CONFLICT (order_id, kind, target) DO "
              "NOTHING",
              {order, kind, target}));
    return {};
  };
  if (wanted.runs > 0) ASSAY_TRY(add("run", 0));
  for (const life::LeaseNumber run : wanted.audits) ASSAY_TRY(add("audit", run));
  if (!wanted.dispute.empty()) ASSAY_TRY(add("dispute", 0));
  return {};
}

void Chronicle::Keep(const std::string& order, std::shared_ptr<const Written> written) {
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kKept) kept_.erase(kept_.begin());
  kept_[order] = std::move(written);
}

}  // namespace assay::coordinator
