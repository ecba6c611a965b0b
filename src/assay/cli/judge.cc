#include "assay/base/file.h"
#include "assay/cli/asked_job.h"
#include "assay/cli/command.h"
#include "assay/cli/exit_status.h"
#include "assay/cli/json.h"
#include "assay/cli/signer.h"
#include "assay/cli/verdict.h"
#include "assay/cli/verification.h"
#include "assay/dispute/evidence.h"
#include "assay/dispute/retelling.h"

namespace assay::cli {
namespace {

struct JudgeOptions {
  std::string evidence;
  std::vector<std::string> signers;
  std::string job;
  std::string data;
  bool explain = false;
  bool json = false;
};

// What the evidence was expected to be about and is not; empty: nothing.
Result<std::string> Mismatch(const JudgeOptions& options, const dispute::Judgement& judgement,
                             const std::optional<AskedJob>& asked) {
  if (asked && asked->id != judgement.job) {
    return fmt::format("the evidence is about job {}, not about {}", judgement.job.hex(), asked->id.hex());
  }
  for (const std::string& text : options.signers) {
    ASSAY_ASSIGN(const VerifyKey signer, ParseSigner(text));
    if (!Convicts(judgement, signer)) return fmt::format("it does not convict {}", signer.ToString());
  }
  return std::string();
}

void Assume(const JudgeOptions& options, VerdictView& view) {
  if (options.job.empty()) view.assumed.push_back("that the job is the one that was asked for: --job JOB insists on it");
  if (options.signers.empty())
    view.assumed.push_back("that the keys belong to those you think they do: --signer KEY.pub insists on who is convicted");
}

Result<int> RunJudge(const JudgeOptions& options) {
  if (!options.data.empty() && options.job.empty()) return Err("--data: belongs to --job FILE");
  if (IsDirectory(options.evidence)) return Err("{}: is a directory, expected a file of evidence", options.evidence);
  ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(options.evidence));
  if (!LooksLikeEvidence(file.bytes())) {
    const std::string_view kind = KindWord(file.bytes());
    return Err("{}: is not evidence{}{}{}", options.evidence, kind.empty() ? "" : " but a ", kind,
               kind.empty() ? ", which assay dispute --evidence writes" : "; assay verify checks it");
  }
  const auto refused = [&](const Error& error) { return tl::unexpected(NotEvidence(options.evidence, error)); };
  const auto evidence = dispute::DecodeEvidence(file.bytes());
  if (!evidence) return refused(evidence.error());
  std::optional<AskedJob> asked;
  if (!options.job.empty()) {
    ASSAY_ASSIGN(asked, OpenAskedJob(options.job, options.data));
  }
  // Another job's file says nothing about this one's start.
  const bool same_job = asked && asked->id == JobId(evidence->job, evidence->program);
  const auto judgement = dispute::Judge(*evidence, same_job ? asked->start : dispute::StartingBytes{});
  if (!judgement) return refused(judgement.error());
  ASSAY_ASSIGN(const std::string mismatch, Mismatch(options, *judgement, asked));
  VerdictView view = ViewOf(*evidence, *judgement);
  Assume(options, view);
  const bool convicts = judgement->convicts && mismatch.empty();
  view.proven = convicts;
  if (options.json) {
    OrderedJson json = {{"evidence", options.evidence}, {"convicts", convicts}};
    AddVerdict(json, view);
    if (!mismatch.empty()) json["reason"] = json["worth"] = mismatch;
    if (options.explain) {
      json["explanation"] = Explanation(view);
      json["retelling"] = OrderedJson::parse(dispute::RetellingJson(*evidence, *judgement));
    }
    fmt::print("{}\n", Dump(json));
  } else {
    fmt::print("{}", VerdictText(view));
    fmt::print("{}\n", mismatch.empty() ? WorthOf(view) : "Not what was asked about: " + mismatch);
    if (options.explain) fmt::print("\n{}", Explanation(view));
  }
  if (convicts) return kExitOk;
  return mismatch.empty() && view.verdict == "undecided" ? kExitUndecided : kExitRefuted;
}

}  // namespace

void AddJudge(Arguments& app, Command& command) {
  auto options = std::make_shared<JudgeOptions>();
  Subcommand sub = app.Add("judge", "Decide a dispute again from its evidence alone");
  sub.Footer(
      "Needs no network, no data and no trust in whoever held the dispute: signatures and proofs are checked, and what\n"
      "decided is computed again.\n"
      "\n"
      "Exit status 0: the evidence convicts whom it names, whatever else it leaves open. 1: it convicts nobody, or is about\n"
      "another job or other signers than were named. 2: it is not valid evidence. 3: it convicts nobody and leaves the\n"
      "dispute undecided. Evidence may convict one party and leave open which of two others is right. `judge` is asked about\n"
      "guilt and ends with 0 then; `assay dispute` is asked who is right and ends with 3. Both say `undecided`.\n"
      "\n"
      "Example: assay judge dispute.evidence --job mlp.toml --signer provider.pub --explain");
  sub.Option("evidence", options->evidence, "Evidence file").Required().Type("FILE");
  sub.Option("--signer", options->signers, "Public key, or a file with it, of somebody whom it has to convict; repeat for each")
      .Type("KEY");
  sub.Option("--job", options->job, "The job that was asked for: a job file, or the 64 hex digits of its id").Type("JOB");
  sub.Option("--data", options->data, "With --job FILE: data file or folder instead of the job's").Type("PATH");
  sub.Flag("--explain", options->explain, "Also say in plain words what happened, with the numbers that differ");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunJudge);
}

}  // namespace assay::cli
