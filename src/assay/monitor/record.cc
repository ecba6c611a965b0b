#include "assay/monitor/record.h"

#include <algorithm>
#include <cmath>

#include "assay/base/check.h"

namespace assay::monitor {
namespace {

constexpr std::uint8_t kSession = 1, kStep = 2, kSample = 3, kSeal = 4;
constexpr std::size_t kMaxString = 256;
constexpr std::size_t kSignatureBytes = std::tuple_size_v<Signature>;

Result<Digest> TakeDigest(ByteReader& in) {
  Digest digest;
  ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(digest.bytes.size()));
  std::ranges::copy(bytes, digest.bytes.begin());
  return digest;
}

Result<std::string> TakeString(ByteReader& in, std::string_view what) {
  ASSAY_ASSIGN(std::string text, in.String());
  if (text.size() > kMaxString) return Err("{}: a string of {} bytes, expected at most {}", what, text.size(), kMaxString);
  return text;
}

Result<bool> TakeFlag(ByteReader& in, std::string_view what) {
  ASSAY_ASSIGN(const std::uint8_t flag, in.U8());
  if (flag > 1) return Err("{}: a flag of {}, expected 0 or 1", what, flag);
  return flag == 1;
}

void Put(ByteWriter& out, const SessionRecord& session) {
  out.Raw(session.job.bytes);
  out.Raw(session.trajectory.bytes);
  out.String(session.signer);
  out.I64(session.first_step);
  out.I64(session.steps);
  out.I64(session.epoch_samples);
  out.I64(session.step_samples);
  out.F64(session.step_flops);
  out.I64(session.state_bytes);
  out.U32(session.interval_ms);
  for (const std::string* text : {&session.device, &session.processor, &session.kernels, &session.gpu}) {
    out.String(std::string_view(*text).substr(0, kMaxString));
  }
  out.U32(session.threads);
  out.U32(session.cores);
  out.F64(session.flops_per_s);
  out.F64(session.flops_per_cpu_s);
}

Result<SessionRecord> TakeSession(ByteReader& in, std::string_view what) {
  SessionRecord session;
  ASSAY_ASSIGN(session.job, TakeDigest(in));
  ASSAY_ASSIGN(session.trajectory, TakeDigest(in));
  ASSAY_ASSIGN(session.signer, TakeString(in, what));
  for (std::int64_t* number : {&session.first_step, &session.steps, &session.epoch_samples, &session.step_samples}) {
    ASSAY_ASSIGN(*number, in.I64());
  }
  ASSAY_ASSIGN(session.step_flops, in.F64());
  ASSAY_ASSIGN(session.state_bytes, in.I64());
  ASSAY_ASSIGN(session.interval_ms, in.U32());
  for (std::string* text : {&session.device, &session.processor, &session.kernels, &session.gpu}) {
    ASSAY_ASSIGN(*text, TakeString(in, what));
  }
  ASSAY_ASSIGN(session.threads, in.U32());
  ASSAY_ASSIGN(session.cores, in.U32());
  ASSAY_ASSIGN(session.flops_per_s, in.F64());
  ASSAY_ASSIGN(session.flops_per_cpu_s, in.F64());
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 32, kMostSamples = std::int64_t{1} << 62,
                         kMostBatch = std::int64_t{1} << 30;
  if (session.first_step < 0 || session.first_step > session.steps || session.steps >= kMostSteps ||
      session.epoch_samples < 1 || session.epoch_samples > kMostSamples || session.step_samples < 1 ||
      session.step_samples > kMostBatch || session.state_bytes < 0) {
    return Err("{}: a session of numbers that no job has", what);
  }
  for (const double figure : {session.step_flops, session.flops_per_s, session.flops_per_cpu_s}) {
    if (!std::isfinite(figure) || std::signbit(figure))
      return Err("{}: a session whose figures are no numbers of operations", what);
  }
  return session;
}

void Put(ByteWriter& out, const StepRecord& step) {
  out.I64(step.epoch);
  out.I64(step.iteration);
  out.I64(step.step);
  out.U32(step.loss_bits);
}

Result<StepRecord> TakeStep(ByteReader& in) {
  StepRecord step;
  for (std::int64_t* number : {&step.epoch, &step.iteration, &step.step}) {
    ASSAY_ASSIGN(*number, in.I64());
  }
  ASSAY_ASSIGN(step.loss_bits, in.U32());
  return step;
}

void Put(ByteWriter& out, const SampleRecord& sample) {
  out.I64(sample.step);
  out.I64(sample.cpu_us);
  out.I64(sample.resident);
  out.U8(sample.gpu ? 1 : 0);
  if (!sample.gpu) return;
  const GpuFigures& gpu = *sample.gpu;
  for (const std::int64_t figure : {gpu.utilisation, gpu.memory, gpu.power_mw, gpu.energy_mj, gpu.temperature, gpu.clock_mhz})
    out.I64(figure);
}

Result<SampleRecord> TakeSample(ByteReader& in, std::string_view what) {
  SampleRecord sample;
  for (std::int64_t* number : {&sample.step, &sample.cpu_us, &sample.resident}) {
    ASSAY_ASSIGN(*number, in.I64());
  }
  ASSAY_ASSIGN(const bool has_gpu, TakeFlag(in, what));
  if (!has_gpu) return sample;
  GpuFigures gpu;
  for (std::int64_t* figure :
       {&gpu.utilisation, &gpu.memory, &gpu.power_mw, &gpu.energy_mj, &gpu.temperature, &gpu.clock_mhz}) {
    ASSAY_ASSIGN(*figure, in.I64());
    if (*figure < kNotTold) return Err("{}: a figure of {}, expected -1 or more", what, *figure);
  }
  sample.gpu = gpu;
  return sample;
}

void Put(ByteWriter& out, const SealRecord& seal) {
  out.I64(seal.step);
  out.Raw(seal.job.bytes);
  out.U64(seal.log_size);
  out.Raw(seal.log_root.bytes);
  out.U8(seal.final ? 1 : 0);
  out.Raw(seal.signature);
}

Result<SealRecord> TakeSeal(ByteReader& in, std::string_view what) {
  SealRecord seal;
  ASSAY_ASSIGN(seal.step, in.I64());
  ASSAY_ASSIGN(seal.job, TakeDigest(in));
  ASSAY_ASSIGN(seal.log_size, in.U64());
  ASSAY_ASSIGN(seal.log_root, TakeDigest(in));
  ASSAY_ASSIGN(seal.final, TakeFlag(in, what));
  ASSAY_ASSIGN(const ByteSpan signature, in.Raw(kSignatureBytes));
  std::ranges::copy(signature, seal.signature.begin());
  return seal;
}

}  // namespace

