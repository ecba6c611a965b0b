#include "assay/data/packed_header.h"

#include <algorithm>
#include <variant>

#include "assay/base/check.h"
#include "assay/data/arrays.h"
#include "assay/data/bpe.h"
#include "assay/data/root.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::string_view kMagic = "assaypak";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHashedBytes = kPackedHeaderBytes - 32;  // what the hash at the end of a header covers

Status CheckRange(std::string_view what, std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return Err("{}: header: {}: expected {} .. {}, got {}", what, field, low, high, value);
}

Status CheckTokens(const PackedHeader& h, std::int64_t count, std::string_view what) {
  ASSAY_TRY(CheckRange(what, "ids are below", h.limit, 1, 1 << 16));
  ASSAY_TRY(CheckRange(what, "documents", h.documents, 1, count));
  return CheckRange(what, "token at the end of a document", h.end_of_text, -1, h.limit - 1);
}

Status CheckArrays(const PackedHeader& h, std::string_view what) {
  ASSAY_TRY(CheckRange(what, "labels are below", h.limit, 1, kMaxLabels));
  ASSAY_TRY(CheckRange(what, "tokenizer", static_cast<std::int64_t>(h.tokenizer), 0, 0));
  ASSAY_TRY(CheckRange(what, "documents", h.documents, 0, 0));
  return CheckRange(what, "token at the end of a document", h.end_of_text, -1, -1);
}

Status CheckFields(const PackedHeader& h, std::string_view what) {
  if (const auto* tokens = std::get_if<TokensDescriptor>(&h.descriptor)) return CheckTokens(h, tokens->count, what);
  if (std::holds_alternative<ArraysDescriptor>(h.descriptor)) return CheckArrays(h, what);
  return Err("{}: header: expected tokens or arrays", what);
}

// Sections follow each other in the one order that there is, to the end of the file.
Status CheckSections(const PackedHeader& h, std::uint64_t file_bytes, std::string_view what) {
  const std::vector<ExpectedSection> expected = SectionsOf(h);
  if (h.sections.size() != expected.size()) {
    return Err("{}: header: expected {} sections, got {}", what, expected.size(), h.sections.size());
  }
  std::uint64_t end = kPackedHeaderBytes;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const PackedSection& section = h.sections[i];
    if (section.name != expected[i].name) {
      return Err("{}: header: section {}: expected '{}'", what, i, expected[i].name);
    }
    const std::uint64_t begin = SectionAfter(end);
    if (section.begin != begin) {
      return Err("{}: header: section '{}': expected to begin at byte {}, got {}", what, section.name, begin, section.begin);
    }
    if (expected[i].bytes && section.bytes != *expected[i].bytes) {
      return Err("{}: header: section '{}': expected {} bytes, got {}", what, section.name, *expected[i].bytes, section.bytes);
    }
    if (!expected[i].bytes && (section.bytes == 0 || section.bytes > kMaxVocabularyFile)) {
      return Err("{}: header: section '{}': expected 1 .. {} bytes, got {}", what, section.name, kMaxVocabularyFile,
                 section.bytes);
    }
    end = begin + section.bytes;  // far from overflowing: parts have at most 2^48 items
  }
  if (end == file_bytes) return {};
  return Err("{}: has {} bytes, its header says {}; the file is {}", what, file_bytes, end,
             file_bytes < end ? "cut off" : "longer than it was made");
}

Result<Digest> ReadDigest(ByteReader& in) {
  ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(32));
  Digest digest;
  std::ranges::copy(bytes, digest.bytes.begin());
  return digest;
}

Result<PackedHeader> ReadFields(ByteReader& in, std::string_view what) {
  PackedHeader h;
  ASSAY_ASSIGN(const Bytes descriptor, in.Blob());
  ASSAY_ASSIGN(h.descriptor, DecodeDescriptor(descriptor, what));
  ASSAY_ASSIGN(const std::uint8_t tokenizer, in.U8());
  ASSAY_TRY(CheckRange(what, "tokenizer", tokenizer, 0, 2));
  h.tokenizer = static_cast<PackedTokenizer>(tokenizer);
  ASSAY_ASSIGN(h.limit, in.I64());
  ASSAY_ASSIGN(h.end_of_text, in.I64());
  ASSAY_ASSIGN(h.documents, in.I64());
  ASSAY_TRY(CheckFields(h, what));
  ASSAY_ASSIGN(const std::uint32_t sections, in.U32());
  if (sections > SectionsOf(h).size()) {
    return Err("{}: header: expected {} sections, got {}", what, SectionsOf(h).size(), sections);
  }
  for (std::uint32_t i = 0; i < sections; ++i) {
    PackedSection& section = h.sections.emplace_back();
    ASSAY_ASSIGN(section.name, in.String());
    ASSAY_ASSIGN(section.begin, in.U64());
    ASSAY_ASSIGN(section.bytes, in.U64());
    ASSAY_ASSIGN(section.root, ReadDigest(in));
  }
  return h;
}

}  // namespace

