#include "assay/monitor/telemetry.h"

#include <algorithm>
#include <cmath>

namespace assay::monitor {
namespace {

// Sorts records as they come.
class Sorter {
 public:
  explicit Sorter(Telemetry& telemetry) : telemetry_(telemetry) {}

  void Take(const Record& record) {
    telemetry_.ends_sealed = std::holds_alternative<SealRecord>(record.body);
    if (const auto* session = std::get_if<SessionRecord>(&record.body)) {
      telemetry_.sessions.push_back({.record = *session, .wall_us = record.wall_us});
      mono_us_ = 0;
      step_ = session->first_step;
    }
    Session& session = telemetry_.sessions.back();  // a chain begins with one
    if (record.mono_us < mono_us_) Disorder(record, "comes before the record before it");
    mono_us_ = std::max(mono_us_, record.mono_us);
    const double jump_us = std::fabs(static_cast<double>(record.wall_us) - static_cast<double>(session.wall_us) -
                                     static_cast<double>(record.mono_us));
    telemetry_.clock_jump_s = std::max(telemetry_.clock_jump_s, 1e-6 * jump_us);
    session.beyond_final = session.beyond_final || (!session.seals.empty() && session.seals.back().body.final);
    Sort(record, session);
  }

 private:
  void Disorder(const Record& record, std::string_view what) {
    if (!telemetry_.disorder) telemetry_.disorder = fmt::format("record {} {}", record.index, what);
  }

  void Sort(const Record& record, Session& session) {
    if (const auto* step = std::get_if<StepRecord>(&record.body)) {
      session.steps.push_back({*step, record.mono_us, record.wall_us});
      step_ = step->step;
    } else if (const auto* sample = std::get_if<SampleRecord>(&record.body)) {
      if (sample->step != step_) {
        Disorder(record, fmt::format("is a sample after {} steps, where {} are recorded", sample->step, step_));
      }
      if (!session.samples.empty() && sample->cpu_us < session.samples.back().body.cpu_us) {
        Disorder(record, "has less processor time than the sample before");
      }
      session.samples.push_back({*sample, record.mono_us, record.wall_us});
    } else if (const auto* seal = std::get_if<SealRecord>(&record.body)) {
      if (seal->step != step_) {
        Disorder(record, fmt::format("is a seal after {} steps, where {} are recorded", seal->step, step_));
      }
      session.seals.push_back({*seal, record.mono_us, record.wall_us});
    }
  }

  Telemetry& telemetry_;
  std::int64_t mono_us_ = 0;
  std::int64_t step_ = 0;
};

bool UsesGpu(const Session& session) { return session.record.device == "cuda"; }

}  // namespace

Telemetry ReadTelemetry(ByteSpan file, const Digest& trajectory, const VerifyKey& signer) {
  Telemetry telemetry;
  Sorter sorter(telemetry);
  telemetry.scan = ScanTelemetry(file, trajectory, signer, [&](const Record& record, const Digest&) { sorter.Take(record); });
  return telemetry;
}

std::map<std::int64_t, StepRecord> CountingSteps(const Telemetry& telemetry) {
  std::map<std::int64_t, StepRecord> steps;
  for (const Session& session : telemetry.sessions) {
    steps.erase(steps.upper_bound(session.record.first_step), steps.end());
    for (const auto& step : session.steps) steps.insert_or_assign(step.body.step, step.body);
  }
  return steps;
}

std::vector<UtilisationSample> UtilisationOf(const Telemetry& telemetry) {
  std::vector<UtilisationSample> out;
  for (const Session& session : telemetry.sessions) {
    for (std::size_t i = 1; i < session.samples.size(); ++i) {
      const auto& before = session.samples[i - 1];
      const auto& now = session.samples[i];
      const double us = static_cast<double>(now.mono_us) - static_cast<double>(before.mono_us);
      if (us <= 0) continue;
      UtilisationSample sample{.seconds = 1e-6 * us};
      if (UsesGpu(session)) {
        if (!now.body.gpu || now.body.gpu->utilisation == kNotTold) continue;
        sample.percent = static_cast<double>(now.body.gpu->utilisation);
      } else {
        const double threads = std::max<double>(1, session.record.threads);
        sample.percent = 100 * (static_cast<double>(now.body.cpu_us) - static_cast<double>(before.body.cpu_us)) / us / threads;
      }
      out.push_back(sample);
    }
  }
  return out;
}

std::vector<std::int64_t> MemoryOf(const Telemetry& telemetry) {
  std::vector<std::int64_t> out;
  for (const Session& session : telemetry.sessions) {
    for (const auto& sample : session.samples) {
      if (!UsesGpu(session)) {
        out.push_back(sample.body.resident);
      } else if (sample.body.gpu && sample.body.gpu->memory != kNotTold) {
        out.push_back(sample.body.gpu->memory);
      }
    }
  }
  return out;
}

}  // namespace assay::monitor
