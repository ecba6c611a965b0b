#include "assay/life/fields.h"

#include <limits>

namespace assay::life {
namespace {

const Json* Find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::int64_t Count(const Json& value) {
  if (!value.is_number_unsigned()) return -1;
  const auto count = value.get<std::uint64_t>();
  return count <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ? static_cast<std::int64_t>(count) : -1;
}

template <class T, class Convert>
std::vector<T> ListOf(const Json& object, const char* key, Convert convert) {
  std::vector<T> list;
  const Json* found = Find(object, key);
  if (found == nullptr || !found->is_array()) return list;
  for (const Json& value : *found) list.push_back(convert(value));
  return list;
}

std::string Text(const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

}  // namespace

std::string Compact(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json ParseObject(std::string_view text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_object() ? parsed : Json();
}

std::string TextOf(const Json& object, const char* key) {
  const Json* found = Find(object, key);
  return found == nullptr ? std::string() : Text(*found);
}

std::int64_t CountOf(const Json& object, const char* key) {
  const Json* found = Find(object, key);
  return found == nullptr ? -1 : Count(*found);
}

bool FlagOf(const Json& object, const char* key) {
  const Json* found = Find(object, key);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

Digest HashOf(const Json& object, const char* key) { return Digest::FromHex(TextOf(object, key)).value_or(Digest{}); }

std::vector<std::int64_t> CountsOf(const Json& object, const char* key) { return ListOf<std::int64_t>(object, key, Count); }

std::vector<Digest> HashesOf(const Json& object, const char* key) {
  return ListOf<Digest>(object, key, [](const Json& value) { return Digest::FromHex(Text(value)).value_or(Digest{}); });
}

std::vector<std::string> TextsOf(const Json& object, const char* key) { return ListOf<std::string>(object, key, Text); }

Json ObjectOf(const Json& object, const char* key) {
  const Json* found = Find(object, key);
  return found != nullptr && found->is_object() ? *found : Json::object();
}

std::vector<std::string> Hex(const std::vector<Digest>& hashes) {
  std::vector<std::string> texts;
  for (const Digest& hash : hashes) texts.push_back(hash.hex());
  return texts;
}

}  // namespace assay::life
