#include "assay/worker/worker.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "assay/seal/announcement.h"
#include "assay/worker/delivery.h"
#include "assay/worker/desk.h"
#include "assay/worker/witness.h"

namespace assay::worker {
namespace {

constexpr std::int64_t kSoonMs = 200;  // the first pause before a coordinator that did not answer is asked again

// Errors of a link begin with the coordinator's address.
std::string Unreachable(const CallError& error) { return fmt::format("cannot reach {}; trying again", error.why); }

Status RefusedBy(const CallError& error) { return Err("{}", error.why); }

}  // namespace

// One stay at one coordinator.
class Worker::Session {
 public:
  explicit Session(Worker& worker)
      : site_{.place = worker.place_,
              .craft = worker.craft_,
              .key = worker.key_,
              .coordinator = *worker.coordinator_,
              .identities = worker.identities_,
              .compute = worker.compute_,
              .offered = worker.options_.offered,
              .terms = worker.options_.terms,
              .say = worker.options_.say},
        desk_(worker.options_.once),
        poll_(worker.MakeLink()),
        work_(worker.MakeLink()),
        report_(worker.MakeLink()),
        answer_(worker.MakeLink()),
        leaving_([this] {
          poll_->Interrupt();
          const std::lock_guard lock(mutex_);
          if (halt_) halt_->Stop(Halt::Reason::kLeaving);
          news_.notify_all();
        }),
        witness_(site_, *answer_, worker.options_.answer_memory, [this](const std::string& question) { Answered(question); }) {}
  ~Session() {
    leaving_.Stop(Halt::Reason::kLeaving);
    Join();
  }

  Halt& leaving() { return leaving_; }

  Status Run() {
    ASSAY_TRY(Settle());
    while (!leaving_.stopped()) {
      TakeUpEnd();
      ASSAY_ASSIGN(const std::vector<std::string> held, site_.place.Orders());
      WorkRequest request;
      {
        const std::lock_guard lock(mutex_);
        request = desk_.Request(held);
      }
      const auto asked_at = std::chrono::steady_clock::now();
      const auto reply = poll_->Work(request);
      if (leaving_.stopped()) break;
      if (!reply) {
        using Kind = CallError::Kind;
        if (reply.error().kind == Kind::kInterrupted) continue;
        if (reply.error().kind != Kind::kLater) return RefusedBy(reply.error());
        Pause(reply.error());
        continue;
      }
      unreachable_ = false;
      pause_ms_ = kSoonMs;
      const Desk::Steps steps = Follow(*reply);
      if (steps.end) break;
      // What is under way is told again with every poll. Then there is no hurry, until an answer has gone out or the work has ended.
      const bool at_once = std::chrono::steady_clock::now() - asked_at < std::chrono::milliseconds(request.wait_ms / 2);
      if (at_once && steps.nothing_new()) WaitForNews();
    }
    leaving_.Stop(Halt::Reason::kLeaving);
    Join();
    return {};
  }

 private:
  // Results and reports that were made before the process ended and may not have arrived.
  Status Settle() {
    ASSAY_ASSIGN(const std::vector<LeaseName> leases, site_.place.Leases());
    for (const LeaseName& name : leases) {
      const auto folder = LeaseFolder::Find(site_.place, name);
      if (!folder || folder->done()) continue;
      ASSAY_ASSIGN(const auto delivery, folder->ReadDelivery());
      ASSAY_ASSIGN(const auto report, folder->ReadReport());
      if (!delivery && !report) continue;
      const auto sent =
          Patiently<void>(leaving_, [&] { return delivery ? work_->Deliver(name, *delivery) : work_->Report(name, *report); });
      if (sent) {
        ASSAY_TRY(folder->SetDone());
      } else if (sent.error().kind == CallError::Kind::kEnded) {
        ASSAY_TRY(site_.place.Forget(name));
      }
    }
    return {};
  }

  // Carries out what follows from an answer.
  Desk::Steps Follow(const WorkReply& reply) {
    Desk::Steps steps;
    {
      const std::lock_guard lock(mutex_);
      steps = desk_.Take(reply);
      if (steps.stop && halt_) {
        const bool decided = std::ranges::find(reply.decided, steps.stop->order) != reply.decided.end();
        const bool cancelled = std::ranges::find(reply.cancelled, *steps.stop) != reply.cancelled.end();
        halt_->Stop(cancelled ? Halt::Reason::kCancelled : Halt::Reason::kEnded,
                    decided ? "its order is decided" : "another lease was given");
      }
    }
    for (const LeaseName& lease : steps.drop) DropUnfinished(lease);
    for (const std::string& order : steps.forget) {
      witness_.Forget(order);
      if (const Status gone = site_.place.Forget(order); !gone) Say(gone.error().message);
    }
    if (steps.abandon_unfinished) {
      const auto leases = site_.place.Leases();
      for (const LeaseName& lease : leases ? *leases : std::vector<LeaseName>()) {
        if (!steps.begin || steps.begin->name != lease) DropEnded(lease);
      }
    }
    for (const Question& question : steps.questions) witness_.Ask(question);
    if (steps.begin) Begin(*steps.begin);
    return steps;
  }

  void WaitForNews() {
    constexpr std::chrono::milliseconds kLongest{500};
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, kLongest, [&] { return heard_ || end_ || leaving_.stopped(); });
    heard_ = false;
  }

  bool IsUnfinished(const LeaseName& lease) const {
    const auto folder = LeaseFolder::Find(site_.place, lease);
    return !folder || !(folder->done() || Exists(JoinPath(folder->path(), "result.json")));
  }

