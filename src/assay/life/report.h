// Report: what an auditor says about a run, under its signature (docs/formats/life.md, "Audit report"). Value type; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/life/entry.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/key.h"

namespace assay::life {

enum class Finding : std::uint8_t { kVerified, kRefuted, kUnchecked, kDamaged };
std::string_view Name(Finding finding);  // "verified"

struct Report {
  std::string order;
  LeaseNumber lease = 0;  // of the audit
  Digest receipt{};       // SHA-256 of the file
  std::string nonce;      // what the sample was drawn by: the coordinator's part,
  std::string share;      // and the auditor's own, 64 hex digits
  std::int64_t percent = 100;
  Finding finding = Finding::kUnchecked;
  std::int64_t steps = 0;  // that were replayed
  std::string sample{};    // the segments that were (sample.h), of a run that is verified
  std::string words{};
  friend bool operator==(const Report&, const Report&) = default;
};

std::string SignReport(const Report& report, const SigningKey& key);
Result<Report> OpenReport(std::string_view envelope, const VerifyKey& key, std::string_view what);

}  // namespace assay::life
