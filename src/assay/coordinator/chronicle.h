// Chronicle: the lives of all orders, as the database holds them.
//
// Every change to an order is one entry appended to its life, in the transaction that also brings the tables up to date that are searched by: what the order
// wants, which leases are open, its verdict. What life/ refuses is not written. A life that was read is kept and continued from the entries that other
// processes have added since; the entries are the truth, and the rest follows from them.
//
// Thread safe. What was kept of a transaction that failed is recognised by its root and dropped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/life/life.h"
#include "assay/life/wanted.h"
#include "assay/sign/key.h"
#include "assay/store/database.h"

namespace assay::coordinator {

// A life with the hashes of its entries, which its checkpoint is made from.
struct Written {
  life::Life life;
  std::vector<Digest> leaves{};
  Digest root{};
};

// What a reader of a life gets: entries from some number on, the signed head, and that an older head is a prefix of it.
struct Chapter {
  std::int64_t from = 0;
  std::vector<std::string> entries;
  std::int64_t size = 0;  // of the life
  std::string checkpoint;
  std::vector<Digest> proof;  // from `from` entries on; empty where that is 0 or all
};

std::string OriginOf(std::string_view order);  // of the life's log
std::string PointOf(const VerifyKey& key);     // 64 hex digits
Result<std::string> PointOf(const std::string& vkey);

class Chronicle {
 public:
  // `key` signs the heads of lives and must outlive the chronicle.
  explicit Chronicle(const SigningKey& key) : key_(key) {}
  const SigningKey& key() const { return key_; }

  // An error where there is no such order.
  Result<std::shared_ptr<const Written>> Read(store::Transaction& t, const std::string& order);
  // A new life, of an order that is not there yet. `account` is its client's.
  Result<std::shared_ptr<const Written>> Begin(store::Transaction& t, const std::string& account, const std::string& envelope,
                                               std::int64_t now_ms);
  // The life with one more entry. The entry is dated `now_ms`, or as the one before it where the clock went back.
  Result<std::shared_ptr<const Written>> Append(store::Transaction& t, const std::string& order, life::Event event,
                                                std::int64_t now_ms);

  // Whether the life has an entry with just this event.
  Result<bool> Said(store::Transaction& t, const std::string& order, const life::Event& event);

  Result<Chapter> ReadFrom(store::Transaction& t, const std::string& order, std::int64_t from, std::size_t max_bytes);

 private:
  static Status Continue(store::Transaction& t, const std::string& order, Written& written);
  // Applies the entry and writes it, and all that follows from it.
  Status Write(store::Transaction& t, const std::string& order, const life::Entry& entry, Written& written);
  Status WriteWants(store::Transaction& t, const std::string& order, const life::Life& life);
  void Keep(const std::string& order, std::shared_ptr<const Written> written);

  static constexpr std::size_t kKept = 4096;

  const SigningKey& key_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Written>> kept_;
};

}  // namespace assay::coordinator
