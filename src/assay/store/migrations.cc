#include "assay/store/migrations.h"

#include <string>

#include "assay/base/check.h"
#include "assay/base/quote.h"
#include "assay/merkle/sha256.h"

namespace assay::store {
namespace {

constexpr std::string_view kTable =
    "CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";

// How many of the steps were applied, which must be the first ones, as they are known here.
Result<std::size_t> Applied(Transaction& transaction, const std::string& name, std::span<const Migration> steps) {
  ASSAY_ASSIGN(const Rows rows, transaction.Run("SELECT version, name, checksum FROM schema_versions ORDER BY version"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSAY_ASSIGN(const std::int64_t version, rows[i].Integer(0));
    ASSAY_ASSIGN(const std::string title, rows[i].Text(1));
    ASSAY_ASSIGN(const std::string checksum, rows[i].Text(2));
    if (i >= steps.size()) {
      return Err("{}: has schema version {} ({}), this program knows versions up to {}: it belongs to a newer program", name,
                 rows[rows.size() - 1].Integer(0).value_or(version), Quote(title), steps.size());
    }
    if (version != steps[i].version)
      return Err("{}: schema version {} was applied, but not version {}", name, version, steps[i].version);
    if (checksum != HashBytes(AsBytes(steps[i].sql)).hex()) {
      return Err("{}: schema version {} ({}) was applied with other statements than this program has for it", name, version,
                 Quote(title));
    }
  }
  return rows.size();
}

// Takes the first step that is missing; false where none is.
Result<bool> TakeStep(Transaction& transaction, const std::string& name, std::span<const Migration> steps) {
  ASSAY_TRY(transaction.RunScript(kTable));
  ASSAY_ASSIGN(const std::size_t applied, Applied(transaction, name, steps));
  if (applied == steps.size()) return false;
  const Migration& step = steps[applied];
  ASSAY_TRY(transaction.RunScript(step.sql));
  ASSAY_TRY(transaction.Run("INSERT INTO schema_versions (version, name, checksum) VALUES ($1, $2, $3)",
                            {step.version, std::string(step.name), HashBytes(AsBytes(step.sql)).hex()}));
  return true;
}

}  // namespace

Result<std::int64_t> Migrate(Database& database, std::span<const Migration> steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) ASSAY_CHECK(steps[i].version == static_cast<std::int64_t>(i + 1));
  for (std::int64_t taken = 0;; ++taken) {
    ASSAY_ASSIGN(const bool step, database.In(Access::kAlone, [&](Transaction& transaction) {
      return TakeStep(transaction, database.name(), steps);
    }));
    if (!step) return taken;
  }
}

}  // namespace assay::store
