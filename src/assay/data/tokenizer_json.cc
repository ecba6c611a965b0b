#include "assay/data/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/base/strict_json.h"
#include "assay/data/bpe.h"
#include "assay/data/byte_alphabet.h"

namespace assay {
namespace {

using Json = nlohmann::json;
using Parts = ByteLevelBpe::Parts;

constexpr std::uint64_t kMaxFile = 64u << 20;
constexpr int kMaxDepth = 10;
constexpr std::size_t kMaxAdded = 4096;

struct Pattern {
  std::string_view regex;
  Cut cut;
};
constexpr std::string_view kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::array<Pattern, 3> kPatterns = {
    {{kGpt2Pattern, Cut::kGpt2}, {kLlama3Pattern, Cut::kLlama3}, {kQwen2Pattern, Cut::kQwen2}}};

// One object of the file; `where` is its name in errors.
class Section {
 public:
  Section(const Json& json, std::string what, std::string where)
      : json_(json), what_(std::move(what)), where_(std::move(where)) {}

  // Null where it is not given, or given as null.
  const Json* Find(std::string_view key) const {
    const auto it = json_.find(key);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  tl::unexpected<Error> Wrong(std::string_view key, std::string_view expected) const {
    const Json* value = Find(key);
    return Err("{}: {}: expected {}, got {}", what_, Name(key), expected, value == nullptr ? "nothing" : DescribeJson(*value));
  }
  Status OnlyKeys(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : json_.items()) {
      if (std::ranges::find(known, key) == known.end()) return Err("{}: {}: is not known here", what_, OneLine(Name(key)));
    }
    return {};
  }
  Result<bool> Bool(std::string_view key, bool fallback) const {
    const Json* value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) return Wrong(key, "true or false");
    return value->get<bool>();
  }
  Status OnlyFalse(std::string_view key) const {
    ASSAY_ASSIGN(const bool value, Bool(key, false));
    return value ? Status(Wrong(key, "false")) : Status();
  }
  Status OnlyNull(std::string_view key) const { return Find(key) == nullptr ? Status() : Status(Wrong(key, "null")); }
  Status OnlyEmpty(std::string_view key) const {
    const Json* value = Find(key);
    return value == nullptr || *value == "" ? Status() : Status(Wrong(key, "null or an empty string"));
  }
  // A text, which must be there.
  Result<std::string> Text(std::string_view key, std::string_view expected) const {
    const Json* value = Find(key);
    if (value == nullptr || !value->is_string()) return Wrong(key, expected);
    return value->get<std::string>();
  }
  std::string Name(std::string_view key) const { return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key); }
  const std::string& what() const { return what_; }

 private:
  const Json& json_;
  std::string what_, where_;
};

Status ReadSplit(const Section& s, Parts& parts) {
  ASSAY_TRY(s.OnlyKeys({"type", "pattern", "behavior", "invert"}));
  const Json* pattern = s.Find("pattern");
  const bool regex = pattern != nullptr && pattern->is_object() && pattern->size() == 1 && pattern->contains("Regex");
  if (!regex || !(*pattern)["Regex"].is_string()) return s.Wrong("pattern", "a Regex");
  const auto& text = (*pattern)["Regex"].get_ref<const std::string&>();
  const auto known = std::ranges::find(kPatterns, text, &Pattern::regex);
  if (known == kPatterns.end()) {
    return Err("{}: {}: expected the pattern of GPT-2, Llama 3 or Qwen2, got {}", s.what(), s.Name("pattern"), Quote(text));
  }
  // The patterns leave nothing over, so that keeping what matches and removing what is between come to the same.
  ASSAY_ASSIGN(const bool invert, s.Bool("invert", false));
  ASSAY_ASSIGN(const std::string behavior, s.Text("behavior", "Isolated"));
  if (behavior != (invert ? "Removed" : "Isolated")) return s.Wrong("behavior", invert ? "Removed" : "Isolated");
  parts.cuts.push_back(known->cut);
  return {};
}

