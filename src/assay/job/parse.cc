// Job files. TOML is read by toml++, built without exceptions; what it yields is checked key by key.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

// Its assertions fail on some hostile files, and with NDEBUG it promises them to the optimiser; they are neither checked nor promised here.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "assay/base/file.h"
#include "assay/base/nearest.h"
#include "assay/base/quote.h"
#include "assay/job/belongs.h"
#include "assay/job/characters.h"
#include "assay/job/fields.h"
#include "assay/ops/table.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxFile = 1u << 20;
constexpr double kMaxNumber = double{1e30f};

std::string_view TypeName(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "a truth value";
    default: return "a date or time";
  }
}

// As a job file would have it: 5.0 is not 5.
std::string FloatText(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string Describe(const toml::node& node) {
  if (const auto* v = node.as_integer()) return fmt::format("{}", v->get());
  if (const auto* v = node.as_floating_point()) return FloatText(v->get());
  if (const auto* v = node.as_string()) return Quote(v->get());
  return std::string(TypeName(node));
}

// The same; of a string that would be a number without its quotation marks, what to do.
std::string Unquotable(const toml::node& node, std::string_view characters) {
  const auto* v = node.as_string();
  if (v == nullptr || v->get().empty() || v->get().find_first_not_of(characters) != std::string::npos) return Describe(node);
  return fmt::format("the string \"{}\"; remove the quotes", v->get());
}

std::string List(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names.begin(), names.end(), ", "));
}

// Fills a job from a table; keeps the first complaint.
class Parser : public job::FieldVisitor {
 public:
  Parser(const toml::table& root, std::string_view name) : root_(root), table_(&root), name_(name) {}

  void Section(std::string_view name) override {
    section_ = name;
    table_ = &root_;
    if (name.empty()) return;
    seen_[""].insert(std::string(name));
    const toml::node* node = root_.get(name);
    table_ = node == nullptr ? nullptr : node->as_table();
    if (node != nullptr && table_ == nullptr) Complain(node, name, "a table", Describe(*node));
  }

  void Int(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high) override {
    const toml::node* node = Get(key);
    if (node == nullptr) return;
    const auto* v = node->as_integer();
    if (v != nullptr && v->get() >= low && v->get() <= high) {
      value = v->get();
    } else if (node->is_floating_point()) {
      Complain(node, key, "an integer", Describe(*node));
    } else {
      Complain(node, key, fmt::format("an integer in {} .. {}", low, high), Unquotable(*node, "0123456789+-"));
    }
  }

  void Derived(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high, std::string_view) override {
    Int(key, value, low, high);
  }

  void Rare(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high) override {
    Int(key, value, low, high);
  }

  void Float(std::string_view key, float& value, job::FloatRange range) override {
    if (const toml::node* node = Get(key)) Number(node, key, value, range);
  }

  void Number(const toml::node* node, std::string_view key, float& value, job::FloatRange range) {
    std::optional<double> v;
    if (const auto* f = node->as_floating_point()) v = f->get();
    if (const auto* i = node->as_integer()) v = static_cast<double>(i->get());
    if (!v) return Complain(node, key, range.Phrase(), Unquotable(*node, "0123456789.+-eE"));
    // Keeps the conversion defined.
    const std::string_view most = double{range.high} >= kMaxNumber ? ", at most 1e30" : "";
    if (*v > kMaxNumber) return Complain(node, key, range.Phrase() + std::string(most), Describe(*node));
    if (!(*v >= -kMaxNumber)) return Complain(node, key, range.Phrase(), Describe(*node));
    // Of the value that is used.
    const auto used = static_cast<float>(*v);
    if (range.Contains(used)) {
      value = used;
      return;
    }
    const bool rounded = range.Contains(*v);
    Complain(node, key, range.Phrase(), Describe(*node) + (rounded ? fmt::format(", which is {} in 32 bits", used) : ""));
  }

  void RareFloat(std::string_view key, float& value, float, job::FloatRange range) override { Float(key, value, range); }

