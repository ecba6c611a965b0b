#include "assay/job/belongs.h"

#include <functional>
#include <set>
#include <utility>

#include "assay/job/fields.h"

namespace assay::job {
namespace {

using Name = std::pair<std::string, std::string>;  // section and key

// The keys of one job.
class Collector : public FieldVisitor {
 public:
  std::set<Name> names;

  void Section(std::string_view name) override { section_ = name; }
  void Int(std::string_view key, std::int64_t&, std::int64_t, std::int64_t) override { Add(key); }
  void Derived(std::string_view key, std::int64_t&, std::int64_t, std::int64_t, std::string_view) override { Add(key); }
  void Rare(std::string_view key, std::int64_t&, std::int64_t, std::int64_t) override { Add(key); }
  void Float(std::string_view key, float&, FloatRange) override { Add(key); }
  void RareFloat(std::string_view key, float&, float, FloatRange) override { Add(key); }
  void Bool(std::string_view key, bool&) override { Add(key); }
  void RareBool(std::string_view key, bool&) override { Add(key); }
  void Text(std::string_view key, std::string&) override { Add(key); }
  void Path(std::string_view key, std::string&) override { Add(key); }
  void Hash(std::string_view key, std::optional<Digest>&) override { Add(key); }
  void Choice(std::string_view key, std::size_t&, std::span<const std::string_view>, bool) override { Add(key); }
  void Ints(std::string_view key, std::vector<std::int64_t>&, std::int64_t, std::int64_t, std::size_t) override { Add(key); }
  void OpNumbers(std::string_view key, std::map<std::string, float>&, FloatRange) override { Add(key); }

 private:
  void Add(std::string_view key) { names.emplace(section_, key); }
  std::string section_;
};

// What the keys of a job depend on.
struct Axis {
  std::string_view choice;
  std::span<const std::string_view> values;
  std::function<void(Job&, std::size_t)> choose;
};

std::vector<Axis> Axes() {
  return {
      {"precision", kPrecisions, [](Job& job, std::size_t i) { job.precision = static_cast<Precision>(i); }},
      {"round_rule", kRoundRules,
       [](Job& job, std::size_t i) {
         job.precision = Precision::kFp64Rounded;
         job.round_rule = static_cast<RoundRule>(i);
       }},
      {"model.kind", kModelKinds, SetModelKind},
      {"data.kind", kDataKinds, [](Job& job, std::size_t i) { job.data = BlankData(static_cast<DataKind>(i)); }},
      {"optimizer.kind", kOptimizerKinds, [](Job& job, std::size_t i) { job.optimizer.kind = static_cast<OptimizerKind>(i); }},
      {"schedule.kind", kScheduleKinds, [](Job& job, std::size_t i) { job.schedule.kind = static_cast<ScheduleKind>(i); }}};
}

std::set<Name> NamesOf(const Axis& axis, std::size_t value) {
  Job job = BlankJob();
  axis.choose(job, value);
  Collector collector;
  Visit(collector, job);
  if (job.data.kind == DataKind::kPacked) {  // has the keys of what the model trains on
    SetModelKind(job, 3);
    Visit(collector, job);
  }
  return collector.names;
}

}  // namespace

std::optional<Belonging> BelongingOf(std::string_view section, std::string_view key) {
  for (const Axis& axis : Axes()) {
    Belonging belonging{.choice = std::string(axis.choice), .values = {}};
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      if (NamesOf(axis, i).contains({std::string(section), std::string(key)})) belonging.values.emplace_back(axis.values[i]);
    }
    if (!belonging.values.empty() && belonging.values.size() < axis.values.size()) return belonging;
  }
  return std::nullopt;
}

std::vector<std::string> SectionsWith(std::string_view key) {
  std::set<std::string> sections;
  for (const Axis& axis : Axes()) {
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      for (const auto& [section, name] : NamesOf(axis, i)) {
        if (name == key) sections.insert(section);
      }
    }
  }
  return {sections.begin(), sections.end()};
}

}  // namespace assay::job
