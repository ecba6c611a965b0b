#include "assay/tensor/array_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "assay/base/crc32.h"
#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/tensor/inflate.h"
#include "assay/tensor/npy.h"
#include "assay/tensor/zip.h"

namespace assay {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr std::size_t kMostNamed = 8;  // of the arrays that an error lists

bool BeginsWith(ByteSpan file, std::string_view start) {
  return file.size() >= start.size() && std::ranges::equal(file.first(start.size()), AsBytes(start));
}

Error Missing(std::string_view what, std::string_view name, std::vector<std::string> there) {
  const std::size_t count = there.size();
  there.resize(std::min(count, kMostNamed));
  for (std::string& other : there) other = Quote(other);
  const std::string list = count == 0 ? "none" : fmt::format("{}{}", fmt::join(there, ", "), count > kMostNamed ? ", ..." : "");
  return {fmt::format("{}: has no array {}; it has {}", what, Quote(name), list)};
}

// Unpacks a deflated member once its header and the archive agree on how large it is, and there is room for so much.
Result<Bytes> Unpack(const ZipMember& member, const std::string& what, Allowance& allowance) {
  const std::size_t size = static_cast<std::size_t>(member.size);
  ASSAY_ASSIGN(const Bytes start, InflateStart(member.packed, std::min(size, kMaxNpyHeader), what));
  ASSAY_ASSIGN(const NpyHeader header, ParseNpyHeader(start, what));
  if (header.begin + header.bytes != member.size) {
    return Err("{}: npy: {} of {} take {} bytes, the archive says {}", what, ToString(header.shape), Name(header.type),
               header.bytes, member.size - header.begin);
  }
  ASSAY_ASSIGN(const auto packed, allowance.Borrow(member.packed.size()));
  ASSAY_TRY(allowance.Take(member.size));
  return Inflate(member.packed, size, what, allowance);
}

Result<OutsideArray> FromZip(ByteSpan file, std::string_view name, std::string_view what, Allowance& allowance) {
  ASSAY_ASSIGN(const std::vector<ZipMember> members, ParseZip(file, what));
  const auto found = std::ranges::find(members, fmt::format("{}{}", name, kExtension), &ZipMember::name);
  if (found == members.end()) {
    std::vector<std::string> there;
    for (const ZipMember& member : members) {
      if (member.name.ends_with(kExtension)) there.push_back(member.name.substr(0, member.name.size() - kExtension.size()));
    }
    return tl::unexpected(Missing(what, name, std::move(there)));
  }
  const std::string where = fmt::format("{}: {}", what, name);
  OutsideArray out;
  ByteSpan bytes = found->packed;
  if (found->deflated) {
    ASSAY_ASSIGN(Bytes unpacked, Unpack(*found, where, allowance));
    const auto owned = std::make_shared<const Bytes>(std::move(unpacked));
    bytes = *owned;
    out.owner = owned;
  } else {
    ASSAY_TRY(allowance.Take(bytes.size(), Allowance::Kind::kMapped));
  }
  ASSAY_ASSIGN(out.array, ParseNpy(bytes, where));
  if (Crc32(bytes) != found->crc) return Err("{}: its checksum is wrong; the file is damaged", where);
  out.array.name = name;
  return out;
}

Result<OutsideArray> FromSafetensors(ByteSpan file, std::string_view name, std::string_view what, Allowance& allowance) {
  ASSAY_ASSIGN(const Safetensors tensors, Safetensors::Parse(file, what, allowance));
  if (const StoredTensor* found = tensors.Find(name)) {
    ASSAY_TRY(allowance.Take(found->data.size(), Allowance::Kind::kMapped));
    return OutsideArray{*found, nullptr};
  }
  std::vector<std::string> there;
  for (const StoredTensor& tensor : tensors.tensors()) there.push_back(tensor.name);
  return tl::unexpected(Missing(what, name, std::move(there)));
}

Result<OutsideArray> FromFolder(const std::string& path, std::string_view name, Allowance& allowance) {
  if (name.find('/') != std::string_view::npos) return Err("{}: no array is called {}", path, Quote(name));
  const std::string file = JoinPath(path, fmt::format("{}{}", name, kExtension));
  ASSAY_ASSIGN(MappedFile mapped, MappedFile::Open(file));
  ASSAY_TRY(allowance.Take(mapped.bytes().size(), Allowance::Kind::kMapped));
  const auto owner = std::make_shared<const MappedFile>(std::move(mapped));
  ASSAY_ASSIGN(StoredTensor array, ParseNpy(owner->bytes(), file));
  array.name = name;
  return OutsideArray{std::move(array), owner};
}

}  // namespace

Result<OutsideArray> ParseArray(ByteSpan file, std::string_view name, std::string_view what, Allowance& allowance) {
  if (BeginsWith(file, "PK")) return FromZip(file, name, what, allowance);
  if (BeginsWith(file, kNpyMagic)) {
    return Err("{}: holds one array; expected a .npz or safetensors file, or a folder with one .npy file for each array", what);
  }
  // Eight bytes of length stand before a safetensors header.
  if (file.size() < 9 || file[8] != '{') return Err("{}: is neither a .npz nor a safetensors file", what);
  return FromSafetensors(file, name, what, allowance);
}

Result<OutsideArray> ParseArray(ByteSpan file, std::string_view name, std::string_view what) {
  Allowance everything;
  return ParseArray(file, name, what, everything);
}

Result<OutsideArray> ReadArray(const std::string& path, std::string_view name, Allowance& allowance) {
  if (IsDirectory(path)) return FromFolder(path, name, allowance);
  ASSAY_ASSIGN(MappedFile mapped, MappedFile::Open(path));
  const auto owner = std::make_shared<const MappedFile>(std::move(mapped));
  ASSAY_ASSIGN(OutsideArray out, ParseArray(owner->bytes(), name, path, allowance));
  if (out.owner == nullptr) out.owner = owner;
  return out;
}

}  // namespace assay