  void Bool(std::string_view key, bool& value) override {
    const toml::node* node = Get(key);
    if (node == nullptr) return;
    if (const auto* v = node->as_boolean()) {
      value = v->get();
    } else {
      const auto* text = node->as_string();
      const bool quoted = text != nullptr && (text->get() == "true" || text->get() == "false");
      Complain(node, key, "true or false", quoted ? Unquotable(*node, "truefals") : Describe(*node));
    }
  }

  void RareBool(std::string_view key, bool& value) override { Bool(key, value); }

  void Text(std::string_view key, std::string& value) override {
    const toml::node* node = Get(key);
    if (node == nullptr) return;
    const auto* v = node->as_string();
    if (v != nullptr && v->get().find('\0') == std::string::npos) {
      value = v->get();
    } else {
      Complain(node, key, "a string", Describe(*node));
    }
  }

  void Path(std::string_view key, std::string& value) override { Text(key, value); }

  void Hash(std::string_view key, std::optional<Digest>& value) override {
    const toml::node* node = Get(key);
    if (node == nullptr) return;
    const auto* v = node->as_string();
    const auto digest = Digest::FromHex(v == nullptr ? std::string_view() : std::string_view(v->get()));
    if (!digest) return Complain(node, key, "64 hex digits in lower case, in quotation marks", Describe(*node));
    value = *digest;
    seen_[section_].insert("seed");  // the file has one of the two; which is for ParseJob to say
  }

  void Choice(std::string_view key, std::size_t& value, std::span<const std::string_view> names, bool required) override {
    const toml::node* node = Get(key);
    choices_[FullKey(section_, key)] = names[value];
    if (node == nullptr) {
      if (required && !missing_) missing_ = Missing{section_, std::string(key), List(names)};
      return;
    }
    const auto* v = node->as_string();
    const auto it = v == nullptr ? names.end() : std::find(names.begin(), names.end(), v->get());
    if (it == names.end()) return Complain(node, key, fmt::format("one of {}", List(names)), Describe(*node));
    value = static_cast<std::size_t>(it - names.begin());
    choices_[FullKey(section_, key)] = names[value];
  }

  void Ints(std::string_view key, std::vector<std::int64_t>& value, std::int64_t low, std::int64_t high,
            std::size_t most) override {
    const toml::node* node = Get(key);
    if (node == nullptr) return;
    const std::string expected = fmt::format("a list of at most {} integers in {} .. {}", most, low, high);
    const toml::array* array = node->as_array();
    if (array == nullptr) return Complain(node, key, expected, Describe(*node));
    if (array->size() > most) return Complain(node, key, expected, fmt::format("a list of {}", array->size()));
    value.clear();
    for (const toml::node& element : *array) {
      if (element.is_floating_point()) return Complain(&element, key, "an integer", Describe(element));
      const auto* v = element.as_integer();
      if (v == nullptr || v->get() < low || v->get() > high) return Complain(&element, key, expected, Describe(element));
      value.push_back(v->get());
    }
  }

  void OpNumbers(std::string_view key, std::map<std::string, float>& value, job::FloatRange range) override {
    const toml::node* node = Get(key);
    if (node == nullptr) return;
    const toml::table* table = node->as_table();
    if (table == nullptr) return Complain(node, key, "a table of numbers by op", Describe(*node));
    for (const auto& [name, number] : *table) {
      const std::string op(name.str());
      if (!Ops().FindName(op)) return Complain(&number, key, "names of ops", Quote(op));
      seen_[std::string(key)].insert(op);
      Number(&number, fmt::format("{}.{}", key, op), value[op], range);
    }
  }

  // After the visit: the first complaint about a value, about a key that is missing, about one that nobody asked for. A missing key
  // that was misspelt is reported as that.
  Status Finish() {
    std::optional<Stray> first, misspelt;
    for (const Stray& stray : Strays()) {
      const auto line = [](const Stray& s) { return s.node->source().begin.line; };
      if (!first || line(stray) < line(*first)) first = stray;
      if (missing_ && !misspelt && MayBeMissing(stray)) misspelt = stray;
    }
    if (error_) return tl::unexpected(*error_);
    if (misspelt) return tl::unexpected(Unknown(*misspelt));
    if (missing_) return tl::unexpected(ErrorOf(*missing_));
    if (first) return tl::unexpected(Unknown(*first));
    return {};
  }

