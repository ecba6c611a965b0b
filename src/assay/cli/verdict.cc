#include "assay/cli/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "assay/cli/colour.h"
#include "assay/cli/exit_status.h"

namespace assay::cli {
namespace {

void AddLines(std::string& text, std::string_view heading, const std::vector<NamedParty>& parties) {
  for (const NamedParty& party : parties) {
    text += fmt::format("{:<11} {}{}{}\n", heading, verdict::Called(party), party.why.empty() ? "" : ": ", party.why);
  }
}

// The verdict for whoever does not know the labels.
std::string InWords(const VerdictView& view) {
  if (view.verdict == "both") return " (all who take part agree)";
  if (view.verdict == "none") return " (nobody stands)";
  if (view.verdict == "damaged") return " (nothing is decided, and nothing speaks against anybody)";
  if (view.verdict == "undecided") return " (nothing here tells who is right)";
  const auto right = std::ranges::find(view.standing, view.verdict, &NamedParty::label);
  return right == view.standing.end() ? "" : fmt::format(" ({} stands)", right->name);
}

}  // namespace

std::string VerdictText(const VerdictView& view) {
  std::string text =
      fmt::format("verdict     {}{}\n", Painted(view.verdict, ToneOf(ExitStatusOf(view)), stdout), InWords(view));
  text += fmt::format("reason      {}\n", view.reason);
  if (!view.decided_by.empty()) text += fmt::format("decided by  {}\n", view.decided_by);
  text += NextText(view.next);
  text += fmt::format("job         {}\n", view.job_id);
  AddLines(text, "stands", view.standing);
  AddLines(text, "convicted", view.convicted);
  AddLines(text, "accused", view.accused);
  AddLines(text, "misled", view.misled);
  AddLines(text, "refused", view.refused);
  AddLines(text, "absent", view.absent);
  AddLines(text, "damaged", view.damaged);
  for (const RunAudit& audit : view.audits) {
    if (audit.verdict == "refuted") continue;  // the reason has it
    text += fmt::format("audit       {} ({}): {}{}{}\n", audit.label, audit.name, audit.verdict,
                        audit.reason.empty() ? "" : ": ", audit.reason);
  }
  if (view.finding && view.finding->node) {
    text += fmt::format("where       step {}, node {} ({})", view.finding->step.value_or(0), *view.finding->node,
                        view.finding->node_name);
    if (view.finding->leaf) text += fmt::format(", leaf {}", *view.finding->leaf);
    text += "\n";
  }
  for (const std::string& charge : view.unchecked)
    text += fmt::format("unchecked   a charge, by which nobody falls: {}\n", charge);
  for (const std::string& assumed : view.assumed) text += fmt::format("assumed     {}\n", assumed);
  return text;
}

int ExitStatusOf(const VerdictView& view) {
  if (view.verdict == "undecided") return kExitUndecided;
  if (view.verdict == "damaged") return kExitDamaged;
  return view.verdict == "none" ? kExitRefuted : kExitOk;
}

}  // namespace assay::cli
