// Submission: from a job file to an order that the coordinator has. The order is remembered in the client's state before anything is sent, under an id that was drawn
// here: whatever is interrupted can be sent again, and is the same order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/client/state.h"
#include "assay/client/trouble.h"
#include "assay/life/order.h"
#include "assay/platform/api_client.h"
#include "assay/seal/keys.h"
#include "assay/train/prepare.h"

namespace assay::client {

struct OrderWish {
  std::string job;   // path of the job file
  std::string data;  // instead of the job's; empty: its own
  life::Policy policy{};
  life::LeaseLimits limits{};
  std::vector<Recipient> sealed{};  // empty: not sealed
};

using NoteHook = std::function<void(const std::string& note)>;

// Makes the order, seals its files where it is sealed, and remembers it. Sends nothing. `on_note`: told what the user should know of an order that is made all the
// same.
Checked<life::Order> MakeOrder(const State& state, const SigningKey& key, const VerifyKey& coordinator,
                               const std::string& server, const OrderWish& wish, const NoteHook& on_note = {});

struct SubmitHooks {
  std::function<void(const std::string& name, std::uint64_t done, std::uint64_t total)> on_upload{};
};
// Uploads what the coordinator does not have, and submits. May be repeated.
Checked<void> SendOrder(platform::ApiClient& api, const State& state, const std::string& id, const SubmitHooks& hooks = {});

// A worker to which files can be sealed.
struct SealableWorker {
  VerifyKey key;
  Recipient recipient;
};
// Those whose announcement is well signed by the key that they are listed under.
Checked<std::vector<SealableWorker>> ListSealable(platform::ApiClient& api);
// `wanted`: "all", recipients (age1…), or workers' keys. No recipient comes twice.
Checked<std::vector<Recipient>> ChooseRecipients(platform::ApiClient& api, const std::vector<std::string>& wanted);

}  // namespace assay::client
