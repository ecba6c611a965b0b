// What a referee sends: the opening of a dispute, and questions under its signature (docs/formats/dispute.md). Value types; pure functions.
//
// A dispute belongs to the key that opened it: its id binds the key, and every question in it carries the key's signature for the provider that it is put to. So who reads a question learns
// nothing by which it could ask another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/dispute/claim.h"
#include "assay/sign/key.h"

namespace assay::dispute {

inline constexpr std::size_t kMaxDisputeReceipts = 65536;
inline constexpr std::size_t kMaxShownReceipt = 65536;  // bytes
inline constexpr std::size_t kMaxOpeningBytes = 256 + 32 * kMaxDisputeReceipts + kMaxShownReceipt;

struct Opening {
  KeyPoint referee{};
  Digest nonce{};
  std::vector<Digest> receipts{};  // the hashes of all that it is about, ascending, each once
  // How many parties can meet in it, at most as many as receipts: one key with one promise is one party, under however many receipts, and whoever has fallen
  // before anything is asked is none. What a provider sets aside follows from it, so that too small a number harms nobody but the referee.
  std::uint32_t parties = 2;
  std::string shown{};  // one of them, which contradicts that of the provider who is asked
  friend bool operator==(const Opening&, const Opening&) = default;
};

// A string "assay/opening/3", the key, the nonce, u32 and the hashes, u32 parties, the receipt as a string; then the referee's signature over "assay/opening/3", 0x0a and
// the SHA-256 of all that.
Bytes Encode(const Opening& opening);
Bytes SignOpening(const Opening& opening, const SigningKey& referee);  // whose key the opening names
struct SignedOpening {
  Opening opening;
  Bytes bytes;  // that are signed over
  Signature signature{};
};
// Accepts what SignOpening writes; whether the signature is good is asked of IsOpenedBy.
Result<SignedOpening> DecodeOpening(ByteSpan message);
bool IsOpenedBy(ByteSpan opening, const Signature& signature, const KeyPoint& referee);

// The question's bytes, then the signature over "assay/asked/2", 0x0a, their SHA-256 and that of the receipt of whom it is put to.
Bytes SignQuestion(ByteSpan question, const Digest& receipt, const SigningKey& referee);
struct SignedQuestion {
  Bytes question;
  Signature signature{};
};
Result<SignedQuestion> SplitQuestion(ByteSpan message);
bool IsAskedBy(ByteSpan question, const Digest& receipt, const Signature& signature, const KeyPoint& referee);

}  // namespace assay::dispute
