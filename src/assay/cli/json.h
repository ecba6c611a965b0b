// JSON output: fields keep the order in which they were written.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

namespace assay::cli {

using OrderedJson = nlohmann::ordered_json;

template <class T>
OrderedJson ToJson(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

}  // namespace assay::cli
