#include "assay/worker/lease_work.h"

#include <algorithm>
#include <new>
#include <utility>

#include "assay/platform/work_limits.h"
#include "assay/run/log.h"
#include "assay/tensor/memory_space.h"
#include "assay/train/memory_fit.h"
#include "assay/worker/delivery.h"

namespace assay::worker {
namespace {

constexpr std::size_t kMaxWords = 400;  // of what is said about a lease that ends

tl::unexpected<Setback> Here(const Error& error) { return tl::unexpected(SetbackOf(error)); }

std::string Short(std::string words) {
  if (words.size() > kMaxWords) words.resize(kMaxWords);
  return words;
}

}  // namespace

void LeaseWork::Say(const LeaseName& lease, const std::string& words) const {
  if (site_.say) site_.say(fmt::format("order {:.8}, lease {}: {}", lease.order, lease.lease, words));
}

WorkEnd LeaseWork::Run(const GivenLease& lease) {
  auto folder = LeaseFolder::Open(site_.place, lease);
  if (!folder) {
    Say(lease.name, folder.error().message);
    (void)link_.GiveBack(lease.name, life::Ending::kGivenBack, "this worker's disk failed");
    return WorkEnd::kOver;
  }
  Outcome<WorkEnd> end = tl::unexpected(Setback{});
  {
    ReporterTerms terms = site_.terms;
    terms.quiet = terms.quiet || !site_.craft.renews();
    Reporter reporter(report_, *folder, halt_, terms);
    try {
      end = Work(*folder, reporter);
    } catch (const std::bad_alloc& error) {
      const bool in_words = dynamic_cast<const OutOfMemory*>(&error) != nullptr;
      end = tl::unexpected(Setback{.why = life::Ending::kGivenBack,
                                   .words = in_words ? error.what() : "memory: there is too little of it here",
                                   .over_room = true});
    }
  }
  return end ? *end : Conclude(*folder, end.error());
}

// What is told of work that came to nothing. Of a sealed order that is one of a few sentences: an error may quote the job or its data.
std::string LeaseWork::WordsFor(const Setback& setback, const std::string& order) const {
  if (!sealed_) return Short(WithoutPaths(setback.words, site_.place.OrderPath(order)));
  if (setback.over_room) return "over its room";
  switch (doing_) {
    case Doing::kPapers: return "its papers are not in order";
    case Doing::kFiles: return "its files cannot be opened, or were not sealed for it";
    case Doing::kJob: return "it cannot be prepared";
    case Doing::kTraining: return "it cannot be trained";
    case Doing::kDelivery: return "its result cannot be handed over";
    case Doing::kAudit: break;
  }
  return "it cannot be audited";
}

// The work did not come to its end: who has to know, and what becomes of the folder.
WorkEnd LeaseWork::Conclude(const LeaseFolder& folder, const Setback& setback) {
  const LeaseName& name = folder.lease().name;
  const Halt::Reason reason = halt_.reason();
  if (reason == Halt::Reason::kLeaving) {
    Say(name, "stopped; it goes on when the worker is started again, if that is soon enough");
    return WorkEnd::kLeft;
  }
  if (reason == Halt::Reason::kEnded || reason == Halt::Reason::kCancelled) {
    const auto delivery = folder.ReadDelivery();
    const bool delivered = delivery && delivery->has_value();
    Say(name, reason == Halt::Reason::kCancelled ? "is cancelled"
              : delivered                        ? "is delivered; " + halt_.words()
                                                 : "is over: " + halt_.words());
    // The coordinator may have the result, though its answer was lost: then the lease is over for that reason, and questions about the run will come. It is
    // kept until the order is decided.
    if (delivered && reason == Halt::Reason::kEnded) return WorkEnd::kDelivered;
  } else {
    const bool limit = reason == Halt::Reason::kLimit;
    const Setback end = limit ? Setback{.why = life::Ending::kGivenBack, .words = halt_.words(), .over_room = true} : setback;
    const std::string words = WordsFor(end, name.order);
    Say(name, fmt::format("{}: {}", life::Name(end.why), Short(end.words)));
    // Where it cannot be told, the lease runs out by itself. An interruption that was meant for the work may be left over.
    for (int attempt = 0; attempt < 3; ++attempt) {
      const auto given = link_.GiveBack(name, end.why, words);
      if (given || (given.error().kind != CallError::Kind::kInterrupted && given.error().kind != CallError::Kind::kLater))
        break;
    }
  }
  if (const Status gone = site_.place.Forget(name); !gone) Say(name, gone.error().message);
  return WorkEnd::kOver;
}

Outcome<LeasePapers> LeaseWork::TakePapers(const LeaseFolder& folder) {
  auto papers = Patiently<LeasePapers>(halt_, [&] { return link_.Papers(folder.lease().name); });
  if (!papers) return tl::unexpected(SetbackOf(papers.error(), halt_));
  return *std::move(papers);
}

Outcome<WorkEnd> LeaseWork::Work(LeaseFolder& folder, Reporter& reporter) {
  const GivenLease& lease = folder.lease();
  const auto papers = TakePapers(folder);
  if (!papers) return tl::unexpected(papers.error());
  const auto order = CheckOrder(papers->order, lease.name, site_.coordinator);
  if (!order) return Here(order.error());
  if (const Status kept = folder.KeepOrder(papers->order); !kept) return Here(kept.error());
  sealed_ = !order->sealed.empty();
  reporter.SetSealed(sealed_);
  reporter.SetRoom(platform::RoomFor(order->limits, site_.offered));
  if (lease.role == life::Role::kTrain) return TrainOrder(*order, folder, reporter);
  if (!papers->run) return tl::unexpected(Setback{.words = "an audit without a run"});
  return AuditRun(*order, *papers->run, folder, reporter);
}

Outcome<void> LeaseWork::FetchInputs(const life::Order& order, const std::vector<life::OrderFile>& more,
                                     const LeaseFolder& folder, Reporter& reporter) {
  doing_ = Doing::kFiles;
  const platform::Room room = platform::RoomFor(order.limits, site_.offered);
  platform::Needs needs{.disk = platform::BytesOf(order.files) + platform::BytesOf(more)};
  if (sealed_) needs.disk *= 2;
  if (const Status fits = platform::CheckRoom(needs, room, platform::LeftHere(folder.path())); !fits) {
    return tl::unexpected(Setback{.why = life::Ending::kGivenBack, .words = fits.error().message, .over_room = true});
  }
  reporter.SetPhase("download", 0, {});
  return FetchOrderFiles(porter(), order, folder.files_path(), folder.sealed_path());
}

// The job, and what it is computed with.
Outcome<PreparedJob> LeaseWork::PrepareJob(const life::Order& order, const LeaseFolder& folder, Compute& compute) {
  doing_ = Doing::kJob;
  const auto job = LoadOrderJob(order, folder.files_path());
  if (!job) return Here(job.error());
  auto made = site_.compute(*job);
  if (!made) return tl::unexpected(Setback{.why = life::Ending::kGivenBack, .words = made.error().message});
  compute = *std::move(made);
  const platform::Room room = platform::RoomFor(order.limits, site_.offered);
  Allowance allowance(room.memory, std::max<std::int64_t>(1, platform::LeftHere(folder.path()).memory),
                      [this] { return halt_.stopped(); });
  auto prepared = PrepareOrder(order, folder.files_path(), *compute.pool, allowance);
  if (!prepared) return Here(prepared.error());
  platform::Needs needs = platform::NeedsOf(*prepared, *compute.backend, !order.sealed.empty());
  if (folder.lease().role == life::Role::kAudit) needs.disk = 0;  // replays write nothing
  const platform::Needs used{.memory = allowance.taken(), .disk = platform::BytesOf(order.files)};
  Status fits = platform::CheckRoom(needs, room, platform::LeftHere(folder.path()), used);
  if (fits) fits = CheckFits(*prepared, *compute.backend);
  if (!fits) return tl::unexpected(Setback{.why = life::Ending::kGivenBack, .words = fits.error().message, .over_room = true});
  return *std::move(prepared);
}

Outcome<TrainOutcome> LeaseWork::Train(const PreparedJob& prepared, const LeaseFolder& folder, const Compute& compute,
                                       Reporter& reporter, Commitments& commitments) {
  reporter.SetPhase("train", prepared.job.steps, ThroughputOf(prepared.job));
  reporter.BeginCommitments(commitments);
  const TrainHooks hooks{
      .on_step = [&](const StepReport& report) { reporter.Step(report.step, report.loss); },
      .on_note = [&](const std::string& note) { Say(folder.lease().name, note); },
      .should_stop = [&] { return halt_.stopped(); },
      .wants_log = [&] { return reporter.WantsLog(); },
      .on_log = [&](const RunLog& log) { commitments.Offer(log); },
      .telemetry =
          monitor::RecorderOptions{
              .write_ms = static_cast<std::uint32_t>(std::clamp<std::int64_t>(site_.terms.tell_ms, 10, 1'000)),
              .on_record = [&](const monitor::Record& record, const Digest& hash) { reporter.Kept(record, hash); },
              .on_gpu = [&](const monitor::GpuIdentity& gpu) { reporter.SetGpu(gpu); }}};
  auto outcome = site_.craft.Train(prepared, folder.run_path(), site_.key, compute, hooks);
  if (!outcome) {
    reporter.EndCommitments();
    return Here(outcome.error());
  }
  if (outcome->interrupted) {
    reporter.EndCommitments();
    return tl::unexpected(Setback{.halted = true});
  }
  return *outcome;
}

// What is on its way arrives before the result, whose proof begins there. A coordinator that was restored from a backup knows less
// than it did, and may have been restored since it was asked: it is asked twice.
Outcome<void> LeaseWork::SettleCommitments(const LeaseFolder& folder, Reporter& reporter, Commitments& commitments) {
  reporter.EndCommitments();
  for (bool again = false;; again = true) {
    const auto papers = TakePapers(folder);
    if (!papers) return tl::unexpected(papers.error());
    if (const auto back = commitments.GoBackTo(papers->committed); !back) return Here(back.error());
    const auto pending = folder.Pending();
    if (!pending) return Here(pending.error());
    if (!*pending) return {};
    const auto sent = Patiently<void>(halt_, [&] { return link_.Commit(folder.lease().name, **pending); });
    if (sent) {
      const Status kept = commitments.Sent(**pending);
      return kept ? Outcome<void>() : Here(kept.error());
    }
    const Setback setback = SetbackOf(sent.error(), halt_);
    if (again || setback.halted || setback.why != life::Ending::kFailed) return tl::unexpected(setback);
  }
}

// The run, trained to its end, and all of its files at the coordinator.
Outcome<Delivery> LeaseWork::MakeRun(const life::Order& order, LeaseFolder& folder, Reporter& reporter) {
  if (auto fetched = FetchInputs(order, {}, folder, reporter); !fetched) return tl::unexpected(fetched.error());
  Compute compute;
  const auto prepared = PrepareJob(order, folder, compute);
  if (!prepared) return tl::unexpected(prepared.error());
  doing_ = Doing::kTraining;
  auto commitments = Commitments::Open(folder, site_.key);
  if (!commitments) return Here(commitments.error());
  Say(folder.lease().name, fmt::format("trains {} ({} steps){}", prepared->job.name, prepared->job.steps,
                                       folder.lease().of != 0 ? ", to make good its audit" : ""));
  const auto outcome = Train(*prepared, folder, compute, reporter, **commitments);
  if (!outcome) return tl::unexpected(outcome.error());
  if (auto settled = SettleCommitments(folder, reporter, **commitments); !settled) return tl::unexpected(settled.error());
  if (!site_.craft.BeforeDelivery()) return tl::unexpected(Setback{.halted = true, .words = "is not delivered"});
  doing_ = Doing::kDelivery;
  reporter.SetPhase("upload", prepared->job.steps, {});
  return MakeDelivery(porter(), order, folder, site_.key, **commitments);
}

// A coordinator that was restored from a backup may lack files, or commitments, that were there when the result was made: a result
// that is refused is made ready once more from the run, which is trained already.
Outcome<WorkEnd> LeaseWork::TrainOrder(const life::Order& order, LeaseFolder& folder, Reporter& reporter) {
  const LeaseName& name = folder.lease().name;
  const auto kept = folder.ReadDelivery();
  if (!kept) return Here(kept.error());
  std::optional<Delivery> delivery = *kept;
  for (bool again = false;; again = true) {
    if (!delivery) {
      auto made = MakeRun(order, folder, reporter);
      if (!made) return tl::unexpected(made.error());
      delivery = std::move(*made);
    }
    doing_ = Doing::kDelivery;
    const auto handed = HandOver(porter(), folder, *delivery);
    if (handed) return Delivered(name);
    if (again || handed.error().halted || handed.error().why != life::Ending::kFailed) return tl::unexpected(handed.error());
    Say(name, fmt::format("the coordinator refuses the result ({}); it is made ready once more", Short(handed.error().words)));
    delivery.reset();
  }
}

WorkEnd LeaseWork::Delivered(const LeaseName& name) const {
  Say(name, "is delivered");
  return WorkEnd::kDelivered;
}

}  // namespace assay::worker
