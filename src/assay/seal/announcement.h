// Announcement: the holder of an Ed25519 key says which recipient to seal to for it (docs/formats/sealed.md, "Announcements").
// Value type; pure functions, which need no libsodium.
//
// The signature binds the recipient to the signer. It does not show that the signer holds the identity: whoever announces
// another's recipient cannot open what is sealed to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/seal/keys.h"
#include "assay/sign/key.h"

namespace assay {

// What the signer opens sealed jobs for.
enum class SealPurpose : std::uint8_t { kWorker, kAuditor };
std::string_view ToString(SealPurpose purpose);  // "worker", "auditor"

struct Announcement {
  Recipient recipient;
  SealPurpose purpose = SealPurpose::kWorker;
  std::uint64_t made = 0;  // seconds since 1970, at most 2^53 - 1. Of several by one key for one purpose the latest counts.

  friend bool operator==(const Announcement&, const Announcement&) = default;
};

// The whole envelope.
std::string SignAnnouncement(const Announcement& announcement, const SigningKey& key);
// Accepts exactly what SignAnnouncement writes with this key.
Result<Announcement> OpenAnnouncement(std::string_view envelope, const VerifyKey& key, std::string_view what);

}  // namespace assay
