#include "assay/coordinator/blob_uses.h"

#include "assay/life/entry.h"
#include "assay/life/order.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

constexpr std::int64_t kAtOnce = 64;  // orders that are gone through in one transaction

// The uses of an order that was written by a coordinator that did not note them.
Status NoteUsesOf(Transaction& t, const std::string& order) {
  ASSAY_ASSIGN(const Rows rows, t.Run("SELECT text FROM entries WHERE order_id = $1 ORDER BY n", {order}));
  for (const store::Row& row : rows) {
    ASSAY_ASSIGN(const std::string text, row.Text(0));
    const auto entry = life::ParseEntry(text, "order " + order);
    if (!entry) return store::Broken("{}", entry.error().message);
    if (const auto* submitted = std::get_if<life::Submitted>(&entry->event)) {
      const auto opened = life::OpenOrder(submitted->order, "order " + order);
      if (!opened) return store::Broken("{}", opened.error().message);
      for (const life::OrderFile& file : opened->files) ASSAY_TRY(NoteUse(t, order, file.sha256));
    } else if (const auto* judged = std::get_if<life::Judged>(&entry->event)) {
      for (const std::string& name : judged->evidence) {
        ASSAY_ASSIGN(const Digest hash, Digest::FromHex(name));
        ASSAY_TRY(NoteUse(t, order, hash));
      }
    }
  }
  ASSAY_TRY(t.Run("UPDATE orders SET noted = 1 WHERE id = $1", {order}));
  return {};
}

Status NoteOldUses(store::Database& database) {
  for (;;) {
    ASSAY_ASSIGN(const bool more, database.Write([&](Transaction& t) -> Result<bool> {
      ASSAY_ASSIGN(const Rows rows, t.Run("SELECT id FROM orders WHERE noted = 0 ORDER BY seq LIMIT $1", {kAtOnce}));
      for (const store::Row& row : rows) {
        ASSAY_ASSIGN(const std::string order, row.Text(0));
        ASSAY_TRY(NoteUsesOf(t, order));
      }
      return !rows.empty();
    }));
    if (!more) return {};
  }
}

Result<bool> IsNeeded(Transaction& t, const Digest& hash, std::int64_t before_ms) {
  ASSAY_ASSIGN(const Rows rows,
               t.Run("SELECT 1 WHERE EXISTS (SELECT 1 FROM blob_uses WHERE hash = $1) "
                     "OR EXISTS (SELECT 1 FROM run_files WHERE sha256 = $1) "
                     "OR EXISTS (SELECT 1 FROM blob_rights WHERE hash = $1 AND made > $2) "
                     "OR EXISTS (SELECT 1 FROM blob_rights r JOIN leases l ON l.account = r.account AND l.open = 1 "
                     "WHERE r.hash = $1 AND r.owned = 1) "
                     // An order of which it is not known what it needs may need anything.
                     "OR EXISTS (SELECT 1 FROM orders WHERE noted = 0)",
                     {hash.hex(), before_ms}));
  return !rows.empty();
}

}  // namespace

Status NoteUse(Transaction& t, const std::string& order, const Digest& hash) {
  ASSAY_TRY(t.Run("INSERT INTO blob_uses (hash, order_id) VALUES ($1, $2) ON CONFLICT (hash, order_id) DO NOTHING",
                  {hash.hex(), order}));
  return {};
}

Result<Swept> SweepBlobs(store::Database& database, store::Blobs& blobs, std::uint8_t first, std::int64_t before_ms,
                         bool dry_run) {
  ASSAY_TRY(NoteOldUses(database));
  ASSAY_ASSIGN(const std::vector<store::BlobInfo> found, blobs.List(first));
  Swept swept;
  for (const store::BlobInfo& blob : found) {
    bool gone = false;
    if (blob.finished_ms <= before_ms) {
      ASSAY_ASSIGN(const bool needed, database.Read([&](Transaction& t) { return IsNeeded(t, blob.hash, before_ms); }));
      gone = !needed;
    }
    if (gone && !dry_run) {
      ASSAY_ASSIGN(gone, blobs.RemoveIf(blob.hash, before_ms, [&]() -> Result<bool> {
        return database.Write([&](Transaction& t) -> Result<bool> {
          ASSAY_ASSIGN(const bool needed, IsNeeded(t, blob.hash, before_ms));
          if (needed) return false;
          ASSAY_TRY(t.Run("DELETE FROM blob_rights WHERE hash = $1", {blob.hash.hex()}));
          return true;
        });
      }));
    }
    swept.blobs += gone ? 1 : 0;
    swept.bytes += gone ? static_cast<std::int64_t>(blob.size) : 0;
    swept.kept += gone ? 0 : 1;
  }
  return swept;
}

}  // namespace assay::coordinator
