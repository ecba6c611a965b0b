// Numbers and tables for people. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

std::string Count(double value);                                // 950, 12.3k, 4.57M, 1.20G
std::string ByteCount(double bytes);                            // 512 B, 1.50 MiB
std::string Duration(double seconds);                           // 0.4s, 12s, 2m05s, 3h10m, 2d04h
std::string Grouped(std::int64_t value);                        // 124,439,808
std::string Plural(std::int64_t count, std::string_view noun);  // 1 round, 2 rounds

// Columns padded to their widest cell; the first is left-aligned, the others right-aligned. The first row is the heading.
std::string Table(const std::vector<std::vector<std::string>>& rows);

}  // namespace assay::cli
