#include "assay/base/file.h"
#include "assay/cli/command.h"
#include "assay/cli/finding.h"
#include "assay/cli/json.h"
#include "assay/dispute/evidence.h"

namespace assay::cli {
namespace {

constexpr int kExitDoesNotConvict = 1;

struct JudgeOptions {
  std::string evidence;
  bool explain = false;
  bool json = false;
};

Result<int> RunJudge(const JudgeOptions& options) {
  ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(options.evidence));
  const auto refused = [&](const Error& error) { return Err("{}: {}", options.evidence, error.message); };
  const auto evidence = dispute::DecodeEvidence(file.bytes());
  if (!evidence) return refused(evidence.error());
  const auto judgement = dispute::Judge(*evidence);
  if (!judgement) return refused(judgement.error());
  const std::optional<dispute::Finding> finding = DecidingFinding(*judgement);
  if (options.json) {
    OrderedJson json = {{"evidence", options.evidence}, {"verdict", judgement->verdict}, {"convicts", judgement->convicts}};
    AddFinding(json, finding);
    OrderedJson parties = OrderedJson::array();
    for (const dispute::Judgement::Party& party : judgement->parties) {
      parties.push_back({{"standing", dispute::ToString(party.standing)}, {"proven", party.proven}, {"by", party.by}});
    }
    json["parties"] = std::move(parties);
    fmt::print("{}\n", Dump(json));
  } else {
    fmt::print("{}", JudgementText(*judgement));
    if (options.explain && finding) fmt::print("\n{}", Explanation(*finding));
  }
  return judgement->convicts ? kExitOk : kExitDoesNotConvict;
}

}  // namespace

void AddJudge(Arguments& app, Command& command) {
  auto options = std::make_shared<JudgeOptions>();
  Subcommand sub = app.Add("judge", "Decide a dispute again from its evidence alone");
  sub.Footer(
      "Needs no network, no data and no trust in who held the dispute: signatures and proofs are checked, and what decided is\n"
      "computed again. Exit status 0 when the evidence convicts whom it names, 1 when it does not, 2 when it is no valid "
      "evidence.\n"
      "\n"
      "Example: assay judge dispute.evidence --explain");
  sub.Option("evidence", options->evidence, "Evidence file").Required().Type("FILE");
  sub.Flag("--explain", options->explain, "Also say in plain words what happened, with the numbers that differ");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunJudge);
}

}  // namespace assay::cli