  // Of a lease that this worker had when it was stopped, and that the coordinator does not give it again.
  void DropEnded(const LeaseName& lease) {
    if (IsUnfinished(lease)) {
      Say(fmt::format(
          "order {:.8}, lease {}: ran out while this worker was away (a lease lasts {:g} s without a sign of life); "
          "what was done for it is dropped, and the order wants a worker with another key",
          lease.order, lease.lease, 1e-3 * static_cast<double>(site_.terms.lease_ms)));
    }
    DropUnfinished(lease);
  }

  void DropUnfinished(const LeaseName& lease) {
    if (!IsUnfinished(lease)) return;
    if (const Status gone = site_.place.Forget(lease); !gone) Say(gone.error().message);
  }

  void Begin(const GivenLease& lease) {
    Join();
    const std::lock_guard lock(mutex_);
    halt_ = std::make_unique<Halt>([this] { work_->Interrupt(); });
    if (leaving_.stopped()) halt_->Stop(Halt::Reason::kLeaving);
    thread_ = std::thread([this, lease, halt = halt_.get()] {
      const WorkEnd end = LeaseWork(site_, *work_, *report_, *halt).Run(lease);
      {
        const std::lock_guard done(mutex_);
        end_ = end;
      }
      news_.notify_all();
      poll_->Interrupt();
    });
  }

  void TakeUpEnd() {
    const std::lock_guard lock(mutex_);
    if (!end_) return;
    desk_.Ended(*std::exchange(end_, std::nullopt));
  }

  void Answered(const std::string& question) {
    const std::lock_guard lock(mutex_);
    desk_.Answered(question);
    heard_ = true;
    news_.notify_all();
  }

  void Pause(const CallError& error) {
    if (!std::exchange(unreachable_, true)) Say(Unreachable(error));
    constexpr std::int64_t kLongestMs = 5'000;
    leaving_.Wait(std::clamp(error.retry_ms, pause_ms_, kLongestMs));
    pause_ms_ = std::min(2 * pause_ms_, kLongestMs);
  }

  void Say(const std::string& line) const {
    if (site_.say) site_.say(line);
  }

  void Join() {
    if (thread_.joinable()) thread_.join();
  }

  const Site site_;
  std::mutex mutex_;  // of the desk, the halt and the end of the work
  std::condition_variable news_;
  bool heard_ = false;  // an answer has gone out
  Desk desk_;
  std::unique_ptr<Link> poll_, work_, report_, answer_;
  std::unique_ptr<Halt> halt_;
  std::optional<WorkEnd> end_;
  Halt leaving_;
  std::int64_t pause_ms_ = kSoonMs;
  bool unreachable_ = false;
  std::thread thread_;
  Witness witness_;
};

Worker::Worker(const Workplace& place, const SigningKey& key, std::optional<Identity> identity, LinkFactory links,
               ComputeFactory compute, Craft& craft, WorkerOptions options)
    : place_(place),
      key_(key),
      links_(std::move(links)),
      compute_(std::move(compute)),
      craft_(craft),
      options_(std::move(options)) {
  if (identity) identities_.push_back(*std::move(identity));
}

Worker::~Worker() = default;

void Worker::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  if (on_stop_) on_stop_();
}

std::unique_ptr<Link> Worker::MakeLink() const {
  std::unique_ptr<Link> link = links_();
  link->Address(*coordinator_);
  return link;
}

// Who the coordinator is, and who this worker is.
Status Worker::Announce(Link& link) {
  Halt halt([&] { link.Interrupt(); });
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return {};
    on_stop_ = [&] { halt.Stop(Halt::Reason::kLeaving); };
  }
  const auto done = [&](Status status) {
    const std::lock_guard lock(mutex_);
    on_stop_ = {};
    return status;
  };
  bool said = false;
  const auto info = Patiently<CoordinatorInfo>(halt, [&] {
    auto answer = link.Coordinator();
    if (!answer && answer.error().kind == CallError::Kind::kLater && options_.say && !std::exchange(said, true))
      options_.say(Unreachable(answer.error()));
    return answer;
  });
  if (!info) return done(halt.stopped() ? Status() : RefusedBy(info.error()));
  if (const Status pinned = place_.Pin(info->key); !pinned) return done(pinned);
  coordinator_ = VerifyKey::Parse(info->key).value();
  link.Address(*coordinator_);
  options_.terms.lease_ms = info->lease_ms;
  std::string recipient;
  if (!identities_.empty()) {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
    recipient = SignAnnouncement({.recipient = identities_.front().recipient(),
                                  .purpose = SealPurpose::kWorker,
                                  .made = static_cast<std::uint64_t>(now.count())},
                                 key_);
  }
  const auto registered = Patiently<void>(halt, [&] { return link.Register(options_.hardware, recipient); });
  if (registered && options_.registered) options_.registered();
  return done(registered || halt.stopped() ? Status() : RefusedBy(registered.error()));
}

Status Worker::Run() {
  {
    const std::unique_ptr<Link> link = links_();
    ASSAY_TRY(Announce(*link));
  }
  if (!coordinator_) return {};
  std::optional<Session> session;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return {};
    session.emplace(*this);
    on_stop_ = [&] { session->leaving().Stop(Halt::Reason::kLeaving); };
  }
  const Status ran = session->Run();
  {
    const std::lock_guard lock(mutex_);
    on_stop_ = {};
  }
  return ran;
}

}  // namespace assay::worker
