// PooledDatabase: a Database made of sessions. It holds the rules that both databases share: what is tried again, for how long, and what a
// failed statement does to its transaction. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "assay/store/database.h"
#include "assay/store/pool.h"

namespace assay::store {

class PooledDatabase final : public Database {
 public:
  // Transactions that write take their sessions from `writers`, others from `readers`, which may be the same.
  PooledDatabase(std::string name, std::shared_ptr<Pool> writers, std::shared_ptr<Pool> readers, const DatabaseOptions& options)
      : name_(std::move(name)), writers_(std::move(writers)), readers_(std::move(readers)), options_(options) {}

  Status Transact(Access access, const Body& body) override;
  const std::string& name() const override { return name_; }

 private:
  Attempt<void> Once(Access access, const Body& body, std::int64_t wait_ms);

  const std::string name_;
  const std::shared_ptr<Pool> writers_;
  const std::shared_ptr<Pool> readers_;
  const DatabaseOptions options_;
};

// The first session of a database that is being opened: what is wrong with it should be known at once, so only a conflict with another
// process is waited for.
Result<std::unique_ptr<Session>> OpenFirst(const SessionFactory& open, const DatabaseOptions& options);

}  // namespace assay::store
