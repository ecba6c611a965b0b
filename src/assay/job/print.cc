// Jobs as text: a job file that parses to the same job, and the list of all keys.
#include <algorithm>

#include "assay/job/fields.h"

namespace assay {
namespace {

std::string TomlString(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The shortest text that reads back as the same binary32 value; TOML wants digits after a point.
std::string TomlFloat(float v) {
  std::string out = fmt::format("{}", v);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string TomlInts(std::span<const std::int64_t> v) { return fmt::format("[{}]", fmt::join(v, ", ")); }

std::string TomlOpNumbers(const std::map<std::string, float>& v) {
  std::string out;
  for (const auto& [op, number] : v) out += fmt::format("{} {} = {}", out.empty() ? "" : ",", op, TomlFloat(number));
  return fmt::format("{{{} }}", out);
}

class Printer : public job::FieldVisitor {
 public:
  void Section(std::string_view name) override { pending_ = name.empty() ? "" : fmt::format("\n[{}]\n", name); }
  void Int(std::string_view key, std::int64_t& v, std::int64_t, std::int64_t) override { Line(key, fmt::format("{}", v)); }
  void Derived(std::string_view key, std::int64_t& v, std::int64_t, std::int64_t, std::string_view) override {
    if (v != 0) Line(key, fmt::format("{}", v));
  }
  void Rare(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high) override {
    if (v != 0) Int(key, v, low, high);
  }
  void Float(std::string_view key, float& v, job::FloatRange) override { Line(key, TomlFloat(v)); }
  void RareFloat(std::string_view key, float& v, float usual, job::FloatRange range) override {
    if (v != usual) Float(key, v, range);
  }
  void Bool(std::string_view key, bool& v) override { Line(key, v ? "true" : "false"); }
  void RareBool(std::string_view key, bool& v) override {
    if (v) Bool(key, v);
  }
  void Text(std::string_view key, std::string& v) override {
    if (!v.empty()) Line(key, TomlString(v));
  }
  void Path(std::string_view key, std::string& v) override { Text(key, v); }
  void Hash(std::string_view key, std::optional<Digest>& v) override {
    if (v) Line(key, TomlString(v->hex()));
  }
  void Choice(std::string_view key, std::size_t& v, std::span<const std::string_view> names, bool) override {
    Line(key, TomlString(names[v]));
  }
  void Ints(std::string_view key, std::vector<std::int64_t>& v, std::int64_t, std::int64_t, std::size_t) override {
    Line(key, TomlInts(v));
  }
  void OpNumbers(std::string_view key, std::map<std::string, float>& v, job::FloatRange) override {
    if (!v.empty()) Line(key, TomlOpNumbers(v));
  }
  std::string Take() { return std::move(out_); }

 protected:
  virtual void Line(std::string_view key, std::string_view value) {
    out_ += pending_;
    pending_.clear();
    out_ += fmt::format("{} = {}\n", key, value);
  }

 private:
  std::string pending_, out_;
};

// Collects what a printer would print.
class Collector final : public Printer {
 public:
  explicit Collector(std::vector<JobSetting>& out) : out_(out) {}
  void Section(std::string_view name) override { section_ = name; }

 protected:
  void Line(std::string_view key, std::string_view value) override {
    out_.push_back({section_.empty() ? std::string(key) : fmt::format("{}.{}", section_, key), std::string(value),
                    job::Identifies(section_, key)});
  }

 private:
  std::vector<JobSetting>& out_;
  std::string section_;
};

// Collects the keys of one combination of kinds.
class Lister : public job::FieldVisitor {
 public:
  explicit Lister(std::vector<JobKey>& out) : out_(out) {}
  void SetLabel(std::string label) { label_ = std::move(label); }
  void Section(std::string_view name) override { section_ = name; }
  void Int(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high) override {
    Add(key, "integer", fmt::format("{}", v), Range(low, high));
  }
  void Derived(std::string_view key, std::int64_t&, std::int64_t low, std::int64_t high, std::string_view source) override {
    Add(key, "integer", std::string(source), Range(low, high));
  }
  void Rare(std::string_view key, std::int64_t&, std::int64_t low, std::int64_t high) override {
    Add(key, "integer", "none", Range(low, high));
  }
  void Float(std::string_view key, float& v, job::FloatRange range) override {
    Add(key, "number", fmt::format("{}", v), range.Text());
  }
  void RareFloat(std::string_view key, float& v, float, job::FloatRange range) override { Float(key, v, range); }
  void Bool(std::string_view key, bool& v) override { Add(key, "boolean", v ? "true" : "false", "true, false"); }
  void RareBool(std::string_view key, bool& v) override { Bool(key, v); }
  void Text(std::string_view key, std::string& v) override { Add(key, "string", TomlString(v), ""); }
  void Path(std::string_view key, std::string& v) override { Add(key, "path", TomlString(v), ""); }
  void Hash(std::string_view key, std::optional<Digest>&) override { Add(key, "string", "none", "64 hex digits"); }
  void Choice(std::string_view key, std::size_t& v, std::span<const std::string_view> names, bool required) override {
    Add(key, "string", required ? "" : TomlString(names[v]), fmt::format("{}", fmt::join(names.begin(), names.end(), ", ")));
  }
  void Ints(std::string_view key, std::vector<std::int64_t>& v, std::int64_t low, std::int64_t high, std::size_t) override {
    Add(key, "list of integers", TomlInts(v), Range(low, high));
  }
  void OpNumbers(std::string_view key, std::map<std::string, float>&, job::FloatRange range) override {
    Add(key, "table", "empty", range.Text());
  }

 private:
  static std::string Range(std::int64_t low, std::int64_t high) { return fmt::format("{} .. {}", low, high); }
  void Add(std::string_view key, std::string_view type, std::string fallback, std::string range) {
    JobKey row{section_.empty() ? std::string(key) : fmt::format("{}.{}", section_, key), label_, std::string(type),
               std::move(fallback), std::move(range)};
    for (JobKey& known : out_) {
      if (known.name != row.name || known.fallback != row.fallback || known.range != row.range) continue;
      if (fmt::format(", {},", known.when).find(fmt::format(", {},", label_)) == std::string::npos) known.when += ", " + label_;
      return;
    }
    out_.push_back(std::move(row));
  }
  std::vector<JobKey>& out_;
  std::string section_, label_;
};

std::vector<JobKey> List(Job job, std::string label, std::vector<JobKey> rows = {}) {
  Lister lister(rows);
  lister.SetLabel(std::move(label));
  job::Visit(lister, job);
  return rows;
}

// The keys of one section, with every kind chosen in turn; one that is named twice in a row has keys that depend on something else, too. A
// key's label names the kinds that have it; one that all have gets none. The choice itself is listed once, with its default.
void ListVariants(std::span<const std::string_view> names, std::vector<JobKey>& out, std::string_view section, auto&& choose) {
  std::vector<JobKey> rows;
  for (std::size_t kind = 0; kind < names.size(); ++kind) {
    Job job = job::BlankJob();
    choose(job, kind);
    rows = List(std::move(job), std::string(names[kind]), std::move(rows));
  }
  std::vector<std::string_view> once(names.begin(), names.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  const std::string all = fmt::format("{}", fmt::join(once, ", "));
  for (JobKey& row : rows) {
    if (row.when == all) row.when.clear();
    if (row.name.starts_with(section) && !row.name.ends_with(".kind")) out.push_back(std::move(row));
  }
}

}  // namespace

std::string ToToml(const Job& job) {
  Printer printer;
  Job copy = job;
  job::Visit(printer, copy);
  return printer.Take();
}

std::vector<JobSetting> JobSettings(const Job& job) {
  std::vector<JobSetting> out;
  Collector collector(out);
  Job copy = job;
  job::Visit(collector, copy);
  return out;
}

std::vector<JobKey> JobKeys() {
  std::vector<JobKey> out;
  for (const JobKey& key : List(job::BlankJob(), "")) {
    constexpr std::string_view kVaried[] = {"model.", "batch.", "data.", "optimizer.", "schedule."};
    const bool varied =
        std::any_of(std::begin(kVaried), std::end(kVaried), [&](std::string_view s) { return key.name.starts_with(s); });
    if (!varied || key.name.ends_with(".kind")) out.push_back(key);
  }
  ListVariants(job::kPrecisions, out, "round_",
               [](Job& job, std::size_t kind) { job.precision = static_cast<Precision>(kind); });
  ListVariants(job::kRoundRules, out, "round_tau", [](Job& job, std::size_t kind) {
    job.precision = Precision::kFp64Rounded;
    job.round_rule = static_cast<RoundRule>(kind);
  });
  ListVariants(job::kModelKinds, out, "model.", job::SetModelKind);
  ListVariants(job::kModelKinds, out, "batch.", job::SetModelKind);
  // A packed file's keys are those of what the model trains on.
  std::vector<std::string_view> data_kinds(std::begin(job::kDataKinds), std::end(job::kDataKinds));
  data_kinds.push_back(data_kinds.back());
  ListVariants(data_kinds, out, "data.", [&](Job& job, std::size_t kind) {
    if (kind + 1 == data_kinds.size()) job::SetModelKind(job, 3);
    job.data = job::BlankData(static_cast<DataKind>(std::min(kind, data_kinds.size() - 2)));
  });
  ListVariants(job::kOptimizerKinds, out, "optimizer.",
               [](Job& job, std::size_t kind) { job.optimizer.kind = static_cast<OptimizerKind>(kind); });
  ListVariants(job::kScheduleKinds, out, "schedule.",
               [](Job& job, std::size_t kind) { job.schedule.kind = static_cast<ScheduleKind>(kind); });
  return out;
}

}  // namespace assay
