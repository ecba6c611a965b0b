#include <chrono>

#include "assay/cli/command.h"
#include "assay/cli/draw_options.h"
#include "assay/cli/progress.h"
#include "assay/cli/rules_view.h"
#include "assay/cli/signer.h"
#include "assay/monitor/telemetry.h"
#include "assay/monitor/telemetry_file.h"
#include "assay/own/compare.h"
#include "assay/own/make.h"
#include "assay/own/verify.h"
#include "assay/train/interrupt.h"

namespace assay::cli {
namespace {

using monitor::RuleState;

struct OwnCommand {
  std::string what, path;
  std::string out, nonce;
  std::int64_t top = own::kTop, drawn = own::kDraws;
  std::vector<std::string> parents;
  std::string rules = "strict", data, signer, job, run, receipt, seed_from, against;
  std::vector<std::string> witnesses;
  ComputeOptions compute;
  bool json = false;
};

constexpr std::uint64_t kMaxSeedFromBytes = std::uint64_t{1} << 30;

// How many samples an epoch has, as the run recorded it; 0: it did not.
std::int64_t EpochSamplesOf(const RunDirectory& run) {
  if (!Exists(run.telemetry_path())) return 0;
  const auto file = ReadFile(run.telemetry_path(), monitor::kMaxTelemetryBytes);
  if (!file) return 0;
  const monitor::Telemetry telemetry = monitor::ReadTelemetry(*file, run.identity().trajectory, run.signer());
  return telemetry.sessions.empty() ? 0 : telemetry.sessions.front().record.epoch_samples;
}

OrderedJson StretchJson(const own::Stretch& stretch) {
  return {{"begin", stretch.steps.begin}, {"end", stretch.steps.end}, {"chosen", std::string(own::Name(stretch.chosen))}};
}

Result<int> MakeClaimFile(const OwnCommand& command) {
  if (command.out.empty()) return Err("--out: name the file to write the claim to");
  if (Exists(command.out)) return Err("--out {}: exists already and is not overwritten; choose another name", command.out);
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(command.path));
  ASSAY_ASSIGN(const Compute compute, MakeCompute(command.compute));
  own::MakeOptions options{.top = static_cast<std::uint32_t>(command.top),
                           .drawn = static_cast<std::uint32_t>(command.drawn),
                           .epoch_samples = EpochSamplesOf(run),
                           .parents = command.parents};
  if (!command.nonce.empty()) {
    ASSAY_ASSIGN(options.nonce, ParseNonce(command.nonce));
  }
  if (options.nonce.size() > own::kMaxNonceBytes) return Err("--nonce: expected at most {} bytes", own::kMaxNonceBytes);
  ASSAY_ASSIGN(const own::MadeClaim made, own::MakeClaim(run, options, *compute.pool));
  ASSAY_TRY(WriteFileAtomic(command.out, [&](FileSink& sink) { return own::Write(made.claim, sink); }));
  ASSAY_ASSIGN(const Bytes receipt, ReadFile(run.receipt_path(), own::MaxBytesOf("receipt.json")));
  std::uint64_t bytes = 0;
  OrderedJson stretches = OrderedJson::array();
  for (const own::ClaimedFile& file : made.claim.files) bytes += file.bytes.size();
  for (const own::Stretch& stretch : made.claim.stretches) stretches.push_back(StretchJson(stretch));
  if (command.json) {
    fmt::print("{}\n", Dump({{"claim", command.out},
                             {"job_id", run.identity().job.hex()},
                             {"signer", run.signer().ToString()},
                             {"receipt", HashBytes(receipt).hex()},
                             {"files", made.claim.files.size()},
                             {"bytes", bytes},
                             {"nonce", Hex(options.nonce)},
                             {"parents", made.claim.parents.size()},
                             {"stretches", stretches}}));
    return kExitOk;
  }
  for (const own::Stretch& stretch : made.claim.stretches) {
    fmt::print("steps {} to {}: {}\n", stretch.steps.begin + 1, stretch.steps.end, own::Name(stretch.chosen));
  }
  fmt::print("receipt {}\n", HashBytes(receipt).hex());
  fmt::print("{}: a claim of job {:.16} with {} files, {} bytes\n", command.out, run.identity().job.hex(),
             made.claim.files.size(), bytes);
  return kExitOk;
}

OrderedJson JsonOf(const own::StretchResult& result) {
  OrderedJson json = StretchJson(result.stretch);
  json["equal"] = ToJson(result.equal);
  const auto& distance = result.distance;
  json["l1"] = distance ? OrderedJson(distance->l1) : OrderedJson(nullptr);
  json["l2"] = distance ? OrderedJson(distance->l2) : OrderedJson(nullptr);
  json["linf"] = distance ? OrderedJson(distance->linf) : OrderedJson(nullptr);
  json["cosine"] = distance ? OrderedJson(distance->cosine) : OrderedJson(nullptr);
  json["limit"] = ToJson(result.limit);
  json["reason"] = result.reason.empty() ? OrderedJson(nullptr) : OrderedJson(result.reason);
  return json;
}

OrderedJson JsonOf(const std::string& file, const own::Comparison& comparison) {
  return {{"file", file},
          {"first", std::string(own::Name(comparison.first))},
          {"why", comparison.why},
          {"same_weights", comparison.same_weights},
          {"common_entries", comparison.common_entries},
          {"this_starts_in", ToJson(comparison.this_starts_in)},
          {"other_starts_in", ToJson(comparison.other_starts_in)},
          {"this_seen", ToJson(comparison.this_seen)},
          {"other_seen", ToJson(comparison.other_seen)}};
}

// What is known of a claim before its steps are run.
struct Named {
  std::optional<own::OpenedClaim> opened{};
  std::optional<own::Comparison> comparison{};
};

void PrintJson(const OwnCommand& command, const own::OwnReport& report, const own::OwnershipClaim& claim, const Named& named) {
  OrderedJson rules = OrderedJson::array(), stretches = OrderedJson::array(), lineage = OrderedJson::array();
  for (const monitor::RuleResult& rule : report.rules) rules.push_back(RuleJson(rule));
  for (const own::StretchResult& result : report.stretches) stretches.push_back(JsonOf(result));
  for (const own::Ancestor& ancestor : report.lineage.ancestors) {
    lineage.push_back({{"job_id", ancestor.receipt.job.hex()},
                       {"signer", ancestor.receipt.signer},
                       {"weights", ancestor.receipt.weights.hex()}});
  }
  const auto text = [&](auto&& of) { return named.opened ? OrderedJson(of(*named.opened)) : OrderedJson(nullptr); };
  fmt::print("{}\n", Dump({{"file", command.path},
                           {"set", command.rules},
                           {"verdict", std::string(Name(report.state))},
                           {"reason", report.reason.empty() ? OrderedJson(nullptr) : OrderedJson(report.reason)},
                           {"job_id", text([](const own::OpenedClaim& opened) { return opened.receipt().job.hex(); })},
                           {"signer", text([](const own::OpenedClaim& opened) { return opened.receipt().signer; })},
                           {"receipt", text([](const own::OpenedClaim& opened) { return opened.receipt_hash().hex(); })},
                           {"weights", text([](const own::OpenedClaim& opened) { return opened.receipt().weights.hex(); })},
                           {"steps", text([](const own::OpenedClaim& opened) { return opened.receipt().steps; })},
                           {"nonce", Hex(claim.nonce)},
                           {"rules", rules},
                           {"stretches", stretches},
                           {"lineage", lineage},
                           {"against", named.comparison ? JsonOf(command.against, *named.comparison) : OrderedJson(nullptr)},
                           {"assumed", report.assumed}}));
}

void PrintText(const OwnCommand& command, const own::OwnReport& report, const Named& named) {
  for (const monitor::RuleResult& rule : report.rules) fmt::print("{}\n", RuleText(rule));
  if (named.comparison) {
    for (const std::string& why : named.comparison->why) fmt::print("order        {}\n", why);
  }
  for (const own::Ancestor& ancestor : report.lineage.ancestors) {
    fmt::print("parent       job {:.16}, signed by {}\n", ancestor.receipt.job.hex(), ancestor.receipt.signer);
  }
  for (const std::string& assumed : report.assumed) fmt::print("assumed      {}\n", assumed);
  fmt::print("{}: {}{}\n", command.path, Painted(Name(report.state), ToneOf(report.state), stdout),
             report.reason.empty() ? "" : ": " + report.reason);
}

Result<own::VerifyOptions> VerifyOptionsOf(const OwnCommand& command) {
  own::VerifyOptions options{
      .rules = command.rules == "seed" ? RuleSet::kSeed : RuleSet::kStrict, .data = command.data, .run = command.run};
  if (!command.nonce.empty()) {
    ASSAY_ASSIGN(options.nonce, ParseNonce(command.nonce));
  }
  if (!command.signer.empty()) {
    ASSAY_ASSIGN(options.signer, ParseSigner(command.signer));
  }
  if (!command.job.empty()) {
    const auto id = Digest::FromHex(command.job);
    if (!id) return Err("--job: expected the 64 hex digits of a job's id, which assay show JOB prints");
    options.job = *id;
  }
  if (!command.receipt.empty()) {
    if (const auto hash = Digest::FromHex(command.receipt)) {
      options.receipt = *hash;
    } else {
      ASSAY_ASSIGN(const Bytes bytes, ReadFile(command.receipt, own::MaxBytesOf("receipt.json")));
      options.receipt = HashBytes(bytes);
    }
  }
  if (!command.seed_from.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, ReadFile(command.seed_from, kMaxSeedFromBytes));
    options.seed_from = HashBytes(bytes);
  }
  return options;
}