  // A complaint about a key or several, "KEY: ...": with the line of that key, or of its table, if the file has it.
  Error Locate(const std::string& message) const {
    const std::string key = message.substr(0, message.find(':'));
    const toml::node* node = root_.at_path(key).node();
    if (node == nullptr) node = root_.at_path(key.substr(0, key.find('.'))).node();
    if (node == nullptr) return {fmt::format("{}: {}", name_, message)};
    return {fmt::format("{}:{}: {}", name_, node->source().begin.line, message)};
  }

 private:
  const toml::node* Get(std::string_view key) {
    seen_[section_].insert(std::string(key));
    return table_ == nullptr ? nullptr : table_->get(key);
  }

  std::string FullKey(std::string_view section, std::string_view key) const {
    return section.empty() || key == section ? std::string(key) : fmt::format("{}.{}", section, key);
  }

  void Complain(const toml::node* node, std::string_view key, std::string_view expected, std::string_view got) {
    if (error_) return;
    const std::string where = node == nullptr ? std::string(name_) : fmt::format("{}:{}", name_, node->source().begin.line);
    error_ = Error{fmt::format("{}: {}: expected {}, got {}", where, FullKey(section_, key), expected, got)};
  }

  // A key of the file that the job does not have.
  struct Stray {
    std::string section, key;
    const toml::node* node;
  };
  struct Missing {
    std::string section, key, choices;
  };

  std::vector<Stray> Strays() {
    std::vector<Stray> strays;
    for (const auto& [key, node] : root_) {
      const std::string name(key.str());
      const toml::table* table = node.as_table();
      if (!seen_[""].contains(name)) {
        strays.push_back({"", name, &node});
      } else if (table != nullptr) {
        for (const auto& [inner, value] : *table) {
          if (!seen_[name].contains(std::string(inner.str()))) strays.push_back({name, std::string(inner.str()), &value});
        }
      }
    }
    return strays;
  }

  bool MayBeMissing(const Stray& stray) const {
    const bool table = root_.get(missing_->section) == nullptr;
    if (stray.section != (table ? "" : missing_->section)) return false;
    const std::string meant = table ? missing_->section : missing_->key;
    return Nearest(stray.key, {&meant, 1}).has_value();
  }

  Error ErrorOf(const Missing& missing) const {
    const toml::node* table = root_.get(missing.section);
    const std::string where = table == nullptr ? fmt::format("{}: has no table [{}]", name_, missing.section)
                                               : fmt::format("{}:{}", name_, table->source().begin.line);
    return {
        fmt::format("{}: {}: expected one of {}, got nothing", where, FullKey(missing.section, missing.key), missing.choices)};
  }

  // A key that other kinds of jobs have.
  std::optional<std::string> Misplaced(const Stray& stray) const {
    const auto belonging = job::BelongingOf(stray.section, stray.key);
    if (!belonging) return std::nullopt;
    const auto chosen = choices_.find(belonging->choice);
    // A packed file's keys are those of what the model trains on.
    if (chosen != choices_.end() && std::ranges::find(belonging->values, chosen->second) != belonging->values.end()) {
      return fmt::format("is not for {} = {} with this model", belonging->choice, chosen->second);
    }
    const std::string kinds = fmt::format("{}", fmt::join(belonging->values, ", "));
    if (chosen == choices_.end()) return fmt::format("is for {} = {}", belonging->choice, kinds);
    return fmt::format("is for {}, not {}", kinds, chosen->second);
  }

