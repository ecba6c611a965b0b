// BlobRights: which account may see which blob, and what its blobs weigh against its quota.
//
// An account sees what it has uploaded itself, every byte of it, and what it was granted: a worker the files of an order that it has a lease of, a client the
// results of its orders. Knowing a hash gives no right. An upload that has begun is weighed with the size that it will have, so that nobody fills a disk with
// beginnings. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/store/clock.h"
#include "assay/store/database.h"

namespace assay::coordinator {

struct Quota {
  std::int64_t orders = 100'000;                    // that are open at a time
  std::int64_t blob_bytes = std::int64_t{1} << 40;  // uploaded, or begun
};

class BlobRights {
 public:
  BlobRights(store::Database& database, std::shared_ptr<store::Clock> clock, const Quota& usual);

  Result<bool> MaySee(const std::string& account, const Digest& hash);
  // Weighs an upload of this size, or of the largest with which it was begun before; an error in words where the quota does not allow it. One that goes on for long
  // is begun again now and then, at least every kRenewedMs, or Sweep takes it for forgotten.
  Status Begin(const std::string& account, const Digest& hash, std::int64_t bytes);
  static constexpr std::int64_t kRenewedMs = 3600 * 1000;
  // The upload is whole, and weighs what it has come to; an error as above.
  Status Finish(const std::string& account, const Digest& hash, std::int64_t bytes);
  // Uploads that were begun last more than `age_ms` ago and are not whole weigh nothing any more.
  Status Sweep(std::int64_t age_ms);

  // For transactions of others.
  static Status Grant(store::Transaction& t, const std::string& account, const Digest& hash, std::int64_t bytes,
                      std::int64_t now_ms);
  static Result<bool> MaySee(store::Transaction& t, const std::string& account, const Digest& hash);
  Result<Quota> QuotaOf(store::Transaction& t, const std::string& account) const;

 private:
  // Of a blob beside all others of the account.
  Status Weigh(store::Transaction& t, const std::string& account, const Digest& hash, std::int64_t bytes) const;

  store::Database& database_;
  const std::shared_ptr<store::Clock> clock_;
  const Quota usual_;
};

}  // namespace assay::coordinator
