#include "assay/cli/platform_session.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/cli/asked_job.h"
#include "assay/cli/colour.h"
#include "assay/cli/exit_status.h"
#include "assay/cli/signer.h"

namespace assay::cli {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The starting weights of a job that takes them from a file, from the job file that the order was made from, where a judge asks for them.
dispute::StartingBytes StartOf(const client::MadeOrder& made) {
  auto start = std::make_shared<std::optional<dispute::StartingBytes>>();
  return [made, start](std::size_t tensor, Range elements) -> Bytes {
    if (!*start) {
      auto asked = OpenAskedJob(made.job, made.data);
      *start = asked ? asked->start : dispute::StartingBytes();
    }
    return **start ? (**start)(tensor, elements) : Bytes();
  };
}

}  // namespace

void AddPlatformOptions(Subcommand& sub, PlatformOptions& options) {
  sub.Option("--server", options.server, "The coordinator's address. Default: $ASSAY_SERVER").Type("URL");
  sub.Option("--token", options.token, "Token of a client's account. Default: $ASSAY_TOKEN").Type("TOKEN");
  sub.Option("--ca", options.ca_file, "PEM certificates to trust instead of the system's").Type("FILE");
  sub.Option("--state", options.state,
             "Folder for what is remembered of coordinators and orders. Default: ~/.local/state/assay")
      .Type("DIR");
  sub.Option("--coordinator", options.coordinator,
             "The coordinator's public key, or a file with it. Default: the one it had at first contact")
      .Type("KEY");
  sub.Option("--patience", options.patience_s, "Seconds to wait for a coordinator that does not answer")
      .Range(0.0f, 1e6f)
      .ShowDefault()
      .Type("S");
  sub.Flag("--json", options.json, "Print the result as one JSON object on the last line of standard output");
  sub.Flag("--quiet", options.quiet, "Only the result, no progress");
}

void AddLifeOptions(Subcommand& sub, PlatformOptions& options, bool others) {
  sub.Option("--key", options.key,
             fmt::format("Signing key of the client (assay keygen). Default: $ASSAY_KEY, or your own{}",
                         others ? "" : ", made at first use"))
      .Type("FILE");
  if (others) {
    sub.Option("--signer", options.signer,
               "Who submitted the order, if that was neither this machine nor this key: a public key, or a file with it")
        .Type("KEY");
  }
  sub.Option("--witness", options.witnesses,
             "A witness who has to have signed what the coordinator shows: a public key, or a file with it; repeat for each")
      .Type("KEY");
}

void AddOrderOptions(Subcommand& sub, OrderOptions& options) {
  sub.Option("id", options.id, "The order, as submit and jobs print it").Required().Type("ID");
  AddPlatformOptions(sub, options);
  AddLifeOptions(sub, options);
}

Result<std::unique_ptr<platform::ApiClient>> OpenApi(const PlatformOptions& options) {
  platform::ApiOptions api;
  api.server = options.server.empty() ? Environment("ASSAY_SERVER") : options.server;
  api.token = options.token.empty() ? Environment("ASSAY_TOKEN") : options.token;
  api.ca_file = options.ca_file;
  api.patience_ms = static_cast<int>(1e3f * std::min(options.patience_s, 2e6f));
  if (!options.quiet) {
    api.on_wait = [server = api.server, patience_s = options.patience_s](const std::string& why) {
      // A bar may stand where the line goes.
      fmt::print(stderr, "{}assay: waiting for {}: {}; giving up after {:g} s (--patience)\n",
                 ::isatty(STDERR_FILENO) == 1 ? "\r\x1b[K" : "", server, why, patience_s);
    };
  }
  if (api.server.empty()) return Err("no coordinator: name it with --server URL or $ASSAY_SERVER");
  if (api.token.empty()) return Err("no token: name one with --token TOKEN or $ASSAY_TOKEN; {}", options.no_token);
  return platform::ApiClient::Create(std::move(api));
}