// Whether --run names the run that the claim is about.
Status CheckRun(const std::string& path, const own::OpenedClaim& claim) {
  if (path.empty()) return {};
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(path));
  ASSAY_ASSIGN(const Bytes receipt, ReadFile(run.receipt_path(), own::MaxBytesOf("receipt.json")));
  if (HashBytes(receipt) != claim.receipt_hash()) return Err("--run {}: is not the run that the claim is about", path);
  return {};
}

// An opened claim, or a report that says why there is none.
Result<std::variant<own::OpenedClaim, own::OwnReport>> Opened(const own::OwnershipClaim& claim) {
  ASSAY_ASSIGN(auto opened, own::OpenedClaim::Open(claim));
  if (auto* good = std::get_if<own::OpenedClaim>(&opened)) return std::move(*good);
  const Refutation& bad = std::get<Refutation>(opened);
  return own::OwnReport{.state = bad.damage ? RuleState::kDamaged : RuleState::kRefused, .reason = bad.reason};
}

Result<int> VerifyClaimFile(const OwnCommand& command) {
  const InterruptGuard interrupt;
  ASSAY_ASSIGN(own::VerifyOptions options, VerifyOptionsOf(command));
  std::vector<WitnessKey> witnesses;
  for (const std::string& text : command.witnesses) {
    ASSAY_ASSIGN(WitnessKey witness, ParseWitness(text));
    witnesses.push_back(std::move(witness));
  }
  options.should_stop = [&] { return interrupt.signal() != 0; };
  ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(command.path));
  ASSAY_ASSIGN(const own::OwnershipClaim claim, own::DecodeClaim(file.bytes(), command.path));
  ASSAY_ASSIGN(Compute compute, MakeCompute(command.compute));
  ASSAY_ASSIGN(auto opened, Opened(claim));
  Named named;
  own::OwnReport report;
  if (auto* good = std::get_if<own::OpenedClaim>(&opened)) {
    named.opened = std::move(*good);
    ASSAY_TRY(CheckRun(command.run, *named.opened));
    const own::BackendFor backend_for = [&](const Job& job) -> Result<Backend*> {
      ASSAY_TRY(ComputeFor(job, compute));
      return compute.backend.get();
    };
    report = own::VerifyClaim(claim, *named.opened, options, backend_for, *compute.pool);
    if (!command.against.empty()) {
      ASSAY_ASSIGN(const MappedFile other_file, MappedFile::Open(command.against));
      ASSAY_ASSIGN(const own::OwnershipClaim other_claim, own::DecodeClaim(other_file.bytes(), command.against));
      ASSAY_ASSIGN(const auto other, Opened(other_claim));
      if (const auto* theirs = std::get_if<own::OpenedClaim>(&other)) {
        named.comparison = own::Compare(*named.opened, report.lineage, *theirs, witnesses, *compute.pool);
        report.rules.push_back(named.comparison->rule);
      } else {
        report.rules.push_back({.rule = "against",
                                .verdict = "no_claim",
                                .state = RuleState::kNotApplicable,
                                .reason = fmt::format("{}: {}", command.against, std::get<own::OwnReport>(other).reason)});
      }
      report.state = Worst(report.rules);
    }
  } else {
    report = std::move(std::get<own::OwnReport>(opened));
  }
  if (command.json) {
    PrintJson(command, report, claim, named);
  } else {
    PrintText(command, report, named);
  }
  return StatusOf(report.state);
}

