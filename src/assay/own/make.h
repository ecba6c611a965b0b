// Making a claim of ownership out of a finished run (docs/formats/claim.md): which stretches it shows, and the files that they need. Nothing of the run is changed, and its
// data is not needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/own/claim.h"
#include "assay/run/directory.h"

namespace assay::own {

inline constexpr std::uint32_t kTop = 2;    // stretches of each epoch, for their weight change
inline constexpr std::uint32_t kDraws = 4;  // stretches that the receipt and the nonce draw; all of them where there are fewer

struct MakeOptions {
  Bytes nonce{};
  std::uint32_t top = kTop;
  std::uint32_t drawn = kDraws;
  std::int64_t epoch_samples = 0;      // of the training data; 0: not known, and the run counts as one epoch
  std::vector<std::string> parents{};  // a run directory or a claim each: the run's own first
};

// A claim with the bytes that it refers to.
struct MadeClaim {
  OwnershipClaim claim;
  std::vector<std::unique_ptr<MappedFile>> maps{};
  std::vector<std::unique_ptr<Bytes>> buffers{};
};

// The stretches that receipt and nonce draw: `count` of the run's segments, as a sampled audit has them (docs/formats/receipt.md).
std::vector<Segment> DrawnStretches(std::int64_t steps, std::int64_t snapshot_every, const Digest& receipt_hash, ByteSpan nonce,
                                    std::uint32_t count);

// An error: the run is not finished or not whole, or a state that the claim must show is not kept.
Result<MadeClaim> MakeClaim(const RunDirectory& run, const MakeOptions& options, ThreadPool& pool);

}  // namespace assay::own