  Error Unknown(const Stray& stray) {
    const std::string key = Quote(FullKey(stray.section, stray.key));
    if (const auto misplaced = Misplaced(stray)) {
      return {fmt::format("{}:{}: {} {}", name_, stray.node->source().begin.line, key, *misplaced)};
    }
    const std::set<std::string>& known = seen_[stray.section];
    const std::vector<std::string> names(known.begin(), known.end());
    const bool table = stray.section.empty() && stray.node->is_table();
    const std::vector<std::string> elsewhere = table ? std::vector<std::string>() : job::SectionsWith(stray.key);
    auto meant = Nearest(stray.key, names);
    if (elsewhere.size() == 1) meant = FullKey(elsewhere.front(), stray.key);
    std::string message =
        fmt::format("{}:{}: {}: unknown {}", name_, stray.node->source().begin.line, key, table ? "table" : "key");
    if (meant) message += fmt::format("; did you mean {}?", table ? fmt::format("[{}]", *meant) : *meant);
    if (!meant) message += fmt::format(", expected one of {}", fmt::join(names, ", "));
    return {message};
  }

  const toml::table& root_;
  const toml::table* table_;
  std::string_view name_;
  std::string section_;
  std::map<std::string, std::set<std::string>> seen_;
  std::map<std::string, std::string> choices_;  // what the job is, by full key: "optimizer.kind" is "sgd"
  std::optional<Error> error_;
  std::optional<Missing> missing_;
};

// Extents that only the data can supply stand in as 1, so that the rest can be checked before the data is opened.
ModelConfig WithoutGaps(ModelConfig model) {
  const auto fill = [](std::int64_t& v) { v = std::max<std::int64_t>(v, 1); };
  if (auto* c = std::get_if<Gpt2Config>(&model)) fill(c->vocab);
  if (auto* c = std::get_if<LlamaConfig>(&model)) fill(c->vocab);
  if (auto* c = std::get_if<ResNetConfig>(&model)) {
    fill(c->classes);
    c->image = c->image == 0 ? 4096 : c->image;
    fill(c->channels);
  }
  if (auto* c = std::get_if<MlpConfig>(&model)) {
    fill(c->inputs);
    fill(c->classes);
  }
  return model;
}

// Before the numbers of a model that this data cannot train.
Status CheckKinds(const Job& job) {
  const DataKind kind = job.data.kind;
  const bool tokens =
      kind == DataKind::kChars || kind == DataKind::kBpe || kind == DataKind::kTokens || kind == DataKind::kPacked;
  if (job::IsLanguage(job.model) && !tokens) {
    return Err("data.kind: a language model needs chars, bpe, tokens or packed, got {}",
               Quote(job::kDataKinds[static_cast<std::size_t>(kind)]));
  }
  if (std::holds_alternative<MlpConfig>(job.model) && TrainsOnArrays(job) && job.data.layout != ArrayLayout::kFlat) {
    return Err("data.layout: an mlp reads vectors, expected flat");
  }
  return {};
}

// Of a model in a folder. What the folder holds is checked when it is read.
Status CheckFolder(const Job& job) {
  if (job.model_folder->empty()) return Err("model.path: expected a folder with config.json and model.safetensors");
  if (!job.init_weights.empty()) return Err("init.weights: a huggingface model brings its weights; leave the key out");
  return {};
}

Status CheckCombinations(const Job& job) {
  ASSAY_TRY(CheckKinds(job));
  if (job.model_folder) {
    ASSAY_TRY(CheckFolder(job));
  } else {
    ASSAY_TRY(Check(WithoutGaps(job.model), job.batch));
  }
  const Schedule& s = job.schedule;
  if (s.kind == ScheduleKind::kWarmupCosine && s.warmup >= s.length) {
    return Err("schedule.warmup: expected less than the schedule's length {}, got {}", s.length, s.warmup);
  }
  if (job.data.kind == DataKind::kBpe && job.data.vocabulary.empty() && !job.model_folder) {
    return Err("data.vocabulary: expected a folder with encoder.json and vocab.bpe, or with tokenizer.json");
  }
  if (TrainsOnArrays(job) && job.data.layout == ArrayLayout::kFlat && job.data.augment) {
    return Err("data.augment: expected images, data.layout = \"nhwc\" or \"nchw\"");
  }
  constexpr std::int64_t kMaxBatch = std::int64_t{1} << 31;
  if (job.batch.microbatch * job.batch.microbatches > kMaxBatch) {
    return Err("batch.microbatches: expected at most {} samples in a step, got {}", kMaxBatch,
               job.batch.microbatch * job.batch.microbatches);
  }
  if (job.snapshot.every % job.commit_every != 0) {
    return Err("snapshot.every: expected a multiple of commit.every ({}), got {}", job.commit_every, job.snapshot.every);
  }
  return {};
}

