// DSSE envelopes with one Ed25519 signature: a payload, its type, and who signed both. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/sign/key.h"

namespace assay {

// Compact JSON in the key order of docs/formats/receipt.md, ended by a line feed.
std::string SignEnvelope(std::string_view payload_type, std::string_view payload, const SigningKey& key);
// The payload, once the envelope is byte for byte what SignEnvelope writes, of this type and well signed by `key`.
Result<std::string> OpenEnvelope(std::string_view envelope, std::string_view payload_type, const VerifyKey& key,
                                 std::string_view what);
// The bytes that are signed ("DSSEv1 ...").
std::string EnvelopeMessage(std::string_view payload_type, std::string_view payload);

}  // namespace assay
