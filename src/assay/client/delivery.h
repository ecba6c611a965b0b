// Delivery: what a client gets for an order, as a folder from which everything can be checked again without the coordinator:
//
//   model.safetensors      the weights, for which the receipt signs
//   receipt.json           of the run that delivers
//   order.json             the order, as it was signed
//   life.jsonl             the entries of its life, a line each
//   checkpoint             the coordinator's signature over them
//   coordinator.pub        its key
//   evidence/HASH          for every conviction
//
// The folder is checked as a whole before it gets its name: it is there, and right, or it is not there.
#pragma once

#include <string>
#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/client/checked_life.h"
#include "assay/client/trouble.h"
#include "assay/platform/api_client.h"
#include "assay/platform/transfer.h"
#include "assay/seal/keys.h"

namespace assay::client {

// Whether a verdict comes with a model.
bool Delivers(life::Verdict verdict);

// An error where something is at `out` already.
Status CheckPlace(const std::string& out);

// Fetches the model of a life that is decided and delivers one, and leaves the folder at `out`. What was interrupted goes on from OUT.part.
Checked<void> FetchDelivery(platform::ApiClient& api, const CheckedLife& checked, const std::vector<Identity>& identities,
                            const std::string& out, ThreadPool& pool, const platform::TransferProgress& progress);

// The same checks of a folder that was fetched at some time. `terms` without an envelope takes the order from the life, whose signer then has to be one of its clients.
Checked<CheckedLife> CheckDelivery(const std::string& folder, const LifeTerms& terms, ThreadPool& pool);

}  // namespace assay::client
