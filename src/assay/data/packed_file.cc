#include "assay/data/packed_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <variant>

#include "assay/base/check.h"
#include "assay/data/bpe.h"
#include "assay/data/chars.h"
#include "assay/merkle/growing_root.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::uint64_t kLeavesAtOnce = 4096;  // 16 MiB
constexpr std::int64_t kGrain = 64;

std::string_view AsText(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

template <class T>
T ItemAt(ByteSpan bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

bool IsFinite(std::uint32_t word) { return (word & 0x7f800000u) != 0x7f800000u; }

}  // namespace

struct PackedFile::Array {
  ArraySpec spec;
  const PackedSection* section;
  ByteSpan bytes;
  ByteSpan leaves;  // their hashes, as the file has them
};

Result<std::shared_ptr<const PackedFile>> PackedFile::Open(const std::string& path, Allowance& allowance) {
  ASSAY_ASSIGN(MappedFile file, MappedFile::Open(path));
  ASSAY_TRY(allowance.Take(file.bytes().size(), Allowance::Kind::kMapped));
  auto packed = std::make_shared<PackedFile>();
  packed->file_ = std::move(file);
  packed->all_ = packed->file_.bytes();
  packed->path_ = path;
  ASSAY_ASSIGN(packed->header_, DecodePackedHeader(packed->all_, packed->all_.size(), path));
  return packed;
}

Result<std::shared_ptr<const PackedFile>> PackedFile::Parse(ByteSpan file, std::string_view what) {
  auto packed = std::make_shared<PackedFile>();
  packed->all_ = file;
  packed->path_ = what;
  ASSAY_ASSIGN(packed->header_, DecodePackedHeader(file, file.size(), what));
  return packed;
}

std::int64_t PackedFile::items() const { return ArraysOf(header_.descriptor).front().type.shape[0]; }

ByteSpan PackedFile::bytes(std::string_view name) const {
  const PackedSection* section = header_.Find(name);
  ASSAY_CHECK(section != nullptr);
  return all_.subspan(static_cast<std::size_t>(section->begin), static_cast<std::size_t>(section->bytes));
}

Result<std::vector<Digest>> PackedFile::RootsOf(std::int64_t items, ThreadPool* pool, const Allowance& allowance) const {
  ASSAY_CHECK(items >= 0 && items <= this->items());
  std::vector<Digest> roots;
  for (const ArraySpec& spec : ArraysOf(header_.descriptor)) {
    const Array array{spec, header_.Find(spec.name), bytes(spec.name), bytes(LeavesOf(spec.name))};
    const std::uint64_t each = array.bytes.size() / static_cast<std::uint64_t>(this->items());
    ASSAY_ASSIGN(const Digest root, RootOfArray(array, each * static_cast<std::uint64_t>(items), pool, allowance));
    roots.push_back(root);
  }
  return roots;
}

// The root of the first `bytes` of the array.
Result<Digest> PackedFile::RootOfArray(const Array& array, std::uint64_t bytes, ThreadPool* pool,
                                       const Allowance& allowance) const {
  const std::uint64_t leaves = CountLeaves(array.bytes.size()), whole = bytes / kLeafBytes;
  const auto leaf_bytes = [&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t first = begin * kLeafBytes, last = std::min<std::uint64_t>(end * kLeafBytes, array.bytes.size());
    return array.bytes.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  };
  GrowingRoot all, first;
  std::vector<Digest> hashes(static_cast<std::size_t>(std::min(leaves, kLeavesAtOnce)));
  for (std::uint64_t at = 0; at < leaves; at += kLeavesAtOnce) {
    ASSAY_TRY(allowance.Check());
    const std::uint64_t count = std::min(kLeavesAtOnce, leaves - at);
    std::vector<Status> wrong(static_cast<std::size_t>((count + kGrain - 1) / kGrain));
    const auto check = [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; i += kGrain) {
        const std::int64_t last = std::min(i + kGrain, end);
        const std::uint64_t place = at + static_cast<std::uint64_t>(i);
        const ByteSpan span = leaf_bytes(place, at + static_cast<std::uint64_t>(last));
        HashLeaves(span, std::span(hashes).subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(last - i)));
        wrong[static_cast<std::size_t>(i / kGrain)] = CheckItems(array, place * kLeafBytes, span);
      }
    };
    if (pool != nullptr) {
      pool->ParallelFor(static_cast<std::int64_t>(count), kGrain, check);
    } else {
      check(0, static_cast<std::int64_t>(count), 0);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const Digest& hash = hashes[static_cast<std::size_t>(i)];
      const ByteSpan packed = array.leaves.subspan(static_cast<std::size_t>((at + i) * sizeof(Digest)), sizeof(Digest));
      if (!std::ranges::equal(hash.bytes, packed)) {
        const std::uint64_t byte = array.section->begin + (at + i) * kLeafBytes;
        return Err("{}: bytes {} .. {}, in its '{}', are not what was packed; the file is damaged", path_, byte,
                   byte + leaf_bytes(at + i, at + i + 1).size() - 1, array.spec.name);
      }
      all.Add(hash);
      if (at + i < whole) first.Add(hash);
    }
    for (const Status& status : wrong) ASSAY_TRY(status);
  }
  if (all.root() != array.section->root) {
    return Err("{}: its '{}' has the root {}, its header says {}; the file is damaged", path_, array.spec.name,
               all.root().hex(), array.section->root.hex());
  }
  if (const std::uint64_t rest = bytes % kLeafBytes; rest > 0) {
    first.Add(LeafHash(array.bytes.subspan(static_cast<std::size_t>(whole * kLeafBytes), static_cast<std::size_t>(rest))));
  }
  return first.root();
}

