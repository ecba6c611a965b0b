#include "assay/base/bytes.h"

#include <cstring>

#include "assay/base/quote.h"

namespace assay {
namespace {

Error Truncated(std::string_view what, std::uint64_t size, std::size_t position, std::size_t remaining) {
  return Error{.message =
                   fmt::format("{}: truncated: {} bytes expected at offset {}, {} left", what, size, position, remaining)};
}

}  // namespace

void ByteWriter::Fixed(std::uint64_t v, int width) {
  for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}

void ByteWriter::String(std::string_view s) {
  U32(static_cast<std::uint32_t>(s.size()));
  Raw(AsBytes(s));
}

void ByteWriter::Blob(ByteSpan b) {
  U64(b.size());
  Raw(b);
}

void ByteWriter::Raw(ByteSpan b) { bytes_.insert(bytes_.end(), b.begin(), b.end()); }

Result<ByteSpan> ByteReader::Raw(std::size_t size) {
  if (size > remaining()) return tl::unexpected(Truncated(what_, size, position_, remaining()));
  ByteSpan piece = bytes_.subspan(position_, size);
  position_ += size;
  return piece;
}

Result<std::uint64_t> ByteReader::Fixed(std::size_t width) {
  ASSAY_ASSIGN(ByteSpan piece, Raw(width));
  std::uint64_t v = 0;
  std::memcpy(&v, piece.data(), width);
  return v;
}

Result<std::uint8_t> ByteReader::U8() {
  return Fixed(1).map([](std::uint64_t v) { return static_cast<std::uint8_t>(v); });
}
Result<std::uint16_t> ByteReader::U16() {
  return Fixed(2).map([](std::uint64_t v) { return static_cast<std::uint16_t>(v); });
}
Result<std::uint32_t> ByteReader::U32() {
  return Fixed(4).map([](std::uint64_t v) { return static_cast<std::uint32_t>(v); });
}
Result<std::uint64_t> ByteReader::U64() { return Fixed(8); }
Result<std::int64_t> ByteReader::I64() {
  return Fixed(8).map([](std::uint64_t v) { return static_cast<std::int64_t>(v); });
}
Result<float> ByteReader::F32() {
  return U32().map([](std::uint32_t v) { return std::bit_cast<float>(v); });
}
Result<double> ByteReader::F64() {
  return U64().map([](std::uint64_t v) { return std::bit_cast<double>(v); });
}

Result<std::string> ByteReader::String() {
  ASSAY_ASSIGN(std::uint32_t size, U32());
  ASSAY_ASSIGN(ByteSpan piece, Raw(size));
  return std::string(piece.begin(), piece.end());
}

Result<Bytes> ByteReader::Blob() {
  ASSAY_ASSIGN(std::uint64_t size, U64());
  // Before it is a std::size_t, which may have 32 bits.
  if (size > remaining()) return tl::unexpected(Truncated(what_, size, position_, remaining()));
  ASSAY_ASSIGN(ByteSpan piece, Raw(static_cast<std::size_t>(size)));
  return Bytes(piece.begin(), piece.end());
}

Status ByteReader::End() const {
  if (remaining() != 0) return Err("{}: {} unexpected bytes after the end", what_, remaining());
  return {};
}

std::string Hex(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (std::uint8_t b : bytes) {
    text.push_back(kDigits[b >> 4]);
    text.push_back(kDigits[b & 15]);
  }
  return text;
}

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Result<Bytes> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return Err("expected an even number of hex digits, got {}", text.size());
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return Err("expected lower-case hex digits, got {}", Quote(text.substr(i, 2)));
    bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  return bytes;
}

}  // namespace assay
