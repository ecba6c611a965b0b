// Reading of age's ASCII armor: strict PEM (RFC 7468) around a sealed file.
//
// Lines of 64 characters of padded, canonical base64, the last one shorter or full; line feeds alone or behind carriage
// returns; white space before and after it, but nothing else, and not more than 1 KiB of it. Nothing of ours writes armor.
#pragma once

#include <string>

#include "assay/seal/source.h"

namespace assay::seal {

// Whether what begins with this byte can only be armor: white space or a dash.
bool BeginsArmor(std::uint8_t first);
// The sealed bytes inside. Not synchronised; copies share one position.
ByteSource Dearmored(BufferedSource source, std::string what);

}  // namespace assay::seal
