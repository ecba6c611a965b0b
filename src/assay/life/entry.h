// Entry: one event in the life of an order, as the log holds it (docs/formats/life.md, "Life"). Value types; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"

namespace assay::life {

using LeaseNumber = std::int64_t;  // from 1, within a life

enum class Role : std::uint8_t { kTrain, kAudit };
enum class Verdict : std::uint8_t { kVerified, kRefereed, kUndecided, kWithheld, kFailed };
enum class Ending : std::uint8_t { kExpired, kGivenBack, kFailed, kCancelled, kLost };
std::string_view Name(Role role);        // "train"
std::string_view Name(Verdict verdict);  // "verified"
std::string_view Name(Ending ending);    // "given back"

struct Submitted {
  std::string order;  // the envelope
  friend bool operator==(const Submitted&, const Submitted&) = default;
};
struct Leased {
  LeaseNumber lease = 0;
  Role role = Role::kTrain;
  std::string worker;   // public key
  LeaseNumber of = 0;   // of an audit: whose run
  std::string nonce{};  // of an audit: 64 hex digits
  friend bool operator==(const Leased&, const Leased&) = default;
};
struct Committed {
  LeaseNumber lease = 0;
  std::string note;             // the run's checkpoint, signed by the worker
  std::vector<Digest> proof{};  // that the one before is a prefix
  friend bool operator==(const Committed&, const Committed&) = default;
};
struct Released {
  LeaseNumber lease = 0;
  Ending why = Ending::kExpired;
  std::string words{};
  friend bool operator==(const Released&, const Released&) = default;
};
struct Received {
  LeaseNumber lease = 0;
  std::string receipt;          // the file
  std::vector<Digest> proof{};  // that the last committed checkpoint is a prefix of its log
  std::int64_t model = 0;       // bytes of model.safetensors
  friend bool operator==(const Received&, const Received&) = default;
};
struct Audited {
  LeaseNumber lease = 0;
  std::string report;  // an envelope, see report.h
  friend bool operator==(const Audited&, const Audited&) = default;
};
struct Judged {
  std::vector<LeaseNumber> among;
  std::vector<std::string> evidence{};  // SHA-256 of each file, none twice
  std::vector<LeaseNumber> convicted{}, silent{};
  bool decided = false;
  std::string words{};
  std::string signature{};  // of a sealed order: the client's, see ruling.h
  friend bool operator==(const Judged&, const Judged&) = default;
};
struct Waived {
  LeaseNumber lease = 0;
  std::int64_t record = 0;  // clean jobs of the worker's before
  std::string draw;         // 64 hex digits
  friend bool operator==(const Waived&, const Waived&) = default;
};
struct Cancelled {
  std::string by;  // "client", "admin"
  friend bool operator==(const Cancelled&, const Cancelled&) = default;
};
struct Decided {
  Verdict verdict = Verdict::kFailed;
  LeaseNumber lease = 0;  // whose model is delivered
  std::string words{};
  friend bool operator==(const Decided&, const Decided&) = default;
};

using Event = std::variant<Submitted, Leased, Committed, Released, Received, Audited, Judged, Waived, Cancelled, Decided>;

struct Entry {
  std::int64_t n = 0;   // its index
  std::int64_t at = 0;  // seconds since 1970, by the coordinator's clock
  Event event;
  friend bool operator==(const Entry&, const Entry&) = default;
};

inline constexpr std::size_t kMaxEntryBytes = 512 << 10;
inline constexpr std::size_t kMaxEvidenceFiles = 16;  // of a dispute

// One line without its end: the bytes of the log's leaf.
std::string ToText(const Entry& entry);
// Accepts exactly what ToText writes.
Result<Entry> ParseEntry(std::string_view text, std::string_view what);

}  // namespace assay::life