Status ReadByteLevel(const Section& s, Parts& parts) {
  ASSAY_TRY(s.OnlyKeys({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  ASSAY_ASSIGN(parts.prefix_space, s.Bool("add_prefix_space", true));
  ASSAY_ASSIGN(const bool cuts, s.Bool("use_regex", true));
  // Every piece of a cut before it would get a space.
  if (parts.prefix_space && !parts.cuts.empty()) return s.Wrong("add_prefix_space", "false after other pre-tokenizers");
  if (cuts) parts.cuts.push_back(Cut::kGpt2);
  return {};
}

Status ReadDigits(const Section& s, Parts& parts) {
  ASSAY_TRY(s.OnlyKeys({"type", "individual_digits"}));
  ASSAY_ASSIGN(const bool single, s.Bool("individual_digits", false));
  parts.cuts.push_back(single ? Cut::kDigits : Cut::kDigitRuns);
  return {};
}

// One step of cutting a text into words; `last` says that it is the last one, which turns words into bytes.
Status ReadStep(const Json& step, const Section& s, bool last, Parts& parts) {
  constexpr std::string_view kLast = "ByteLevel", kBefore = "Split or Digits before ByteLevel";
  if (!step.is_object()) return Err("{}: {}: expected an object, got {}", s.what(), s.Name("type"), DescribeJson(step));
  ASSAY_ASSIGN(const std::string type, s.Text("type", last ? kLast : kBefore));
  if (last) return type == "ByteLevel" ? ReadByteLevel(s, parts) : Status(s.Wrong("type", kLast));
  if (type == "Split") return ReadSplit(s, parts);
  return type == "Digits" ? ReadDigits(s, parts) : Status(s.Wrong("type", kBefore));
}

Status ReadPreTokenizer(const Section& root, Parts& parts) {
  const Json* json = root.Find("pre_tokenizer");
  if (json == nullptr || !json->is_object()) return root.Wrong("pre_tokenizer", "ByteLevel");
  parts.cuts.clear();
  const Section s(*json, root.what(), "pre_tokenizer");
  const Json* type = s.Find("type");
  if (type == nullptr || *type != "Sequence") return ReadStep(*json, s, true, parts);
  ASSAY_TRY(s.OnlyKeys({"type", "pretokenizers"}));
  const Json* steps = s.Find("pretokenizers");
  constexpr std::size_t kMaxSteps = 4;
  if (steps == nullptr || !steps->is_array() || steps->empty() || steps->size() > kMaxSteps) {
    return s.Wrong("pretokenizers", fmt::format("a list of 1 .. {}", kMaxSteps));
  }
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const Section step((*steps)[i], root.what(), fmt::format("pre_tokenizer.pretokenizers[{}]", i));
    ASSAY_TRY(ReadStep((*steps)[i], step, i + 1 == steps->size(), parts));
  }
  return {};
}

// A number that no other token has; makes room for it.
Result<std::uint16_t> TakeNumber(const Json& number, std::string_view what, std::string_view where, Parts& parts) {
  constexpr std::size_t kMost = ByteLevelBpe::kMaxVocabulary - 1;
  if (!number.is_number_unsigned() || number.get<std::uint64_t>() > kMost) {
    return Err("{}: {}: expected a number in 0 .. {}, as tokens have 16 bits here, got {}", what, where, kMost,
               DescribeJson(number));
  }
  const auto id = number.get<std::size_t>();
  if (id >= parts.tokens.size()) parts.tokens.resize(id + 1);
  if (!parts.tokens[id].empty()) return Err("{}: {}: expected a number of its own, got {}", what, where, id);
  return static_cast<std::uint16_t>(id);
}

struct Added {
  std::string content;
  const Json* json = nullptr;
  const Json* id = nullptr;
};

Result<std::vector<Added>> ListAdded(const Section& root) {
  std::vector<Added> out;
  const Json* list = root.Find("added_tokens");
  if (list == nullptr) return out;
  if (!list->is_array() || list->size() > kMaxAdded)
    return root.Wrong("added_tokens", fmt::format("a list of at most {}", kMaxAdded));
  std::unordered_set<std::string> seen;
  for (const Json& token : *list) {
    const std::string where = fmt::format("added_tokens[{}]", out.size());
    if (!token.is_object()) return Err("{}: {}: expected an object, got {}", root.what(), where, DescribeJson(token));
    const Section s(token, root.what(), where);
    ASSAY_TRY(s.OnlyKeys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    ASSAY_ASSIGN(std::string content, s.Text("content", "a text"));
    if (content.empty() || content.size() > AddedTokens::kMaxBytes) {
      return s.Wrong("content", fmt::format("a text of 1 .. {} bytes", AddedTokens::kMaxBytes));
    }
    if (!seen.insert(content).second) return s.Wrong("content", "a text that no other added token has");
    if (s.Find("id") == nullptr) return s.Wrong("id", "a number");
    out.push_back({std::move(content), &token, s.Find("id")});
  }
  return out;
}

Status ReadVocabulary(const Section& s, const std::vector<Added>& added, Parts& parts) {
  const Json* vocabulary = s.Find("vocab");
  if (vocabulary == nullptr || !vocabulary->is_object() || vocabulary->empty())
    return s.Wrong("vocab", "an object of tokens and numbers");
  if (vocabulary->size() > ByteLevelBpe::kMaxVocabulary) {
    return Err("{}: model.vocab: expected at most {} tokens, as tokens have 16 bits here, got {}", s.what(),
               ByteLevelBpe::kMaxVocabulary, vocabulary->size());
  }
  // The numbers that tokens have there, too.
  std::unordered_map<std::string_view, const Json*> numbers;
  for (const Added& token : added) numbers.emplace(token.content, token.id);
  for (const auto& [written, number] : vocabulary->items()) {
    const std::string where = fmt::format("model.vocab: token {}", Quote(written));
    const auto bytes = BytesOfAlphabet(written);
    if (bytes && !bytes->empty() && bytes->size() <= ByteLevelBpe::kMaxTokenBytes) {
      ASSAY_ASSIGN(const std::uint16_t id, TakeNumber(number, s.what(), where, parts));
      parts.tokens[id] = *bytes;
      parts.ids.emplace(*bytes, id);
      continue;
    }
    const auto as_added = numbers.find(written);
    if (as_added == numbers.end()) return Err("{}: {}: does not spell bytes in GPT-2's alphabet", s.what(), where);
    if (*as_added->second != number) {
      return Err("{}: {}: expected {}, as in added_tokens, got {}", s.what(), where, DescribeJson(*as_added->second),
                 DescribeJson(number));
    }
  }
  return {};
}

// The two sides of a merge, as older or newer files have them.
std::optional<std::pair<std::string, std::string>> SidesOf(const Json& merge) {
  if (merge.is_array()) {
    if (merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) return std::nullopt;
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  if (!merge.is_string()) return std::nullopt;
  const auto& text = merge.get_ref<const std::string&>();
  const std::size_t gap = text.find(' ');
  if (gap == std::string::npos || text.find(' ', gap + 1) != std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, gap), text.substr(gap + 1));
}

Status ReadMerges(const Section& s, Parts& parts) {
  constexpr std::size_t kMaxMerges = std::size_t{1} << 20;
  const Json* merges = s.Find("merges");
  if (merges == nullptr || !merges->is_array() || merges->size() > kMaxMerges) {
    return s.Wrong("merges", fmt::format("a list of at most {}", kMaxMerges));
  }
  std::unordered_set<std::uint32_t> seen;
  for (std::size_t i = 0; i < merges->size(); ++i) {
    const auto wrong = [&](std::string_view expected) {
      return Err("{}: model.merges[{}]: expected {}, got {}", s.what(), i, expected, Quote((*merges)[i].dump()));
    };
    const auto sides = SidesOf((*merges)[i]);
    if (!sides) return wrong("two tokens");
    const auto left = BytesOfAlphabet(sides->first), right = BytesOfAlphabet(sides->second);
    const auto left_id = parts.ids.find(left.value_or("")), right_id = parts.ids.find(right.value_or(""));
    if (left_id == parts.ids.end() || right_id == parts.ids.end()) return wrong("two tokens of model.vocab");
    const auto result = parts.ids.find(*left + *right);
    if (result == parts.ids.end()) return wrong("two tokens whose sum is one of model.vocab");
    if (!seen.insert(std::uint32_t{left_id->second} << 16 | right_id->second).second)
      return wrong("a merge that is there once");
    parts.merges.push_back({left_id->second, right_id->second, result->second});
  }
  return {};
}

Status ReadModel(const Section& root, const std::vector<Added>& added, Parts& parts) {
  const Json* json = root.Find("model");
  if (json == nullptr || !json->is_object()) return root.Wrong("model", "an object");
  const Section s(*json, root.what(), "model");
  if (s.Find("type") != nullptr && *s.Find("type") != "BPE") return s.Wrong("type", "BPE");
  ASSAY_TRY(s.OnlyKeys({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                        "byte_fallback", "ignore_merges", "vocab", "merges"}));
  // Every byte has a token, so that unknown ones do not come up.
  if (const Json* dropout = s.Find("dropout"); dropout != nullptr && *dropout != 0.0) return s.Wrong("dropout", "null");
  ASSAY_TRY(s.OnlyEmpty("continuing_subword_prefix"));
  ASSAY_TRY(s.OnlyEmpty("end_of_word_suffix"));
  ASSAY_TRY(s.OnlyFalse("byte_fallback"));
  ASSAY_ASSIGN(parts.whole_words, s.Bool("ignore_merges", false));
  ASSAY_TRY(ReadVocabulary(s, added, parts));
  return ReadMerges(s, parts);
}

Status TakeAdded(const Section& root, const std::vector<Added>& added, bool special, Parts& parts) {
  for (std::size_t i = 0; i < added.size(); ++i) {
    const Section s(*added[i].json, root.what(), fmt::format("added_tokens[{}]", i));
    const std::string& content = added[i].content;
    const Json* number = added[i].id;
    const auto bytes = BytesOfAlphabet(content);
    const auto in_vocabulary = bytes ? parts.ids.find(*bytes) : parts.ids.end();
    if (in_vocabulary != parts.ids.end()) {
      if (*number != in_vocabulary->second) return s.Wrong("id", fmt::format("{}, as in model.vocab", in_vocabulary->second));
    } else {
      ASSAY_TRY(TakeNumber(*number, root.what(), s.Name("id"), parts));
    }
    const auto id = number->get<std::uint16_t>();
    parts.tokens[id] = content;
    if (!special) continue;
    for (const std::string_view key : {"single_word", "lstrip", "rstrip"}) ASSAY_TRY(s.OnlyFalse(key));
    parts.added.Add(content, id);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const ByteLevelBpe>> ParseTokenizerJson(std::string_view text, std::string_view what, bool special) {
  ASSAY_ASSIGN(const Json json, ParseJsonObject(text, what, kMaxDepth));
  const Section root(json, std::string(what), "");
  ASSAY_TRY(root.OnlyKeys({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                           "decoder", "model"}));
  ASSAY_TRY(root.OnlyNull("truncation"));
  ASSAY_TRY(root.OnlyNull("padding"));
  if (const Json* normalizer = root.Find("normalizer")) {
    const bool named = normalizer->is_object() && normalizer->contains("type");
    return Err("{}: normalizer: expected null, got {}", what, DescribeJson(named ? (*normalizer)["type"] : *normalizer));
  }
  Parts parts;
  ASSAY_TRY(ReadPreTokenizer(root, parts));
  ASSAY_ASSIGN(const std::vector<Added> added, ListAdded(root));
  ASSAY_TRY(ReadModel(root, added, parts));
  ASSAY_TRY(TakeAdded(root, added, special, parts));
  return ByteLevelBpe::Make(std::move(parts), what);
}

std::vector<std::string> VocabularyFiles(const std::string& folder) {
  if (Exists(JoinPath(folder, "encoder.json"))) return {"encoder.json", "vocab.bpe"};
  return {kTokenizerFile};
}

Result<std::shared_ptr<const Tokenizer>> OpenVocabulary(const std::string& folder, bool special, Allowance& allowance) {
  if (VocabularyFiles(folder).size() == 2) {
    if (special) return Err("data.special_tokens: {} has encoder.json, which names none; expected {}", folder, kTokenizerFile);
    return BpeTokenizer::Open(folder, allowance);
  }
  const std::string path = JoinPath(folder, kTokenizerFile);
  if (!Exists(path)) return Err("{}: expected a folder with encoder.json and vocab.bpe, or with {}", folder, kTokenizerFile);
  ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(path));
  const std::uint64_t bytes = file.bytes().size();
  if (bytes > kMaxFile) return Err("{}: has {} bytes, at most {} are read", path, bytes, kMaxFile);
  // No token and no merge takes fewer bytes of the file than six.
  ASSAY_TRY(allowance.Take(2 * bytes + bytes / 6 * ByteLevelBpe::kTokenBytes));
  ASSAY_ASSIGN(const auto parsing, allowance.Borrow(kJsonGrowth * bytes));
  return ParseTokenizerJson({reinterpret_cast<const char*>(file.bytes().data()), bytes}, path, special);
}

}  // namespace assay
