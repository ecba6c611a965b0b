#include <sys/random.h>

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <mutex>

#include "assay/audit/audit.h"
#include "assay/base/file.h"
#include "assay/cli/asked_job.h"
#include "assay/cli/command.h"
#include "assay/cli/dispute_command.h"
#include "assay/cli/json.h"
#include "assay/cli/signer.h"
#include "assay/cli/text.h"
#include "assay/cli/verdict.h"
#include "assay/service/peers.h"

namespace assay::cli {
namespace {

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

std::string LabelOf(const dispute::Arbitration& result, std::size_t party) {
  if (result.evidence.pair) return party == 0 ? "a" : "b";
  return std::to_string(result.numbers[party]);
}

// The first provider that claims the same under the same key.
std::size_t FirstOf(const dispute::Arbitration& result, std::size_t party) {
  const dispute::Claim& claim = result.claims[party];
  const auto same = std::ranges::find_if(result.claims, [&](const dispute::Claim& other) {
    return other.signer.point() == claim.signer.point() && GroupOf(other) == GroupOf(claim);
  });
  return static_cast<std::size_t>(same - result.claims.begin());
}

// For commands that are to be typed: the file that was named, or the one that a run directory has.
std::string JobFileOf(const DisputeOptions& options) {
  if (!options.job.empty() && Exists(options.job)) return options.job;
  return options.job.empty() && !options.runs.empty() ? JoinPath(options.runs[0], "job.toml") : "";
}

// A claim that was left out for another of its key, which then gave no answer. Whoever wins by that has won by nothing: anybody can hand out a receipt.
std::optional<std::size_t> Unheard(const dispute::Arbitration& result) {
  for (std::size_t i = 0; i < result.claims.size(); ++i) {
    if (!result.record.providers[i].waits) continue;
    for (std::size_t j = 0; j < result.claims.size(); ++j) {
      const dispute::Standing standing = result.record.providers[j].standing;
      if ((standing == dispute::Standing::kSilent || standing == dispute::Standing::kUnheard) &&
          result.claims[i].signer.point() == result.claims[j].signer.point())
        return i;
    }
  }
  return std::nullopt;
}

std::vector<std::string> LabelsOf(const dispute::Arbitration& result) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < result.names.size(); ++i) labels.push_back(LabelOf(result, i));
  return labels;
}

NextContext ContextOf(const DisputeOptions& options, const dispute::Arbitration& result) {
  return {.job = JobFileOf(options),
          .pair = result.evidence.pair,
          .referee_key = options.referee_key,
          .key_file = options.referee_key.empty() ? ExistingSignerPath() : options.referee_key,
          .providers = options.providers};
}

// Whoever refused the dispute as such has not lost it. The evidence charges it with nothing, so that a judge takes it for one that stands.
void ViewUnheard(const DisputeOptions& options, const dispute::Arbitration& result, VerdictView& view) {
  std::vector<dispute::Standing> standings;
  std::vector<std::optional<std::uint32_t>> groups;
  std::optional<std::size_t> unheard;
  for (std::size_t i = 0; i < result.claims.size(); ++i) {
    const dispute::ProviderRecord& provider = result.record.providers[i];
    standings.push_back(provider.standing);
    groups.push_back(provider.group);
    if (provider.standing != dispute::Standing::kUnheard) continue;
    if (!unheard) unheard = i;
    const auto stands = std::ranges::find(view.standing, LabelOf(result, i), &NamedParty::label);
    if (stands == view.standing.end()) continue;
    stands->why = fmt::format("was not heard ({})", result.trouble[i]);
    view.assumed.push_back(fmt::format("that {} was not heard: the referee's word, which is no evidence", stands->label));
    view.absent.push_back(std::move(*stands));
    view.standing.erase(stands);
  }
  if (!unheard) return;
  view.verdict = VerdictOf(standings, groups, result.numbers, result.evidence.pair);
  if (view.verdict != "undecided") return;
  const std::string label = LabelOf(result, *unheard), &name = result.names[*unheard];
  view.reason = fmt::format("{} was not heard ({})", label, result.trouble[*unheard]);
  view.decided_by = fmt::format("a copy of {} that is whole", name);
  if (result.evidence.pair) return;
  const NextContext context = ContextOf(options, result);
  const std::string key = context.key_file.empty() ? "which is none that it could know: make one with assay keygen"
                                                   : fmt::format("{}.pub", context.key_file);
  view.decided_by =
      fmt::format("the provider of {}, if it names this referee's public key ({}), or a list without {}", label, key, name);
  view.next = HearingSteps(result, LabelsOf(result), context);
}

