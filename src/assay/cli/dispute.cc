#include <sys/random.h>

#include <unistd.h>

#include <algorithm>
#include <deque>

#include "assay/base/file.h"
#include "assay/cli/command.h"
#include "assay/cli/finding.h"
#include "assay/cli/json.h"
#include "assay/cli/peers.h"
#include "assay/cli/signer.h"
#include "assay/cli/text.h"
#include "assay/train/claims.h"

namespace assay::cli {
namespace {

struct DisputeOptions {
  std::vector<std::string> runs;
  std::vector<std::string> providers;
  std::string job;
  std::string data;
  std::string evidence;
  std::string ca_file;
  std::vector<std::string> keys;
  float patience_s = 60;
  float rerun_s = 3600;
  ComputeOptions compute;
  bool json = false;
  bool quiet = false;
};

// The narrowing interval on standard error: redrawn on a terminal, a line for each phase elsewhere.
class View {
 public:
  explicit View(bool quiet) : quiet_(quiet), redraw_(!quiet && isatty(STDERR_FILENO) == 1) {}
  ~View() {
    if (drawn_) fmt::print(stderr, "\n");
  }
  void Show(const dispute::Referee& referee) {
    const dispute::Progress& now = referee.progress();
    if (quiet_ || now.interval.empty() || now.interval == shown_.interval) return;
    if (redraw_) {
      if (drawn_) fmt::print(stderr, "{}", now.phase == shown_.phase ? "\r\x1b[K" : "\n");
      fmt::print(stderr, "{:<8}{}", now.phase, now.interval);
      drawn_ = true;
    } else {
      fmt::print(stderr, "{:<8}{}\n", now.phase, now.interval);
    }
    shown_ = now;
  }

