#include "assay/store/value.h"

#include <cmath>

#include "assay/base/check.h"

namespace assay::store {
namespace {

constexpr std::string_view kKinds[] = {"null", "an integer", "a real number", "text", "bytes"};

template <class T>
Result<T> As(const Value& value, std::size_t column, std::string_view wanted) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  return Broken("column {} of the answer: expected {}, found {}", column, wanted, kKinds[value.index()]);
}

// The length of the well-formed character that the text begins with, 0 where there is none.
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

const Value& Row::At(std::size_t column) const {
  ASSAY_CHECK(column < values_.size());
  return values_[column];
}

bool Row::IsNull(std::size_t column) const { return std::holds_alternative<Null>(At(column)); }
Result<std::int64_t> Row::Integer(std::size_t column) const { return As<std::int64_t>(At(column), column, "an integer"); }
Result<double> Row::Real(std::size_t column) const { return As<double>(At(column), column, "a real number"); }
Result<std::string> Row::Text(std::size_t column) const { return As<std::string>(At(column), column, "text"); }
Result<Bytes> Row::Blob(std::size_t column) const { return As<Bytes>(At(column), column, "bytes"); }

const Row& Rows::operator[](std::size_t index) const {
  ASSAY_CHECK(index < rows.size());
  return rows[index];
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Status CheckParameters(std::span<const Value> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const auto* real = std::get_if<double>(&values[i]); real != nullptr && std::isnan(*real))
      return Err("parameter ${} is not a number", i + 1);
    const auto* text = std::get_if<std::string>(&values[i]);
    if (text == nullptr) continue;
    if (text->find('\0') != std::string::npos) return Err("parameter ${} is text with a zero byte", i + 1);
    if (!IsUtf8(*text)) return Err("parameter ${} is text that is not UTF-8", i + 1);
  }
  return {};
}

}  // namespace assay::store