// The judgement's view of those who took part, and those who did not.
VerdictView Viewed(const DisputeOptions& options, const dispute::Arbitration& result, const dispute::Judgement& judgement) {
  using dispute::Standing;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < result.names.size(); ++i) {
    if (TakesPart(result.record.providers[i].standing)) names.push_back(result.names[i]);
  }
  VerdictView view = ViewOf(judgement, result.evidence.pair, names);
  ViewUnheard(options, result, view);
  for (std::size_t i = 0; i < result.names.size(); ++i) {
    const dispute::ProviderRecord& provider = result.record.providers[i];
    const NamedParty named{LabelOf(result, i), result.names[i], result.claims[i].signer.ToString(), provider.why};
    if (provider.standing == Standing::kRefused) view.refused.push_back(named);
    if (provider.standing == Standing::kRepeated) {
      // It shares the fate of the one whose claim it repeats.
      const std::string first = LabelOf(result, FirstOf(result, i));
      for (auto* list : {&view.standing, &view.convicted, &view.misled, &view.absent}) {
        if (std::ranges::find(*list, first, &NamedParty::label) == list->end()) continue;
        list->push_back({named.label, named.name, named.key, fmt::format("claims the same as {} under the same key", first)});
        break;
      }
    }
    if (provider.standing == Standing::kSilent && !result.trouble[i].empty()) {
      const auto silent = std::ranges::find(view.absent, named.label, &NamedParty::label);
      if (silent == view.absent.end()) continue;
      const bool is_reason = view.reason == fmt::format("{}: {}", silent->label, silent->why);
      silent->why = fmt::format("{} ({})", provider.why, result.trouble[i]);
      if (is_reason) view.reason = fmt::format("{}: {}", silent->label, silent->why);
    }
  }
  for (const dispute::Arbitration::Absent& absent : result.absent) {
    (absent.reached ? view.refused : view.absent).push_back({std::to_string(absent.number), absent.name, "", absent.why});
  }
  const auto claims = std::ranges::count_if(result.record.providers, [](const dispute::ProviderRecord& provider) {
    return provider.standing != dispute::Standing::kRefused;
  });
  if (claims < 2) {
    view.verdict = "undecided";
    view.reason = "only one of them has a claim about this job, and nobody contradicts it";
    view.decided_by = "a second provider of this job, or an audit";
  } else if (const auto unheard = Unheard(result)) {
    view.verdict = "undecided";
    view.reason =
        fmt::format("{} was not heard: another claim of its key took its place, and gave no answer", LabelOf(result, *unheard));
    view.decided_by = fmt::format("a dispute with {} and without the other claim of its key", result.names[*unheard]);
  } else if (view.verdict == "undecided") {
    for (const dispute::MatchRecord& match : result.record.matches) {
      if (judgement.drawn || match.drawn.empty() || !view.next.empty()) continue;
      view.reason = match.drawn;
      if (!match.decided_by.empty()) view.decided_by = match.decided_by;
    }
    if (view.next.empty()) view.next = NextSteps(result, LabelsOf(result), ContextOf(options, result));
  }
  if (options.job.empty()) view.assumed.push_back("that the job is the one that was asked for: --job JOB insists on it");
  view.assumed.push_back("that the keys belong to those you think they do");
  return view;
}

void Print(const DisputeOptions& options, const dispute::Arbitration& result, const VerdictView& view) {
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
    if (!options.evidence.empty()) fmt::print("evidence    {}\n            {}\n", options.evidence, WorthOf(view));
    return;
  }
  OrderedJson json;
  AddVerdict(json, view);
  json["rounds"] = rounds;
  json["bytes_received"] = result.bytes_received;
  json["decision_bytes"] = decision;
  json["referee_cpu_ms"] = result.cpu_ms;
  json["matches"] = result.record.matches.size();
  json["evidence"] = options.evidence.empty() ? OrderedJson(nullptr) : OrderedJson(options.evidence);
  fmt::print("{}\n", Dump(json));
}

// Said before anything is asked: a verdict must not be lost for want of a place, nor earlier evidence for another dispute's.
Status CheckWritable(const std::string& path) {
  if (path.empty()) return {};
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  if (Exists(path)) return Err("--evidence {}: exists already and is not overwritten; choose another name", path);
  if (!IsDirectory(folder)) return Err("--evidence {}: expected a file in a folder that exists", path);
  if (const Status tried = WriteFileAtomic(path, Bytes{}); !tried) return Err("--evidence {}", tried.error().message);
  return RemoveFile(path);
}

}  // namespace

Result<int> HoldDispute(DisputeOptions options, std::vector<std::unique_ptr<dispute::Peer>> peers,
                        dispute::ArbitrateOptions how, const Explain& explain) {
  ASSAY_ASSIGN(how.law.nonce, Nonce());
  how.clocks.allowance_ms = static_cast<std::int64_t>(1e3f * options.patience_s);
  how.clocks.rerun_ms = static_cast<std::int64_t>(1e3f * options.rerun_s);
  dispute::Arbitration result;
  {
    View view(options.quiet);
    how.watch = [&](const dispute::Referee& referee) { view.Show(referee); };
    how.waiting = [&](const std::string& name, const std::string& why) { view.Wait(name, why); };
    ASSAY_ASSIGN(result, dispute::Arbitrate(std::move(peers), how));
  }
  Status written;
  if (!options.evidence.empty()) written = WriteFileAtomic(options.evidence, Encode(result.evidence));
  if (!written) options.evidence.clear();
  ASSAY_ASSIGN(const dispute::Judgement judgement, dispute::Judge(result.evidence, how.start));
  VerdictView view = Viewed(options, result, judgement);
  if (explain) explain(result, view);
  Print(options, result, view);
  std::fflush(stdout);
  // With --json the verdict stays the last line of standard output.
  if (!written) {
    return ReportFailure(fmt::format("{}; the verdict stands, and there is no evidence of it", written.error().message), false);
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

Result<int> DisputeProviders(const DisputeOptions& options) {
  if (options.providers.size() < 2 || !options.runs.empty()) {
    return Err("expected two run directories, or --provider URL at least twice");
  }
  ASSAY_TRY(CheckUsed(options));
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
  sub.Option("--evidence", options->evidence, "File to write for `assay judge`; never overwritten").Type("FILE");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--key", options->keys,
             "With run directories: a signing key, which signs the answers of its run; repeat for each. Default: $ASSAY_KEY or "
             "your own")
      .Type("FILE");
  sub.Option("--patience", options->patience_s, "Seconds that each provider has for all its answers")
      .Range(0.1f, 1e6f)
      .ShowDefault()
      .Type("S");
  sub.Option("--rerun", options->rerun_s, "Seconds more for each answer that needs steps run again")
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
