#include "assay/graph/attrs.h"

#include <bit>

namespace assay {
namespace {

// A list longer than this is nobody's shape, permutation or window.
constexpr std::uint32_t kMaxListLength = 64;

bool SameBits(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const float* f = std::get_if<float>(&a)) {
    return std::bit_cast<std::uint32_t>(*f) == std::bit_cast<std::uint32_t>(std::get<float>(b));
  }
  return a == b;
}

}  // namespace

bool operator==(const Attrs& a, const Attrs& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!SameBits(a[i], b[i])) return false;
  }
  return true;
}

std::span<const AttrSpec> Required(std::span<const AttrSpec> specs) {
  return TakesOptional(specs) ? specs.first(specs.size() - 1) : specs;
}

bool TakesOptional(std::span<const AttrSpec> specs) { return !specs.empty() && specs.back().optional; }

bool HasOptional(const Attrs& attrs, std::span<const AttrSpec> specs) {
  return TakesOptional(specs) && attrs.size() == specs.size();
}

bool Matches(const Attrs& attrs, std::span<const AttrSpec> specs) {
  if (attrs.size() != specs.size() && attrs.size() != Required(specs).size()) return false;
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].index() != static_cast<std::size_t>(specs[i].kind)) return false;
  }
  return true;
}

void Encode(const Attrs& attrs, ByteWriter& out) {
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    const AttrValue& value = attrs[i];
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      out.I64(*integer);
    } else if (const auto* real = std::get_if<float>(&value)) {
      out.F32(*real);
    } else {
      const auto& list = std::get<std::vector<std::int64_t>>(value);
      out.U32(static_cast<std::uint32_t>(list.size()));
      for (std::int64_t v : list) out.I64(v);
    }
  }
}

Result<Attrs> DecodeAttrs(std::span<const AttrSpec> specs, ByteReader& in) {
  Attrs attrs;
  for (const AttrSpec& spec : specs) {
    switch (spec.kind) {
      case AttrKind::kInt: {
        ASSAY_ASSIGN(std::int64_t v, in.I64());
        attrs.Append(v);
        break;
      }
      case AttrKind::kFloat: {
        ASSAY_ASSIGN(float v, in.F32());
        attrs.Append(v);
        break;
      }
      case AttrKind::kInts: {
        ASSAY_ASSIGN(std::uint32_t count, in.U32());
        if (count > kMaxListLength)
          return Err("attribute {}: {} entries, at most {} allowed", spec.name, count, kMaxListLength);
        std::vector<std::int64_t> list;
        for (std::uint32_t i = 0; i < count; ++i) {
          ASSAY_ASSIGN(std::int64_t v, in.I64());
          list.push_back(v);
        }
        attrs.Append(std::move(list));
        break;
      }
    }
  }
  return attrs;
}

std::string ToString(const Attrs& attrs, std::span<const AttrSpec> specs) {
  std::string text;
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    if (i != 0) text += ", ";
    text += fmt::format("{}=", i < specs.size() ? specs[i].name : "?");
    if (const auto* integer = std::get_if<std::int64_t>(&attrs[i])) {
      text += fmt::format("{}", *integer);
    } else if (const auto* real = std::get_if<float>(&attrs[i])) {
      text += fmt::format("{}", *real);
    } else {
      text += "[";
      const auto& list = std::get<std::vector<std::int64_t>>(attrs[i]);
      for (std::size_t j = 0; j < list.size(); ++j) text += fmt::format("{}{}", j == 0 ? "" : " ", list[j]);
      text += "]";
    }
  }
  return text;
}

}  // namespace assay
