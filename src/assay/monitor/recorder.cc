#include "assay/monitor/recorder.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "assay/base/check.h"
#include "assay/monitor/usage.h"

namespace assay::monitor {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint32_t kLeastMs = 20, kLeastGpuMs = 200, kMostMs = 1'000;
constexpr double kSamplesWanted = 200;  // of a short run
constexpr std::size_t kMostNoted = 1 << 14;
constexpr double kMostShare = 0.003;  // of the process's time, for taking samples

// Processor time of the calling thread.
double ThreadMicros() {
  timespec time{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

std::uint32_t IntervalFor(const SessionRecord& session) {
  if (session.flops_per_s <= 0) return kMostMs;
  const double seconds = session.step_flops * static_cast<double>(session.steps - session.first_step) / session.flops_per_s;
  const double least_ms = session.gpu.empty() ? kLeastMs : kLeastGpuMs;
  const double wanted_ms = std::clamp(seconds * 1e3 / kSamplesWanted, least_ms, double{kMostMs});
  return static_cast<std::uint32_t>(wanted_ms);
}

template <class Clock>
std::int64_t MicrosOf() {
  return std::chrono::duration_cast<microseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

Instruments Instruments::OfTheSystem(bool gpu) {
  const std::shared_ptr<const Nvml> nvml = gpu ? Nvml::Open() : nullptr;
  Instruments instruments;
  instruments.now = [] { return Stamp{MicrosOf<std::chrono::steady_clock>(), MicrosOf<std::chrono::system_clock>()}; };
  instruments.read = [nvml] {
    SampleRecord sample{.cpu_us = static_cast<std::int64_t>(CpuSeconds() * 1e6), .resident = ResidentBytes()};
    if (nvml != nullptr) sample.gpu = nvml->Read();
    return sample;
  };
  if (nvml != nullptr) instruments.gpu = nvml->identity();
  return instruments;
}

Recorder::Recorder(RecorderOptions options)
    : options_(std::move(options)),
      instruments_(options_.instruments ? *options_.instruments : Instruments::OfTheSystem(options_.gpu)),
      began_(instruments_.now()),
      first_(instruments_.read()) {}

Recorder::~Recorder() { Stop(); }

Record Recorder::Stamped() const {
  const Stamp now = instruments_.now();
  return {.mono_us = now.mono_us - began_.mono_us, .wall_us = now.wall_us};
}

Status Recorder::Start(const std::string& path, SessionRecord session, const SigningKey& key) {
  ASSAY_CHECK(!file_);
  key_ = &key;
  session_ = std::move(session);
  session_.gpu = instruments_.gpu.name;
  session_.interval_ms = options_.interval_ms > 0 ? options_.interval_ms : IntervalFor(session_);
  ASSAY_ASSIGN(file_, TelemetryFile::Open(path, session_.trajectory, key.verify_key()));
  step_ = session_.first_step;
  first_.step = step_;
  if (options_.on_gpu && !instruments_.gpu.name.empty()) options_.on_gpu(instruments_.gpu);
  cpu_before_us_ = first_.cpu_us;
  noted_.push_back({.mono_us = 0, .wall_us = began_.wall_us, .body = session_});
  noted_.push_back({.mono_us = 0, .wall_us = began_.wall_us, .body = first_});
  ASSAY_TRY(WriteOut());
  // Whatever a power cut takes: that there was a session is known to the next one, which may find a log that leads further than its own steps.
  ASSAY_TRY(file_->Sync());
  thread_ = std::thread([this] { Loop(); });
  return {};
}

void Recorder::Note(Record record) {
  if (!error_) noted_.push_back(std::move(record));
}

Status Recorder::Step(std::int64_t step, float loss) {
  ASSAY_CHECK(file_.has_value());
  const Iteration at = IterationOf(step - 1, session_.step_samples, session_.epoch_samples);
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    if (error_) return tl::unexpected(*error_);
    Record record = Stamped();
    record.body =
        StepRecord{.epoch = at.epoch, .iteration = at.iteration, .step = step, .loss_bits = std::bit_cast<std::uint32_t>(loss)};
    step_ = step;
    Note(std::move(record));
    full = noted_.size() >= kMostNoted;
  }
  return full ? WriteOut() : Status();
}

void Recorder::AddSample() {
  const std::lock_guard sampling(sampling_);
  SampleRecord sample = instruments_.read();
  const std::lock_guard lock(mutex_);
  Record record = Stamped();
  sample.step = step_;
  const std::int64_t elapsed_us = record.mono_us - sampled_before_us_;
  figures_ = Figures{
      .cores = elapsed_us > 0 ? static_cast<double>(sample.cpu_us - cpu_before_us_) / static_cast<double>(elapsed_us) : 0,
      .resident = sample.resident,
      .gpu = sample.gpu};
  cpu_before_us_ = sample.cpu_us;
  sampled_before_us_ = record.mono_us;
  record.body = std::move(sample);
  Note(std::move(record));
}

std::optional<Figures> Recorder::TakeFigures() {
  const std::lock_guard lock(mutex_);
  return std::exchange(figures_, std::nullopt);
}

Status Recorder::WriteOut() {
  const std::lock_guard lock(writing_);
  return WriteHolding();
}

Status Recorder::WriteHolding() {
  std::vector<Record> records;
  {
    const std::lock_guard lock(mutex_);
    if (error_) return tl::unexpected(*error_);
    records.swap(noted_);
  }
  if (!file_ || records.empty()) return {};
  last_ = {.mono_us = records.back().mono_us, .wall_us = records.back().wall_us};
  std::vector<Digest> hashes;
  hashes.reserve(records.size());
  for (Record& record : records) hashes.push_back(file_->Add(record));
  const Status written = file_->Write();
  if (!written) {
    const std::lock_guard lock(mutex_);
    error_ = written.error();
    return written;
  }
  if (options_.on_record) {
    for (std::size_t i = 0; i < records.size(); ++i) options_.on_record(records[i], hashes[i]);
  }
  return {};
}

Status Recorder::Seal(std::int64_t step, const Checkpoint& log, bool final) {
  ASSAY_CHECK(file_.has_value());
  if (final) Stop();
  AddSample();
  const std::lock_guard lock(writing_);
  ASSAY_TRY(WriteHolding());
  Record record = last_;  // stands where the sample does in time: others may come before it is written, and stand behind it
  SealRecord seal{.step = step, .job = session_.job, .log_size = log.size, .log_root = log.root, .final = final};
  record.index = file_->next_index();
  record.body = seal;
  seal.signature = key_->Sign(SealedMessage(file_->hash(), record));
  record.body = seal;
  {
    const std::lock_guard noting(mutex_);
    noted_.insert(noted_.begin(), record);
  }
  ASSAY_TRY(WriteHolding());
  return file_->Sync();
}

void Recorder::Stop() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// How long to wait for the next sample so that taking them stays within its share: where the machine has more to do than it can, much time passes and little work is
// done, and samples by the clock alone would become a part of it that counts.
milliseconds Recorder::Spared(milliseconds interval) {
  if (options_.interval_ms > 0) return interval;  // as it was asked for
  const double own_us = ThreadMicros();
  const std::lock_guard lock(mutex_);
  const auto all_us = static_cast<double>(cpu_before_us_ - first_.cpu_us);
  const auto elapsed_us = static_cast<double>(std::max<std::int64_t>(1, sampled_before_us_));
  const double lacking_us = own_us / kMostShare - all_us;  // of the process's time, for what was taken already
  if (lacking_us <= 0) return interval;
  const double wait_ms = all_us > 0 ? 1e-3 * lacking_us * elapsed_us / all_us : double{kMostMs};
  return std::max(interval, milliseconds(static_cast<std::int64_t>(std::min(wait_ms, double{kMostMs}))));
}

void Recorder::Loop() {
  auto written = std::chrono::steady_clock::now();
  const milliseconds interval(session_.interval_ms);
  auto due = written + interval;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_until(lock, due, [&] { return leaving_; })) return;
    }
    AddSample();
    const auto now = std::chrono::steady_clock::now();
    due = std::max(due + interval, now + interval / 2);  // one that came late does not bring others with it
    if (const milliseconds spared = Spared(interval); spared > interval) due = std::max(due, now + spared);
    if (now - written + interval / 2 < milliseconds(options_.write_ms)) continue;
    written = now;
    if (!WriteOut()) return;
  }
}

}  // namespace assay::monitor
