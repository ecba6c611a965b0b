// What a worker does under a lease to audit somebody else's run (lease_work.h).
#include <utility>

#include "assay/audit/audit.h"
#include "assay/base/quote.h"
#include "assay/life/report.h"
#include "assay/run/directory.h"
#include "assay/run/receipt.h"
#include "assay/worker/lease_work.h"

namespace assay::worker {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;
constexpr std::size_t kMaxWords = 2000;

life::Finding FindingOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kVerified: return life::Finding::kVerified;
    case Verdict::kRefuted: return life::Finding::kRefuted;
    case Verdict::kUnchecked: return life::Finding::kUnchecked;
    case Verdict::kDamaged: break;
  }
  return life::Finding::kDamaged;
}

AuditReport Damaged(const std::string& why) {
  return {.verdict = Verdict::kDamaged, .refutation = Refutation{.reason = why, .damage = true}, .reason = why};
}

std::string WordsOf(const AuditReport& report) {
  std::string words = report.refutation ? report.refutation->reason : report.reason;
  if (report.refutation && report.refutation->step) words = fmt::format("step {}: {}", *report.refutation->step, words);
  words = OneLine(words);
  if (words.size() > kMaxWords) words.resize(kMaxWords);
  return words;
}

// The run as the receipt that was leased speaks of it: files that are another run's are a bad copy of this one.
Result<AuditReport> AuditCopy(const std::string& path, const std::string& receipt, const life::Order& order,
                              const PreparedJob& prepared, const AuditOptions& asked, const Compute& compute,
                              const AuditHooks& hooks) {
  const auto run = RunDirectory::Open(path);
  if (!run) return run.error().system ? Result<AuditReport>(tl::unexpected(run.error())) : Damaged(run.error().message);
  const auto file = ReadFile(run->receipt_path(), kMaxReceiptBytes);
  if (!file) return file.error().system ? Result<AuditReport>(tl::unexpected(file.error())) : Damaged(file.error().message);
  if (std::string_view(reinterpret_cast<const char*>(file->data()), file->size()) != receipt) {
    return Damaged("receipt.json is not the receipt that the audit is of");
  }
  if (const auto opened = OpenReceipt(receipt, run->signer(), "receipt.json"); !opened) return Damaged(opened.error().message);
  AuditOptions options = asked;
  options.expected = {.job = order.job, .signer = run->signer()};
  ASSAY_ASSIGN(const auto wrong, CheckHeader(*run, options.expected));
  if (wrong) return AuditReport{.verdict = wrong->damage ? Verdict::kDamaged : Verdict::kRefuted, .refutation = wrong};
  return Audit(*run, prepared, options, *compute.backend, *compute.pool, hooks);
}

}  // namespace

Outcome<life::Report> LeaseWork::Examine(const life::Order& order, const RunUnderAudit& run, const LeaseFolder& folder,
                                         Reporter& reporter) {
  const auto here = [](const Error& error) { return tl::unexpected(SetbackOf(error)); };
  if (auto fetched = FetchInputs(order, run.files, folder, reporter); !fetched) return tl::unexpected(fetched.error());
  Compute compute;
  const auto prepared = PrepareJob(order, folder, compute);
  if (!prepared) return tl::unexpected(prepared.error());
  const auto nonce = FromHex(folder.lease().nonce);
  if (!nonce) return here(nonce.error());
  AuditReport report;
  const auto copied = FetchFiles(porter(), run.files, !order.sealed.empty(), folder.audited_path(), folder.sealed_path());
  if (!copied && (copied.error().halted || copied.error().why == life::Ending::kGivenBack))
    return tl::unexpected(copied.error());
  if (!copied) {
    report = Damaged(copied.error().words);
  } else {
    const AuditOptions options{.sample_percent = static_cast<double>(order.policy.audit), .nonce = *nonce};
    const AuditHooks hooks{
        .on_start = [&](std::int64_t steps) { reporter.SetPhase("audit", steps, ThroughputOf(prepared->job)); },
        .on_step = [&](std::int64_t done, std::int64_t, float loss) { reporter.Step(done, loss); },
        .should_stop = [&] { return halt_.stopped(); }};
    auto audited = AuditCopy(folder.audited_path(), run.receipt, order, *prepared, options, compute, hooks);
    if (!audited) return here(audited.error());
    report = *std::move(audited);
  }
  if (halt_.stopped()) return tl::unexpected(Setback{.halted = true});
  return life::Report{.order = order.id,
                      .lease = folder.lease().name.lease,
                      .receipt = HashBytes(AsBytes(run.receipt)),
                      .nonce = folder.lease().nonce,
                      .percent = order.policy.audit,
                      .finding = FindingOf(report.verdict),
                      .steps = report.steps_checked,
                      .words = WithoutPaths(WordsOf(report), folder.audited_path())};
}

Outcome<WorkEnd> LeaseWork::PostReport(const LeaseFolder& folder, const std::string& envelope) {
  const auto report = life::OpenReport(envelope, site_.key.verify_key(), "report.json");
  if (!report) return tl::unexpected(SetbackOf(report.error()));
  const auto done = Patiently<void>(halt_, [&] { return link_.Report(folder.lease().name, envelope); });
  if (!done) return tl::unexpected(SetbackOf(done.error(), halt_));
  if (const Status kept = folder.SetDone(); !kept) return tl::unexpected(SetbackOf(kept.error()));
  (void)RemoveFolder(folder.audited_path());
  (void)RemoveFolder(folder.sealed_path());
  Say(folder.lease().name, fmt::format("audit of lease {}: {}{}{}", folder.lease().of, life::Name(report->finding),
                                       report->words.empty() ? "" : ": ", report->words));
  return report->finding == life::Finding::kRefuted ? WorkEnd::kRefuted : WorkEnd::kReported;
}

Outcome<WorkEnd> LeaseWork::AuditRun(const life::Order& order, const RunUnderAudit& run, LeaseFolder& folder,
                                     Reporter& reporter) {
  const auto kept = folder.ReadReport();
  if (!kept) return tl::unexpected(SetbackOf(kept.error()));
  if (*kept) return PostReport(folder, **kept);
  Say(folder.lease().name, fmt::format("audits the run of lease {}", folder.lease().of));
  const auto report = Examine(order, run, folder, reporter);
  if (!report) return tl::unexpected(report.error());
  const std::string envelope = life::SignReport(*report, site_.key);
  if (const Status written = folder.SetReport(envelope); !written) return tl::unexpected(SetbackOf(written.error()));
  return PostReport(folder, envelope);
}

}  // namespace assay::worker
