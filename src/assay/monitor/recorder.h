// Recorder: keeps the telemetry of one session of training.
//
// The thread that trains notes its steps, which takes well under a microsecond; a thread of the recorder's own takes the samples, and chains and writes what there
// is once a second. Only seals are waited for. The first error of any kind is told by the next call, and nothing is written after it. Calls come from one thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "assay/monitor/nvml.h"
#include "assay/monitor/telemetry_file.h"
#include "assay/sign/note.h"

namespace assay::monitor {

struct Stamp {
  std::int64_t mono_us = 0, wall_us = 0;  // the first from any beginning
};

// Where the figures come from: the system, or a test.
struct Instruments {
  std::function<Stamp()> now{};
  std::function<SampleRecord()> read{};  // all but the step
  GpuIdentity gpu{};                     // its name is empty where there is none

  static Instruments OfTheSystem(bool gpu);
};

struct RecorderOptions {
  bool gpu = false;                // the training computes on one: its figures are wanted. Asking the driver takes milliseconds
  std::uint32_t interval_ms = 0;   // between samples; 0: by how long the training will take
  std::uint32_t write_ms = 1'000;  // between writes
  std::optional<Instruments> instruments{};  // none: the system's
  // Told of each record as it is written, by whichever thread writes.
  OnRecord on_record{};
  // Told of the GPU whose figures are recorded, if there is one, before the first record is written.
  std::function<void(const GpuIdentity& gpu)> on_gpu{};
};

// What a sample says of the time since the one before.
struct Figures {
  double cores = 0;  // in use
  std::int64_t resident = 0;
  std::optional<GpuFigures> gpu{};
};

class Recorder {
 public:
  // Begins the session's clock and takes its first sample, which Start records: made before the state is.
  explicit Recorder(RecorderOptions options);
  ~Recorder();  // what was not written yet is lost, as if the process were killed: another write may have failed before
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // `session`: all but the interval and the GPU. `key` must outlive the recorder.
  Status Start(const std::string& path, SessionRecord session, const SigningKey& key);
  // `step` are done.
  Status Step(std::int64_t step, float loss);
  // The log is on disk. A final seal ends the recording.
  Status Seal(std::int64_t step, const Checkpoint& log, bool final);
  // Of the latest sample, unless it was taken before.
  std::optional<Figures> TakeFigures();

 private:
  void Loop();
  std::chrono::milliseconds Spared(std::chrono::milliseconds interval);
  void Stop();
  void AddSample();
  void Note(Record record);  // with the lock held
  Record Stamped() const;
  Status WriteOut();
  Status WriteHolding();  // with writing_ held

  const RecorderOptions options_;
  const Instruments instruments_;
  const Stamp began_;
  SampleRecord first_;
  SessionRecord session_;
  const SigningKey* key_ = nullptr;

  // Held from reading a sample to noting it, so that samples stand in the order in which they were taken. Taken before mutex_.
  std::mutex sampling_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool leaving_ = false;
  std::vector<Record> noted_;
  std::int64_t step_ = 0;
  std::optional<Error> error_;
  std::optional<Figures> figures_;
  std::int64_t cpu_before_us_ = 0, sampled_before_us_ = 0;

  std::mutex writing_;  // held while records are chained and written; taken before mutex_
  std::optional<TelemetryFile> file_;
  Record last_{};  // the times of the last one that was written
  std::thread thread_;
};

}  // namespace assay::monitor
