// The key of one sealed file, wrapped for each recipient by X25519 (docs/formats/sealed.md), and what else comes from it: the
// key of the payload, the MAC of the header and the key of what is bound to the file. CheckCanSeal has been asked. Pure functions, apart from randomness.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "assay/seal/header.h"
#include "assay/seal/keys.h"

namespace assay::seal {

using FileKey = Secret<16>;

// An error when the recipient is a point of small order, to which anybody could open.
Result<Stanza> WrapFileKey(const FileKey& key, const Recipient& recipient, const Randomness& randomness);
// The key by the first stanza that one of the identities opens. Stanzas of other kinds are passed over, but the header is
// refused when one of kind X25519 has not the form of its kind, or when one of kind scrypt is not alone.
Result<FileKey> UnwrapFileKey(std::span<const Stanza> stanzas, std::span<const Identity> identities, std::string_view what);

Mac HeaderMac(const FileKey& key, std::string_view text);
// Of statements about the file (SealBinding, seal.h).
Secret<32> BindingKey(const FileKey& key);
Secret<32> PayloadKey(const FileKey& key, std::span<const std::uint8_t, 16> nonce);

}  // namespace assay::seal