// What may be meant by a line that is no TOML; empty: nothing that is known.
std::string HintFor(std::string_view text, std::size_t line) {
  for (std::size_t i = 1; i < line && !text.empty(); ++i) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find_first_of("\r\n"));
  const auto trimmed = [](std::string_view part) {
    part.remove_prefix(std::min(part.find_first_not_of(" \t"), part.size()));
    return part.substr(0, part.find_last_not_of(" \t") + 1);
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return "";
  const std::string_view key = trimmed(text.substr(0, equals)), rest = text.substr(equals + 1);
  const std::string_view value = trimmed(rest.substr(0, rest.find('#')));
  if (key.empty() || value.empty() || value.size() > 100) return "";
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (value.find_first_not_of("+-0123456789_") == std::string_view::npos)
    return fmt::format(" ({})", OneLine(std::string(key)));
  const bool word = kLetters.find(value[0]) != std::string_view::npos || value[0] == '/' || value[0] == '.';
  if (!word || value.find_first_of("\"'\\") != std::string_view::npos) return "";
  return fmt::format("; a text needs quotes: {} = \"{}\"", OneLine(std::string(key)), OneLine(std::string(value)));
}

void MakeRelativeTo(const std::filesystem::path& folder, std::string& path) {
  if (!path.empty() && std::filesystem::path(path).is_relative()) path = (folder / path).lexically_normal().string();
}

}  // namespace

Result<Job> ParseJob(std::string_view text, std::string_view name) {
  if (text.size() > kMaxFile) return Err("{}: {} bytes, a job file has at most {}", name, text.size(), kMaxFile);
  ASSAY_TRY(job::CheckCharacters(text, name));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const auto line = error.source().begin.line;
    return Err("{}:{}: not valid TOML: {}{}", name, line, OneLine(error.description()), HintFor(text, line));
  }
  Job job = job::BlankJob();
  job.file = name;
  Parser parser(parsed.table(), name);
  job::Visit(parser, job);
  ASSAY_TRY(parser.Finish());
  if (job.seed_from && parsed.table().contains("seed")) {
    return tl::unexpected(parser.Locate("seed: follows from seed_from; leave one of the two out"));
  }
  if (job.schedule.length == 0) job.schedule.length = job.steps;
  if (Status status = CheckCombinations(job); !status) return tl::unexpected(parser.Locate(status.error().message));
  return job;
}

Result<Job> LoadJob(const std::filesystem::path& path) {
  ASSAY_ASSIGN(Bytes bytes, ReadFile(path.string(), kMaxFile));
  ASSAY_ASSIGN(Job job, ParseJob({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string()));
  const std::filesystem::path folder = path.parent_path();
  MakeRelativeTo(folder, job.data.path);
  MakeRelativeTo(folder, job.data.vocabulary);
  MakeRelativeTo(folder, job.init_weights);
  if (job.model_folder) MakeRelativeTo(folder, *job.model_folder);
  return job;
}

Error LocatedInFile(const std::string& file, Error error) {
  const std::string key = error.message.substr(0, error.message.find(": "));
  const bool is_key = !key.empty() && key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos;
  if (file.empty() || !is_key) return error;
  if (const auto bytes = ReadFile(file, kMaxFile)) {
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    if (!job::CheckCharacters(text, file)) return error;
    if (const toml::parse_result parsed = toml::parse(text)) {
      error.message = Parser(parsed.table(), file).Locate(error.message).message;
      return error;
    }
  }
  error.message = fmt::format("{}: {}", file, error.message);
  return error;
}

}  // namespace assay