client::Checked<Session> OpenSession(const PlatformOptions& options) {
  std::optional<VerifyKey> named;
  if (!options.coordinator.empty()) {
    ASSAY_ASSIGN(named, ParsePublicKey("--coordinator", options.coordinator));
  }
  ASSAY_ASSIGN(client::State state, client::State::Open(options.state));
  ASSAY_ASSIGN(auto api, OpenApi(options));
  ASSAY_ASSIGN(const client::KnownCoordinator known, client::KnowCoordinator(*api, state, named));
  if (known.met && !options.quiet) {
    fmt::print(stderr, "assay: First contact with {}: its key is {}. From now on any other key is refused.\n", api->server(),
               known.key.ToString());
  }
  return Session{.state = std::move(state), .api = std::move(api), .coordinator = known.key};
}

client::Checked<client::LifeTerms> TermsOf(const Session& session, const PlatformOptions& options, const std::string& id) {
  client::LifeTerms terms{.id = id, .coordinator = session.coordinator};
  for (const std::string& text : options.witnesses) {
    ASSAY_ASSIGN(WitnessKey witness, ParseWitness(text));
    terms.witnesses.push_back(std::move(witness));
  }
  ASSAY_ASSIGN(const auto made, session.state.Recall(id));
  if (made) {
    terms.envelope = made->envelope;
    terms.start = StartOf(*made);
    return terms;
  }
  if (!options.signer.empty()) {
    ASSAY_ASSIGN(VerifyKey signer, ParseSigner(options.signer));
    terms.clients.push_back(std::move(signer));
  }
  // To read what somebody else signed, nobody needs a key of its own.
  ASSAY_ASSIGN(const std::optional<SigningKey> own, OpenSignerIfAny(options.key));
  if (own) terms.clients.push_back(own->verify_key());
  terms.insists = !options.signer.empty() || !options.key.empty();
  return terms;
}

StopOnSignal::StopOnSignal(platform::ApiClient& api) {
  thread_ = std::thread([this, &api] {
    while (!over_) {
      if (guard_.signal() != 0) {
        api.Cancel();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
}

StopOnSignal::~StopOnSignal() {
  over_ = true;
  thread_.join();
}

void SayOrderGoesOn(const std::string& id) {
  fmt::print(stderr, "assay: the order goes on: assay watch {}; to end it: assay cancel {}\n", id, id);
}

Result<int> Concluded(client::Checked<int> outcome, const std::string& id, bool json) {
  if (outcome) return *outcome;
  if (!outcome.error().refused) return tl::unexpected(Error(outcome.error()));
  const std::string& reason = outcome.error().message;
  std::fflush(stdout);
  fmt::print(stderr, "assay: {}: {}\n", Painted("refused", Tone::kBad, stderr), reason);
  if (json)
    fmt::print("{}\n",
               Dump({{"id", id.empty() ? OrderedJson(nullptr) : OrderedJson(id)}, {"verdict", nullptr}, {"refused", reason}}));
  return kExitRefuted;
}

Result<std::int64_t> WholePercent(const std::string& name, const std::string& text, std::int64_t least) {
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < least || value > 100) {
    return Err("{}: expected a whole number of percent from {} to 100, such as 10%, got {}", name, least, Quote(text));
  }
  return value;
}

Result<std::int64_t> SizeInBytes(const std::string& name, const std::string& text) {
  struct Unit {
    std::string_view name;
    std::int64_t bytes;
  };
  constexpr std::array<Unit, 10> kUnits = {{{"KiB", std::int64_t{1} << 10},
                                            {"MiB", std::int64_t{1} << 20},
                                            {"GiB", std::int64_t{1} << 30},
                                            {"TiB", std::int64_t{1} << 40},
                                            {"kB", 1000},
                                            {"KB", 1000},
                                            {"MB", 1000 * 1000},
                                            {"GB", 1000 * 1000 * 1000},
                                            {"TB", std::int64_t{1000} * 1000 * 1000 * 1000},
                                            {"B", 1}}};
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  std::int64_t unit = 1;
  if (!rest.empty()) {
    unit = 0;
    for (const Unit& known : kUnits) {
      if (rest == known.name) unit = known.bytes;
    }
  }
  const bool fits = error == std::errc() && value >= 0 && unit > 0 && value <= (std::int64_t{1} << 62) / unit;
  if (!fits)
    return Err("{}: expected a whole number of bytes, or one with kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 512MiB, got {}",
               name, Quote(text));
  return value * unit;
}

}  // namespace assay::cli
