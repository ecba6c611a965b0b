// Watching an order to its end, as `submit --wait`, `watch` and `fetch` do.
#pragma once

#include <string>

#include "assay/cli/order_view.h"
#include "assay/cli/platform_session.h"
#include "assay/client/checked_life.h"

namespace assay::cli {

double NowSeconds();

// The life, decided and checked. Where the order is sealed and was signed with the user's key, its disputes are held here.
client::Checked<client::CheckedLife> WatchOrder(Session& session, const PlatformOptions& options, const std::string& id,
                                                OrderView& view);

// On standard output.
void PrintOutcome(const life::Life& life, bool json);

}  // namespace assay::cli
