#include "assay/base/file.h"
#include "assay/browser/page.h"
#include "assay/cli/asked_job.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/signer.h"
#include "assay/cli/verdict.h"
#include "assay/cli/verification.h"
#include "assay/verdict/judged.h"

namespace assay::cli {
namespace {

struct JudgeOptions {
  std::string evidence;
  std::vector<std::string> signers;
  std::string job;
  std::string data;
  std::string html;
  bool explain = false;
  bool json = false;
};

// The page that carries the evidence and the judge, with what was insisted on here.
Status WritePage(const JudgeOptions& options, ByteSpan evidence, const verdict::Expected& expected) {
  ASSAY_ASSIGN(const ByteSpan judge, browser::EmbeddedJudge());
  browser::PageOptions page{.name = options.evidence.substr(options.evidence.find_last_of('/') + 1)};
  if (expected.job) page.job = expected.job->hex();
  for (const VerifyKey& signer : expected.signers) page.signers.push_back(signer.ToString());
  const std::string text = browser::JudgePage(judge, evidence, page);
  return WriteFileAtomic(options.html, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

Result<int> RunJudge(const JudgeOptions& options) {
  if (!options.data.empty() && options.job.empty()) return Err("--data: belongs to --job FILE");
  if (!options.html.empty() && Exists(options.html))
    return Err("--html {}: exists already and is not overwritten; choose another name", options.html);
  if (IsDirectory(options.evidence)) return Err("{}: is a directory, expected a file of evidence", options.evidence);
  ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(options.evidence));
  if (!verdict::LooksLikeEvidence(file.bytes())) {
    const std::string_view kind = KindWord(file.bytes());
    return Err("{}: is not evidence{}{}{}", options.evidence, kind.empty() ? "" : " but a ", kind,
               kind.empty() ? ", which assay dispute --evidence writes" : "; assay verify checks it");
  }
  ASSAY_ASSIGN(const dispute::Evidence evidence, verdict::ReadEvidence(file.bytes(), options.evidence));
  verdict::Expected expected{.name = options.evidence};
  if (!options.job.empty()) {
    ASSAY_ASSIGN(const AskedJob asked, OpenAskedJob(options.job, options.data));
    expected.job = asked.id;
    expected.start = asked.start;
  }
  for (const std::string& text : options.signers) {
    ASSAY_ASSIGN(VerifyKey signer, ParseSigner(text));
    expected.signers.push_back(std::move(signer));
  }
  ASSAY_ASSIGN(const verdict::Judged judged, verdict::Judge(evidence, expected));
  if (!options.html.empty()) ASSAY_TRY(WritePage(options, file.bytes(), expected));
  if (options.json) {
    OrderedJson json = verdict::ToJson(judged, options.evidence);
    if (options.explain) verdict::AddExplanation(json, evidence, judged);
    if (!options.html.empty()) json["page"] = options.html;
    fmt::print("{}\n", Dump(json));
  } else {
    fmt::print("{}", VerdictText(judged.view));
    fmt::print("{}\n", judged.mismatch.empty() ? WorthOf(judged.view) : "Not what was asked about: " + judged.mismatch);
    if (options.explain) fmt::print("\n{}", Explanation(judged.view));
    if (!options.html.empty()) fmt::print("page        {}\n", options.html);
  }
  return verdict::ExitStatusOf(judged);
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
  sub.Option("--html", options->html,
             "Also write one HTML file with the evidence and the judge, which decides again in any browser, offline")
      .Type("OUT.html");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunJudge);
}

}  // namespace assay::cli
