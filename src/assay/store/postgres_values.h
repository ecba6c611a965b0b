// Values in PostgreSQL's binary format, which is big-endian and has a type for each. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/store/value.h"

namespace assay::store {

// Numbers of types, from PostgreSQL's catalogue (pg_type.dat); they never change.
namespace pg_type {
inline constexpr unsigned kInferred = 0, kBool = 16, kBytes = 17, kName = 19, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25,
                          kFloat4 = 700, kFloat8 = 701, kVarchar = 1043, kVoid = 2278;
}

// The parameters of a statement as libpq takes them. Points into the values, which must outlive it.
class PostgresParameters {
 public:
  explicit PostgresParameters(std::span<const Value> values);
  PostgresParameters(const PostgresParameters&) = delete;
  PostgresParameters& operator=(const PostgresParameters&) = delete;

  int count() const { return static_cast<int>(types_.size()); }
  const unsigned* types() const { return types_.data(); }
  const char* const* data() const { return data_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }
  std::string signature() const;  // one letter a type: the same text with other types is another prepared statement

 private:
  std::vector<unsigned> types_;
  std::vector<const char*> data_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
  std::vector<std::uint64_t> words_;  // integers and reals, in network order
};

// The value of a column of `type`; empty where the type is none of ours or the size is not that of the type.
std::optional<Value> FromPostgres(unsigned type, ByteSpan bytes);

}  // namespace assay::store
