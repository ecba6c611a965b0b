// A claim of ownership: one file from which an expert tells, offline, whether somebody trained a model as it says (docs/formats/claim.md). It holds the signed parts of a
// run, the states at both ends of some stretches of it, and what it descends from.
//
// Decode looks at the form alone: names, order, sizes. What the files say is checked by those who use them, as in a run directory. The bytes must outlive a claim that was
// decoded from them. Value types; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/file.h"
#include "assay/base/result.h"
#include "assay/run/segments.h"

namespace assay::own {

inline constexpr std::size_t kMaxNonceBytes = 1024;
inline constexpr std::uint32_t kMaxFiles = 1 << 20;
inline constexpr std::uint32_t kMaxStretches = 1 << 20;
inline constexpr std::uint32_t kMaxParents = 16;
inline constexpr std::int64_t kMaxStep = (std::int64_t{1} << 32) - 1;

// A file of the run directory, under the name that it has there.
struct ClaimedFile {
  std::string name;
  ByteSpan bytes;
};

enum class Chosen : std::uint8_t {
  kChange = 1,  // for its weight change, which is among the largest of its epoch
  kDrawn = 2,   // by the receipt and the nonce
  kBoth = 3,
};
std::string_view Name(Chosen chosen);  // "change"

struct Stretch {
  Segment steps;  // between two snapshots of the run
  Chosen chosen = Chosen::kDrawn;
};

// What a run starts from: the receipt of the run whose model it is, with the job that this receipt is for.
struct Parent {
  ByteSpan receipt, job, program;
};

struct OwnershipClaim {
  Bytes nonce{};
  std::uint32_t top = 0;             // stretches of each epoch chosen for their weight change
  std::uint32_t drawn = 0;           // stretches drawn
  std::vector<ClaimedFile> files{};  // in ascending order of their names
  std::vector<Stretch> stretches{};  // in ascending order
  std::vector<Parent> parents{};     // the run's own first, then that one's, and so on

  const ClaimedFile* Find(std::string_view name) const;  // null: there is none
};

// Whether a claim may hold a file of this name.
bool IsClaimedName(std::string_view name);
// The largest file of this name that is taken.
std::uint64_t MaxBytesOf(std::string_view name);

// Whether the bytes begin as a claim does.
bool LooksLikeClaim(ByteSpan bytes);
// Accepts exactly what Encode writes. `what` names the source in errors.
Result<OwnershipClaim> DecodeClaim(ByteSpan bytes, std::string_view what);
Bytes Encode(const OwnershipClaim& claim);
// The same bytes, one file after the other.
Status Write(const OwnershipClaim& claim, FileSink& sink);

}  // namespace assay::own
