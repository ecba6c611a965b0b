#include <sys/random.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <mutex>
#include <set>

#include "assay/audit/audit.h"
#include "assay/base/file.h"
#include "assay/cli/asked_job.h"
#include "assay/cli/command.h"
#include "assay/cli/dispute_command.h"
#include "assay/cli/dispute_view.h"
#include "assay/cli/json.h"
#include "assay/cli/signer.h"
#include "assay/cli/text.h"
#include "assay/cli/verdict.h"
#include "assay/dispute/evidence_files.h"
#include "assay/service/peers.h"

namespace assay::cli {
namespace {

// Run directories are asked here, one after the other: how long that takes is this machine's affair, and nobody loses by it.
constexpr std::int64_t kUnhurriedMs = 1'000'000'000'000;

// The narrowing interval on standard error: redrawn on a terminal, a line for each phase elsewhere.
class View {
 public:
  explicit View(bool quiet) : quiet_(quiet), redraw_(!quiet && isatty(STDERR_FILENO) == 1) {}
  ~View() {
    if (drawn_) fmt::print(stderr, "\n");
  }
  void Show(const dispute::Referee& referee) {
    const std::lock_guard lock(mutex_);
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
  // From any thread.
  void Wait(const std::string& name, const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (quiet_) return;
    if (std::exchange(drawn_, false)) fmt::print(stderr, "\n");
    fmt::print(stderr, "waiting for {}{}{}\n", why.starts_with(name) ? "" : name, why.starts_with(name) ? "" : ": ", why);
  }

 private:
  std::mutex mutex_;  // over what follows
  bool quiet_, redraw_;
  bool drawn_ = false;
  dispute::Progress shown_;
};

Result<Digest> Nonce() {
  Digest nonce;
  if (::getrandom(nonce.bytes.data(), nonce.bytes.size(), 0) != static_cast<ssize_t>(nonce.bytes.size())) {
    return Err("the system gives no randomness");
  }
  return nonce;
}

// A judge reads only so much of a file: FILE, and what does not fit FILE.2, FILE.3 and so on. Their names.
// `names` are of those that were written, also where one could not be.
Status WriteEvidence(const std::vector<dispute::Evidence>& files, const std::string& path, std::vector<std::string>& names) {
  if (path.empty()) return {};
  if (files.empty()) return Err("{}: not written: the receipts alone are more than a file of evidence may hold", path);
  for (const dispute::Evidence& file : files) {
    const std::string name = names.empty() ? path : fmt::format("{}.{}", path, names.size() + 1);
    ASSAY_TRY(WriteFileAtomic(name, Encode(file), {.replace = false}));
    names.push_back(name);
  }
  return {};
}

void Print(const DisputeOptions& options, const dispute::Arbitration& result, const VerdictView& view,
           const std::vector<std::string>& evidence) {
  std::size_t rounds = 0, decision = 0;
  for (const dispute::MatchRecord& match : result.record.matches) {
    rounds = std::max(rounds, match.rounds);
    decision = std::max(decision, match.decision_bytes);
  }
  if (!options.json) {
    fmt::print("{}", VerdictText(view));
    fmt::print("referee     {}, {} received, {} of them to decide, {:.0f} ms of CPU time\n",
               Plural(static_cast<std::int64_t>(rounds), "round"), ByteCount(static_cast<double>(result.bytes_received)),
               ByteCount(static_cast<double>(decision)), result.cpu_ms);
    if (!evidence.empty()) fmt::print("evidence    {}\n            {}\n", fmt::join(evidence, ", "), WorthOf(view));
    return;
  }
  OrderedJson json;
  AddVerdict(json, view);
  json["rounds"] = rounds;
  json["bytes_received"] = result.bytes_received;
  json["decision_bytes"] = decision;
  json["referee_cpu_ms"] = result.cpu_ms;
  json["matches"] = result.record.matches.size();
  json["evidence"] = evidence.empty() ? OrderedJson(nullptr) : OrderedJson(evidence.front());
  if (evidence.size() > 1) json["more_evidence"] = std::vector(evidence.begin() + 1, evidence.end());
  fmt::print("{}\n", Dump(json));
}

// Said before anything is asked: a verdict must not be lost for want of a place, nor earlier evidence for another dispute's.
Status CheckWritable(const std::string& path) {
  if (path.empty()) return {};
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  const std::array<std::string, 2> names = {path, path + ".2"};  // the second where one file cannot hold it
  for (const std::string& name : names) {
    if (Exists(name)) return Err("--evidence {}: exists already and is not overwritten; choose another name", name);
  }
  if (!IsDirectory(folder)) return Err("--evidence {}: expected a file in a folder that exists", path);
  for (const std::string& name : names) {
    if (const Status tried = WriteFileAtomic(name, Bytes{}, {.replace = false}); !tried)
      return Err("--evidence {}", tried.error().message);
    ASSAY_TRY(RemoveFile(name));
  }
  return {};
}

}  // namespace

Result<int> HoldDispute(DisputeOptions options, std::vector<std::unique_ptr<dispute::Peer>> peers,
                        dispute::ArbitrateOptions how, const Explain& explain) {
  ASSAY_ASSIGN(how.law.nonce, Nonce());
  how.clocks.allowance_ms = how.law.pair ? kUnhurriedMs : static_cast<std::int64_t>(1e3f * options.patience_s);
  how.clocks.rerun_ms = how.law.pair ? 0 : static_cast<std::int64_t>(1e3f * options.rerun_s);
  dispute::Arbitration result;
  {
    View view(options.quiet);
    how.watch = [&](const dispute::Referee& referee) { view.Show(referee); };
    how.waiting = [&](const std::string& name, const std::string& why) { view.Wait(name, why); };
    ASSAY_ASSIGN(result, dispute::Arbitrate(std::move(peers), how));
  }
  const dispute::EvidenceFiles files = dispute::InFiles(result.evidence);
  std::vector<std::string> names;
  const Status written = WriteEvidence(files.files, options.evidence, names);
  if (!written) options.evidence.clear();
  ASSAY_ASSIGN(dispute::Judgement judgement, dispute::Judge(result.evidence, how.start));
  dispute::LeaveOut(files, judgement);
  VerdictView view = ViewOf(options, result, judgement, how.key);
  if (explain) explain(result, view);
  Print(options, result, view, names);
  std::fflush(stdout);
  // With --json the verdict stays the last line of standard output.
  if (!written) {
    const std::string left = names.empty() ? "there is no evidence of it"
                                           : fmt::format("there is evidence of some of it only, in {}", fmt::join(names, ", "));
    return ReportFailure(fmt::format("{}; the verdict stands, and {}", written.error().message, left), false);
  }
  return ExitStatusOf(view);
}

namespace {

// The key named, or the user's own where there is one; otherwise one made for this dispute, which no provider can have named.
Result<SigningKey> RefereeKey(const DisputeOptions& options) {
  if (!options.referee_key.empty()) return ReadSigningKey(options.referee_key);
  ASSAY_ASSIGN(auto own, OpenExistingSigner());
  return own ? std::move(*own) : SigningKey::Generate("referee");
}

// Options that would be silently ignored: providers compute, and the referee needs data only to learn the job's id.
Status CheckUsed(const DisputeOptions& options) {
  if (!options.keys.empty()) return Err("--key: belongs to run directories; providers sign their own answers");
  if (!options.data.empty() && options.job.empty()) return Err("--data: belongs to --job FILE or to run directories");
  const ComputeOptions none;
  const bool compute =
      options.compute.device != none.device || options.compute.threads != none.threads || options.compute.simd != none.simd;
  if (compute)
    return Err("--device, --threads and --simd: belong to run directories; a referee of providers needs none of them");
  return {};
}

Status CheckDistinct(const std::vector<std::string>& urls) {
  std::set<std::string> seen;
  for (std::string url : urls) {
    while (url.ends_with('/')) url.pop_back();
    if (!seen.insert(url).second) return Err("--provider {}: is named twice; a dispute is between different providers", url);
  }
  return {};
}

Result<int> DisputeProviders(const DisputeOptions& options) {
  if (options.providers.size() < 2 || !options.runs.empty()) {
    return Err("expected two run directories, or --provider URL at least twice");
  }
  ASSAY_TRY(CheckUsed(options));
  ASSAY_TRY(CheckDistinct(options.providers));
  ASSAY_ASSIGN(const SigningKey key, RefereeKey(options));
  dispute::ArbitrateOptions how{.key = &key};
  how.law.referee = key.verify_key().point();
  if (!options.job.empty()) {
    ASSAY_ASSIGN(const AskedJob asked, OpenAskedJob(options.job, options.data));
    how.job = asked.id;
    how.start = asked.start;
  }
  std::vector<std::unique_ptr<dispute::Peer>> peers;
  for (const std::string& url : options.providers) {
    ASSAY_ASSIGN(auto peer, service::MakeRemotePeer(url, options.ca_file));
    peers.push_back(std::move(peer));
  }
  return HoldDispute(options, std::move(peers), std::move(how), {});
}

Result<int> RunDispute(const DisputeOptions& options) {
  if (!(options.patience_s >= 0.1f && options.rerun_s >= 0)) return Err("--patience and --rerun: expected numbers of seconds");
  ASSAY_TRY(CheckWritable(options.evidence));
  return options.providers.empty() ? DisputeRuns(options) : DisputeProviders(options);
}

}  // namespace

void AddDispute(Arguments& app, Command& command) {
  auto options = std::make_shared<DisputeOptions>();
  Subcommand sub = app.Add("dispute", "Find out which of several runs of a job is right, down to one 4 KiB block");
  sub.Footer(
      "Providers (`assay provide`) answer a referee's questions about their runs until they differ in one value only,\n"
      "which the referee computes itself. It needs neither a GPU nor the data. If one provider is honest, its run is the\n"
      "one that stands. Of two run directories on this machine the referee asks the runs themselves.\n"
      "\n"
      "The verdict says who is right: `a` or `b` of two directories, or the number of a provider, counted from 0;\n"
      "`both`: all agree; `none`: nobody stands; `undecided`: those who stand claim different things, and nothing here\n"
      "tells who is right. What would decide it is said, with the commands.\n"
      "\n"
      "Exit status 0: decided, or all agree. 1: nobody stands. 2: bad input. 3: undecided, also where somebody is\n"
      "convicted and the others differ. 4: a run directory is damaged.\n"
      "\n"
      "convicted: the evidence shows it to anybody. accused: the charge rests on answers that were computed here from a\n"
      "copy of the run and its data, and that nobody signed; an audit of the run shows it to whoever has both. Providers\n"
      "sign their answers; run directories do with --key.\n"
      "\n"
      "Providers may answer only the referees that they know: give them the public key of --referee-key beforehand. A\n"
      "provider that refuses the dispute was not heard, and it is undecided. One that later refuses an answer, or gives\n"
      "none in time, loses.\n"
      "\n"
      "Example: assay dispute runs/mine runs/theirs --evidence dispute.evidence\n"
      "         assay dispute --job mlp.toml --provider http://one:7411 --provider http://two:7411 \\\n"
      "             --evidence dispute.evidence");
  sub.Option("runs", options->runs, "Two run directories").Type("RUN");
  sub.Option("--provider", options->providers, "A provider's URL; repeat for each").Type("URL");
  sub.Option("--job", options->job,
             "The job that was asked for: a file, or the 64 hex digits of its id. Runs of other jobs are refused")
      .Type("JOB");
  sub.Option("--referee-key", options->referee_key,
             "With --provider: the key that opens the dispute and signs every question. Default: $ASSAY_KEY, your own, or one "
             "made for this dispute")
      .Type("FILE");
  sub.Option("--evidence", options->evidence, "File to write for `assay judge`; never overwritten").NotEmpty().Type("FILE");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--key", options->keys,
             "With run directories: a signing key, which signs the answers of its run; repeat for each. Default: $ASSAY_KEY or "
             "your own")
      .Type("FILE");
  sub.Option("--patience", options->patience_s, "With --provider: seconds that each has for all its answers")
      .Range(0.1f, 1e6f)
      .ShowDefault()
      .Type("S");
  sub.Option("--rerun", options->rerun_s, "With --provider: seconds more for each answer that needs steps run again")
      .Range(0.0f, 1e7f)
      .ShowDefault()
      .Type("S");
  sub.Option("--ca", options->ca_file, "With --provider: PEM certificates to trust instead of the system's").Type("FILE");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print the result as one JSON object on the last line of standard output");
  sub.Flag("--quiet", options->quiet, "No progress");
  SetCommand(sub, std::move(options), command, RunDispute);
}

}  // namespace assay::cli
