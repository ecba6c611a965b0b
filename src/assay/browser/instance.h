// What every WebAssembly module of ours has: memory that the host writes to and reads from, and last words. Built by the preset `wasm` alone.
//
// Whatever goes wrong inside, a broken invariant or too little memory, ends in a trap: the instance is to be thrown away, and assay_last_words says why.
#pragma once

#include <cstdint>
#include <string_view>

#define ASSAY_EXPORT(name) extern "C" __attribute__((export_name(#name), used))

namespace assay::browser {

// Memory for the host, which frees it: `word`, the length of the text, and the text. Both words are little-endian.
void* Handed(std::uint32_t word, std::string_view text);

}  // namespace assay::browser
