// The header of a sealed file as text (docs/formats/sealed.md): who may open it, and the MAC over all that.
//
// Reading takes exactly what the grammar of age-encryption.org/v1 allows, so that a header has one text; nothing here knows
// keys. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/seal/primitives.h"
#include "assay/seal/source.h"

namespace assay::seal {

// Room for about 2,500 recipients. Readers hold a header in memory before they can tell whether it is anybody's.
inline constexpr std::size_t kMaxHeader = 256 << 10;

// One way to the file key: its kind and what belongs to it, then the wrapped key.
struct Stanza {
  std::vector<std::string> arguments;  // one at least, each of visible ASCII; the first is the kind
  Bytes body;
  friend bool operator==(const Stanza&, const Stanza&) = default;
};

struct Header {
  std::vector<Stanza> stanzas;
  Mac mac{};
};

// Base64 without padding, as the header has it. Decoding accepts only what encoding produces.
std::string RawBase64(ByteSpan bytes);
Result<Bytes> FromRawBase64(std::string_view text);

// The text up to `---`, over which the MAC is taken.
std::string HeaderText(const std::vector<Stanza>& stanzas);
std::string FinishHeader(std::string text, const Mac& mac);
// The same part of a whole header that ParseHeader has accepted.
std::string_view MacPart(std::string_view header);

// Takes the header off a file, up to and with the line of the MAC: the bytes that ParseHeader is to judge.
Result<std::string> ReadHeader(BufferedSource& source, std::string_view what);
Result<Header> ParseHeader(std::string_view text, std::string_view what);

}  // namespace assay::seal
