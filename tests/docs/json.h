// JSON as the vectors write it: bits in hex, one entry per line. Pure; thread safe.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/graph/op_def.h"
#include "assay/tensor/tensor.h"

namespace assay::docs {

std::string Bits(float x);  // "3f800000"
std::string Quoted(std::string_view text);
std::string Integers(std::span<const std::int64_t> values);  // [1, 2]
// A type, "f32[2, 3]".
std::string Type(const TensorType& type);
// The elements of a tensor in order, each as the hex digits of its bits with the most significant first, joined by spaces.
std::string Elements(const Tensor& tensor);
// Integers as numbers, floats as {"bits": …}, lists as lists.
std::string Attributes(const Attrs& attrs);
// {"key": value, …} of values that are JSON already.
std::string Object(const std::vector<std::pair<std::string_view, std::string>>& fields);
// [ … ] with one entry per line.
std::string Lines(const std::vector<std::string>& entries, int indent = 0);

}  // namespace assay::docs
