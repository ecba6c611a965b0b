// What a job may be so that others can check it: beyond these limits a dispute about it (docs/formats/dispute.md) would need a message, memory or time that no referee has
// to have. A job is refused when it is prepared, before anything is trained; referees and judges refuse it too, from whomever its encodings come. So every
// true answer fits. Pure; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/base/result.h"
#include "assay/graph/program.h"
#include "assay/graph/program_limits.h"
#include "assay/job/job.h"

namespace assay {

// Of a job's encoding. Of a program's: kMaxProgramBytes.
inline constexpr std::size_t kMaxJobBytes = std::size_t{1} << 16;
// Of a step with all its microbatches: a provider keeps a record of each while it answers about the step.
inline constexpr std::uint64_t kMaxStepNodes = std::uint64_t{1} << 27;
// Of what a trace says about one node: 32 bytes for each input, 40 for each output, and its attributes.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 18;
// A step's batch.
inline constexpr std::int64_t kMaxBatchSamples = std::int64_t{1} << 31;
// One sample in the batch, all its fields: a referee makes one.
inline constexpr std::size_t kMaxSampleBytes = std::size_t{1} << 24;

// Elements of a sample of an array: its blocks are one answer, and a dispute that has to see them stays within a megabyte.
inline constexpr std::uint64_t kMaxArrayElements = 229'376;

// The blocks of the data that one sample can be made of, whatever kind of data it is: of a job's encoding only those of arrays show their kind.
std::uint64_t MaxSourceBytes(const Job& job);

// The bytes of a node's record (assay/dispute/leaf_records.h).
std::size_t RecordBytes(const OpInstance& op);

// Whether job and program belong together and keep to the limits. Both may be hostile; each must have passed its own decoder or have been built here.
Status CheckLimits(const Job& job, const Program& program);
// All that a referee asks of the encodings, of a job that was built here.
Status CheckDisputable(const Job& job, const JobInputs& inputs, const Program& program);

}  // namespace assay
