#include "assay/verdict/view.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::verdict {
namespace {

using dispute::Cause;
using dispute::Finding;

std::string_view What(Cause cause) {
  switch (cause) {
    case Cause::kReceipt: return "The receipt and the log under it are signed by the same key and contradict each other.";
    case Cause::kEntry: return "An entry of the log is not one that this job has at that place.";
    case Cause::kStart:
      return "Both logs begin with different states. The job says what the state starts as; it was made again for this block.";
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
    case Cause::kWeights:
      return "Both end in the same state. The file of weights that one of them delivered is not of that state.";
  }
  return "";
}

std::string LabelOf(std::size_t place, std::uint32_t number, bool pair) {
  if (pair) return place == 0 ? "a" : "b";
  return std::to_string(number);
}

// Whether the guilty is guilty of contradicting itself, whatever the job says.
bool IsAboutOwnWords(Cause cause) {
  return cause == Cause::kReceipt || cause == Cause::kHistory || cause == Cause::kUnproven || cause == Cause::kWeights;
}

OrderedJson ToJson(const std::vector<NamedParty>& parties) {
  OrderedJson list = OrderedJson::array();
  for (const NamedParty& party : parties) {
    list.push_back({{"label", party.label},
                    {"name", party.name},
                    {"key", party.key.empty() ? OrderedJson(nullptr) : OrderedJson(party.key)},
                    {"why", party.why.empty() ? OrderedJson(nullptr) : OrderedJson(party.why)}});
  }
  return list;
}

// A party's name by its key; of those who share one, with the hash that tells them apart.
std::string KeyName(const dispute::Judgement& judgement, std::size_t party) {
  const VerifyKey& key = *judgement.parties[party].signer;
  const bool shared = std::ranges::any_of(judgement.parties, [&](const dispute::Judgement::Party& other) {
    return other.signer->name() == key.name() && other.signer->point() != key.point();
  });
  return shared ? key.id() : key.name();
}

// What would decide what is undecided.
std::string DecidedBy(const dispute::Judgement& judgement, std::size_t claims) {
  if (claims == 0) return "providers of this job, or an audit";
  if (claims == 1) return "a second provider of this job, or an audit";
  const bool known = judgement.drawn && !judgement.drawn->decided_by.empty();
  return known ? judgement.drawn->decided_by : "an audit of each run that stands";
}

std::string ReasonOf(const VerdictView& view, const dispute::Judgement& judgement, std::size_t claims) {
  if (view.verdict == "both") return "all claims are the same";
  if (view.verdict == "undecided") {
    if (claims == 0) return "there is no claim about this job";
    if (claims == 1) return "there is only one claim about this job, and nobody contradicts it";
    if (judgement.drawn) return judgement.drawn->why;
    return judgement.unchecked.empty() ? "those who stand claim different things" : judgement.unchecked.front();
  }
  if (view.finding) return view.finding->reason;
  for (const auto* list : {&view.convicted, &view.accused, &view.misled, &view.absent}) {
    if (!list->empty()) return fmt::format("{}: {}", list->front().label, list->front().why);
  }
  return "nobody contradicts the claim that is left";
}

}  // namespace

VerdictView ViewOf(const dispute::Judgement& judgement, bool pair, std::size_t claims, const std::vector<std::string>& names) {
  VerdictView view{.verdict = judgement.verdict, .job_id = judgement.job.hex(), .proven = judgement.convicts};
  if (!dispute::IsContradicted(claims, judgement)) view.verdict = "undecided";
  if (view.verdict == "undecided") view.decided_by = DecidedBy(judgement, claims);
  view.one_signer =
      pair && judgement.parties.size() == 2 && judgement.parties[0].signer->point() == judgement.parties[1].signer->point();
  std::vector<NamedParty> all;
  for (std::size_t i = 0; i < judgement.parties.size(); ++i) {
    const dispute::Judgement::Party& party = judgement.parties[i];
    NamedParty named{.label = LabelOf(i, party.number, pair),
                     .name = names.empty() ? KeyName(judgement, i) : names[i],
                     .key = party.signer->ToString(),
                     .why = party.by};
    if (dispute::IsGuilty(party.standing)) {
      (party.proven ? view.convicted : view.accused).push_back(named);
    } else if (party.standing == dispute::Standing::kMisled) {
      named.why = fmt::format("loses by a rounding log that it follows and did not write, and is not guilty: {}", named.why);
      view.misled.push_back(named);
    } else if (party.standing == dispute::Standing::kSilent) {
      view.absent.push_back(named);
      view.assumed.push_back(fmt::format("that {} gave no answer: the referee's word, which is no evidence", named.label));
    } else {
      view.standing.push_back(named);
    }
    if (!party.proven && dispute::IsGuilty(party.standing)) {
      view.assumed.push_back(
          fmt::format("what {} answered: the referee computed it, and {} has not signed it", named.label, named.label));
    }
    all.push_back(std::move(named));
  }
  if (!judgement.findings.empty()) {
    view.finding = judgement.findings.back();
    for (std::size_t s = 0; s < 2; ++s) view.sides[s] = all[judgement.sides[s].back()];
  }
  view.unchecked = judgement.unchecked;
  view.reason = ReasonOf(view, judgement, claims);
  if (view.one_signer && view.verdict != "both") {
    view.assumed.push_back(
        "that it is asked which of two runs of one key is right, as of runs of one's own: two receipts of one key that "
        "contradict "
        "each other in an exact job (fp32) convict the key in a dispute of providers, and not here");
  }
  if (view.verdict == "both") {
    view.assumed.push_back("that what they agree on is true: nothing was computed again (an audit does that)");
  } else if (!view.standing.empty() && view.verdict != "undecided") {
    view.assumed.push_back(
        "that what nobody disputed is true: only the first difference was computed again (an audit checks the rest)");
  }
  return view;
}

