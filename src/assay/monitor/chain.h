// The chain of a telemetry file: each record's hash binds all before it, in a run of one trajectory by one signer (docs/formats/telemetry.md). Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "assay/monitor/record.h"

namespace assay::monitor {

inline constexpr std::string_view kTelemetryHead = "assay/telemetry/1\n";
inline constexpr std::uint64_t kMaxTelemetryBytes = std::uint64_t{1} << 36;

// The hash before the first record.
Digest ChainStart(const Digest& trajectory, const VerifyKey& signer);
Digest ChainHash(const Digest& before, ByteSpan payload);
// A record as it stands in the file: length, payload, hash.
Bytes FramedRecord(ByteSpan payload, const Digest& hash);

// How far a file is good, and where it stands there.
struct ChainScan {
  enum class End : std::uint8_t {
    kWhole,    // the file ends after its last record
    kTorn,     // a beginning of a record follows, as an interrupted write leaves it
    kBroken,   // what follows does not fit its hash or is no record
    kForeign,  // the first record is sound and of another run or signer
  };
  std::uint64_t records = 0;
  std::uint64_t whole = 0;   // bytes up to the end of the last good record
  std::uint64_t sealed = 0;  // records up to the last seal, with it
  Digest hash{};             // of the last good record
  std::int64_t last_step = 0;
  End end = End::kWhole;
  std::string problem{};  // what follows, in words
};

using OnRecord = std::function<void(const Record& record, const Digest& hash)>;

// Reads records as long as they chain from the start of `trajectory` and `signer`, and seals are signed. `each` may be empty.
ChainScan ScanTelemetry(ByteSpan file, const Digest& trajectory, const VerifyKey& signer, const OnRecord& each);
// The same from where a scan has come to, for a file that grows: `rest` are its bytes from `scan.whole` on, as far as there are any. A scan begins with the hash
// of ChainStart.
void ContinueScan(ByteSpan rest, const Digest& trajectory, const VerifyKey& signer, const OnRecord& each, ChainScan& scan);

}  // namespace assay::monitor
