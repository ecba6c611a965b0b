// What a log of decisions begins with: how many elements and decisions there are, and a table of where segments begin (docs/formats/rounding.md). Value
// types; pure functions.
//
// An entry of the table says all that finding a segment takes, so that who looks for one decision need not read the whole table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay::rounding {

inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 56;

struct LogHeader {
  static constexpr std::size_t kBytes = 36;       // before the table
  static constexpr std::size_t kEntryBytes = 16;  // of the table

  struct Entry {
    std::uint64_t end = 0;    // of the segment's bytes, counted from the end of the table
    std::uint64_t first = 0;  // position of its first decision
  };

  std::uint64_t elements = 0;   // with a bound, in the whole step
  std::uint64_t decisions = 0;  // at most `elements`

  std::uint64_t segments() const;
  std::uint64_t DecisionsIn(std::uint64_t segment) const;
  Bytes Encoded() const;
  // `bytes` are kBytes, or fewer where a log is shorter.
  static Result<LogHeader> Read(ByteSpan bytes, std::string_view what);
  static Entry ReadEntry(ByteSpan bytes);  // kEntryBytes
  // Whether an entry can follow the one before it and end in a log with so many coded bytes. The last must end with them.
  Status Check(std::uint64_t segment, const std::optional<Entry>& before, const Entry& entry, std::uint64_t coded) const;
};

}  // namespace assay::rounding
