// PackedHeader: what the first 4 KiB of a packed file say (docs/formats/packed.md).
//
// A packed file is data as training reads it: tokens, or inputs and labels, each array in one piece at a place that follows from the header,
// with the hashes of its 4 KiB leaves. One header has one encoding; every size in a header that was decoded follows from the others and lies
// within the file. The bytes may come from anyone. Value types; pure functions, thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/data/part.h"
#include "assay/merkle/sha256.h"

namespace assay {

inline constexpr std::uint64_t kPackedHeaderBytes = 4096;

enum class PackedTokenizer : std::uint8_t {
  kNone = 0,      // arrays; tokens that came as tokens
  kBytes = 1,     // each byte its own id
  kBytePairs = 2  // GPT-2's byte pairs; the file has the vocabulary
};

struct PackedSection {
  std::string name;
  std::uint64_t begin = 0, bytes = 0;  // in the file
  Digest root{};                       // over its 4 KiB leaves
  friend bool operator==(const PackedSection&, const PackedSection&) = default;
};

struct PackedHeader {
  DataDescriptor descriptor;  // of all items: tokens or arrays
  PackedTokenizer tokenizer = PackedTokenizer::kNone;
  std::int64_t limit = 0;         // every token, or label, is below this
  std::int64_t end_of_text = -1;  // the token behind each document; -1: none
  std::int64_t documents = 0;     // of tokens
  std::vector<PackedSection> sections;

  const PackedSection* Find(std::string_view name) const;  // null where there is none
  std::uint64_t file_bytes() const;
  Digest root() const;  // the data root of all items
};

// The sections of a file like this, in their order: their names, and their sizes where these follow from the rest.
struct ExpectedSection {
  std::string name;
  std::optional<std::uint64_t> bytes;
};
std::vector<ExpectedSection> SectionsOf(const PackedHeader& header);
// What the section with the leaf hashes of an array is called.
std::string LeavesOf(std::string_view array);
// Where a section begins that follows one that ends at `end`.
constexpr std::uint64_t SectionAfter(std::uint64_t end) { return (end + 4095) / 4096 * 4096; }

bool LooksPacked(ByteSpan file);
// kPackedHeaderBytes bytes; the header must be one that DecodePackedHeader accepts.
Bytes EncodePackedHeader(const PackedHeader& header);
// From the first bytes of a file with `file_bytes`; `what` names it in errors.
Result<PackedHeader> DecodePackedHeader(ByteSpan bytes, std::uint64_t file_bytes, std::string_view what);

}  // namespace assay
