#include "columns.h"

#include <algorithm>

#include "assay/audit/audit.h"
#include "assay/audit/pev.h"
#include "assay/audit/telemetry_check.h"
#include "assay/own/make.h"
#include "assay/own/verify.h"

namespace assay::checks {
namespace {

using monitor::RuleResult;
using monitor::RuleState;

Cell CellOf(RuleState state, const std::vector<RuleResult>& rules, const std::string& reason) {
  const auto found = std::ranges::find(rules, state, &RuleResult::state);
  return {state, state == RuleState::kAccepted || found == rules.end() ? reason : found->rule + ": " + found->reason};
}

Cell Check(const Looked& looked, RuleSet rules) {
  const auto report = CheckTelemetry(looked.run, rules);
  if (!report) return {RuleState::kUnchecked, report.error().message};
  return CellOf(report->state, report->rules, report->reason);
}

Cell Pev(const Looked& looked, RuleSet rules, Backend& backend, ThreadPool& pool) {
  const auto run = RunDirectory::Open(looked.run);
  if (!run) return {RuleState::kDamaged, run.error().message};
  const auto own = CheckOwnJob(*run);
  if (!own || *own) return {RuleState::kDamaged, own ? (*own)->reason : own.error().message};
  const auto prepared = PrepareRun(*run, "", pool);
  if (!prepared) return {RuleState::kUnchecked, prepared.error().message};
  const auto report =
      CheckEpochs(*run, *prepared, {.percent = rules == RuleSet::kSeed ? 10.0 : 100.0, .rules = rules}, backend, backend, pool);
  if (!report) return {RuleState::kUnchecked, report.error().message};
  std::vector<RuleResult> results;
  for (const EpochRule& rule : report->rules) results.push_back(rule.result);
  return CellOf(report->state, results, report->reason);
}

Cell Own(const Looked& looked, RuleSet rules, Backend& backend, ThreadPool& pool) {
  const auto run = RunDirectory::Open(looked.run);
  if (!run) return {RuleState::kDamaged, run.error().message};
  const own::MakeOptions options{.drawn = rules == RuleSet::kStrict ? 1u << 20 : own::kDraws,
                                 .epoch_samples = looked.asked.data.train->samples(),
                                 .parents = looked.parents};
  const auto made = own::MakeClaim(*run, options, pool);
  if (!made) return {RuleState::kDamaged, "no claim: " + made.error().message};
  const Bytes file = own::Encode(made->claim);
  const auto claim = own::DecodeClaim(file, "claim");
  if (!claim) return {RuleState::kDamaged, claim.error().message};
  auto opened = own::OpenedClaim::Open(*claim);
  if (!opened) return {RuleState::kUnchecked, opened.error().message};
  if (const auto* bad = std::get_if<Refutation>(&*opened)) {
    return {bad->damage ? RuleState::kDamaged : RuleState::kRefused, bad->reason};
  }
  own::VerifyOptions verify{.rules = rules};
  if (rules == RuleSet::kStrict) {
    verify.signer = looked.signer;
    verify.job = looked.asked.identity.job;
    if (looked.grinding) verify.seed_from = HashBytes(AsBytes("a public checkpoint"));
  }
  const auto report = own::VerifyClaim(
      *claim, std::get<own::OpenedClaim>(*opened), verify, [&](const Job&) -> Result<Backend*> { return &backend; }, pool);
  return CellOf(report.state, report.rules, report.reason);
}

Cell Audited(const Looked& looked, Backend& backend, ThreadPool& pool) {
  const auto run = RunDirectory::Open(looked.run);
  if (!run) return {RuleState::kDamaged, run.error().message};
  const AuditOptions options{.expected = {.job = looked.asked.identity.job, .signer = looked.signer}};
  const AuditReport report = Audit(*run, looked.asked, options, backend, pool, {});
  const std::string why = report.refutation ? report.refutation->reason : report.reason;
  switch (report.verdict) {
    case Verdict::kVerified: return {RuleState::kAccepted, why};
    case Verdict::kRefuted: return {RuleState::kRefused, why};
    case Verdict::kDamaged: return {RuleState::kDamaged, why};
    case Verdict::kUnchecked: break;
  }
  return {RuleState::kUnchecked, why};
}

}  // namespace

Cells LookAt(const Looked& looked, Backend& backend, ThreadPool& pool) {
  return {Check(looked, RuleSet::kSeed),
          Check(looked, RuleSet::kStrict),
          Pev(looked, RuleSet::kSeed, backend, pool),
          Pev(looked, RuleSet::kStrict, backend, pool),
          Own(looked, RuleSet::kSeed, backend, pool),
          Own(looked, RuleSet::kStrict, backend, pool),
          Audited(looked, backend, pool)};
}

}  // namespace assay::checks
