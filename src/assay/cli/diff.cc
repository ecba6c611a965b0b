#include <algorithm>
#include <optional>

#include "assay/base/file.h"
#include "assay/cli/command.h"
#include "assay/cli/compared.h"
#include "assay/cli/json.h"
#include "assay/cli/text.h"

namespace assay::cli {
namespace {

struct DiffOptions {
  std::string a, b;
  std::string data;
  bool json = false;
};

bool SameWeights(const Compared& a, const Compared& b) { return !a.delivered || !b.delivered || *a.delivered == *b.delivered; }

// What two runs say of each other; nothing of jobs, or of runs of different jobs.
std::string LogLine(const Compared& a, const Compared& b, const Agreement& agreement) {
  if (agreement.differs_at && !agreement.agree_until) return "they differ from the start";
  if (agreement.differs_at) {
    return fmt::format("they agree up to step {} and differ in their {} at the entry of step {}", *agreement.agree_until,
                       agreement.what, *agreement.differs_at);
  }
  const std::int64_t of_a = a.log->entries().empty() ? 0 : a.log->entries().back().step;
  const std::int64_t of_b = b.log->entries().empty() ? 0 : b.log->entries().back().step;
  if (of_a == of_b) {
    return fmt::format("they agree in every entry of their logs, up to step {}{}", of_a,
                       SameWeights(a, b) ? "" : ", and their receipts sign for different weights");
  }
  return fmt::format("they agree up to step {}, where {} ends; the other goes on to step {}", std::min(of_a, of_b),
                     of_a < of_b ? "the first" : "the second", std::max(of_a, of_b));
}

OrderedJson SideJson(const Compared& side) {
  return {{"target", side.target},
          {"job_id", side.id ? OrderedJson(side.id->hex()) : OrderedJson(nullptr)},
          {"signer", side.signer.empty() ? OrderedJson(nullptr) : OrderedJson(side.signer)}};
}

// As a job file has it, typed: a number, a truth value, a string, a list; a table of numbers by op as an object. Null where there is none.
OrderedJson Typed(const std::string& value, bool digest) {
  if (value.empty()) return nullptr;
  if (digest) return value;
  if (!value.starts_with('{')) {
    OrderedJson parsed = OrderedJson::parse(value, nullptr, false);
    return parsed.is_discarded() ? OrderedJson(value) : parsed;
  }
  OrderedJson table = OrderedJson::object();
  for (std::size_t at = 1; at < value.size();) {
    const std::size_t end = std::min(value.find_first_of(",}", at), value.size()), equals = value.find(" = ", at);
    if (equals < end)
      table[value.substr(at + 1, equals - at - 1)] = OrderedJson::parse(value.substr(equals + 3, end - equals - 3));
    at = end + 1;
  }
  return table;
}

Result<int> RunDiff(const DiffOptions& options) {
  if (!options.data.empty() && !Exists(options.data)) return Err("--data {}: No such file or directory", options.data);
  ASSAY_ASSIGN(const Compared a, OpenCompared(options.a, options.data));
  ASSAY_ASSIGN(const Compared b, OpenCompared(options.b, options.data));
  const std::vector<Difference> differences = DifferencesOf(a, b);
  std::optional<bool> same_job;
  if (a.id && b.id) same_job = *a.id == *b.id;
  if (!same_job && std::any_of(differences.begin(), differences.end(),
                               [](const Difference& d) { return d.identifies && !d.a.empty() && !d.b.empty(); })) {
    same_job = false;
  }
  std::optional<Agreement> agreement;
  if (a.log && b.log && a.log->trajectory() == b.log->trajectory()) agreement = CompareLogs(*a.log, *b.log);
  const bool same_runs = !agreement || (!agreement->differs_at && (!same_job.value_or(false) || SameWeights(a, b)));
  // What does not change the job's id is listed, and changes no bit of the result: it does not decide.
  const bool alike = same_job.value_or(true) && same_runs;
  const int status = !alike ? kExitRefuted : same_job ? kExitOk : kExitUndecided;

  if (options.json) {
    OrderedJson settings = OrderedJson::array();
    for (const Difference& d : differences)
      settings.push_back(
          {{"name", d.name}, {"a", Typed(d.a, d.digest)}, {"b", Typed(d.b, d.digest)}, {"identifies", d.identifies}});
    OrderedJson notes = OrderedJson::array();
    for (const Compared* side : {&a, &b}) {
      for (const std::string& note : side->notes) notes.push_back(note);
    }
    const OrderedJson json = {{"same_job", ToJson(same_job)},
                              {"a", SideJson(a)},
                              {"b", SideJson(b)},
                              {"settings", settings},
                              {"agree_until", agreement ? ToJson(agreement->agree_until) : OrderedJson(nullptr)},
                              {"differ_at", agreement ? ToJson(agreement->differs_at) : OrderedJson(nullptr)},
                              {"notes", notes}};
    fmt::print("{}\n", Dump(json));
    return status;
  }

  std::vector<std::vector<std::string>> rows = {{"setting", "A", "B", "changes the job id"}};
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("-") : value.size() == 64 ? value.substr(0, 16) + "…" : value;
  };
  for (const Difference& d : differences) rows.push_back({d.name, shown(d.a), shown(d.b), d.identifies ? "yes" : "no"});
  if (rows.size() > 1) fmt::print("{}\n", Table(rows));
  for (const Compared* side : {&a, &b}) {
    for (const std::string& note : side->notes) fmt::print("{:<12} {}\n", "note", note);
  }
  if (same_job && *same_job) {
    fmt::print("{:<12} the same, {}{}\n", "job", a.id->hex(),
               differences.empty() ? "" : "; what differs does not change its id");
  } else if (same_job) {
    fmt::print("{:<12} different\n", "job");
  } else {
    fmt::print("{:<12} {}\n", "job", differences.empty() ? "the same, as far as can be told here" : "cannot be told here");
  }
  if (agreement) fmt::print("{:<12} {}\n", "runs", LogLine(a, b, *agreement));
  if (a.log && b.log && !agreement) fmt::print("{:<12} not compared: they are of different jobs\n", "runs");
  if (!a.signer.empty() && !b.signer.empty() && a.signer != b.signer)
    fmt::print("{:<12} {} and {}\n", "signers", a.signer, b.signer);
  return status;
}

}  // namespace

void AddDiff(Arguments& app, Command& command) {
  auto options = std::make_shared<DiffOptions>();
  Subcommand sub = app.Add("diff", "What differs between two jobs or two runs: settings, data, and from which step on");
  sub.Option("A", options->a, "A job file or a run directory").Required().Type("JOB|RUN");
  sub.Option("B", options->b, "Another").Required().Type("JOB|RUN");
  sub.Option("--data", options->data, "Data file or folder of both, instead of those that the jobs name").Type("PATH");
  sub.Flag("--json", options->json, "Print a JSON object (docs/OUTPUT.md)");
  sub.Footer(
      "Exit status 0: the same job, and runs of it agree as far as both go. 1: different jobs or runs. 3: it cannot be told,\n"
      "because data is missing. Settings that do not change a job's id (its name, paths, [eval], [snapshot]) are listed and\n"
      "do not count.\n"
      "\n"
      "Example: assay diff job.toml runs/theirs");
  SetCommand(sub, options, command, RunDiff);
}

}  // namespace assay::cli
