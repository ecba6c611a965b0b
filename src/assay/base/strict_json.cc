#include "assay/base/strict_json.h"

#include <cstddef>
#include <set>
#include <vector>

#include "assay/base/quote.h"

namespace assay {
namespace {

using Json = nlohmann::json;

// Watches the parser, which keeps no duplicate keys.
class Watch {
 public:
  explicit Watch(int max_depth) : max_depth_(max_depth) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (depth >= max_depth_) too_deep_ = true;
      if (too_deep_) return false;
      if (keys_.size() <= level) keys_.resize(level + 1);
      keys_[level].clear();
    } else if (event == Json::parse_event_t::key && !too_deep_) {
      const std::string& key = parsed.get_ref<const std::string&>();
      if (!keys_[level - 1].insert(key).second && duplicate_.empty()) duplicate_ = Quote(key);
    }
    return !too_deep_;
  }
  bool too_deep() const { return too_deep_; }
  const std::string& duplicate() const { return duplicate_; }

 private:
  int max_depth_;
  bool too_deep_ = false;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open, by depth
  std::string duplicate_;
};

}  // namespace

Result<Json> ParseJsonObject(std::string_view text, std::string_view what, int max_depth) {
  Watch watch(max_depth);
  Json root = Json::parse(text, std::ref(watch), false);
  if (watch.too_deep()) return Err("{}: nests deeper than {} levels, which its format does not", what, max_depth);
  if (root.is_discarded() || !root.is_object()) return Err("{}: expected a JSON object", what);
  if (!watch.duplicate().empty()) return Err("{}: has the key {} twice", what, watch.duplicate());
  return root;
}

std::string DescribeJson(const Json& value) {
  if (value.is_string()) return Quote(value.get_ref<const std::string&>());
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.dump();
}

}  // namespace assay