Bytes Encode(const Record& record) {
  ByteWriter out;
  out.U8(static_cast<std::uint8_t>(record.body.index() + 1));
  out.U64(record.index);
  out.I64(record.mono_us);
  out.I64(record.wall_us);
  std::visit([&](const auto& body) { Put(out, body); }, record.body);
  return out.Take();
}

Result<Record> DecodeRecord(ByteSpan payload, std::string_view what) {
  ByteReader in(payload, what);
  Record record;
  ASSAY_ASSIGN(const std::uint8_t kind, in.U8());
  ASSAY_ASSIGN(record.index, in.U64());
  ASSAY_ASSIGN(record.mono_us, in.I64());
  ASSAY_ASSIGN(record.wall_us, in.I64());
  switch (kind) {
    case kSession: {
      ASSAY_ASSIGN(record.body, TakeSession(in, what));
      break;
    }
    case kStep: {
      ASSAY_ASSIGN(record.body, TakeStep(in));
      break;
    }
    case kSample: {
      ASSAY_ASSIGN(record.body, TakeSample(in, what));
      break;
    }
    case kSeal: {
      ASSAY_ASSIGN(record.body, TakeSeal(in, what));
      break;
    }
    default: return Err("{}: a record of kind {}, expected 1 to 4", what, kind);
  }
  ASSAY_TRY(in.End());
  return record;
}

Bytes SealedMessage(const Digest& before, const Record& seal) {
  ASSAY_CHECK(std::holds_alternative<SealRecord>(seal.body));
  ByteWriter out;
  out.Raw(AsBytes("assay/telemetry-seal/1\n"));
  out.Raw(before.bytes);
  const Bytes payload = Encode(seal);
  out.Raw(ByteSpan(payload).first(payload.size() - kSignatureBytes));
  return out.Take();
}

Iteration IterationOf(std::int64_t step, std::int64_t step_samples, std::int64_t epoch_samples) {
  const std::int64_t epoch = step * step_samples / epoch_samples;
  // The first step that begins in this epoch, rounded up without a sum that could overflow.
  const std::int64_t before = epoch * epoch_samples;
  const std::int64_t first = before / step_samples + (before % step_samples != 0 ? 1 : 0);
  return {epoch, step - first};
}

}  // namespace assay::monitor
