// Attributes of a node: the compile-time constants of an op, as a flat list whose names and kinds the op's schema declares.
//
// One codec serves every op: values are written in schema order, integers as i64, floats as their 32 bits, lists with a
// count. Two equal attribute lists have equal bytes. The last attribute of a schema may be optional: a list without it is one value
// shorter, and whoever decodes it has to know (docs/formats/program.md). A value type.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "assay/base/bytes.h"

namespace assay {

enum class AttrKind : std::uint8_t { kInt, kFloat, kInts };

struct AttrSpec {
  const char* name;
  AttrKind kind;
  bool optional = false;  // at most the last one of a schema
};

using AttrValue = std::variant<std::int64_t, float, std::vector<std::int64_t>>;

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<AttrValue> values) : values_(values) {}

  std::int64_t Int(std::size_t index) const { return std::get<std::int64_t>(values_.at(index)); }
  float Float(std::size_t index) const { return std::get<float>(values_.at(index)); }
  const std::vector<std::int64_t>& Ints(std::size_t index) const {
    return std::get<std::vector<std::int64_t>>(values_.at(index));
  }
  std::size_t size() const { return values_.size(); }
  const AttrValue& operator[](std::size_t index) const { return values_.at(index); }
  void Append(AttrValue value) { values_.push_back(std::move(value)); }

  friend bool operator==(const Attrs& a, const Attrs& b);  // floats compare by bits

 private:
  std::vector<AttrValue> values_;
};

// The attributes that every list of the schema has.
std::span<const AttrSpec> Required(std::span<const AttrSpec> specs);
bool TakesOptional(std::span<const AttrSpec> specs);
// Whether the list, which matches the schema, has the optional attribute.
bool HasOptional(const Attrs& attrs, std::span<const AttrSpec> specs);

bool Matches(const Attrs& attrs, std::span<const AttrSpec> specs);
void Encode(const Attrs& attrs, ByteWriter& out);
// A value for each of `specs`.
Result<Attrs> DecodeAttrs(std::span<const AttrSpec> specs, ByteReader& in);
std::string ToString(const Attrs& attrs, std::span<const AttrSpec> specs);  // "transpose_a=0, transpose_b=1"

}  // namespace assay
