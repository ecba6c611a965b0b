// Little-endian byte codec for everything that is hashed or stored in a canonical form.
//
// Every field has a fixed width or a length prefix, so that one value has one encoding. ByteReader checks each length before it
// reads and never allocates more than the input could hold. Neither class is thread safe.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"

namespace assay {

static_assert(std::endian::native == std::endian::little, "Assay's formats assume a little-endian host");

using Bytes = std::vector<std::uint8_t>;
using ByteSpan = std::span<const std::uint8_t>;

class ByteWriter {
 public:
  void U8(std::uint8_t v) { bytes_.push_back(v); }
  void U16(std::uint16_t v) { Fixed(v, 2); }
  void U32(std::uint32_t v) { Fixed(v, 4); }
  void U64(std::uint64_t v) { Fixed(v, 8); }
  void I64(std::int64_t v) { U64(static_cast<std::uint64_t>(v)); }
  void F32(float v) { U32(std::bit_cast<std::uint32_t>(v)); }
  void F64(double v) { U64(std::bit_cast<std::uint64_t>(v)); }
  void String(std::string_view s);  // u32 length, then the bytes
  void Blob(ByteSpan b);            // u64 length, then the bytes
  void Raw(ByteSpan b);             // the bytes alone
  const Bytes& bytes() const { return bytes_; }
  Bytes Take() { return std::move(bytes_); }

 private:
  void Fixed(std::uint64_t v, int width);
  Bytes bytes_;
};

class ByteReader {
 public:
  // `what` names the source in errors; both must outlive the reader.
  ByteReader(ByteSpan bytes, std::string_view what) : bytes_(bytes), what_(what) {}
  Result<std::uint8_t> U8();
  Result<std::uint16_t> U16();
  Result<std::uint32_t> U32();
  Result<std::uint64_t> U64();
  Result<std::int64_t> I64();
  Result<float> F32();
  Result<double> F64();
  Result<std::string> String();
  Result<Bytes> Blob();
  Result<ByteSpan> Raw(std::size_t size);
  Status End() const;  // an error if bytes are left over
  std::size_t remaining() const { return bytes_.size() - position_; }

 private:
  Result<std::uint64_t> Fixed(std::size_t width);
  ByteSpan bytes_;
  std::string_view what_;
  std::size_t position_ = 0;
};

std::string Hex(ByteSpan bytes);
Result<Bytes> FromHex(std::string_view text);  // an even number of lower-case digits

inline ByteSpan AsBytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

}  // namespace assay
