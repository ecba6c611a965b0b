#include "assay/tensor/zip.h"

#include <algorithm>
#include <optional>
#include <set>

#include "assay/base/quote.h"

namespace assay {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kMaxComment = 65535;
constexpr std::uint64_t kMaxMembers = 4096;
constexpr std::size_t kMaxName = 4096;       // names are copied
constexpr std::uint32_t kWide = 0xffffffff;  // the value stands in the zip64 field
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint64_t kMaxGrowth = 1032;  // of what deflate can make of a byte

struct Directory {
  std::uint64_t members = 0, begin = 0, bytes = 0;
};

// The record at the end is searched for from the end on, since a comment follows it.
std::optional<std::size_t> FindEnd(ByteSpan file) {
  if (file.size() < kEndBytes) return std::nullopt;
  const std::size_t last = file.size() - kEndBytes, first = last > kMaxComment ? last - kMaxComment : 0;
  for (std::size_t at = last + 1; at-- > first;) {
    ByteReader in(file.subspan(at), "");
    const std::size_t comment = file[at + 20] + std::size_t{256} * file[at + 21];
    if (*in.U32() == kEnd && at + kEndBytes + comment == file.size()) return at;
  }
  return std::nullopt;
}

// Of an archive that is too large for the fields of the record at the end.
Result<Directory> ReadEnd64(ByteSpan file, std::size_t end, std::string_view what) {
  if (end < kLocatorBytes) return Err("{}: zip: ends too early", what);
  ByteReader locator(file.subspan(end - kLocatorBytes), what);
  if (*locator.U32() != kLocator64) return Err("{}: zip: expected a zip64 locator", what);
  ASSAY_TRY(locator.U32());
  ASSAY_ASSIGN(const std::uint64_t at, locator.U64());
  if (at > end - kLocatorBytes) return Err("{}: zip: its zip64 record lies outside", what);
  ByteReader in(file.subspan(static_cast<std::size_t>(at)), what);
  ASSAY_ASSIGN(const std::uint32_t signature, in.U32());
  if (signature != kEnd64) return Err("{}: zip: expected a zip64 record", what);
  ASSAY_TRY(in.Raw(8 + 2 + 2));
  ASSAY_ASSIGN(const std::uint32_t disk, in.U32());
  ASSAY_ASSIGN(const std::uint32_t first_disk, in.U32());
  ASSAY_ASSIGN(const std::uint64_t here, in.U64());
  Directory out;
  ASSAY_ASSIGN(out.members, in.U64());
  ASSAY_ASSIGN(out.bytes, in.U64());
  ASSAY_ASSIGN(out.begin, in.U64());
  if (disk != 0 || first_disk != 0 || here != out.members) return Err("{}: zip: expected an archive in one part", what);
  return out;
}

Result<Directory> ReadEnd(ByteSpan file, std::string_view what) {
  const auto end = FindEnd(file);
  if (!end) return Err("{}: zip: has no directory; the file is cut off or damaged", what);
  ByteReader in(file.subspan(*end), what);
  ASSAY_TRY(in.U32());
  ASSAY_ASSIGN(const std::uint16_t disk, in.U16());
  ASSAY_ASSIGN(const std::uint16_t first_disk, in.U16());
  ASSAY_ASSIGN(const std::uint16_t here, in.U16());
  ASSAY_ASSIGN(const std::uint16_t members, in.U16());
  ASSAY_ASSIGN(const std::uint32_t bytes, in.U32());
  ASSAY_ASSIGN(const std::uint32_t begin, in.U32());
  Directory out{members, begin, bytes};
  if (members == 0xffff || bytes == kWide || begin == kWide) {
    ASSAY_ASSIGN(out, ReadEnd64(file, *end, what));
  } else if (disk != 0 || first_disk != 0 || here != members) {
    return Err("{}: zip: expected an archive in one part", what);
  }
  if (out.begin > *end || out.bytes > *end - out.begin) return Err("{}: zip: its directory lies outside", what);
  if (out.members > kMaxMembers) return Err("{}: zip: {} members, at most {} are read", what, out.members, kMaxMembers);
  return out;
}

// Takes the values that did not fit into their fields from the zip64 field, where they stand in this order.
Status Widen(ByteSpan extra, std::initializer_list<std::uint64_t*> values, std::string_view what) {
  if (std::ranges::none_of(values, [](const std::uint64_t* v) { return *v == kWide; })) return {};
  ByteReader fields(extra, what);
  while (fields.remaining() > 0) {
    ASSAY_ASSIGN(const std::uint16_t id, fields.U16());
    ASSAY_ASSIGN(const std::uint16_t size, fields.U16());
    ASSAY_ASSIGN(const ByteSpan body, fields.Raw(size));
    if (id != kZip64Field) continue;
    ByteReader in(body, what);
    for (std::uint64_t* v : values) {
      if (*v != kWide) continue;
      ASSAY_ASSIGN(*v, in.U64());
    }
    return {};
  }
  return Err("{}: zip: a member lacks its zip64 field", what);
}

// Where the bytes of a member begin: after its own header, which repeats its name.
Result<std::uint64_t> SkipLocal(ByteSpan file, std::uint64_t at, std::string_view name, std::string_view what) {
  if (at > file.size()) return Err("{}: zip: member {} lies outside", what, Quote(name));
  ByteReader in(file.subspan(static_cast<std::size_t>(at)), what);
  ASSAY_ASSIGN(const std::uint32_t signature, in.U32());
  if (signature != kLocal) return Err("{}: zip: member {} is not where the directory says", what, Quote(name));
  ASSAY_TRY(in.Raw(22));
  ASSAY_ASSIGN(const std::uint16_t name_bytes, in.U16());
  ASSAY_ASSIGN(const std::uint16_t extra_bytes, in.U16());
  ASSAY_ASSIGN(const ByteSpan again, in.Raw(name_bytes));
  ASSAY_TRY(in.Raw(extra_bytes));
  if (!std::ranges::equal(again, AsBytes(name))) return Err("{}: zip: member {} has two names", what, Quote(name));
  return file.size() - in.remaining();
}

Result<ZipMember> ReadMember(ByteSpan file, ByteReader& in, std::string_view what) {
  ASSAY_ASSIGN(const std::uint32_t signature, in.U32());
  if (signature != kCentral) return Err("{}: zip: its directory is damaged", what);
  ASSAY_TRY(in.Raw(2 + 2));
  ASSAY_ASSIGN(const std::uint16_t flags, in.U16());
  ASSAY_ASSIGN(const std::uint16_t method, in.U16());
  ASSAY_TRY(in.Raw(4));
  ZipMember member;
  ASSAY_ASSIGN(member.crc, in.U32());
  ASSAY_ASSIGN(std::uint64_t packed, in.U32());
  ASSAY_ASSIGN(member.size, in.U32());
  ASSAY_ASSIGN(const std::uint16_t name_bytes, in.U16());
  ASSAY_ASSIGN(const std::uint16_t extra_bytes, in.U16());
  ASSAY_ASSIGN(const std::uint16_t comment_bytes, in.U16());
  ASSAY_TRY(in.Raw(2 + 2 + 4));
  ASSAY_ASSIGN(std::uint64_t begin, in.U32());
  if (name_bytes > kMaxName)
    return Err("{}: zip: the name of a member has {} bytes, at most {} are read", what, name_bytes, kMaxName);
  ASSAY_ASSIGN(const ByteSpan name, in.Raw(name_bytes));
  ASSAY_ASSIGN(const ByteSpan extra, in.Raw(extra_bytes));
  ASSAY_TRY(in.Raw(comment_bytes));
  member.name.assign(name.begin(), name.end());
  ASSAY_TRY(Widen(extra, {&member.size, &packed, &begin}, what));
  if ((flags & 0x2041) != 0) return Err("{}: zip: member {} is encrypted", what, Quote(member.name));
  if (method != 0 && method != 8) {
    return Err("{}: zip: member {} has compression method {}, expected 0 (stored) or 8 (deflated)", what, Quote(member.name),
               method);
  }
  member.deflated = method == 8;
  ASSAY_ASSIGN(const std::uint64_t first, SkipLocal(file, begin, member.name, what));
  if (packed > file.size() - first) return Err("{}: zip: member {} is cut off", what, Quote(member.name));
  member.packed = file.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(packed));
  if (member.deflated ? member.size / kMaxGrowth > packed : member.size != packed) {
    return Err("{}: zip: member {} cannot have {} bytes", what, Quote(member.name), member.size);
  }
  return member;
}

}  // namespace

Result<std::vector<ZipMember>> ParseZip(ByteSpan bytes, std::string_view what) {
  ASSAY_ASSIGN(const Directory directory, ReadEnd(bytes, what));
  ByteReader in(bytes.subspan(static_cast<std::size_t>(directory.begin), static_cast<std::size_t>(directory.bytes)), what);
  std::vector<ZipMember> members;
  std::set<std::string_view> names;
  members.reserve(static_cast<std::size_t>(directory.members));  // the names are looked at where they lie
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    ASSAY_ASSIGN(ZipMember member, ReadMember(bytes, in, what));
    members.push_back(std::move(member));
    if (!names.insert(members.back().name).second) {
      return Err("{}: zip: two members are called {}", what, Quote(members.back().name));
    }
  }
  ASSAY_TRY(in.End());
  return members;
}

}  // namespace assay
