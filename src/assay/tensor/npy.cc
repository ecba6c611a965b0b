#include "assay/tensor/npy.h"

#include <algorithm>
#include <optional>
#include <string>

#include "assay/base/quote.h"

namespace assay {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

struct TypeName {
  std::string_view name;  // without the byte order
  StoredType type;
};
constexpr TypeName kTypes[] = {{"b1", StoredType::kBool}, {"i1", StoredType::kI8},  {"u1", StoredType::kU8},
                               {"i2", StoredType::kI16},  {"u2", StoredType::kU16}, {"f2", StoredType::kF16},
                               {"i4", StoredType::kI32},  {"u4", StoredType::kU32}, {"f4", StoredType::kF32},
                               {"i8", StoredType::kI64},  {"u8", StoredType::kU64}, {"f8", StoredType::kF64}};

// The header's dictionary: three keys in any order, strings, a truth value and a tuple of integers.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view what) : rest_(text), what_(what) {}

  Status Read(NpyHeader& out) {
    ASSAY_TRY(Expect("{"));
    bool descr = false, order = false, shape = false;
    while (!Take("}")) {
      ASSAY_ASSIGN(const std::string_view key, String());
      ASSAY_TRY(Expect(":"));
      bool* seen = key == "descr" ? &descr : key == "fortran_order" ? &order : key == "shape" ? &shape : nullptr;
      if (seen == nullptr || *seen) return Err("{}: npy header: did not expect {}", what_, Quote(key));
      *seen = true;
      ASSAY_TRY(seen == &descr ? Type(out.type) : seen == &order ? Order() : Extents(out.shape));
      if (!Take(",")) {
        ASSAY_TRY(Expect("}"));
        break;
      }
    }
    if (!descr || !order || !shape) return Err("{}: npy header: expected descr, fortran_order and shape", what_);
    Skip();
    return rest_.empty() ? Status{} : Err("{}: npy header: did not expect {}", what_, Quote(rest_.substr(0, 20)));
  }

 private:
  void Skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool Take(std::string_view token) {
    Skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  Status Expect(std::string_view token) {
    if (Take(token)) return {};
    return Err("{}: npy header: expected '{}', got {}", what_, token, Quote(rest_.substr(0, 20)));
  }
  Result<std::string_view> String() {
    Skip();
    const std::string_view quote = rest_.substr(0, 1);
    if (quote != "'" && quote != "\"")
      return Err("{}: npy header: expected a string, got {}", what_, Quote(rest_.substr(0, 20)));
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return Err("{}: npy header: a string does not end", what_);
    const std::string_view out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return out;
  }
  Status Type(StoredType& type) {
    Skip();
    if (rest_.starts_with("[")) return Err("{}: npy: has a structured type, expected an array of numbers", what_);
    ASSAY_ASSIGN(const std::string_view descr, String());
    const std::string_view order = descr.substr(0, 1), name = descr.substr(std::min<std::size_t>(1, descr.size()));
    if (name.starts_with("O")) return Err("{}: npy: holds Python objects, expected an array of numbers", what_);
    const auto* found = std::ranges::find(kTypes, name, &TypeName::name);
    if (found == std::end(kTypes))
      return Err("{}: npy: type {}, expected integers or floating-point numbers", what_, Quote(descr));
    if (order == ">" && SizeOf(found->type) > 1) {
      return Err("{}: npy: is big-endian ({}), expected little-endian: save x.astype(\"<{}\")", what_, descr, name);
    }
    if (order != "<" && order != "|") return Err("{}: npy: type {}, expected a byte order before it", what_, Quote(descr));
    type = found->type;
    return {};
  }
  Status Order() {
    if (Take("False")) return {};
    if (Take("True")) return Err("{}: npy: is in Fortran order, expected C order: save numpy.ascontiguousarray(x)", what_);
    return Err("{}: npy header: fortran_order: expected True or False", what_);
  }
  Status Extents(Shape& shape) {
    ASSAY_TRY(Expect("("));
    while (!Take(")")) {
      ASSAY_ASSIGN(const std::int64_t extent, Extent());
      if (shape.rank() == Shape::kMaxRank) return Err("{}: npy: more than {} axes", what_, Shape::kMaxRank);
      shape.Append(extent);
      if (Take(",")) continue;
      return Expect(")");
    }
    return {};
  }
  Result<std::int64_t> Extent() {
    Skip();
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      value = 10 * value + (rest_[digits] - '0');
      if (value > kMaxElements) return Err("{}: npy: an extent is larger than {}", what_, kMaxElements);
    }
    if (digits == 0) return Err("{}: npy header: shape: expected an integer, got {}", what_, Quote(rest_.substr(0, 20)));
    rest_.remove_prefix(digits);
    return value;
  }

  std::string_view rest_, what_;
};

// The product of the extents, or nothing where it is more than any file has, also with the extents that are 0 left out.
std::optional<std::int64_t> Elements(const Shape& shape) {
  std::int64_t product = 1;
  bool none = false;
  for (std::int64_t extent : shape.dims()) {
    none = none || extent == 0;
    if (extent == 0) continue;
    if (product > kMaxElements / extent) return std::nullopt;
    product *= extent;
  }
  return none ? 0 : product;
}

}  // namespace

Result<NpyHeader> ParseNpyHeader(ByteSpan start, std::string_view what) {
  ByteReader in(start.first(std::min(start.size(), kMaxNpyHeader)), what);
  const auto magic = in.Raw(kNpyMagic.size());
  if (!magic || !std::ranges::equal(*magic, AsBytes(kNpyMagic))) return Err("{}: expected a .npy file", what);
  ASSAY_ASSIGN(const std::uint8_t major, in.U8());
  ASSAY_TRY(in.U8());
  if (major < 1 || major > 3) return Err("{}: npy: version {}, expected 1 .. 3", what, major);
  std::size_t length = 0;
  if (major == 1) {
    ASSAY_ASSIGN(length, in.U16());
  } else {
    ASSAY_ASSIGN(length, in.U32());
  }
  if (length > in.remaining()) return Err("{}: npy: its header is cut off, or longer than {} bytes", what, kMaxNpyHeader);
  ASSAY_ASSIGN(const ByteSpan text, in.Raw(length));
  NpyHeader header;
  ASSAY_TRY(HeaderReader({reinterpret_cast<const char*>(text.data()), text.size()}, what).Read(header));
  const auto elements = Elements(header.shape);
  if (!elements) return Err("{}: npy: shape {} has more than {} elements", what, ToString(header.shape), kMaxElements);
  header.begin = std::min(start.size(), kMaxNpyHeader) - in.remaining();
  header.bytes = static_cast<std::uint64_t>(*elements) * SizeOf(header.type);
  return header;
}

Result<StoredTensor> ParseNpy(ByteSpan file, std::string_view what) {
  ASSAY_ASSIGN(const NpyHeader header, ParseNpyHeader(file, what));
  const ByteSpan data = file.subspan(header.begin);
  if (data.size() != header.bytes) {
    return Err("{}: npy: {} of {} take {} bytes, the file has {}", what, ToString(header.shape), Name(header.type),
               header.bytes, data.size());
  }
  return StoredTensor{.name = {}, .type = header.type, .shape = header.shape, .data = data};
}

}  // namespace assay
