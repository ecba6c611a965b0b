// The OpenAPI 3.1 document of a table of routes. Pure.
#pragma once

#include <string>

#include "assay/coordinator/routes.h"

namespace assay::coordinator {

Json OpenApiOf(const Routes& routes, const std::string& version);

}  // namespace assay::coordinator
