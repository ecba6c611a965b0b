// What may be said of a database's URL, and whether it can be said safely. Pure.
#pragma once

#include <string>
#include <string_view>

#include "assay/base/result.h"

namespace assay::store {

// An error where it is unclear what of the URL is the password: user and password must be percent-encoded, so that the only @ is the one after
// them. libpq would take a part of such a password for a host or a port, and name it in its messages. The error names no part of the URL.
Status CheckPostgresUrl(std::string_view url);

}  // namespace assay::store
