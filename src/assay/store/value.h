// What goes into a statement and what comes out of it: values, rows, and how both databases are made to agree on them. Value types.
//
// A value is null, a 64-bit integer, a binary64 number, text (UTF-8 without zero bytes) or bytes. What one of the databases cannot keep is
// refused for both before it is sent (CheckParameters): text that is not UTF-8 or holds a zero byte, and NaN. The sign of a zero is not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay::store {

struct Null {
  friend bool operator==(Null, Null) = default;
};
using Value = std::variant<Null, std::int64_t, double, std::string, Bytes>;
using Values = std::vector<Value>;

// An error about what a database holds, which whoever asks cannot mend.
template <class... Args>
tl::unexpected<Error> Broken(fmt::format_string<Args...> format, Args&&... args) {
  Error error{fmt::format(format, std::forward<Args>(args)...)};
  error.broken = true;
  return tl::unexpected<Error>(std::move(error));
}

// One row of an answer. A column is asked for by its place in the statement, from 0, which must exist; a value of another kind than asked for
// is an error (`broken`), since it comes from a disk.
class Row {
 public:
  explicit Row(Values values) : values_(std::move(values)) {}
  bool IsNull(std::size_t column) const;
  Result<std::int64_t> Integer(std::size_t column) const;
  Result<double> Real(std::size_t column) const;
  Result<std::string> Text(std::size_t column) const;
  Result<Bytes> Blob(std::size_t column) const;
  const Values& values() const { return values_; }

 private:
  const Value& At(std::size_t column) const;
  Values values_;
};

// The answer to a statement.
struct Rows {
  std::vector<Row> rows{};
  std::int64_t changed = 0;  // rows that the statement inserted, updated or deleted

  bool empty() const { return rows.empty(); }
  std::size_t size() const { return rows.size(); }
  const Row& operator[](std::size_t index) const;
  std::vector<Row>::const_iterator begin() const { return rows.begin(); }
  std::vector<Row>::const_iterator end() const { return rows.end(); }
};

// An error where a value is one that not both databases keep as it is.
Status CheckParameters(std::span<const Value> values);
bool IsUtf8(std::string_view text);  // well-formed, without surrogates and overlong forms

}  // namespace assay::store
