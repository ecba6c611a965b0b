#include "assay/data/chars.h"

namespace assay {

std::shared_ptr<const CharTokenizer> CharTokenizer::FromText(std::string_view text) {
  std::array<bool, 256> present{};
  for (char c : text) present[static_cast<std::uint8_t>(c)] = true;
  auto out = std::make_shared<CharTokenizer>();
  for (std::size_t b = 0; b < 256; ++b) {
    out->ids_[b] = present[b] ? static_cast<std::int16_t>(out->bytes_.size()) : std::int16_t{-1};
    if (present[b]) out->bytes_.push_back(static_cast<char>(b));
  }
  return out;
}

std::shared_ptr<const CharTokenizer> CharTokenizer::AllBytes() {
  std::string all;
  for (int b = 0; b < 256; ++b) all.push_back(static_cast<char>(b));
  return FromText(all);
}

Result<std::vector<std::uint16_t>> CharTokenizer::Encode(std::string_view text, Allowance& allowance) const {
  ASSAY_TRY(allowance.Take(text.size() * sizeof(std::uint16_t)));
  std::vector<std::uint16_t> out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (ids_[byte] < 0)
      return Err("byte 0x{:02x} at position {} is not in the text's vocabulary of {} characters", byte, i, bytes_.size());
    out.push_back(static_cast<std::uint16_t>(ids_[byte]));
  }
  return out;
}

std::string CharTokenizer::Decode(std::span<const std::uint16_t> ids) const {
  std::string out;
  for (std::uint16_t id : ids) {
    if (id < bytes_.size()) out.push_back(bytes_[id]);
  }
  return out;
}

}  // namespace assay
