// What `assay provide` answers over HTTP (docs/formats/dispute.md, "Over HTTP").
#pragma once

#include "assay/dispute/answerer.h"
#include "assay/net/http.h"

namespace assay::cli {

// Thread safe. Receipt, job and program do not wait for the account.
HttpResponse RespondAsProvider(const HttpRequest& request, const dispute::Account& account, dispute::Answerer& answerer);

}  // namespace assay::cli
