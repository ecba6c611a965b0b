// Follow: watches an order until it is decided, and referees it where that is the client's to do. What is shown at once comes from the coordinator's events; what counts is the
// life, which is read again and checked whenever an event says that it has grown.
#pragma once

#include <functional>

#include "assay/client/life_reader.h"
#include "assay/client/referee.h"
#include "assay/client/trouble.h"
#include "assay/platform/api_client.h"

namespace assay::client {

struct FollowHooks {
  std::function<void(const life::Entry& entry, const life::Life& life)>
      on_entry{};                                                    // one that is believed, with the life as it is now
  std::function<void(const platform::Json& sample)> on_telemetry{};  // a worker's word, relayed: for people
  std::function<void(const std::string& text)> on_note{};
};

// Ends when the life is decided. `referee`: null where this client does not hold disputes.
Checked<void> Follow(platform::ApiClient& api, LifeReader& reader, const RefereeTerms* referee, const FollowHooks& hooks);

}  // namespace assay::client
