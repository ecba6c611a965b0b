#include "assay/cli/dispute_copies.h"

#include <algorithm>

#include "assay/cli/damaged_run.h"

namespace assay::cli {
namespace {

constexpr std::string_view kLabels[] = {"a", "b"};

std::string OwnWords(const DisputedCopy& copy) {
  return "what its signer signed contradicts itself: " + copy.faults.lie->reason;
}

void Accuse(const DisputedCopy& copy, const std::string& why, VerdictView& view) {
  view.accused.push_back(copy.Party(why));
  view.reason += fmt::format("{}{}: {}", view.reason.empty() ? "" : "; ", copy.label, why);
}

// Whether the audit refutes it.
bool AccuseByAudit(const DisputedCopy& copy, const AuditReport& report, VerdictView& view) {
  if (report.verdict != Verdict::kRefuted) return false;
  const Refutation& found = *report.refutation;
  Accuse(copy,
         fmt::format("{}an audit refutes it{}: {}", copy.faults.damage ? "its copy is damaged, and " : "",
                     copy.faults.damage ? " by what is whole" : "", found.reason),
         view);
  view.audits.push_back({.label = copy.label,
                         .name = copy.path,
                         .verdict = std::string(Name(Verdict::kRefuted)),
                         .reason = found.reason,
                         .step = found.step,
                         .node = found.node,
                         .node_name = found.node_name});
  view.assumed.push_back(fmt::format("the audit of {}, which was made here and is no evidence for a judge", copy.label));
  return true;
}

VerdictView Damaged(const std::vector<const DisputedCopy*>& copies) {
  VerdictView view{.verdict = "damaged"};
  for (const DisputedCopy* copy : copies) {
    const std::string& why = copy->faults.damage->reason;
    view.reason += fmt::format("{}{} is damaged: {}", view.reason.empty() ? "" : "; ", copy->path, why);
    view.damaged.push_back(copy->Party(why));
  }
  view.decided_by = "a whole copy of what is damaged; `assay fsck RUN` says what is wrong with which file";
  return view;
}

}  // namespace

NamedParty DisputedCopy::Party(const std::string& why) const {
  return {.label = label, .name = path, .key = run ? run->signer().ToString() : "", .why = why};
}

Result<std::vector<DisputedCopy>> OpenCopies(const std::vector<std::string>& paths) {
  std::vector<DisputedCopy> copies;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    DisputedCopy copy{.label = std::string(kLabels[i]), .path = paths[i]};
    auto run = RunDirectory::Open(paths[i]);
    if (run) {
      copy.run = std::move(*run);
    } else if (!IsDamagedRun(paths[i], run.error())) {
      return tl::unexpected(run.error());
    } else {
      copy.faults.damage = Refutation{.reason = run.error().message, .damage = true};
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

Status FindFaultsIn(std::vector<DisputedCopy>& copies, const PreparedJob& prepared, ThreadPool& pool) {
  for (DisputedCopy& copy : copies) {
    const Digest& job = copy.run->identity().job;
    if (job != prepared.identity.job) {
      return Err("{}: is a run of job {:.16}, the dispute is about job {:.16}", copy.path, job.hex(),
                 prepared.identity.job.hex());
    }
    ASSAY_ASSIGN(auto other, CheckAsked(*copy.run, prepared, {}));
    ASSAY_ASSIGN(copy.faults, FindFaults(*copy.run, pool));
    if (other) copy.faults.damage = std::move(other);
  }
  return {};
}

bool IsAnyDamaged(const std::vector<DisputedCopy>& copies) {
  return std::ranges::any_of(copies, [](const DisputedCopy& copy) { return copy.faults.damage.has_value(); });
}

VerdictView DecideWithoutDispute(const std::vector<DisputedCopy>& copies,
                                 const std::function<AuditReport(const DisputedCopy& copy)>& audit) {
  VerdictView view;
  std::vector<const DisputedCopy*> damaged, whole;
  for (const DisputedCopy& copy : copies) {
    if (copy.faults.lie) {
      Accuse(copy, OwnWords(copy), view);
    } else if (!copy.faults.damage) {
      whole.push_back(&copy);
    } else if (!copy.faults.claims || !AccuseByAudit(copy, audit(copy), view)) {
      damaged.push_back(&copy);
    }
  }
  if (!damaged.empty()) return Damaged(damaged);
  // Nobody stands only because nobody could be asked.
  for (const DisputedCopy* copy : whole) {
    const AuditReport report = audit(*copy);
    if (AccuseByAudit(*copy, report, view)) continue;
    view.standing.push_back(copy->Party(""));
    view.assumed.push_back(report.verdict == Verdict::kVerified
                               ? fmt::format("the audit of {}, which was made here and is no evidence for a judge", copy->label)
                               : fmt::format("{}, which could not be audited here: {}", copy->label, report.reason));
  }
  view.verdict = view.standing.empty() ? "none" : view.standing.front().label;
  return view;
}

void AccuseLiars(const std::vector<DisputedCopy>& copies, VerdictView& view) {
  for (const DisputedCopy& copy : copies) {
    const auto stands = std::ranges::find(view.standing, copy.label, &NamedParty::label);
    if (!copy.faults.lie || stands == view.standing.end()) continue;
    view.standing.erase(stands);
    Accuse(copy, OwnWords(copy), view);
    view.assumed.push_back(fmt::format("the files of {}, which were read here and are no evidence for a judge", copy.label));
    view.verdict = view.standing.empty() ? "none" : view.standing.front().label;
    view.decided_by.clear();
    view.next.clear();
  }
}

}  // namespace assay::cli
