#include "assay/worker/reporter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "assay/monitor/usage.h"

namespace assay::worker {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxSamples = 256;  // of a batch; of faster jobs every second, fourth, ... step is told
constexpr std::int64_t kRenewals = 3;     // in the time that a lease lasts
constexpr milliseconds kDiskEvery{5'000};
constexpr milliseconds kUsedEvery{5'000};

std::int64_t WallMs() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Every second of them, and always the last.
void ThinOut(std::vector<Sample>& samples) {
  std::size_t kept = 0;
  for (std::size_t i = samples.size() % 2 == 0 ? 1 : 0; i < samples.size(); i += 2) std::swap(samples[kept++], samples[i]);
  samples.resize(kept);
}

}  // namespace

Reporter::Reporter(Link& link, LeaseFolder& folder, Halt& halt, const ReporterTerms& terms)
    : link_(link),
      folder_(folder),
      halt_(halt),
      terms_(terms),
      used_before_ms_(folder.used_ms()),
      memory_before_(monitor::ResidentBytes()),
      cpu_before_(monitor::CpuSeconds()) {
  thread_ = std::thread([this] { Loop(); });
}

Reporter::~Reporter() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  link_.Interrupt();
  thread_.join();
  (void)folder_.SetUsed(taken_.ms);  // a lease that is over has no folder any more
}

void Reporter::SetPhase(const std::string& phase, std::int64_t steps, const Throughput& throughput) {
  const std::lock_guard lock(mutex_);
  now_.phase = phase;
  keeps_ = false;
  now_.gpu.reset();
  now_.steps = steps;
  if (!now_.sealed) now_.unit = throughput.unit;
  per_step_ = throughput.per_step;
  last_step_ = Clock::now();
  now_.at_ms = WallMs();
  samples_.push_back(now_);
}

void Reporter::SetSealed(bool sealed) {
  const std::lock_guard lock(mutex_);
  now_.sealed = sealed;
}

void Reporter::SetRoom(const platform::Room& room) {
  const std::lock_guard lock(mutex_);
  room_ = room;
}

void Reporter::Step(std::int64_t step, float loss) {
  const std::lock_guard lock(mutex_);
  if (keeps_) return;
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(last_step_, now)).count();
  now_.at_ms = WallMs();
  now_.step = step;
  if (!now_.sealed) {
    now_.loss = loss;
    now_.rate = seconds > 0 ? per_step_ / seconds : 0;
  }
  if (samples_.size() >= kMaxSamples) ThinOut(samples_);
  samples_.push_back(now_);
}

void Reporter::Kept(const monitor::Record& record, const Digest& hash) {
  constexpr double kMicro = 1e-6;
  const std::lock_guard lock(mutex_);
  if (const auto* session = std::get_if<monitor::SessionRecord>(&record.body)) {
    keeps_ = true;
    kept_step_us_ = kept_sample_us_ = 0;
    now_.gpu_identity.name = session->gpu;
    return;
  }
  if (now_.sealed) {  // how far it is, and no more
    const auto* step = std::get_if<monitor::StepRecord>(&record.body);
    if (step == nullptr) return;
    now_.at_ms = record.wall_us / 1000;
    now_.step = step->step;
    if (samples_.size() >= kMaxSamples) ThinOut(samples_);
    samples_.push_back(now_);
    return;
  }
  Sample told = now_;
  if (const auto* step = std::get_if<monitor::StepRecord>(&record.body)) {
    const double seconds = kMicro * static_cast<double>(record.mono_us - std::exchange(kept_step_us_, record.mono_us));
    now_.step = told.step = step->step;
    now_.loss = told.loss = std::bit_cast<float>(step->loss_bits);
    now_.rate = told.rate = seconds > 0 ? per_step_ / seconds : 0;
  } else if (const auto* sample = std::get_if<monitor::SampleRecord>(&record.body)) {
    const double seconds = kMicro * static_cast<double>(record.mono_us - std::exchange(kept_sample_us_, record.mono_us));
    const double cpu_seconds = kMicro * static_cast<double>(sample->cpu_us - std::exchange(kept_cpu_us_, sample->cpu_us));
    now_.cpu = told.cpu = seconds > 0 ? cpu_seconds / seconds : 0;
    now_.memory = told.memory = sample->resident;
    now_.gpu = told.gpu = sample->gpu;
  } else {
    return;
  }
  told.at_ms = record.wall_us / 1000;
  told.index = static_cast<std::int64_t>(record.index);
  told.chain = hash.hex();
  if (samples_.size() >= kMaxSamples) ThinOut(samples_);
  samples_.push_back(std::move(told));
}

void Reporter::SetGpu(const monitor::GpuIdentity& gpu) {
  const std::lock_guard lock(mutex_);
  now_.gpu_identity = gpu;
}

