#include "assay/cli/finding.h"

#include <fmt/format.h>

namespace assay::cli {
namespace {

using dispute::Cause;
using dispute::Finding;

std::string_view What(Cause cause) {
  switch (cause) {
    case Cause::kReceipt: return "The receipt and the log under it are signed by the same key and contradict each other.";
    case Cause::kEntry: return "An entry of the log is not one that this job has at that place.";
    case Cause::kStart:
      return "Both logs begin with different states. The job's seed says what the state starts as; it was drawn again for this "
             "block.";
    case Cause::kBatch:
      return "Both agree on everything before this step, and say that it was run on different samples. Which samples it has to "
             "be run on follows "
             "from the job's seed; their data were proven against the job's data root and made into this block again.";
    case Cause::kHistory:
      return "A party's own account of the steps between two entries does not end in the state that it committed to.";
    case Cause::kStructure:
      return "Both agree on everything before this node. What one of them says was run there is not in the job's program.";
    case Cause::kInput:
      return "Both agree on everything before this node, and ran it on different inputs. What the input has to be is agreed or "
             "given by the job.";
    case Cause::kOutput:
      return "Both agree on everything before this node and on its inputs, and disagree about its output. The value was "
             "computed again from a few blocks of these inputs.";
    case Cause::kResult:
      return "Both agree on every node of the step. What one of them says came of it is not what the nodes gave.";
    case Cause::kUnproven: return "An answer does not lead to what its party had committed to.";
    case Cause::kRefused: return "A party would not answer.";
  }
  return "";
}

std::string Names(const Finding& finding) {
  if (finding.guilty[0] && finding.guilty[1]) return "both parties";
  return finding.guilty[0] ? "the first party" : "the second party";
}

}  // namespace

std::optional<Finding> DecidingFinding(const dispute::Judgement& judgement) {
  if (judgement.findings.empty()) return std::nullopt;
  return judgement.findings.back();
}

void AddFinding(OrderedJson& json, const std::optional<Finding>& finding) {
  const Finding none;
  const Finding& f = finding ? *finding : none;
  const auto text = [](std::string_view s) { return s.empty() ? OrderedJson(nullptr) : OrderedJson(s); };
  json["step"] = ToJson(f.step);
  json["node"] = ToJson(f.node);
  json["node_name"] = text(f.node_name);
  json["index"] = ToJson(f.index);
  json["leaf"] = ToJson(f.leaf);
  json["element"] = ToJson(f.element);
  json["cause"] = finding ? OrderedJson(dispute::ToString(f.cause)) : OrderedJson(nullptr);
  json["reason"] = text(f.reason);
}

std::string JudgementText(const dispute::Judgement& judgement) {
  std::string text = fmt::format("verdict     {}\n", judgement.verdict);
  for (std::size_t i = 0; i < judgement.parties.size(); ++i) {
    const auto& party = judgement.parties[i];
    text += fmt::format("party {:<5} {}{}{}{}\n", i, dispute::ToString(party.standing),
                        party.proven ? "" : ", which is not proven", party.by.empty() ? "" : ": ", party.by);
  }
  text += judgement.convicts ? "This evidence convicts whom it names.\n" : "This evidence does not convict whom it names.\n";
  return text;
}

std::string Explanation(const Finding& finding) {
  std::string text = fmt::format("{}\n\n{}\n", finding.reason, What(finding.cause));
  if (!finding.truth.empty()) {
    text += fmt::format("\n  the first party says   {}\n  the second party says  {}\n  it is                  {}\n",
                        finding.said[0], finding.said[1], finding.truth);
  }
  return text + fmt::format("\nSo {} did not do what the job says.\n", Names(finding));
}

}  // namespace assay::cli