VerdictView ViewOf(const dispute::Evidence& evidence, const dispute::Judgement& judgement) {
  return ViewOf(judgement, evidence.pair, dispute::ClaimsIn(evidence), {});
}

bool Convicts(const dispute::Judgement& judgement, const VerifyKey& key) {
  return std::ranges::any_of(judgement.parties, [&](const dispute::Judgement::Party& party) {
    return party.signer->point() == key.point() && dispute::IsGuilty(party.standing) && party.proven;
  });
}

void AddVerdict(OrderedJson& json, const VerdictView& view) {
  const Finding none;
  const Finding& f = view.finding ? *view.finding : none;
  const auto text = [](std::string_view s) { return s.empty() ? OrderedJson(nullptr) : OrderedJson(s); };
  json["verdict"] = view.verdict;
  json["reason"] = view.reason;
  json["decided_by"] = text(view.decided_by);
  json["next"] = NextJson(view.next);
  json["job_id"] = view.job_id;
  json["convicted"] = ToJson(view.convicted);
  json["accused"] = ToJson(view.accused);
  json["standing"] = ToJson(view.standing);
  json["misled"] = ToJson(view.misled);
  json["refused"] = ToJson(view.refused);
  json["absent"] = ToJson(view.absent);
  json["damaged"] = ToJson(view.damaged);
  OrderedJson audits = OrderedJson::array();
  for (const RunAudit& audit : view.audits) {
    audits.push_back({{"label", audit.label},
                      {"name", audit.name},
                      {"found", audit.verdict},
                      {"why", text(audit.reason)},
                      {"at_step", verdict::ToJson(audit.step)},
                      {"at_node", verdict::ToJson(audit.node)},
                      {"at_node_name", text(audit.node_name)}});
  }
  json["audits"] = audits;
  json["proven"] = view.proven;
  json["worth"] = WorthOf(view);
  json["unchecked"] = view.unchecked;
  json["assumed"] = view.assumed;
  json["cause"] = view.finding ? OrderedJson(dispute::ToString(f.cause)) : OrderedJson(nullptr);
  json["step"] = verdict::ToJson(f.step);
  json["node"] = verdict::ToJson(f.node);
  json["node_name"] = text(f.node_name);
  json["index"] = verdict::ToJson(f.index);
  json["leaf"] = verdict::ToJson(f.leaf);
  json["element"] = verdict::ToJson(f.element);
  json["said"] = nullptr;
  if (!f.truth.empty()) {
    json["said"] = OrderedJson::array();
    for (std::size_t s = 0; s < 2; ++s) {
      json["said"].push_back({{"label", view.sides[s].label}, {"name", view.sides[s].name}, {"value", f.said[s]}});
    }
  }
  json["truth"] = text(f.truth);
}

std::string Called(const NamedParty& party) {
  return party.key.empty() ? fmt::format("{} ({})", party.label, party.name)
                           : fmt::format("{} ({}, key {})", party.label, party.name, party.key);
}

std::string WorthOf(const VerdictView& view) {
  if (view.proven) {
    std::string worth = "This evidence convicts whom it names.";
    if (!view.accused.empty()) worth += " It also charges others by answers that they have not signed, which shows no guilt.";
    if (!view.unchecked.empty()) worth += " It also holds a charge that cannot be checked here, by which nobody falls.";
    return worth;
  }
  const bool by_audit = std::ranges::any_of(view.audits, [](const RunAudit& audit) { return audit.verdict == "refuted"; });
  if (!view.finding && by_audit) {
    return "This evidence convicts nobody: an audit refutes what it leaves open, which is no evidence. Whoever has the run and "
           "its data can repeat it with `assay audit RUN`; evidence comes from a run that follows the refuted one (assay train "
           "--follow) and is disputed with it.";
  }
  if (!view.accused.empty() && view.one_signer) {
    return "This evidence charges a run by answers that are not signed: both runs are of one key, and a signature would not "
           "tell "
           "which of them it is about. What convicts the key, in an exact job (fp32), are its two receipts: provide both runs "
           "(`assay provide RUN`) and dispute them with --provider.";
  }
  if (!view.accused.empty()) {
    return "This evidence charges somebody whose guilt it does not show: the answers are not signed. Evidence that does comes "
           "from a "
           "dispute of providers (`assay provide RUN` by each owner), or of run directories of two signers with --key for "
           "each.";
  }
  if (!view.absent.empty()) return "This evidence convicts nobody: that somebody gave no answer is the referee's word.";
  return "This evidence convicts nobody.";
}

std::string Explanation(const VerdictView& view) {
  if (!view.finding) return fmt::format("{}\n", view.reason);
  const Finding& finding = *view.finding;
  std::string text = fmt::format("{}\n\n{}\n", finding.reason, What(finding.cause));
  if (!finding.truth.empty()) {
    text += fmt::format("\n  {} says: {}\n  {} says: {}\n  it is: {}\n", Called(view.sides[0]), finding.said[0],
                        Called(view.sides[1]), finding.said[1], finding.truth);
  }
  for (const dispute::Party side : {dispute::Party::kA, dispute::Party::kB}) {
    if (!finding.strikes(side) || !view.proven) continue;
    const NamedParty& party = view.sides[static_cast<std::size_t>(side)];
    if (!finding.guilty[static_cast<std::size_t>(side)]) {
      text += fmt::format("\nSo the rounding log that {} commits to is not that of a correct run.\n", Called(party));
    } else {
      text +=
          fmt::format("\nSo {} {}.\n", Called(party),
                      IsAboutOwnWords(finding.cause) ? "contradicts what it signed itself" : "did not do what the job says");
    }
  }
  return text;
}

}  // namespace assay::verdict
