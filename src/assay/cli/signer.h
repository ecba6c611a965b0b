// The key that signs a run: the one named, or the user's own, which is made when it is needed for the first time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/sign/key.h"
#include "assay/sign/witness.h"

namespace assay::cli {

// `path` if given, else $ASSAY_KEY, else assay/key in $XDG_CONFIG_HOME or ~/.config; only the last is created, with a line on standard error.
Result<SigningKey> OpenSigner(const std::string& path);
// The same where none is needed: the key that is named or found, and none is made.
Result<std::optional<SigningKey>> OpenSignerIfAny(const std::string& path);
// The key of a run that is there already: none is made, since no other key can speak for it. `run` is how it is called.
Result<SigningKey> OpenSignerOf(const VerifyKey& signer, const std::string& run, const std::string& path);
// What $ASSAY_KEY names or lies in the place of one's own, where there is one; none is made.
Result<std::optional<SigningKey>> OpenExistingSigner();
// The file that it is read from; empty: there is none.
std::string ExistingSignerPath();

// What `option` names: a public key, or a file with one.
Result<VerifyKey> ParsePublicKey(std::string_view option, const std::string& text);
// The same of --signer.
Result<VerifyKey> ParseSigner(const std::string& text);
// A witness's key, or a file with one.
Result<WitnessKey> ParseWitness(const std::string& text);

}  // namespace assay::cli
