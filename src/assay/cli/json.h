// JSON output: fields keep the order in which they were written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace assay::cli {

using OrderedJson = nlohmann::ordered_json;

// One line. A path is bytes and need not be UTF-8; what is not becomes a replacement character.
inline std::string Dump(const OrderedJson& json) { return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }

// A count that is kept as a double because it is large: as an integer, as long as that is exact.
inline OrderedJson Whole(double count) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(count >= -kExact && count <= kExact)) return count;
  return static_cast<std::int64_t>(count);
}

template <class T>
OrderedJson ToJson(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

}  // namespace assay::cli