const PackedSection* PackedHeader::Find(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &PackedSection::name);
  return found == sections.end() ? nullptr : &*found;
}

std::uint64_t PackedHeader::file_bytes() const { return sections.back().begin + sections.back().bytes; }

Digest PackedHeader::root() const {
  std::vector<Digest> roots;
  for (const ArraySpec& array : ArraysOf(descriptor)) roots.push_back(Find(array.name)->root);
  return DataRoot(descriptor, roots);
}

std::string LeavesOf(std::string_view array) { return fmt::format("{}.leaves", array); }

std::vector<ExpectedSection> SectionsOf(const PackedHeader& header) {
  std::vector<ExpectedSection> sections;
  const std::vector<ArraySpec> arrays = ArraysOf(header.descriptor);
  for (const ArraySpec& array : arrays) sections.push_back({std::string(array.name), array.type.bytes()});
  if (std::holds_alternative<TokensDescriptor>(header.descriptor)) {
    sections.push_back({"documents", 8 * static_cast<std::uint64_t>(header.documents)});
  }
  if (header.tokenizer == PackedTokenizer::kBytePairs) {
    sections.push_back({"encoder.json", std::nullopt});
    sections.push_back({"vocab.bpe", std::nullopt});
  }
  for (const ArraySpec& array : arrays) {
    sections.push_back({LeavesOf(array.name), CountLeaves(array.type.bytes()) * sizeof(Digest)});
  }
  return sections;
}

bool LooksPacked(ByteSpan file) {
  return file.size() >= kMagic.size() && std::ranges::equal(file.first(kMagic.size()), AsBytes(kMagic));
}

Bytes EncodePackedHeader(const PackedHeader& header) {
  ByteWriter out;
  out.Raw(AsBytes(kMagic));
  out.U32(kVersion);
  out.Blob(Encode(header.descriptor));
  out.U8(static_cast<std::uint8_t>(header.tokenizer));
  out.I64(header.limit);
  out.I64(header.end_of_text);
  out.I64(header.documents);
  out.U32(static_cast<std::uint32_t>(header.sections.size()));
  for (const PackedSection& section : header.sections) {
    out.String(section.name);
    out.U64(section.begin);
    out.U64(section.bytes);
    out.Raw(section.root.bytes);
  }
  Bytes bytes = out.Take();
  ASSAY_CHECK(bytes.size() <= kHashedBytes);
  bytes.resize(kHashedBytes);
  const Digest hash = HashBytes(bytes);
  bytes.insert(bytes.end(), hash.bytes.begin(), hash.bytes.end());
  return bytes;
}

Result<PackedHeader> DecodePackedHeader(ByteSpan bytes, std::uint64_t file_bytes, std::string_view what) {
  if (!LooksPacked(bytes)) return Err("{}: is not a packed file, which assay data pack makes", what);
  if (bytes.size() < kPackedHeaderBytes) {
    return Err("{}: has {} bytes, a packed file has at least {}; the file is cut off", what, file_bytes, kPackedHeaderBytes);
  }
  bytes = bytes.first(kPackedHeaderBytes);
  ByteReader in(bytes.first(kHashedBytes), what);
  ASSAY_TRY(in.Raw(kMagic.size()));
  ASSAY_ASSIGN(const std::uint32_t version, in.U32());
  if (version != kVersion) return Err("{}: header: expected version {}, got {}", what, kVersion, version);
  const Digest hash = HashBytes(bytes.first(kHashedBytes));
  if (!std::ranges::equal(hash.bytes, bytes.subspan(kHashedBytes)))
    return Err("{}: header: is damaged, its hash does not fit", what);
  ASSAY_ASSIGN(PackedHeader header, ReadFields(in, what));
  ASSAY_TRY(CheckSections(header, file_bytes, what));
  if (!std::ranges::equal(EncodePackedHeader(header), bytes))
    return Err("{}: header: is not the one encoding of what it says", what);
  return header;
}

}  // namespace assay
