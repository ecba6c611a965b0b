#include "assay/coordinator/blob_rights.h"

#include <algorithm>

namespace assay::coordinator {

using store::Rows;
using store::Transaction;

BlobRights::BlobRights(store::Database& database, std::shared_ptr<store::Clock> clock, const Quota& usual)
    : database_(database), clock_(std::move(clock)), usual_(usual) {}

Result<bool> BlobRights::MaySee(Transaction& t, const std::string& account, const Digest& hash) {
  ASSAY_ASSIGN(const Rows rows,
               t.Run("SELECT 1 FROM blob_rights WHERE account = $1 AND hash = $2 AND whole = 1", {account, hash.hex()}));
  return !rows.empty();
}

Result<bool> BlobRights::MaySee(const std::string& account, const Digest& hash) {
  return database_.Read([&](Transaction& t) { return MaySee(t, account, hash); });
}

Result<Quota> BlobRights::QuotaOf(Transaction& t, const std::string& account) const {
  ASSAY_ASSIGN(const Rows rows, t.Run("SELECT orders, blob_bytes FROM quotas WHERE account = $1", {account}));
  if (rows.empty()) return usual_;
  Quota quota;
  ASSAY_ASSIGN(quota.orders, rows[0].Integer(0));
  ASSAY_ASSIGN(quota.blob_bytes, rows[0].Integer(1));
  return quota;
}

Status BlobRights::Weigh(Transaction& t, const std::string& account, const Digest& hash, std::int64_t bytes) const {
  ASSAY_ASSIGN(const Quota quota, QuotaOf(t, account));
  ASSAY_ASSIGN(
      const Rows rows,
      t.Run("SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM blob_rights WHERE account = $1 AND owned = 1 AND hash <> $2",
            {account, hash.hex()}));
  ASSAY_ASSIGN(const std::int64_t used, rows[0].Integer(0));
  if (bytes <= quota.blob_bytes - used) return {};
  return Err("the account may keep {} bytes, {} are in use, and {} have no place", quota.blob_bytes, used, bytes);
}

Status BlobRights::Begin(const std::string& account, const Digest& hash, std::int64_t bytes) {
  const std::int64_t now = clock_->WallMs();
  // The usual case is a later piece of an upload that is weighed already, which needs no writing.
  ASSAY_ASSIGN(const bool weighed, database_.Read([&](Transaction& t) -> Result<bool> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT 1 FROM blob_rights WHERE account = $1 AND hash = $2 AND owned = 1 AND bytes >= $3 AND made > $4",
                       {account, hash.hex(), bytes, now - kRenewedMs}));
    return !rows.empty();
  }));
  if (weighed) return {};
  return database_.Write([&](Transaction& t) -> Status {
    // What was begun with another size may still be under way, so that what is kept for it only grows until it is whole.
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT bytes FROM blob_rights WHERE account = $1 AND hash = $2 AND owned = 1", {account, hash.hex()}));
    std::int64_t kept = bytes;
    if (!rows.empty()) {
      ASSAY_ASSIGN(const std::int64_t before, rows[0].Integer(0));
      kept = std::max(kept, before);
    }
    ASSAY_TRY(Weigh(t, account, hash, kept));
    ASSAY_TRY(
        t.Run("INSERT INTO blob_rights (account, hash, bytes, owned, whole, made) VALUES ($1, $2, $3, 1, 0, $4) "
              "ON CONFLICT (account, hash) DO UPDATE SET bytes = $3, owned = 1, made = $4",
              {account, hash.hex(), kept, now}));
    return {};
  });
}

Status BlobRights::Finish(const std::string& account, const Digest& hash, std::int64_t bytes) {
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(Weigh(t, account, hash, bytes));
    ASSAY_TRY(
        t.Run("INSERT INTO blob_rights (account, hash, bytes, owned, whole, made) VALUES ($1, $2, $3, 1, 1, $4) "
              "ON CONFLICT (account, hash) DO UPDATE SET bytes = $3, owned = 1, whole = 1",
              {account, hash.hex(), bytes, clock_->WallMs()}));
    return {};
  });
}

Status BlobRights::Grant(Transaction& t, const std::string& account, const Digest& hash, std::int64_t bytes,
                         std::int64_t now_ms) {
  ASSAY_TRY(
      t.Run("INSERT INTO blob_rights (account, hash, bytes, owned, whole, made) VALUES ($1, $2, $3, 0, 1, $4) "
            "ON CONFLICT (account, hash) DO UPDATE SET whole = 1",
            {account, hash.hex(), bytes, now_ms}));
  return {};
}

Status BlobRights::Sweep(std::int64_t age_ms) {
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("DELETE FROM blob_rights WHERE whole = 0 AND made < $1", {clock_->WallMs() - age_ms}));
    return {};
  });
}

}  // namespace assay::coordinator