 private:
  bool quiet_, redraw_;
  bool drawn_ = false;
  dispute::Progress shown_;
};

Result<PreparedJob> AskedJob(const DisputeOptions& options, ThreadPool& pool) {
  ASSAY_ASSIGN(Job job, LoadJob(options.job));
  if (!options.data.empty()) job.data.path = options.data;
  return Prepare(std::move(job), &pool);
}

Result<Digest> Nonce() {
  Digest nonce;
  if (::getrandom(nonce.bytes.data(), nonce.bytes.size(), 0) != static_cast<ssize_t>(nonce.bytes.size())) {
    return Err("the system gives no randomness");
  }
  return nonce;
}

// a and b, or numbers in the order of the command line.
std::string NameOf(const dispute::Arbitration& result, std::size_t party) {
  if (result.evidence.pair) return party == 0 ? "a" : "b";
  return std::to_string(result.numbers[party]);
}

std::vector<std::string> NamesOf(const dispute::Arbitration& result, const std::vector<dispute::ProviderId>& providers) {
  std::vector<std::string> names;
  for (const dispute::ProviderId id : providers) names.push_back(NameOf(result, id));
  return names;
}

void Print(const DisputeOptions& options, const dispute::Arbitration& result, const dispute::Judgement& judgement) {
  const std::vector<std::string> right = NamesOf(result, dispute::Survivors(result.record));
  std::vector<dispute::ProviderId> fallen;
  for (std::size_t i = 0; i < judgement.parties.size(); ++i) {
    if (judgement.parties[i].standing != dispute::Standing::kStanding &&
        judgement.parties[i].standing != dispute::Standing::kRepeated) {
      fallen.push_back(static_cast<dispute::ProviderId>(i));
    }
  }
  std::size_t rounds = 0, decision = 0;
  for (const dispute::MatchRecord& match : result.record.matches) {
    rounds = std::max(rounds, match.rounds);
    decision = std::max(decision, match.decision_bytes);
  }
  const std::optional<dispute::Finding> finding = DecidingFinding(judgement);
  const std::string verdict = result.evidence.pair || right.empty() ? judgement.verdict : right.front();
  if (!options.json) {
    fmt::print("verdict     {}\n", verdict);
    for (std::size_t i = 0; i < result.names.size(); ++i) {
      const dispute::ProviderRecord& provider = result.record.providers[i];
      fmt::print("{:<11} {}: {}{}{}\n", NameOf(result, i), result.names[i], dispute::ToString(provider.standing),
                 provider.why.empty() ? "" : ": ", provider.why);
    }
    if (finding && finding->node) {
      fmt::print("where       step {}, node {} ({})", finding->step.value_or(0), *finding->node, finding->node_name);
      if (finding->leaf) fmt::print(", leaf {}", *finding->leaf);
      fmt::print("\n");
    }
    fmt::print("referee     {} rounds, {} received, {} of them to decide, {:.0f} ms of CPU time\n", rounds,
               ByteCount(static_cast<double>(result.bytes_received)), ByteCount(static_cast<double>(decision)), result.cpu_ms);
    if (!options.evidence.empty()) fmt::print("evidence    {}\n", options.evidence);
    return;
  }
  OrderedJson json = {{"verdict", verdict}};
  AddFinding(json, finding);
  json["rounds"] = rounds;
  json["bytes_received"] = result.bytes_received;
  json["decision_bytes"] = decision;
  json["referee_cpu_ms"] = result.cpu_ms;
  json["right"] = right;
  json["guilty"] = NamesOf(result, fallen);
  json["matches"] = result.record.matches.size();
  json["proven"] = judgement.convicts;
  json["evidence"] = options.evidence.empty() ? OrderedJson(nullptr) : OrderedJson(options.evidence);
  fmt::print("{}\n", Dump(json));
}

Result<int> Finish(const DisputeOptions& options, std::vector<std::unique_ptr<dispute::Peer>> peers,
                   dispute::ArbitrateOptions how) {
  ASSAY_ASSIGN(how.nonce, Nonce());
  how.clocks.allowance_ms = static_cast<std::int64_t>(1e3f * options.patience_s);
  how.clocks.rerun_ms = static_cast<std::int64_t>(1e3f * options.rerun_s);
  dispute::Arbitration result;
  {
    View view(options.quiet);
    how.watch = [&](const dispute::Referee& referee) { view.Show(referee); };
    ASSAY_ASSIGN(result, dispute::Arbitrate(std::move(peers), how));
  }
  if (!options.evidence.empty()) ASSAY_TRY(WriteFileAtomic(options.evidence, Encode(result.evidence)));
  ASSAY_ASSIGN(const dispute::Judgement judgement, dispute::Judge(result.evidence));
  for (const std::string& why : result.absent) fmt::print(stderr, "assay: {}; it takes no part\n", why);
  Print(options, result, judgement);
  return kExitOk;
}

// The keys named, or the user's own where there is one; last, one that is nobody's.
Result<std::deque<SigningKey>> KeysAtHand(const std::vector<std::string>& paths) {
  std::deque<SigningKey> keys;
  for (const std::string& path : paths) {
    ASSAY_ASSIGN(SigningKey key, ReadSigningKey(path));
    keys.push_back(std::move(key));
  }
  if (paths.empty()) {
    ASSAY_ASSIGN(auto own, OpenExistingSigner());
    if (own) keys.push_back(std::move(*own));
  }
  keys.push_back(SigningKey::Generate("nobody"));
  return keys;
}

Result<int> DisputeRuns(const DisputeOptions& options) {
  if (options.runs.size() != 2) return Err("expected two run directories, or --provider URL at least twice");
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const std::deque<SigningKey> keys, KeysAtHand(options.keys));
  std::optional<PreparedJob> prepared;
  if (!options.job.empty()) {
    ASSAY_ASSIGN(prepared, AskedJob(options, *compute.pool));
  } else {
    ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.runs[0]));
    ASSAY_ASSIGN(const auto refuted, CheckHeader(run, {}));
    if (refuted) return Err("{}: {}", options.runs[0], refuted->reason);
    ASSAY_ASSIGN(prepared, PrepareRun(run, options.data, *compute.pool));
  }
  ASSAY_TRY(ComputeFor(prepared->job, compute));
  std::mutex turn;
  dispute::ArbitrateOptions how;
  std::vector<std::unique_ptr<dispute::Peer>> peers;
  for (const std::string& path : options.runs) {
    ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(path));
    const auto own = std::ranges::find(keys, run.signer(), &SigningKey::verify_key);
    if (own == keys.end()) how.unsigned_answers.push_back(run.signer());
    ASSAY_ASSIGN(auto peer, MakeLocalPeer(path, *prepared, compute, own == keys.end() ? keys.back() : *own, turn));
    peers.push_back(std::move(peer));
  }
  how.pair = true;
  how.job = prepared->identity.job;
  return Finish(options, std::move(peers), std::move(how));
}

