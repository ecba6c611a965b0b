#include "assay/audit/claims.h"
#include "assay/cli/command.h"
#include "assay/cli/damaged_run.h"
#include "assay/cli/listen_address.h"
#include "assay/cli/signer.h"
#include "assay/service/provider_http.h"
#include "assay/train/memory_fit.h"

namespace assay::cli {
namespace {

struct ProvideOptions {
  std::string run;
  std::string listen = "127.0.0.1:0";
  std::string data;
  std::string key;
  std::string tls_cert, tls_key;
  std::vector<std::string> referees;
  std::int64_t open_to_all = service::ProvideTerms::kOpenToAll;
  std::int64_t memory_mib = 4096;
  ComputeOptions compute;
  bool json = false;
};

// Whoever cannot answer from its copy would lose what it is in the right about.
int RefuseDamaged(const std::string& path, const std::string& why) {
  fmt::print(stderr, "assay: {}: is damaged, and cannot be answered for: {}; `assay fsck` says more\n", path, why);
  return kExitDamaged;
}

Result<int> RunProvide(const ProvideOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) return Err("--tls-cert and --tls-key: expected both or neither");
  service::ProvideTerms terms{.listen = ListenAddress(options.listen),
                              .tls_cert = options.tls_cert,
                              .tls_key = options.tls_key,
                              .open_to_all = options.open_to_all,
                              .json = options.json};
  for (const std::string& text : options.referees) {
    ASSAY_ASSIGN(const VerifyKey referee, ParsePublicKey("--referee", text));
    terms.referees.push_back(referee.point());
  }
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  const auto opened = RunDirectory::Open(options.run);
  if (!opened && IsDamagedRun(options.run, opened.error())) return RefuseDamaged(options.run, opened.error().message);
  if (!opened) return tl::unexpected(opened.error());
  const RunDirectory& run = *opened;
  ASSAY_ASSIGN(const SigningKey key, OpenSignerOf(run.signer(), options.run, options.key));
  ASSAY_ASSIGN(const auto damage, CheckOwnJob(run));
  if (damage) return RefuseDamaged(run.path(), damage->reason);
  ASSAY_ASSIGN(const PreparedJob prepared, PrepareRun(run, options.data, *compute.pool));
  ASSAY_ASSIGN(const auto other, CheckAsked(run, prepared, {}));
  if (other) return RefuseDamaged(run.path(), other->reason);
  ASSAY_ASSIGN(const RunFaults faults, FindFaults(run, *compute.pool));
  if (faults.damage) return RefuseDamaged(run.path(), faults.damage->reason);
  ASSAY_TRY(ComputeFor(prepared.job, compute));
  // There may be more when it is asked, and much can be answered without running a step.
  if (const Status fits = CheckFits(prepared, *compute.backend); !fits)
    fmt::print(stderr, "assay: {}; it is provided all the same, but steps that a referee asks about may fail\n",
               fits.error().message);
  const auto limits = dispute::RunAccount::Limits::Of(static_cast<std::size_t>(options.memory_mib) << 20);
  ASSAY_ASSIGN(const auto account, dispute::RunAccount::Make(run, prepared, *compute.backend, *compute.pool, limits));
  ASSAY_TRY(service::ServeAccount(*account, key, terms));
  return kExitOk;
}

}  // namespace

void AddProvide(Arguments& app, Command& command) {
  auto options = std::make_shared<ProvideOptions>();
  Subcommand sub = app.Add("provide", "Answer a referee's questions about a finished run, until Ctrl-C");
  sub.Footer(
      "Says on standard output where it listens. Steps are run again from the nearest snapshot when they are asked about,\n"
      "and what was computed is remembered. A second Ctrl-C does not wait for the answer that is being made.\n"
      "\n"
      "Whoever asks sees parts of weights, data and activations. With --referee only these keys may ask, as much as their\n"
      "disputes need. Without it anybody may who shows a receipt that contradicts this run's, within a limit for all of\n"
      "them together. The limit is counted in bouts: a bout is one pairing of this run with another claim, from the first\n"
      "question to the last, and its highest cost is printed at the start. A dispute of n parties sets 2(n-1)+1 bouts\n"
      "aside, so that fewer than 3 are as good as none: then every referee that is not named is refused. When too few are\n"
      "left, disputes are refused, and stay undecided, until the run is provided anew: name your referee. Every dispute that\n"
      "is opened or refused is reported on standard error.\n"
      "\n"
      "Anybody may see receipt, job and program and, of fp64-rounded runs, the log of states and the rounding logs, by\n"
      "which others follow the run (assay train --follow). These show no weights and no data.\n"
      "\n"
      "Example: assay provide runs/mlp --listen 127.0.0.1:7411 --referee referee.key.pub");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Option("--listen", options->listen, "Address, or a port of 127.0.0.1 alone; port 0 picks a free one")
      .ShowDefault()
      .Type("[HOST:]PORT");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--key", options->key, "The run's signing key. Default: $ASSAY_KEY, or your own if there is one").Type("FILE");
  sub.Option("--referee", options->referees,
             "A referee who may ask: a public key, or a file with it; repeat for each. Default: anybody")
      .Type("KEY");
  sub.Option("--open-to-all", options->open_to_all,
             "Bouts (see below) for all referees together that --referee does not name; below 3 none of them is answered")
      .ShowDefault()
      .Range(std::int64_t{0}, std::int64_t{1} << 20)
      .Type("N");
  sub.Option("--tls-cert", options->tls_cert, "Certificate chain (PEM): speak https only").Type("FILE");
  sub.Option("--tls-key", options->tls_key, "Its private key (PEM)").Type("FILE");
  sub.Option("--memory", options->memory_mib, "MiB for what is remembered, besides what training takes")
      .ShowDefault()
      .Range(std::int64_t{1}, std::int64_t{1} << 24)
      .Type("MIB");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print one JSON object when it listens");
  SetCommand(sub, std::move(options), command, RunProvide);
}

}  // namespace assay::cli
