#include "assay/cli/worker_command.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include "assay/cli/platform_session.h"
#include "assay/cli/signer.h"
#include "assay/cli/text.h"
#include "assay/monitor/speed.h"
#include "assay/monitor/usage.h"
#include "assay/train/interrupt.h"
#include "assay/worker/hardware.h"
#include "assay/worker/http_link.h"
#include "assay/worker/worker.h"

namespace assay::cli {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<platform::ApiOptions> ApiOf(const WorkerTerms& terms, std::shared_ptr<const SigningKey> key) {
  platform::ApiOptions api;
  api.server = terms.server.empty() ? Environment("ASSAY_SERVER") : terms.server;
  api.token = terms.token.empty() ? Environment("ASSAY_TOKEN") : terms.token;
  api.ca_file = terms.ca_file;
  api.worker = std::move(key);
  if (api.server.empty()) return Err("no coordinator: name it with --server URL or $ASSAY_SERVER");
  if (api.token.empty()) {
    return Err(
        "no token: name one with --token TOKEN or $ASSAY_TOKEN; ask whoever runs the coordinator for one, which `assay admin "
        "token --role provider` makes there");
  }
  return api;
}

// Said before a folder is made or anything measured, and not only when the worker registers. A request that is not signed is refused for that once its token has been let in; a
// coordinator that cannot be reached now is waited for later.
Status CheckToken(const WorkerTerms& terms) {
  ASSAY_ASSIGN(platform::ApiOptions options, ApiOf(terms, nullptr));
  options.patience_ms = 0;
  options.attempt_ms = 5'000;
  ASSAY_ASSIGN(const auto api, platform::ApiClient::Create(std::move(options)));
  const auto answer = api->Post("/v1/work", platform::Json::object());
  if (answer) return {};
  const bool bad_token = answer.error().status == 401 && !FindHeader(answer.error().headers, "WWW-Authenticate").empty();
  if (bad_token || answer.error().status == 403) return tl::unexpected(Error(answer.error()));
  return {};
}

Result<std::int64_t> Offered(const std::string& name, const std::string& text) {
  return text.empty() ? Result<std::int64_t>(0) : SizeInBytes(name, text);
}

Result<worker::Compute> ComputeOf(const ComputeOptions& options, const Job* job) {
  ASSAY_ASSIGN(Compute made, MakeCompute(options));
  if (job != nullptr) ASSAY_TRY(ComputeFor(*job, made));
  return worker::Compute{.pool = std::move(made.pool), .backend = std::move(made.backend)};
}

Result<worker::Hardware> HardwareOf(const WorkerTerms& terms, const worker::WorkerOptions& options, const std::string& path) {
  ASSAY_ASSIGN(const worker::Compute compute, ComputeOf(terms.compute, nullptr));
  worker::Hardware hardware;
  hardware.device = terms.compute.device;
  hardware.name = terms.compute.device == "cpu" ? monitor::ProcessorName() : std::string(compute.backend->name());
  hardware.version = ASSAY_VERSION;
  worker::Measure(compute, hardware);
  hardware.memory = options.offered.memory > 0 ? options.offered.memory : monitor::AvailableMemory();
  hardware.disk = options.offered.disk > 0 ? options.offered.disk : monitor::FreeDisk(path);
  return hardware;
}

// Tells the worker when the process is to end.
class Watcher {
 public:
  explicit Watcher(worker::Worker& worker)
      : thread_([this, &worker] {
          while (!over_ && guard_.signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
          if (guard_.signal() != 0) worker.Stop();
        }) {}
  ~Watcher() {
    over_ = true;
    thread_.join();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  InterruptGuard guard_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace

void AddWorkerOptions(Subcommand& sub, WorkerTerms& terms) {
  sub.Option("--work", terms.work,
             "The worker's folder: its keys, and the orders that it works on; created if it does not exist")
      .Type("DIR");
  sub.Option("--key", terms.key, "Signing key (assay keygen). Default: DIR/key, made at first use").Type("FILE");
  sub.Option("--server", terms.server, "The coordinator's address. Default: $ASSAY_SERVER").Type("URL");
  sub.Option("--token", terms.token, "Token of a provider's or an auditor's account. Default: $ASSAY_TOKEN").Type("TOKEN");
  sub.Option("--ca", terms.ca_file, "PEM certificates to trust instead of the system's").Type("FILE");
  sub.Option("--coordinator", terms.coordinator,
             "The coordinator's public key, or a file with it. Default: the one it had when it was met first")
      .Type("KEY");
  sub.Option("--memory", terms.memory, "What an order may take of the memory, such as 8GiB. Default: what is free")
      .Type("SIZE");
  sub.Option("--disk", terms.disk, "What an order may take of the disk, such as 100GiB. Default: what is free").Type("SIZE");
  sub.Option("--seconds", terms.seconds, "How long an order may take, in seconds of work. Default: as long as it takes")
      .Range(std::int64_t{1}, std::int64_t{1} << 40)
      .Type("N");
  sub.Flag("--once", terms.once, "End when the order of the first lease is decided");
  sub.Flag("--quiet", terms.quiet, "Errors only");
  AddComputeOptions(sub, terms.compute);
}

Result<int> RunWorkerWith(const WorkerTerms& terms, worker::Craft& craft) {
  if (terms.work.empty()) return Err("--work: expected the worker's folder");
  worker::WorkerOptions options{.once = terms.once};
  ASSAY_ASSIGN(options.offered.memory, Offered("--memory", terms.memory));
  ASSAY_ASSIGN(options.offered.disk, Offered("--disk", terms.disk));
  options.offered.seconds = terms.seconds;
  ASSAY_TRY(CheckToken(terms));
  ASSAY_ASSIGN(const worker::Workplace place, worker::Workplace::Open(terms.work));
  if (!terms.coordinator.empty()) {
    ASSAY_ASSIGN(const VerifyKey named, ParseSigner(terms.coordinator));
    ASSAY_TRY(place.Pin(named.ToString()));
  }
  ASSAY_ASSIGN(SigningKey opened, place.OpenKey(terms.key));
  const auto key = std::make_shared<const SigningKey>(std::move(opened));
  ASSAY_ASSIGN(std::optional<Identity> identity, place.OpenIdentity());
  ASSAY_ASSIGN(const platform::ApiOptions api, ApiOf(terms, key));
  ASSAY_ASSIGN(worker::LinkFactory links, worker::MakeHttpLinks(api));
  std::mutex printing;
  // Several workers may share a terminal.
  options.say = [&](const std::string& line) {
    if (terms.quiet) return;
    const std::lock_guard lock(printing);
    fmt::print(stderr, "{}: {}\n", key->verify_key().id(), line);
  };
  ASSAY_ASSIGN(options.hardware, HardwareOf(terms, options, place.path()));
  const worker::Hardware hardware = options.hardware;
  options.registered = [&, say = options.say] {
    say(fmt::format("worker {} at {}: {}, {}, {:.1f} GFLOP/s, hashes {:.1f} GB/s", key->verify_key().ToString(), api.server,
                    hardware.name, Plural(hardware.threads, "thread"), hardware.matmul_gflops, hardware.hash_gbps));
  };
  const worker::ComputeFactory compute = [&](const Job& job) { return ComputeOf(terms.compute, &job); };
  worker::Worker worker(place, *key, std::move(identity), std::move(links), compute, craft, std::move(options));
  const Watcher watcher(worker);
  ASSAY_TRY(worker.Run());
  return kExitOk;
}

}  // namespace assay::cli
