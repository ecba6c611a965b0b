#include <chrono>

#include "assay/base/quote.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/platform_session.h"
#include "assay/cli/text.h"
#include "assay/life/entry.h"
#include "assay/life/fields.h"
#include "assay/life/order.h"

namespace assay::cli {
namespace {

constexpr std::int64_t kPage = 1000;

struct JobsOptions : PlatformOptions {
  std::int64_t limit = 100'000;
};

struct Line {
  std::string id, job, verdict;
  std::string name{};  // of the job, where the order was made here
  bool sealed = false;
  bool cancelled = false;  // from here
  std::int64_t seq = 0, made_ms = 0;
};

Result<std::vector<Line>> ReadLines(platform::ApiClient& api, std::int64_t limit) {
  std::vector<Line> lines;
  std::int64_t after = 0;
  while (std::ssize(lines) < limit) {
    ASSAY_ASSIGN(const platform::Json answer,
                 api.Get(fmt::format("/v1/orders?after={}&limit={}", after, std::min(kPage, limit - std::ssize(lines)))));
    const auto orders = answer.find("orders");
    if (orders == answer.end() || !orders->is_array()) return Err("{}: lists no orders", api.server());
    for (const platform::Json& order : *orders) {
      lines.push_back({.id = OneLine(life::TextOf(order, "id")),
                       .job = OneLine(life::TextOf(order, "job")),
                       .verdict = OneLine(life::TextOf(order, "verdict")),
                       .seq = life::CountOf(order, "seq"),
                       .made_ms = life::CountOf(order, "made")});
      if (lines.back().seq <= after) return Err("{}: lists orders that do not go on", api.server());
      after = lines.back().seq;
    }
    if (std::ssize(*orders) < kPage) break;
  }
  return lines;
}

// What is remembered here of an order. A list that lacks it is better than none.
void AddRemembered(const client::State& state, Line& line) {
  if (!life::IsOrderId(line.id)) return;
  line.cancelled = line.verdict == life::Name(life::Verdict::kFailed) && state.WasCancelled(line.id);
  const auto made = state.Recall(line.id);
  if (!made || !*made) return;
  line.name = OneLine((*made)->name);
  line.sealed = (*made)->sealed;
}

client::Checked<int> List(const JobsOptions& options) {
  ASSAY_ASSIGN(const Session session, OpenSession(options));
  ASSAY_ASSIGN(std::vector<Line> lines, ReadLines(*session.api, options.limit));
  for (Line& line : lines) AddRemembered(session.state, line);
  if (options.json) {
    OrderedJson orders = OrderedJson::array();
    for (const Line& line : lines) {
      orders.push_back({{"id", line.id},
                        {"job_id", line.job},
                        {"name", line.name.empty() ? OrderedJson(nullptr) : OrderedJson(line.name)},
                        {"made_ms", line.made_ms},
                        {"verdict", line.verdict.empty() ? OrderedJson(nullptr) : OrderedJson(line.verdict)},
                        {"cancelled", line.cancelled}});
    }
    fmt::print("{}\n", Dump({{"orders", orders}}));
    return kExitOk;
  }
  if (lines.empty()) {
    fmt::print("no orders\n");
    return kExitOk;
  }
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::vector<std::vector<std::string>> rows = {{"order", "name", "job", "made", "verdict"}};
  for (const Line& line : lines) {
    const double seconds = static_cast<double>(std::max<std::int64_t>(0, now - line.made_ms)) / 1000;
    rows.push_back({line.id,
                    line.sealed         ? "sealed"
                    : line.name.empty() ? "-"
                                        : line.name,
                    line.job.substr(0, 16), Duration(seconds) + " ago",
                    line.verdict.empty() ? "open"
                    : line.cancelled     ? "cancelled"
                                         : line.verdict});
  }
  fmt::print("{}", Table(rows));
  return kExitOk;
}

Result<int> RunJobs(const JobsOptions& options) { return Concluded(List(options), "", options.json); }

}  // namespace

void AddJobs(Arguments& app, Command& command) {
  auto options = std::make_shared<JobsOptions>();
  Subcommand sub = app.Add("jobs", "List the orders of an account");
  sub.Footer(
      "What the coordinator says of each, oldest first; only its key is checked. `assay watch ID` checks an order's life.\n"
      "Names of jobs, and what was cancelled rather than failed, are what is remembered on this machine (--state).\n"
      "\n"
      "Example: assay jobs");
  sub.Option("--limit", options->limit, "No more than this").Range(std::int64_t{1}, std::int64_t{100'000'000}).Type("N");
  AddPlatformOptions(sub, *options);
  SetCommand(sub, std::move(options), command, RunJobs);
}

}  // namespace assay::cli
