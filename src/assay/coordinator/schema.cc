#include "assay/coordinator/schema.h"

namespace assay::coordinator {
namespace {

// Keys of workers are kept as 64 hex digits of the public key, since a name is not part of who somebody is. Times are milliseconds since 1970, and say when
// something was; what ends by time has a counter instead (stillness.h).
constexpr store::Migration kSteps[] = {
    {1, "accounts, workers, orders and their lives", R"sql(
CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  made BIGINT NOT NULL
);
CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  account TEXT NOT NULL REFERENCES accounts(id),
  role TEXT NOT NULL,
  name TEXT NOT NULL,
  made BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  revoked BIGINT NOT NULL
);
CREATE TABLE workers (
  point TEXT PRIMARY KEY,
  vkey TEXT NOT NULL,
  account TEXT NOT NULL REFERENCES accounts(id),
  made BIGINT NOT NULL,
  seen BIGINT NOT NULL,
  hardware TEXT NOT NULL,
  recipient TEXT NOT NULL,
  clean BIGINT NOT NULL,
  evidence TEXT NOT NULL
);
CREATE TABLE orders (
  id TEXT PRIMARY KEY,
  seq BIGINT NOT NULL UNIQUE,
  account TEXT NOT NULL REFERENCES accounts(id),
  job TEXT NOT NULL,
  made BIGINT NOT NULL,
  size BIGINT NOT NULL,
  head TEXT NOT NULL,
  verdict TEXT NOT NULL
);
CREATE INDEX orders_by_account ON orders(account, seq);
CREATE TABLE entries (
  order_id TEXT NOT NULL REFERENCES orders(id),
  n BIGINT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (order_id, n)
);
CREATE TABLE leases (
  order_id TEXT NOT NULL REFERENCES orders(id),
  number BIGINT NOT NULL,
  worker TEXT NOT NULL REFERENCES workers(point),
  account TEXT NOT NULL,
  open BIGINT NOT NULL,
  beat BIGINT NOT NULL,
  PRIMARY KEY (order_id, number)
);
CREATE INDEX leases_open ON leases(open);
CREATE INDEX leases_by_worker ON leases(worker, open);
CREATE TABLE wants (
  order_id TEXT NOT NULL REFERENCES orders(id),
  kind TEXT NOT NULL,
  target BIGINT NOT NULL,
  worker TEXT NOT NULL,
  seq BIGINT NOT NULL,
  holder TEXT NOT NULL,
  beat BIGINT NOT NULL,
  PRIMARY KEY (order_id, kind, target)
);
CREATE INDEX wants_by_kind ON wants(kind, seq);
)sql"},
    {2, "quotas, and who may see which blob", R"sql(
CREATE TABLE quotas (
  account TEXT PRIMARY KEY REFERENCES accounts(id),
  orders BIGINT NOT NULL,
  blob_bytes BIGINT NOT NULL
);
CREATE TABLE blob_rights (
  account TEXT NOT NULL REFERENCES accounts(id),
  hash TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  owned BIGINT NOT NULL,
  whole BIGINT NOT NULL,
  made BIGINT NOT NULL,
  PRIMARY KEY (account, hash)
);
CREATE INDEX blob_rights_unfinished ON blob_rights(whole, made);
CREATE INDEX orders_open ON orders(verdict, seq);
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
)sql"},
    {3, "sealed orders, files of runs, questions of disputes, verdicts to announce", R"sql(
ALTER TABLE workers ADD COLUMN announcement TEXT NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN role TEXT NOT NULL DEFAULT 'provider';
CREATE TABLE sealed_to (
  order_id TEXT NOT NULL REFERENCES orders(id),
  recipient TEXT NOT NULL,
  PRIMARY KEY (order_id, recipient)
);
CREATE TABLE run_files (
  order_id TEXT NOT NULL REFERENCES orders(id),
  lease BIGINT NOT NULL,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  PRIMARY KEY (order_id, lease, name)
);
CREATE INDEX run_files_by_hash ON run_files(sha256);
CREATE TABLE questions (
  id TEXT PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders(id),
  lease BIGINT NOT NULL,
  worker TEXT NOT NULL REFERENCES workers(point),
  asker TEXT NOT NULL,
  kind TEXT NOT NULL,
  body BYTEA NOT NULL,
  open BIGINT NOT NULL,
  error TEXT NOT NULL,
  answer BYTEA NOT NULL
);
CREATE INDEX questions_open ON questions(open, worker);
CREATE INDEX questions_by_order ON questions(order_id);
CREATE TABLE verdicts_due (
  order_id TEXT PRIMARY KEY REFERENCES orders(id),
  holder TEXT NOT NULL,
  beat BIGINT NOT NULL
);
)sql"},
    {4, "what runs told of themselves over time", R"sql(
CREATE TABLE histories (
  order_id TEXT NOT NULL REFERENCES orders(id),
  lease BIGINT NOT NULL,
  kind BIGINT NOT NULL,
  seen BIGINT NOT NULL,
  kept BIGINT NOT NULL,
  stride BIGINT NOT NULL,
  last BYTEA NOT NULL,
  PRIMARY KEY (order_id, lease, kind)
);
CREATE TABLE history_points (
  order_id TEXT NOT NULL REFERENCES orders(id),
  lease BIGINT NOT NULL,
  kind BIGINT NOT NULL,
  number BIGINT NOT NULL,
  points BYTEA NOT NULL,
  PRIMARY KEY (order_id, lease, kind, number)
);
)sql"},
    {5, "which orders need a blob", R"sql(
CREATE TABLE blob_uses (
  hash TEXT NOT NULL,
  order_id TEXT NOT NULL REFERENCES orders(id),
  PRIMARY KEY (hash, order_id)
);
ALTER TABLE orders ADD COLUMN noted BIGINT NOT NULL DEFAULT 0;
CREATE INDEX orders_by_noted ON orders(noted);
CREATE INDEX blob_rights_by_hash ON blob_rights(hash);
)sql"},
};

}  // namespace

std::span<const store::Migration> Schema() { return kSteps; }

}  // namespace assay::coordinator