// That there can be such data. `span` begins at byte `begin` of the array, and holds whole items.
Status PackedFile::CheckItems(const Array& array, std::uint64_t begin, ByteSpan span) const {
  if (array.spec.type.dtype == DType::kU16) {
    std::uint16_t largest = 0;
    for (std::size_t i = 0; i < span.size() / 2; ++i) largest = std::max(largest, ItemAt<std::uint16_t>(span, i));
    if (largest < header_.limit) return {};
    std::size_t i = 0;
    while (ItemAt<std::uint16_t>(span, i) < header_.limit) ++i;
    return Err("{}: token {} is {}, expected 0 .. {}", path_, begin / 2 + i, ItemAt<std::uint16_t>(span, i), header_.limit - 1);
  }
  for (std::size_t i = 0; array.spec.type.dtype == DType::kF32 && i < span.size() / 4; ++i) {
    if (!IsFinite(ItemAt<std::uint32_t>(span, i))) {
      return Err("{}: element {} of its '{}' is not a finite binary32 number", path_, begin / 4 + i, array.spec.name);
    }
  }
  for (std::size_t i = 0; array.spec.type.dtype == DType::kI32 && i < span.size() / 4; ++i) {
    const auto label = ItemAt<std::int32_t>(span, i);
    if (label < 0 || label >= header_.limit) {
      return Err("{}: label {} is {}, expected 0 .. {}", path_, begin / 4 + i, label, header_.limit - 1);
    }
  }
  return {};
}

Status PackedFile::CheckRest(const Allowance& allowance) const {
  ASSAY_TRY(CheckGaps());
  for (const PackedSection& section : header_.sections) {
    const auto arrays = ArraysOf(header_.descriptor);
    if (std::ranges::find(arrays, section.name, &ArraySpec::name) == arrays.end()) ASSAY_TRY(CheckSection(section, allowance));
  }
  if (header_.documents > 0) ASSAY_TRY(CheckDocuments());
  Allowance everything;
  const auto tokenizer = MakeTokenizer(everything);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  return {};
}

Status PackedFile::CheckSection(const PackedSection& section, const Allowance& allowance) const {
  GrowingRoot root;
  std::vector<Digest> hashes;
  for (ByteSpan rest = bytes(section.name); !rest.empty();) {
    ASSAY_TRY(allowance.Check());
    const ByteSpan piece = rest.first(std::min<std::size_t>(rest.size(), kLeavesAtOnce * kLeafBytes));
    hashes.resize(CountLeaves(piece.size()));
    HashLeaves(piece, hashes);
    for (const Digest& hash : hashes) root.Add(hash);
    rest = rest.subspan(piece.size());
  }
  if (root.root() == section.root) return {};
  return Err("{}: its '{}' is not what was packed; the file is damaged", path_, section.name);
}

// Where documents end: ascending, the last at the last token.
Status PackedFile::CheckDocuments() const {
  const ByteSpan ends = bytes("documents");
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < ends.size() / 8; ++i) {
    const auto end = ItemAt<std::uint64_t>(ends, i);
    if (end <= before || end > static_cast<std::uint64_t>(items())) {
      return Err("{}: document {} ends at token {}, expected {} .. {}", path_, i, end, before + 1, items());
    }
    before = end;
  }
  if (before == static_cast<std::uint64_t>(items())) return {};
  return Err("{}: its documents end at token {}, expected {}", path_, before, items());
}

Status PackedFile::CheckGaps() const {
  std::uint64_t end = kPackedHeaderBytes;
  for (const PackedSection& section : header_.sections) {
    const ByteSpan gap = all_.subspan(static_cast<std::size_t>(end), static_cast<std::size_t>(section.begin - end));
    if (std::ranges::any_of(gap, [](std::uint8_t byte) { return byte != 0; })) {
      return Err("{}: bytes {} .. {} are not zero; the file is damaged", path_, end, section.begin - 1);
    }
    end = section.begin + section.bytes;
  }
  return {};
}

Result<std::shared_ptr<const Tokenizer>> PackedFile::MakeTokenizer(Allowance& allowance) const {
  if (header_.tokenizer == PackedTokenizer::kNone) return nullptr;
  if (header_.tokenizer == PackedTokenizer::kBytes) return CharTokenizer::AllBytes();
  for (const std::string_view name : {"encoder.json", "vocab.bpe"}) ASSAY_TRY(CheckSection(*header_.Find(name), allowance));
  ASSAY_ASSIGN(const auto tokenizer, BpeTokenizer::Parse(AsText(bytes("encoder.json")), path_ + ": encoder.json",
                                                         AsText(bytes("vocab.bpe")), path_ + ": vocab.bpe", allowance));
  if (tokenizer->vocabulary() == header_.limit) return tokenizer;
  return Err("{}: its vocabulary has {} tokens, its header says {}", path_, tokenizer->vocabulary(), header_.limit);
}

}  // namespace assay
