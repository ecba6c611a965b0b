// JSON output: fields keep the order in which they were written. Value types; pure functions.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace assay::verdict {

using OrderedJson = nlohmann::ordered_json;

// One line. A path is bytes and need not be UTF-8; what is not becomes a replacement character.
inline std::string Dump(const OrderedJson& json) { return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }

template <class T>
OrderedJson ToJson(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

}  // namespace assay::verdict