Result<int> RunOwn(const OwnCommand& command) {
  return command.what == "claim" ? MakeClaimFile(command) : VerifyClaimFile(command);
}

}  // namespace

void AddOwn(Arguments& app, Command& command) {
  auto options = std::make_shared<OwnCommand>();
  Subcommand sub = app.Add("own", "Claim that a model is your training's result, in one file; or verify such a claim");
  sub.Footer(
      "  assay own claim RUN --out FILE       the signed parts of a finished run, and the states at both ends of the "
      "stretches\n"
      "                                       that the receipt and --nonce draw and that changed the weights most\n"
      "  assay own verify FILE                run these stretches again; needs the data, nothing else of the run\n"
      "\n"
      "An expert gives the claimant a nonce once the receipt is known, and verifies with both, --nonce and --receipt: nobody\n"
      "can then have known which stretches would be drawn. Who knows the nonce first can sign receipts until one draws what\n"
      "suits. strict: every stretch shown gives bit for bit what was committed, the run starts where its job says, the model\n"
      "is the last state's, and each file of weights that it descends from has a receipt. seed: the published rule,\n"
      "literally: replayed weights lie nearer than a mean gradient is long. docs/CHECKS.md has the formulas and the holes,\n"
      "docs/formats/claim.md the format. A run that starts from a file of weights can be claimed if its job has\n"
      "snapshot.start = true.\n"
      "\n"
      "Exit status 0: every rule that applies accepts. 1: one refuses. 3: one cannot be checked. 4: the copy is damaged.\n"
      "2: not a claim, or a claim cannot be made.\n"
      "\n"
      "Example: assay own claim runs/mlp --out mlp.claim --nonce 0badcafe\n"
      "         assay own verify mlp.claim --nonce 0badcafe --against other.claim --json");
  sub.Option("what", options->what, "claim or verify").Required().OneOf({"claim", "verify"}).Type("WHAT");
  sub.Option("path", options->path, "claim: a run directory; verify: a claim").Required().Type("PATH");
  sub.Option("--out", options->out, "claim: the file to write").Type("FILE");
  sub.Option("--nonce", options->nonce, "Hex digits from which stretches are drawn, beside the receipt").Type("HEX");
  sub.Option("--top", options->top, "claim: stretches of each epoch with the largest change")
      .Range(0, 1024)
      .ShowDefault()
      .Type("Q");
  sub.Option("--draw", options->drawn, "claim: stretches to draw; a strict verifier wants 4, or all")
      .Range(0, 1 << 20)
      .ShowDefault()
      .Type("K");
  sub.Option("--parent", options->parents, "claim: run or claim whose model the run starts from; then that one's, and so on")
      .Type("PATH");
  sub.Option("--rules", options->rules, "verify: seed or strict").OneOf({"seed", "strict"}).ShowDefault().Type("NAME");
  sub.Option("--data", options->data, "verify: data file or folder instead of the job's").Type("PATH");
  sub.Option("--signer", options->signer, "verify: public key, or a file with it, of the claimant").Type("KEY");
  sub.Option("--run", options->run, "verify: the claimed run, where it is at hand: another --nonce then draws from it")
      .Type("RUN");
  sub.Option("--receipt", options->receipt, "verify: the receipt for which the nonce was given, a file or its SHA-256")
      .Type("FILE|HASH");
  sub.Option("--job", options->job, "verify: the id of the job that the claim must be about").Type("ID");
  sub.Option("--seed-from", options->seed_from, "verify: the public bytes that the job's seed must follow from").Type("FILE");
  sub.Option("--against", options->against, "verify: another claim: which came first, does one start in the other")
      .Type("FILE");
  sub.Option("--witness", options->witnesses, "verify: key of a witness whose times count, with --against").Type("KEY");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print the result as one JSON object on the last line of standard output");
  SetCommand(sub, std::move(options), command, RunOwn);
}

}  // namespace assay::cli
