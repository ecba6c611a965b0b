#include "assay/store/postgres_values.h"

#include <bit>

namespace assay::store {
namespace {

std::uint64_t BigEndian(ByteSpan bytes) {
  std::uint64_t word = 0;
  for (const std::uint8_t byte : bytes) word = word << 8 | byte;
  return word;
}

// The value of signed kind T whose bytes these are.
template <class T, class Bits>
std::optional<Value> Integer(ByteSpan bytes) {
  if (bytes.size() != sizeof(T)) return std::nullopt;
  return Value(std::int64_t{std::bit_cast<T>(static_cast<Bits>(BigEndian(bytes)))});
}

}  // namespace

PostgresParameters::PostgresParameters(std::span<const Value> values) : formats_(values.size(), 1) {
  words_.reserve(values.size());  // pointers into it stay good
  const auto add = [&](unsigned type, const void* data, std::size_t size) {
    types_.push_back(type);
    data_.push_back(static_cast<const char*>(data));
    lengths_.push_back(static_cast<int>(size));
  };
  const auto add_word = [&](unsigned type, std::uint64_t word) {
    words_.push_back(__builtin_bswap64(word));
    add(type, &words_.back(), sizeof(word));
  };
  for (const Value& value : values) {
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      add_word(pg_type::kInt8, static_cast<std::uint64_t>(*integer));
    else if (const auto* real = std::get_if<double>(&value))
      add_word(pg_type::kFloat8, std::bit_cast<std::uint64_t>(*real));
    else if (const auto* text = std::get_if<std::string>(&value))
      add(pg_type::kText, text->data(), text->size());
    else if (const auto* bytes = std::get_if<Bytes>(&value))
      add(pg_type::kBytes, bytes->empty() ? reinterpret_cast<const void*>("") : bytes->data(), bytes->size());
    else
      add(pg_type::kInferred, nullptr, 0);
  }
}

std::string PostgresParameters::signature() const {
  std::string letters;
  for (const unsigned type : types_) {
    letters += type == pg_type::kInt8     ? 'i'
               : type == pg_type::kFloat8 ? 'r'
               : type == pg_type::kText   ? 't'
               : type == pg_type::kBytes  ? 'b'
                                          : 'n';
  }
  return letters;
}

std::optional<Value> FromPostgres(unsigned type, ByteSpan bytes) {
  switch (type) {
    case pg_type::kBool:
      if (bytes.size() != 1) return std::nullopt;
      return Value(std::int64_t{bytes[0] != 0});
    case pg_type::kInt2: return Integer<std::int16_t, std::uint16_t>(bytes);
    case pg_type::kInt4: return Integer<std::int32_t, std::uint32_t>(bytes);
    case pg_type::kInt8: return Integer<std::int64_t, std::uint64_t>(bytes);
    case pg_type::kFloat4:
      if (bytes.size() != 4) return std::nullopt;
      return Value(double{std::bit_cast<float>(static_cast<std::uint32_t>(BigEndian(bytes)))});
    case pg_type::kFloat8:
      if (bytes.size() != 8) return std::nullopt;
      return Value(std::bit_cast<double>(BigEndian(bytes)));
    case pg_type::kBytes: return Value(Bytes(bytes.begin(), bytes.end()));
    case pg_type::kText:
    case pg_type::kName:
    case pg_type::kVarchar: return Value(std::string(bytes.begin(), bytes.end()));
    case pg_type::kVoid: return Value(Null{});
    default: return std::nullopt;
  }
}

}  // namespace assay::store
