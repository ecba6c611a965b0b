// Bech32 (BIP 173) without its limit on length, as age writes keys: a prefix, `1`, groups of five bits, a checksum of six
// characters.
//
// Decoding takes lower case or upper case alone and only what encoding would write. Errors do not repeat the text, which may be
// secret, and what either function held on the way is wiped. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay::seal {

struct Bech32 {
  std::string prefix;  // in the case of the text
  Bytes data;
};

std::string ToBech32(std::string_view prefix, ByteSpan data);  // lower case; so must the prefix be, of visible ASCII
Result<Bech32> FromBech32(std::string_view text);

}  // namespace assay::seal
