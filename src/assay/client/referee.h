// The client as the referee of its sealed orders (docs/formats/platform.md): it puts its questions to the workers through the coordinator, opens their answers, which
// are sealed to it, and tells the coordinator, under its signature, how the dispute ended. Evidence is released only where it convicts somebody.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assay/client/checked_life.h"
#include "assay/client/trouble.h"
#include "assay/dispute/arbitrate.h"
#include "assay/platform/api_client.h"
#include "assay/seal/keys.h"
#include "assay/sign/key.h"

namespace assay::client {

struct RefereeTerms {
  const SigningKey* key = nullptr;  // the one that signed the order
  std::shared_ptr<const std::vector<Identity>> identities{};
  dispute::StartingBytes start{};
  dispute::Clocks clocks{};
  std::function<void(const dispute::Referee& referee)> watch{};
  std::function<void(const std::string& name, const std::string& why)> waiting{};
};

// Whether a dispute is wanted that this client has to hold.
bool IsRefereeOf(const life::Life& life, const SigningKey& key);

// Holds the dispute that the life wants, and says how it ended. Other clients of the same key may do the same; who comes first counts. What is returned are the words
// of the law about each run: they may quote the job, and are for whoever sits here.
Checked<std::string> HoldDispute(platform::ApiClient& api, const life::Life& life, const RefereeTerms& terms);

}  // namespace assay::client