Result<int> DisputeProviders(const DisputeOptions& options) {
  if (options.providers.size() < 2 || !options.runs.empty()) {
    return Err("expected two run directories, or --provider URL at least twice");
  }
  dispute::ArbitrateOptions how;
  if (!options.job.empty()) {
    ThreadPool pool(1);
    ASSAY_ASSIGN(const PreparedJob prepared, AskedJob(options, pool));
    how.job = prepared.identity.job;
  }
  std::vector<std::unique_ptr<dispute::Peer>> peers;
  for (const std::string& url : options.providers) {
    ASSAY_ASSIGN(auto peer, MakeRemotePeer(url, options.ca_file, static_cast<std::int64_t>(1e3f * options.patience_s)));
    peers.push_back(std::move(peer));
  }
  return Finish(options, std::move(peers), std::move(how));
}

Result<int> RunDispute(const DisputeOptions& options) {
  return options.providers.empty() ? DisputeRuns(options) : DisputeProviders(options);
}

}  // namespace

void AddDispute(Arguments& app, Command& command) {
  auto options = std::make_shared<DisputeOptions>();
  Subcommand sub = app.Add("dispute", "Find out which of several runs of a job is right, down to one 4 KiB block");
  sub.Footer(
      "Providers (`assay provide`) answer a referee's questions about their runs until one value is left about which they "
      "differ;\n"
      "the referee computes that one itself. It needs neither a GPU nor the data. If one provider is honest, its run is the "
      "one that\n"
      "is left. Of two run directories on this machine the referee asks the runs themselves.\n"
      "\n"
      "verdict: who is right: a, b, both (they agree) or none; of providers, the number of one that is right, from 0.\n"
      "\n"
      "Example: assay dispute runs/mine runs/theirs --evidence dispute.evidence\n"
      "         assay dispute --job mlp.toml --provider http://one:7411 --provider http://two:7411 --evidence "
      "dispute.evidence");
  sub.Option("runs", options->runs, "Two run directories").Type("RUN");
  sub.Option("--provider", options->providers, "A provider's URL; give it for each of them").Type("URL");
  sub.Option("--job", options->job, "The job that was asked for; runs of others are refused").Type("JOB");
  sub.Option("--evidence", options->evidence, "Where to write what `assay judge` needs").Type("FILE");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--key", options->keys,
             "Of run directories: a signing key, which signs for its run; give it for each. Otherwise $ASSAY_KEY or your own")
      .Type("FILE");
  sub.Option("--patience", options->patience_s, "Seconds that each provider has to think in all")
      .Range(0.1f, 1e6f)
      .ShowDefault()
      .Type("S");
  sub.Option("--rerun", options->rerun_s, "Seconds more for each question for which steps have to be run again")
      .Range(0.0f, 1e7f)
      .ShowDefault()
      .Type("S");
  sub.Option("--ca", options->ca_file, "PEM certificates to trust instead of the system's").Type("FILE");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print the result as one JSON object on the last line of standard output");
  sub.Flag("--quiet", options->quiet, "No progress");
  SetCommand(sub, std::move(options), command, RunDispute);
}

}  // namespace assay::cli
