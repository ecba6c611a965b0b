// A run's telemetry, as anybody may have written it.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/monitor/rules.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

const Digest kTrajectory = HashBytes(AsBytes("seed"));

SigningKey KeyOfSeeds() { return SigningKey("seed", kTrajectory.bytes); }

// Frames whose hashes are wrong are given the right ones, so that what the fuzzer changes is read all the same.
Bytes Rechained(ByteSpan input) {
  Bytes file(monitor::kTelemetryHead.begin(), monitor::kTelemetryHead.end());
  Digest hash = monitor::ChainStart(kTrajectory, KeyOfSeeds().verify_key());
  for (std::size_t at = file.size(); at + 4 <= input.size();) {
    const std::size_t length =
        std::min<std::size_t>({input[at] + 256U * input[at + 1], monitor::kMaxPayload, input.size() - at - 4});
    const ByteSpan payload = input.subspan(at + 4, length);
    hash = monitor::ChainHash(hash, payload);
    const Bytes frame = monitor::FramedRecord(payload, hash);
    file.insert(file.end(), frame.begin(), frame.end());
    at += 4 + length + hash.bytes.size();
  }
  return file;
}

void Judge(ByteSpan file) {
  const SigningKey key = KeyOfSeeds();
  std::uint64_t records = 0;
  const monitor::ChainScan scan =
      monitor::ScanTelemetry(file, kTrajectory, key.verify_key(), [&](const monitor::Record& record, const Digest&) {
        ASSAY_CHECK(record.index == records++);
        ASSAY_CHECK(*monitor::DecodeRecord(Encode(record), "again") == record);
      });
  ASSAY_CHECK(scan.records == records && scan.whole <= file.size() && scan.sealed <= records);
  ASSAY_CHECK(scan.problem.find('\n') == std::string::npos);
  const monitor::ChainScan good = monitor::ScanTelemetry(file.first(scan.whole), kTrajectory, key.verify_key(), {});
  ASSAY_CHECK(good.records == records && good.hash == scan.hash);
  const monitor::Telemetry telemetry = monitor::ReadTelemetry(file, kTrajectory, key.verify_key());
  monitor::RunFacts facts{.job = kTrajectory, .steps = 3, .step_flops = 10, .state_bytes = 10, .log_size = 1};
  facts.committed = {{0, kTrajectory, 0}, {2, kTrajectory, 7}};
  for (const bool finished : {false, true}) {
    facts.finished = finished;
    for (const auto& results : {SeedRules(telemetry, facts), StrictRules(telemetry, facts)}) {
      for (const monitor::RuleResult& result : results) ASSAY_CHECK(!result.verdict.empty());
    }
  }
}

}  // namespace

void RunTelemetry(ByteSpan input) {
  const auto record = monitor::DecodeRecord(input, "record");
  if (record) ASSAY_CHECK(std::ranges::equal(Encode(*record), input));
  Judge(input);
  Judge(Rechained(input));
}

std::vector<Bytes> TelemetrySeeds() {
  const SigningKey key = KeyOfSeeds();
  std::vector<monitor::Record> records = {
      {.body = monitor::SessionRecord{.job = kTrajectory,
                                      .trajectory = kTrajectory,
                                      .signer = key.verify_key().ToString(),
                                      .steps = 3,
                                      .epoch_samples = 4,
                                      .step_samples = 2,
                                      .step_flops = 10,
                                      .state_bytes = 10,
                                      .device = "cuda",
                                      .threads = 1,
                                      .cores = 1,
                                      .flops_per_s = 5,
                                      .flops_per_cpu_s = 5}},
      {.mono_us = 1, .body = monitor::SampleRecord{.resident = 20}},
      {.mono_us = 2, .body = monitor::StepRecord{0, 0, 1, 7}},
      {.mono_us = 3,
       .body = monitor::SampleRecord{.step = 1, .cpu_us = 9, .resident = 30, .gpu = monitor::GpuFigures{.utilisation = 98}}},
      {.mono_us = 4, .body = monitor::SealRecord{.step = 1, .job = kTrajectory, .log_size = 1, .final = true}}};
  Bytes file(monitor::kTelemetryHead.begin(), monitor::kTelemetryHead.end());
  Digest hash = monitor::ChainStart(kTrajectory, key.verify_key());
  std::vector<Bytes> seeds;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].index = i;
    if (auto* seal = std::get_if<monitor::SealRecord>(&records[i].body))
      seal->signature = key.Sign(SealedMessage(hash, records[i]));
    const Bytes payload = Encode(records[i]);
    hash = monitor::ChainHash(hash, payload);
    const Bytes frame = monitor::FramedRecord(payload, hash);
    file.insert(file.end(), frame.begin(), frame.end());
    seeds.push_back(payload);
  }
  seeds.push_back(file);
  return seeds;
}

}  // namespace assay::fuzz
