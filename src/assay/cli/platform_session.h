// What the commands of a platform's client share: where the coordinator is, who asks, what is remembered, and how they end.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "assay/cli/arguments.h"
#include "assay/cli/json.h"
#include "assay/client/life_reader.h"
#include "assay/client/state.h"
#include "assay/platform/api_client.h"
#include "assay/train/interrupt.h"

namespace assay::cli {

struct PlatformOptions {
  std::string server, token;  // empty: ASSAY_SERVER, ASSAY_TOKEN
  std::string ca_file;
  std::string state;        // folder; empty: the user's own
  std::string coordinator;  // key, or a file with one
  std::vector<std::string> witnesses;
  std::string key;     // of the client
  std::string signer;  // who submitted the order, where that is somebody else
  float patience_s = 120;
  bool json = false;
  bool quiet = false;
  // What to do where there is none.
  std::string no_token = "ask whoever runs the coordinator for one, which `assay admin token --role client` makes there";
};
void AddPlatformOptions(Subcommand& subcommand, PlatformOptions& options);
// `others`: the order may be somebody else's.
void AddLifeOptions(Subcommand& subcommand, PlatformOptions& options, bool others = true);

// Of commands that are about one order.
struct OrderOptions : PlatformOptions {
  std::string id;
};
// All of them.
void AddOrderOptions(Subcommand& subcommand, OrderOptions& options);

// A coordinator whose key is known. Movable.
struct Session {
  client::State state;
  std::unique_ptr<platform::ApiClient> api;
  VerifyKey coordinator;
};
// `api` alone, for what needs no coordinator's key.
Result<std::unique_ptr<platform::ApiClient>> OpenApi(const PlatformOptions& options);
client::Checked<Session> OpenSession(const PlatformOptions& options);

// How the life of an order is to be checked.
client::Checked<client::LifeTerms> TermsOf(const Session& session, const PlatformOptions& options, const std::string& id);

// Ends the calls of a client when the process is to end (SIGINT, SIGTERM, SIGHUP). One at a time in a process.
class StopOnSignal {
 public:
  explicit StopOnSignal(platform::ApiClient& api);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  int signal() const { return guard_.signal(); }

 private:
  InterruptGuard guard_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

// What becomes of an order whose watching was interrupted, on standard error.
void SayOrderGoesOn(const std::string& id);

// The exit status of what a command came to. What is refused is reported here: a line on standard error, with --json an object on standard output; the status is
// then kExitRefuted.
Result<int> Concluded(client::Checked<int> outcome, const std::string& id, bool json);

// "25%" or "25", `least` to 100.
Result<std::int64_t> WholePercent(const std::string& name, const std::string& text, std::int64_t least = 0);
// "512MiB", "2GB", "1000000": bytes.
Result<std::int64_t> SizeInBytes(const std::string& name, const std::string& text);

}  // namespace assay::cli
