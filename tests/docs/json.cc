#include "docs/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay::docs {

std::string Bits(float x) { return fmt::format("{:08x}", std::bit_cast<std::uint32_t>(x)); }

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

std::string Integers(std::span<const std::int64_t> values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string Type(const TensorType& type) { return Quoted(fmt::format("{}{}", Name(type.dtype), Integers(type.shape.dims()))); }

std::string Elements(const Tensor& tensor) {
  const std::size_t size = SizeOf(tensor.dtype());
  const ByteSpan bytes = tensor.bytes();
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    if (at != 0) text += ' ';
    for (std::size_t i = size; i > 0; --i) text += fmt::format("{:02x}", bytes[at + i - 1]);
  }
  return Quoted(text);
}

std::string Attributes(const Attrs& attrs) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    if (const auto* integer = std::get_if<std::int64_t>(&attrs[i])) {
      values.push_back(fmt::format("{}", *integer));
    } else if (const auto* real = std::get_if<float>(&attrs[i])) {
      values.push_back(Object({{"bits", Quoted(Bits(*real))}}));
    } else {
      values.push_back(Integers(std::get<std::vector<std::int64_t>>(attrs[i])));
    }
  }
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string Object(const std::vector<std::pair<std::string_view, std::string>>& fields) {
  std::string text = "{";
  for (const auto& [key, value] : fields) text += fmt::format("{}\"{}\": {}", text.size() == 1 ? "" : ", ", key, value);
  return text + "}";
}

std::string Lines(const std::vector<std::string>& entries, int indent) {
  const std::string space(static_cast<std::size_t>(indent), ' ');
  return fmt::format("[\n{}  {}\n{}]", space, fmt::join(entries, ",\n  " + space), space);
}

}  // namespace assay::docs
