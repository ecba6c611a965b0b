// What a worker does under a lease to audit somebody else's run (lease_work.h).
#include <utility>

#include "assay/audit/audit.h"
#include "assay/base/quote.h"
#include "assay/life/report.h"
#include "assay/life/sample.h"
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

// Of a sealed order: nothing that only who reads the job can know.
std::string SealedWordsOf(const AuditReport& report) {
  if (report.verdict == Verdict::kVerified) return "";
  if (report.verdict != Verdict::kRefuted) return std::string(Name(report.verdict));
  return report.refutation && report.refutation->step ? fmt::format("refuted at step {}", *report.refutation->step) : "refuted";
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
  const auto share = folder.Share();
  if (!share) return here(share.error());
  if (auto fetched = FetchInputs(order, run.files, folder, reporter); !fetched) return tl::unexpected(fetched.error());
  Compute compute;
  const auto prepared = PrepareJob(order, folder, compute);
  if (!prepared) return tl::unexpected(prepared.error());
  doing_ = Doing::kAudit;
  const auto nonce = life::SampleNonce(folder.lease().nonce, *share);
  if (!nonce) return here(nonce.error());
  AuditReport report;
  const auto copied = FetchRunFiles(porter(), order, run.files, folder.audited_path(), folder.sealed_path());
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
  const std::string words = WithoutPaths(WordsOf(report), folder.audited_path());
  if (sealed_ && !words.empty()) Say(folder.lease().name, words);  // for whoever looks after this worker, and nobody else
  return life::Report{.order = order.id,
                      .lease = folder.lease().name.lease,
                      .receipt = HashBytes(AsBytes(run.receipt)),
                      .nonce = folder.lease().nonce,
                      .share = *share,
                      .percent = order.policy.audit,
                      .finding = FindingOf(report.verdict),
                      .steps = report.steps_checked,
                      .sample = report.verdict == Verdict::kVerified ? life::SampleHash(report.drawn) : std::string(),
                      .words = sealed_ ? SealedWordsOf(report) : words};
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
  const auto before = site_.place.ReportOf(order.id);
  if (!before) return tl::unexpected(SetbackOf(before.error()));
  if (*before) {
    // The same lease after the folder was lost, or another one. A second draw would let who leases choose between two samples.
    const auto said = life::OpenReport(**before, site_.key.verify_key(), "report");
    if (said && said->lease == folder.lease().name.lease && said->nonce == folder.lease().nonce)
      return PostReport(folder, **before);
    return tl::unexpected(Setback{.why = life::Ending::kGivenBack, .words = "this worker has reported on the order already"});
  }
  Say(folder.lease().name, fmt::format("audits the run of lease {}", folder.lease().of));
  const auto report = Examine(order, run, folder, reporter);
  if (!report) return tl::unexpected(report.error());
  const std::string envelope = life::SignReport(*report, site_.key);
  if (const Status noted = site_.place.KeepReport(order.id, envelope); !noted) return tl::unexpected(SetbackOf(noted.error()));
  if (const Status written = folder.SetReport(envelope); !written) return tl::unexpected(SetbackOf(written.error()));
  return PostReport(folder, envelope);
}

}  // namespace assay::worker
