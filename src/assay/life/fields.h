// Reading of canonical JSON: a field that is missing or of another kind reads as a default, so that the text written from what was read differs from the text
// received, and one comparison at the end catches every deviation. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "assay/merkle/sha256.h"

namespace assay::life {

using Json = nlohmann::ordered_json;

// Compact; bytes that are no UTF-8 are replaced, which makes the text differ from what was received.
std::string Compact(const Json& json);
// An object, or null where the text is none.
Json ParseObject(std::string_view text);

std::string TextOf(const Json& object, const char* key);
std::int64_t CountOf(const Json& object, const char* key);  // from 0 on; -1: is none
bool FlagOf(const Json& object, const char* key);
Digest HashOf(const Json& object, const char* key);
std::vector<std::int64_t> CountsOf(const Json& object, const char* key);
std::vector<Digest> HashesOf(const Json& object, const char* key);
std::vector<std::string> TextsOf(const Json& object, const char* key);
// An object, or an empty one.
Json ObjectOf(const Json& object, const char* key);

std::vector<std::string> Hex(const std::vector<Digest>& hashes);

}  // namespace assay::life
