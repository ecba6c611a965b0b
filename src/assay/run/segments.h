// Which parts of a run a sampled audit replays. A segment lies between two snapshots of the job's grid; which are drawn follows from the signed receipt
// and a nonce that the auditor names afterwards, so that nobody can know it while training. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/merkle/sha256.h"

namespace assay {

struct Segment {
  std::int64_t begin = 0;  // steps done before it
  std::int64_t end = 0;    // and after it
  friend bool operator==(const Segment&, const Segment&) = default;
};

// The grid of 0, every, 2 every, ..., steps; one segment when `every` is 0.
std::vector<Segment> SegmentsOf(std::int64_t steps, std::int64_t every);
// Whether it is one of them.
bool IsSegment(const Segment& segment, std::int64_t steps, std::int64_t every);

// How many of n segments a share of `percent` comes to: rounded up, at least one, at most all.
std::int64_t SampleSize(std::int64_t n, double percent);

// `count` different numbers below `n`, ascending, that follow from the seed alone; every set is equally likely over the seeds. Takes memory for `count` of them.
std::vector<std::int64_t> DrawNumbers(const Digest& seed, std::int64_t n, std::int64_t count);

// `count` different numbers below `n`, ascending: every set is equally likely over the nonces (docs/formats/receipt.md, "Sampled audits").
std::vector<std::int64_t> DrawSegments(const Digest& receipt_hash, ByteSpan nonce, std::int64_t n, std::int64_t count);

// The chance that a sample of `count` of `n` contains at least one of `bad`.
double ChanceOfCatching(std::int64_t n, std::int64_t count, std::int64_t bad);

}  // namespace assay
