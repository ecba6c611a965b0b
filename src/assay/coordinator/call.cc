#include "assay/coordinator/call.h"

#include <limits>
#include <set>
#include <vector>

#include "assay/base/check.h"
#include "assay/base/quote.h"

namespace assay::coordinator {
namespace {

constexpr int kMostDepth = 32;
constexpr std::size_t kMostKeys = 1024;  // of one object: finding one among many takes time

// Digits alone, without leading zeros.
std::optional<std::int64_t> ParseNumber(std::string_view text) {
  if (text.empty() || text.size() > 18 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// How deep the brackets go, before anything is built of them.
bool IsShallow(ByteSpan text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint8_t c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMostDepth) return false;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return true;
}

}  // namespace

const std::string& Call::Path(std::string_view name) const {
  const auto found = path.find(name);
  ASSAY_CHECK(found != path.end());
  return found->second;
}

Outcome<std::int64_t> Call::QueryNumber(std::string_view name, std::int64_t absent, std::int64_t low, std::int64_t high) const {
  const std::optional<std::string_view> text = target.Query(name);
  if (!text) return absent;
  const std::optional<std::int64_t> value = ParseNumber(*text);
  if (!value || *value < low || *value > high)
    return BadRequest("{}: expected a number from {} to {}, got {}", name, low, high, Quote(*text));
  return *value;
}

Outcome<std::string> Call::Text(const char* key, std::size_t max_bytes) const {
  const Json* found = Find(body, key);
  if (found == nullptr || !found->is_string()) return BadRequest("{}: expected text", key);
  auto text = found->get<std::string>();
  if (text.size() > max_bytes) return BadRequest("{}: expected at most {} bytes, got {}", key, max_bytes, text.size());
  if (text.find('\0') != std::string::npos) return BadRequest("{}: expected text without a zero byte", key);
  return text;
}

Outcome<std::string> Call::TextOr(const char* key, std::size_t max_bytes, std::string absent) const {
  if (Find(body, key) == nullptr) return absent;
  return Text(key, max_bytes);
}

Outcome<std::int64_t> Call::Number(const char* key) const {
  const Json* found = Find(body, key);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (found == nullptr || !found->is_number_unsigned() || found->get<std::uint64_t>() > kMost)
    return BadRequest("{}: expected an integer from 0 on", key);
  return static_cast<std::int64_t>(found->get<std::uint64_t>());
}

Outcome<std::int64_t> Call::NumberOr(const char* key, std::int64_t absent) const {
  if (Find(body, key) == nullptr) return absent;
  return Number(key);
}

Outcome<std::vector<std::string>> Call::Texts(const char* key, std::size_t max_count) const {
  const Json* found = Find(body, key);
  if (found == nullptr || !found->is_array() || found->size() > max_count)
    return BadRequest("{}: expected a list of at most {} texts", key, max_count);
  std::vector<std::string> texts;
  for (const Json& value : *found) {
    if (!value.is_string()) return BadRequest("{}: expected a list of texts", key);
    texts.push_back(value.get<std::string>());
    if (texts.back().find('\0') != std::string::npos) return BadRequest("{}: expected texts without a zero byte", key);
  }
  return texts;
}

Outcome<Json> ParseBody(ByteSpan body) {
  if (body.empty()) return Json::object();
  if (!IsShallow(body)) return BadRequest("the body's JSON is nested more than {} deep", kMostDepth);
  std::vector<std::set<std::string>> open;  // keys of the objects that are open
  bool twice = false, too_many = false;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !too_many) {
      twice = twice || !open.back().insert(value.get<std::string>()).second;
      too_many = open.back().size() > kMostKeys;
    }
    return !too_many;  // what follows is not kept
  };
  Json parsed = Json::parse(body.begin(), body.end(), watch, false);
  if (too_many) return BadRequest("the body's JSON has an object of more than {} keys", kMostKeys);
  if (parsed.is_discarded()) return BadRequest("the body is no JSON");
  if (twice) return BadRequest("the body's JSON has a key twice");
  if (!parsed.is_object()) return BadRequest("the body is no JSON object");
  return parsed;
}

}  // namespace assay::coordinator
