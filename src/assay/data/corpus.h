// The text that jobs without a data path train on: corpus.txt, a frozen ASCII copy of the licence and of docs/NUMERICS.md. It never
// changes, because every example's bits depend on it.
#pragma once

#include <string_view>

namespace assay {

std::string_view EmbeddedText();

}  // namespace assay
