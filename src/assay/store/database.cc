#include "assay/store/database.h"

#include "assay/base/quote.h"
#include "assay/store/session.h"

namespace assay::store {

Result<std::unique_ptr<Database>> Database::Open(std::string_view where, const DatabaseOptions& options) {
  if (where.empty()) return Err("the name of the database is empty; expected a file, :memory: or postgresql://HOST/NAME");
  const std::size_t scheme = where.find("://");
  if (scheme == std::string_view::npos) return OpenSqlite(std::string(where), options);
  if (where.starts_with("postgresql://") || where.starts_with("postgres://")) return OpenPostgres(std::string(where), options);
  // The rest of an address may hold a password.
  return Err("database {}: unknown scheme; expected a file, :memory: or postgresql://HOST/NAME",
             Quote(where.substr(0, scheme)));
}

#ifndef ASSAY_HAVE_SQLITE
Result<std::unique_ptr<Database>> OpenSqlite(const std::string& path, const DatabaseOptions&) {
  return Err("{}: this build has no SQLite", path);
}
#endif

#ifndef ASSAY_HAVE_POSTGRES
Result<std::unique_ptr<Database>> OpenPostgres(const std::string&, const DatabaseOptions&) {
  return Err("this build has no PostgreSQL");
}
#endif

}  // namespace assay::store
