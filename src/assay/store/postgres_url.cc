#include "assay/store/postgres_url.h"

namespace assay::store {

Status CheckPostgresUrl(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos)
    return Err("the database's URL has no scheme; expected postgresql://USER:PASSWORD@HOST:PORT/NAME");
  const std::string_view rest = url.substr(scheme + 3);
  const std::size_t at = rest.find('@');
  if (at == std::string_view::npos) return {};
  if (rest.find('@', at + 1) != std::string_view::npos || rest.find_first_of("/?#") < at) {
    return Err(
        "the database's URL: @, /, ? and # within a user, password or option must be percent-encoded (%40, %2F, %3F, %23)");
  }
  return {};
}

}  // namespace assay::store
