#include <chrono>
#include <cstdio>
#include <thread>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/listen_address.h"
#include "assay/cli/platform_session.h"
#include "assay/coordinator/station.h"
#include "assay/train/interrupt.h"

namespace assay::cli {
namespace {

struct ServeOptions {
  std::string store;
  std::string listen = "127.0.0.1:0";
  std::string database;
  std::string tls_cert, tls_key;
  std::string log;
  std::string reserve = "1GiB";
  std::int64_t lease_s = 60;
  std::int64_t rate = 5000;
  std::int64_t patience_s = 60, rerun_s = 600;
  std::string on_verdict;
  bool distinct_accounts = false;
  bool json = false;
};

void SayListening(const coordinator::Station& station, const std::string& another, bool json) {
  const auto& token = station.first_token();
  if (json) {
    OrderedJson line = {{"listening", station.url()}};
    if (token) line["admin_token"] = token->token;
    fmt::print("{}\n", Dump(line));
  } else {
    fmt::print("listening on {}\n", station.url());
    if (token) {
      fmt::print("admin_token {}\nThis is the administrator's token. It is shown this once; keep it, or make another: {}\n",
                 token->token, another);
    } else {
      fmt::print("The administrator's token was shown at the first start. To make another: {}\n", another);
    }
  }
  std::fflush(stdout);
}

Result<int> RunServe(const ServeOptions& options) {
  coordinator::StationOptions terms;
  terms.store = options.store;
  terms.listen = ListenAddress(options.listen);
  terms.database = options.database;
  terms.tls_cert = options.tls_cert;
  terms.tls_key = options.tls_key;
  terms.log = options.log;
  terms.version = ASSAY_VERSION;
  terms.lease_ms = options.lease_s * 1000;
  terms.requests_per_s = static_cast<double>(options.rate);
  terms.work.referee.clocks.allowance_ms = options.patience_s * 1000;
  terms.work.referee.clocks.rerun_ms = options.rerun_s * 1000;
  terms.work.on_verdict = options.on_verdict;
  ASSAY_ASSIGN(const std::int64_t reserve, SizeInBytes("--reserve", options.reserve));
  terms.reserve_bytes = static_cast<std::uint64_t>(reserve);
  terms.distinct_accounts = options.distinct_accounts;
  const InterruptGuard interrupt;
  ASSAY_ASSIGN(const auto station, coordinator::Station::Open(terms));
  std::optional<FileLock> alone;  // in a database of the folder's own, coordinators would not see what others lease
  if (options.database.empty()) {
    ASSAY_ASSIGN(alone, FileLock::TryAcquire(JoinPath(options.store, "coordinator.lock")));
    if (!alone)
      return Err("{}: another coordinator serves this folder; several at once need a PostgreSQL database (--database)",
                 options.store);
  }
  ASSAY_TRY(station->Start());
  std::string another = fmt::format("assay admin token --role admin --store {}", ShellQuoted(options.store));
  if (!options.database.empty()) another += " --database URL";
  SayListening(*station, another, options.json);
  while (interrupt.signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  station->Stop();
  return kExitOk;
}

}  // namespace

void AddServe(Arguments& app, Command& command) {
  auto options = std::make_shared<ServeOptions>();
  Subcommand sub = app.Add("serve", "Run a coordinator: clients submit jobs to it, workers train them, until Ctrl-C");
  sub.Footer(
      "The first start makes the folder with the coordinator's key, a database and a place for files, and prints the\n"
      "administrator's token, which is not kept. `assay admin token` makes tokens for others; `assay admin token --role admin\n"
      "--store DIR` another for the administrator. One line of JSON for each request (workers' polls, renewals and telemetry\n"
      "only if they fail) goes to standard error, or to --log.\n"
      "\n"
      "Several coordinators serve together if they share a PostgreSQL database and the folder of --store.\n"
      "\n"
      "Example: assay serve --store platform --listen 127.0.0.1:7400");
  sub.Option("--store", options->store, "Folder of the coordinator; made if it is not there").Required().NotEmpty().Type("DIR");
  sub.Option("--listen", options->listen, "Address, or a port of 127.0.0.1 alone; port 0 picks a free one")
      .ShowDefault()
      .Type("[HOST:]PORT");
  sub.Option("--database", options->database, "postgresql://USER:PASSWORD@HOST:PORT/NAME. Default: SQLite in DIR").Type("URL");
  sub.Option("--tls-cert", options->tls_cert, "Certificate chain (PEM): speak https only").Type("FILE");
  sub.Option("--tls-key", options->tls_key, "Its private key (PEM)").Type("FILE");
  sub.Option("--log", options->log, "File for the log of requests; - for none. Default: standard error").Type("FILE");
  sub.Option("--lease", options->lease_s, "Seconds after which a worker that gives no sign of life loses its job")
      .ShowDefault()
      .Range(std::int64_t{1}, std::int64_t{86'400})
      .Type("S");
  sub.Option("--reserve", options->reserve, "Disk space that uploads leave free for the database").ShowDefault().Type("SIZE");
  sub.Option("--rate", options->rate, "Requests per second that one token may send")
      .ShowDefault()
      .Range(std::int64_t{1}, std::int64_t{1'000'000})
      .Type("N");
  sub.Option("--patience", options->patience_s, "Seconds that each worker of a dispute has for all its answers")
      .ShowDefault()
      .Range(std::int64_t{1}, std::int64_t{86'400})
      .Type("S");
  sub.Option("--rerun", options->rerun_s, "Seconds more for each answer that needs steps run again")
      .ShowDefault()
      .Range(std::int64_t{0}, std::int64_t{864'000})
      .Type("S");
  sub.Option("--on-verdict", options->on_verdict, "Shell command that is told of every verdict, as JSON on its standard input")
      .Type("COMMAND");
  sub.Flag("--distinct-accounts", options->distinct_accounts,
           "Give the leases of one order to workers of different accounts, not only to different keys");
  sub.Flag("--json", options->json, "Print one JSON object when it listens");
  SetCommand(sub, std::move(options), command, RunServe);
}

}  // namespace assay::cli
