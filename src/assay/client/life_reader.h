// LifeReader: reads the life of an order from its coordinator, goes on from where it was, and believes what CheckedLife does. The longest checkpoint is kept in the
// client's state before anything is made of it. One call at a time.
#pragma once

#include "assay/client/checked_life.h"
#include "assay/client/state.h"
#include "assay/client/trouble.h"
#include "assay/platform/api_client.h"

namespace assay::client {

class LifeReader {
 public:
  // Both must outlive it.
  LifeReader(platform::ApiClient& api, const State& state, LifeTerms terms)
      : api_(api), state_(state), checked_(std::move(terms)) {}

  // The life as it is now, with the evidence of every conviction.
  Checked<void> Update();
  const CheckedLife& checked() const { return checked_; }
  const life::Life& life() const { return checked_.life(); }

 private:
  Checked<void> ReadEntries();
  Checked<void> ReadEvidence();

  platform::ApiClient& api_;
  const State& state_;
  CheckedLife checked_;
};

// The coordinator's key: `named` where the user names it; otherwise the one that it had when it was met first. A key that is neither is refused.
// `met`: this is the first time.
struct KnownCoordinator {
  VerifyKey key;
  bool met = false;
};
Checked<KnownCoordinator> KnowCoordinator(platform::ApiClient& api, const State& state, const std::optional<VerifyKey>& named);

}  // namespace assay::client
