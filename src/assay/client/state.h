// State: what a client remembers from one command to the next: which key each coordinator had when it was met first, the orders that it made, the longest
// checkpoint that it saw of each life, and the identity that opens its sealed results.
//
//   DIR/coordinators/SERVER     public key, one line; SERVER is the percent-encoded address
//   DIR/orders/ID/order.json    the envelope, as it was signed, written before it is sent
//   DIR/orders/ID/made.json     where it was sent, and the files it was made from
//   DIR/orders/ID/cancelled     empty; there if its life was seen to say so
//   DIR/orders/ID/checkpoint    the longest checkpoint seen of its life
//   DIR/identity                age identity, mode 0600
//
// Every file is whole or absent. Several processes may share the folder. Thread safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/client/trouble.h"
#include "assay/seal/keys.h"
#include "assay/sign/key.h"
#include "assay/sign/note.h"

namespace assay::client {

// An order as it was made here.
struct MadeOrder {
  std::string server;
  std::string envelope;
  std::string job;     // path of the job file
  std::string data;    // what --data named; empty: the job's own
  std::string name{};  // of the job; empty: not known
  bool sealed = false;
  struct File {
    std::string name;  // in the order
    std::string path;  // on this machine; of a sealed order, the sealed copy
  };
  std::vector<File> files{};
};

class State {
 public:
  // $XDG_STATE_HOME/assay or ~/.local/state/assay where `path` is empty.
  static Result<State> Open(const std::string& path);
  const std::string& path() const { return path_; }

  Result<std::optional<VerifyKey>> PinOf(const std::string& server) const;
  Status Pin(const std::string& server, const VerifyKey& key) const;

  Status Remember(const std::string& order, const MadeOrder& made) const;
  Result<std::optional<MadeOrder>> Recall(const std::string& order) const;
  // That its life says it was cancelled, for lists that tell only that it failed.
  Status RememberCancelled(const std::string& order) const;
  bool WasCancelled(const std::string& order) const;
  // Where its job file and sealed copies of its files are kept until they have been uploaded; made if needed.
  Result<std::string> StagingOf(const std::string& order) const;
  void DropStaging(const std::string& order) const;

  // The note; none: this life was not seen before.
  Result<std::optional<std::string>> CheckpointOf(const std::string& order) const;
  // Unless a longer one is kept already.
  Status KeepCheckpoint(const std::string& order, const std::string& note, std::uint64_t size,
                        const VerifyKey& coordinator) const;
  // What a coordinator signed that contradicts the checkpoint that is kept, for whoever wants to show it to others. The path.
  std::string KeepContradiction(const std::string& order, const std::string& note,
                                const std::vector<std::string>& entries) const;

  std::string IdentityPath() const;
  // Made the first time. An error in a build that cannot seal.
  Result<std::vector<Identity>> OpenIdentities() const;

  // Where a file that is kept of an order lies.
  std::string OrderPath(const std::string& order, const std::string& name) const;

 private:
  explicit State(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace assay::client
