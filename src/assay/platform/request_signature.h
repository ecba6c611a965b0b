// The signature that a worker puts on each of its requests, so that a stolen token alone cannot speak for its key (docs/formats/platform.md, "Workers").
//
// What is signed: method, target, time, the hash of the body, whom it is for and under which token. So whoever is sent a request can neither pass it off to another
// coordinator nor put it under another account. Time bounds how long a copied request is of use; within that span a repetition changes nothing, because every
// request may be sent again. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/merkle/sha256.h"
#include "assay/net/http.h"
#include "assay/sign/key.h"

namespace assay::platform {

inline constexpr std::string_view kWorkerHeader = "Assay-Worker";
inline constexpr std::string_view kTimeHeader = "Assay-Time";
inline constexpr std::string_view kSignatureHeader = "Assay-Signature";
inline constexpr std::int64_t kMaxSkewMs = 5 * 60 * 1000;  // between the worker's clock and the coordinator's

// What a signature is about.
struct SignedRequest {
  std::string_view method;
  std::string_view target;  // path and query, as they are sent
  Digest body{};            // SHA-256 of it
  ed25519::PublicKey coordinator{};
  Digest token{};  // SHA-256 of it, with its prefix
};

// The bytes that are signed.
std::string RequestMessage(const SignedRequest& request, std::int64_t time_ms);

// The three headers that go with the request.
HttpHeaders SignRequest(const SignedRequest& request, std::int64_t time_ms, const SigningKey& key);

struct SignatureRefusal {
  std::string message;
  bool clock = false;  // nothing else is wrong: the answer says the coordinator's time
};

// The key that signed the request. Its time may be kMaxSkewMs from `now_ms`, no more. `known`: what the header's key reads as, where the caller has read the
// same text before; finding out whether 32 bytes are a public key takes a good part of the time that a signature takes.
tl::expected<VerifyKey, SignatureRefusal> VerifyRequest(const SignedRequest& request, const HttpHeaders& headers,
                                                        std::int64_t now_ms,
                                                        const std::optional<VerifyKey>& known = std::nullopt);

// A time as it stands in the header: decimal digits without leading zeros, below 2^53.
Result<std::int64_t> ParseTime(std::string_view text);

}  // namespace assay::platform
