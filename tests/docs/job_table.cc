// The fields of a job's encoding in their order. The visitor that the encoder is walks over every kind of each section in turn.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "assay/job/fields.h"
#include "docs/tables.h"

namespace assay::docs {
namespace {

struct Field {
  std::string key, type, range;
  friend bool operator==(const Field&, const Field&) = default;
};

class Collector : public job::FieldVisitor {
 public:
  std::vector<Field> fields;

  bool OfEncoding() const override { return true; }
  void Section(std::string_view name) override { section_ = name; }
  void Int(std::string_view key, std::int64_t&, std::int64_t low, std::int64_t high) override {
    Add(key, "1 integer", fmt::format("{} … {}", low, high));
  }
  void Derived(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high, std::string_view) override {
    Int(key, v, low, high);
  }
  void Rare(std::string_view key, std::int64_t&, std::int64_t low, std::int64_t high) override {
    Add(key, "1 integer", fmt::format("{} … {}; left out where there is none", low, high));
  }
  void Float(std::string_view key, float&, job::FloatRange range) override { Add(key, "2 number", range.Text()); }
  void RareFloat(std::string_view key, float&, float usual, job::FloatRange range) override {
    Add(key, "2 number", fmt::format("{}; left out where it is {}", range.Text(), usual));
  }
  void Bool(std::string_view key, bool&) override { Add(key, "3 boolean", "0, 1"); }
  void RareBool(std::string_view key, bool&) override { Add(key, "3 boolean", "1; left out where it is false"); }
  void Text(std::string_view key, std::string&) override { Add(key, "4 string", "any"); }
  void Path(std::string_view, std::string&) override {}
  void Hash(std::string_view key, std::optional<Digest>&) override {
    Add(key, "4 string", "64 hex digits in lower case; left out where there is none");
  }
  void Choice(std::string_view key, std::size_t&, std::span<const std::string_view> names, bool) override {
    std::string range;
    for (std::string_view name : names) range += fmt::format("{}`{}`", range.empty() ? "" : ", ", name);
    Add(key, "4 string", range);
  }
  void Ints(std::string_view key, std::vector<std::int64_t>&, std::int64_t low, std::int64_t high, std::size_t most) override {
    Add(key, "5 list", fmt::format("{} … {}, at most {} of them", low, high, most));
  }
  void OpNumbers(std::string_view key, std::map<std::string, float>&, job::FloatRange range) override {
    Add(key, "6 table", range.Text() + "; left out where empty");
  }

 private:
  void Add(std::string_view key, std::string type, std::string range) {
    if (!job::Identifies(section_, key)) return;
    fields.push_back(
        {section_.empty() ? std::string(key) : fmt::format("{}.{}", section_, key), std::move(type), std::move(range)});
  }
  std::string section_;
};

// What a section's fields depend on.
struct Choice {
  std::string_view key;  // of the kind
  std::span<const std::string_view> names;
  std::function<void(Job&, std::size_t)> choose;
};

std::vector<Field> FieldsOf(Job job) {
  Collector collector;
  job::Visit(collector, job);
  return collector.fields;
}

std::string Row(const Field& field, std::string_view when) {
  return fmt::format("| `{}` | {} | {} | {} |\n", field.key, field.type, when, field.range);
}

// The fields that begin with `prefix`: those of all kinds once, of the others each kind's own, one kind after the other.
std::string Rows(std::string_view prefix, const Choice& choice) {
  std::vector<std::vector<Field>> lists;
  for (std::size_t kind = 0; kind < choice.names.size(); ++kind) {
    Job job = job::BlankJob();
    choice.choose(job, kind);
    std::vector<Field> fields = FieldsOf(job);
    std::erase_if(fields, [&](const Field& f) { return !f.key.starts_with(prefix); });
    lists.push_back(std::move(fields));
  }
  // Up to where they part, and from where they meet again.
  std::size_t head = 0, tail = 0, least = SIZE_MAX;
  for (const auto& list : lists) least = std::min(least, list.size());
  const auto same = [&](auto&& at) {
    return std::ranges::all_of(lists, [&](const auto& list) { return at(list) == at(lists[0]); });
  };
  while (head < least && same([&](const auto& list) { return list[head]; })) ++head;
  while (head + tail < least && same([&](const auto& list) { return list[list.size() - 1 - tail]; })) ++tail;
  std::string text;
  for (std::size_t i = 0; i < head; ++i) text += Row(lists[0][i], "always");
  for (std::size_t kind = 0; kind < lists.size(); ++kind) {
    if (std::find(lists.begin(), lists.begin() + static_cast<std::ptrdiff_t>(kind), lists[kind]) !=
        lists.begin() + static_cast<std::ptrdiff_t>(kind)) {
      continue;  // listed with an earlier kind
    }
    std::string when = fmt::format("`{}` = `{}`", choice.key, choice.names[kind]);
    for (std::size_t other = kind + 1; other < lists.size(); ++other) {
      if (lists[other] == lists[kind]) when += fmt::format(", `{}`", choice.names[other]);
    }
    for (std::size_t i = head; i < lists[kind].size() - tail; ++i) text += Row(lists[kind][i], when);
  }
  for (std::size_t i = tail; i > 0; --i) text += Row(lists[0][lists[0].size() - i], "always");
  return text;
}

std::string TopRows() {
  Job job = job::BlankJob();
  job.precision = Precision::kFp64Rounded;
  job.round_rule = RoundRule::kPaper;
  std::string text;
  for (const Field& field : FieldsOf(job)) {
    if (field.key.find('.') != std::string::npos) continue;
    const bool rounded = field.key.starts_with("round_"), table = field.key == "round_tau";
    const std::string_view otherwise = field.key == "seed" ? "there is no `seed_from`" : "always";
    text += Row(field, table ? "`round_rule` = `paper`" : rounded ? "`precision` = `fp64-rounded`" : otherwise);
  }
  return text;
}

}  // namespace

std::string JobFieldsTable() {
  const auto data = [](Job& job, std::size_t kind) { job.data = job::BlankData(static_cast<DataKind>(kind)); };
  const auto optimizer = [](Job& job, std::size_t kind) { job.optimizer.kind = static_cast<OptimizerKind>(kind); };
  const auto schedule = [](Job& job, std::size_t kind) { job.schedule.kind = static_cast<ScheduleKind>(kind); };
  std::string text = "| key | type | there if | range |\n|---|---|---|---|\n" + TopRows();
  text += Rows("model.", {"model.kind", job::kEncodedModelKinds, job::SetModelKind});
  // The last kind, packed, has the keys of another, which the page says.
  text += Rows("data.", {"data.kind", std::span(job::kDataKinds).first(std::size(job::kDataKinds) - 1), data});
  text += Rows("batch.", {"model.kind", job::kEncodedModelKinds, job::SetModelKind});
  text += Rows("optimizer.", {"optimizer.kind", job::kOptimizerKinds, optimizer});
  text += Rows("schedule.", {"schedule.kind", job::kScheduleKinds, schedule});
  text += Rows("commit.", {"model.kind", job::kEncodedModelKinds, job::SetModelKind});
  return text;
}

}  // namespace assay::docs