void Reporter::BeginCommitments(Commitments& commitments) {
  const std::lock_guard lock(committing_);
  commitments_ = &commitments;
}

bool Reporter::WantsLog() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (offered_ && now - offered_at_ < milliseconds(terms_.commit_ms)) return false;
  offered_ = true;
  offered_at_ = now;
  return true;
}

void Reporter::EndCommitments() {
  const std::lock_guard lock(committing_);
  commitments_ = nullptr;
}

std::vector<Sample> Reporter::TakeSamples() {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(cpu_at_, now)).count();
  const double cpu = monitor::CpuSeconds();
  const std::lock_guard lock(mutex_);
  const double cores = seconds > 0 ? (cpu - std::exchange(cpu_before_, cpu)) / seconds : 0;
  if (!keeps_ && !now_.sealed) {
    now_.cpu = cores;
    now_.memory = taken_.memory;
  }
  std::vector<Sample> samples = std::exchange(samples_, {});
  while (samples.size() > kMaxSamples) ThinOut(samples);
  if (!samples.empty() && !keeps_) {
    samples.back().cpu = now_.cpu;
    samples.back().memory = now_.memory;
  }
  return samples;
}

bool Reporter::Heard(const Call<void>& answer) {
  if (answer) return true;
  if (answer.error().kind == CallError::Kind::kEnded) halt_.Stop(Halt::Reason::kEnded, answer.error().why);
  return false;
}

bool Reporter::TellNow(Clock::time_point now) {
  std::vector<Sample> samples = TakeSamples();
  if (samples.empty()) return false;
  const Call<void> told = link_.Tell(folder_.lease().name, samples);
  if (Heard(told)) {
    sign_of_life_ = now;
    return true;
  }
  const CallError::Kind kind = told.error().kind;
  if (kind != CallError::Kind::kLater && kind != CallError::Kind::kInterrupted) return false;
  const std::lock_guard lock(mutex_);  // with the next ones, then
  samples.insert(samples.end(), samples_.begin(), samples_.end());
  samples_ = std::move(samples);
  while (samples_.size() > kMaxSamples) ThinOut(samples_);
  return false;
}

void Reporter::RenewNow(Clock::time_point now) {
  if (now - sign_of_life_ < milliseconds(terms_.lease_ms / kRenewals)) return;
  if (Heard(link_.Renew(folder_.lease().name))) sign_of_life_ = now;
}

// Whether the coordinator knows less of the log than it did, and is told from there on.
bool Reporter::GoBack() {
  const auto papers = link_.Papers(folder_.lease().name);
  if (!papers) return false;
  const auto back = commitments_->GoBackTo(papers->committed);
  return back && *back;
}

void Reporter::CommitNow() {
  const std::lock_guard lock(committing_);
  if (commitments_ == nullptr) return;
  const auto next = commitments_->Next();
  if (!next || !*next) return;
  const Call<void> sent = link_.Commit(folder_.lease().name, **next);
  if (Heard(sent)) {
    (void)commitments_->Sent(**next);  // where that fails it is sent again
  } else if (sent.error().kind == CallError::Kind::kRefused && !GoBack()) {
    commitments_ = nullptr;  // what was refused stands on disk, and is asked about once more before the result
  }
}

void Reporter::Watch() {
  const auto now = Clock::now();
  const std::int64_t before = taken_.ms;
  taken_.ms = used_before_ms_ + std::chrono::duration_cast<milliseconds>(now - began_).count();
  taken_.memory = std::max<std::int64_t>(0, monitor::ResidentBytes() - memory_before_);
  if (now - watched_disk_ >= kDiskEvery) {
    watched_disk_ = now;
    taken_.disk = monitor::FolderBytes(folder_.path()) + monitor::FolderBytes(folder_.files_path());
  }
  if (taken_.ms / kUsedEvery.count() != before / kUsedEvery.count()) (void)folder_.SetUsed(taken_.ms);
  platform::Room room;
  {
    const std::lock_guard lock(mutex_);
    room = room_;
  }
  if (const auto words = platform::Exceeded(room, taken_)) halt_.Stop(Halt::Reason::kLimit, *words);
}

void Reporter::Loop() {
  // Limits in seconds and tests with short leases want a look more often than once a second.
  const milliseconds tick(std::clamp<std::int64_t>(std::min(terms_.tell_ms, terms_.lease_ms / kRenewals / 2), 10, 1'000));
  auto told_at = Clock::now();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, tick, [&] { return leaving_; });
      if (leaving_) return;
    }
    Watch();
    if (halt_.stopped() || terms_.quiet) continue;
    const auto now = Clock::now();
    CommitNow();
    if (now - told_at >= milliseconds(terms_.tell_ms)) {
      told_at = now;
      TellNow(now);
    }
    RenewNow(now);
  }
}

}  // namespace assay::worker
