#include "assay/cli/dispute_view.h"

#include <algorithm>
#include <iterator>

#include "assay/base/file.h"
#include "assay/cli/hearings.h"
#include "assay/cli/signer.h"
#include "assay/cli/waiting_claims.h"

namespace assay::cli {
namespace {

std::string LabelOf(const dispute::Arbitration& result, std::size_t party) {
  if (result.evidence.pair) return party == 0 ? "a" : "b";
  return std::to_string(result.numbers[party]);
}

// For commands that are to be typed: the file that was named, or the one that a run directory has.
std::string JobFileOf(const DisputeOptions& options) {
  if (!options.job.empty() && Exists(options.job)) return options.job;
  return options.job.empty() && !options.runs.empty() ? JoinPath(options.runs[0], "job.toml") : "";
}

std::vector<std::string> LabelsOf(const dispute::Arbitration& result) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < result.names.size(); ++i) labels.push_back(LabelOf(result, i));
  return labels;
}

NextContext ContextOf(const DisputeOptions& options, const dispute::Arbitration& result, const SigningKey* referee) {
  NextContext context{.job = JobFileOf(options),
                      .job_id = result.job.hex(),
                      .pair = result.evidence.pair,
                      .referee_key = options.referee_key,
                      .key_file = options.referee_key.empty() ? ExistingSignerPath() : options.referee_key,
                      .providers = options.providers};
  if (!context.key_file.empty() && referee != nullptr) context.referee = referee->verify_key().ToString();
  return context;
}

// Whoever refused the dispute as such has not lost it. The evidence charges it with nothing, so that a judge takes it for one that stands.
void ViewUnheard(const dispute::Arbitration& result, const NextContext& context, VerdictView& view) {
  const std::vector<Hearing> hearings = NotHeard(result);
  std::vector<dispute::Standing> standings;
  std::vector<std::optional<std::uint32_t>> groups;
  for (std::size_t i = 0; i < result.claims.size(); ++i) {
    const dispute::ProviderRecord& provider = result.record.providers[i];
    standings.push_back(provider.standing);
    groups.push_back(provider.group);
    if (provider.standing != dispute::Standing::kUnheard) continue;
    const auto stands = std::ranges::find(view.standing, LabelOf(result, i), &NamedParty::label);
    if (stands == view.standing.end()) continue;
    const auto hearing = std::ranges::find(hearings, i, &Hearing::party);
    stands->why = fmt::format("was not heard ({})", result.trouble[hearing == hearings.end() ? i : hearing->address]);
    view.assumed.push_back(fmt::format("that {} was not heard: the referee's word, which is no evidence", stands->label));
    view.absent.push_back(std::move(*stands));
    view.standing.erase(stands);
  }
  if (hearings.empty()) return;
  view.verdict = VerdictOf(standings, groups, result.numbers, result.evidence.pair);
  view.reason.clear();
  view.decided_by.clear();
  for (const Hearing& hearing : hearings) {
    const bool first = view.reason.empty();
    view.reason += fmt::format("{}{} was not heard ({})", first ? "" : "; ", LabelOf(result, hearing.address),
                               result.trouble[hearing.address]);
    view.decided_by += fmt::format("{}{}", first ? "" : "; and ", HeardBy(hearing, result, LabelsOf(result), context));
  }
  view.next = HearingSteps(hearings, result, LabelsOf(result), context);
}

// Why those who stand do so side by side, where the judge does not say it.
void ViewDraws(const dispute::Record& record, VerdictView& view) {
  const auto stands = [&](std::uint32_t group) {
    return std::ranges::any_of(record.groups[group], [&](dispute::ProviderId id) {
      return record.providers[id].standing == dispute::Standing::kStanding;
    });
  };
  for (const dispute::MatchRecord& match : record.matches) {
    if (match.drawn.empty() || !stands(match.groups[0]) || !stands(match.groups[1])) continue;
    view.reason = match.drawn;
    if (!match.decided_by.empty()) view.decided_by = match.decided_by;
  }
}

}  // namespace

VerdictView ViewOf(const DisputeOptions& options, const dispute::Arbitration& result, const dispute::Judgement& judgement,
                   const SigningKey* referee) {
  using dispute::Standing;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < result.names.size(); ++i) {
    if (TakesPart(result.record.providers[i].standing)) names.push_back(result.names[i]);
  }
  const auto claims =
      static_cast<std::size_t>(std::ranges::count_if(result.record.providers, [](const dispute::ProviderRecord& provider) {
        return provider.standing != Standing::kRefused;
      }));
  VerdictView view = ViewOf(judgement, result.evidence.pair, claims, names);
  const NextContext context = ContextOf(options, result, referee);
  ViewUnheard(result, context, view);
  for (std::size_t i = 0; i < result.names.size(); ++i) {
    const dispute::ProviderRecord& provider = result.record.providers[i];
    const NamedParty named{LabelOf(result, i), result.names[i], result.claims[i].signer.ToString(), provider.why};
    if (provider.standing == Standing::kRefused) view.refused.push_back(named);
    if (provider.standing == Standing::kRepeated) {
      // It shares the fate of the one whose claim it repeats.
      const std::string first = LabelOf(result, PartyOf(result, i));
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
  if (const auto waiting = LeftWaiting(result, view.verdict); !waiting.empty()) {
    view.verdict = "undecided";
    view.reason = WaitingReason(waiting.front(), LabelsOf(result));
    view.decided_by = WaitingDecidedBy(waiting.front(), result);
    view.next = WaitingSteps(waiting, result, LabelsOf(result), context);
  } else if (view.verdict == "undecided") {
    if (!judgement.drawn && NotHeard(result).empty()) ViewDraws(result.record, view);
    std::ranges::move(NextSteps(result, LabelsOf(result), context), std::back_inserter(view.next));
  }
  if (options.job.empty()) view.assumed.push_back("that the job is the one that was asked for: --job JOB insists on it");
  view.assumed.push_back("that the keys belong to those you think they do");
  return view;
}

}  // namespace assay::cli
