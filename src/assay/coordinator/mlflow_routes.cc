// What stock MLflow clients ask of a tracking server to list runs and read curves, answered from orders and leases (mlflow_runs.h).
//
// As there, arguments come in the query of a GET or in the JSON of a POST, and a 64-bit number may be written as text. Visible is what the orders' own routes show
// to the same token.
#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "assay/coordinator/mlflow_runs.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

constexpr std::size_t kMostRunsInPage = 500;
constexpr std::int64_t kMostOrdersSorted = 2'000;  // the newest, where runs are wanted in another order than they came in
constexpr std::size_t kMostHistory = 25'000;
constexpr std::size_t kMostRunsInBulk = 100;
constexpr std::int64_t kNoLimit = -1;

// An argument of a call, wherever it stands.
class Arguments {
 public:
  explicit Arguments(const Call& call) : call_(call) {}

  Outcome<std::string> Text(const char* key) const {
    if (const auto text = call_.target.Query(key)) return std::string(*text);
    if (call_.body.is_object() && call_.body.contains(key) && !call_.body[key].is_null()) return call_.Text(key, 8192);
    return std::string();
  }
  Outcome<std::string> Needed(const char* key) const {
    ASSAY_ASSIGN(std::string text, Text(key));
    if (text.empty()) return BadRequest("{}: is missing", key);
    return text;
  }
  // From 1 on; kNoLimit where it is not there.
  Outcome<std::int64_t> Limit(const char* key, std::int64_t most) const {
    ASSAY_ASSIGN(const std::int64_t number, Number(key, kNoLimit));
    if (number == kNoLimit) return number;
    if (number < 1 || number > most) return BadRequest("{}: expected a number from 1 to {}, got {}", key, most, number);
    return number;
  }
  Outcome<std::int64_t> Number(const char* key, std::int64_t absent) const {
    const Json* found = call_.body.is_object() && call_.body.contains(key) ? &call_.body[key] : nullptr;
    if (found != nullptr && found->is_number_integer() && !found->is_number_unsigned()) return found->get<std::int64_t>();
    if (found != nullptr && found->is_number_unsigned() && found->get<std::uint64_t>() <= std::uint64_t{INT64_MAX})
      return found->get<std::int64_t>();
    std::string text;
    if (found != nullptr && !found->is_string() && !found->is_null()) return BadRequest("{}: expected an integer", key);
    ASSAY_ASSIGN(text, Text(key));
    if (text.empty()) return absent;
    std::int64_t number = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), number).ptr != text.data() + text.size())
      return BadRequest("{}: expected an integer", key);
    return number;
  }
  // Repeated in a query, a list in JSON.
  Outcome<std::vector<std::string>> Texts(const char* key, std::size_t most) const {
    std::vector<std::string> texts;
    for (const auto& [name, value] : call_.target.query) {
      if (name == key) texts.push_back(value);
    }
    if (call_.body.is_object() && call_.body.contains(key) && !call_.body[key].is_null()) return call_.Texts(key, most);
    if (texts.size() > most) return BadRequest("{}: expected at most {}", key, most);
    return texts;
  }
  // Whether what is deleted is wanted alone: there is none here.
  Outcome<bool> WantsDeleted(const char* key) const {
    if (call_.body.is_object() && call_.body.contains(key) && call_.body[key].is_number_integer())
      return call_.body[key].get<std::int64_t>() == 2;
    ASSAY_ASSIGN(const std::string view, Text(key));
    if (!view.empty() && view != "ACTIVE_ONLY" && view != "DELETED_ONLY" && view != "ALL" && view != "1" && view != "2" &&
        view != "3")
      return BadRequest("{}: expected ACTIVE_ONLY, DELETED_ONLY or ALL", key);
    return view == "DELETED_ONLY" || view == "2";
  }

 private:
  const Call& call_;
};

bool MaySee(const Call& call, const std::string& account) { return account == call.caller.account || call.caller.admin(); }

class MlflowOffice {
 public:
  explicit MlflowOffice(Office& office) : office_(office), runs_(office) {}

  Answer SearchExperiments(const Call& call) {
    const Arguments arguments(call);
    ASSAY_ASSIGN(const std::int64_t limit, arguments.Limit("max_results", 50'000));
    ASSAY_ASSIGN(const std::string after, arguments.Text("page_token"));
    ASSAY_ASSIGN(const std::string text, arguments.Text("filter"));
    ASSAY_ASSIGN(const auto filter, ParseMlflowFilter(text));
    ASSAY_ASSIGN(const bool deleted, arguments.WantsDeleted("view_type"));
    const std::int64_t most = std::min<std::int64_t>(limit == kNoLimit ? 1'000 : limit, 1'000);
    ASSAY_ASSIGN(const std::vector<Account> accounts, Accounts(call, after, most));
    Json list = Json::array();
    for (const Account& account : accounts) {
      const MlflowSubject subject = [&](const MlflowField& field) -> std::optional<MlflowValue> {
        if (field.of != MlflowField::Of::kAttribute) return std::nullopt;
        if (field.key == "name" || field.key == "experiment_id") return account.id;
        if (field.key == "creation_time" || field.key == "last_update_time") return static_cast<double>(account.made_ms);
        return std::nullopt;
      };
      if (!deleted && Fits(filter, subject)) list.push_back(ExperimentJson(account));
    }
    Json answer = {{"experiments", std::move(list)}};
    if (std::cmp_equal(accounts.size(), most) && !deleted) answer["next_page_token"] = accounts.back().id;
    return JsonAnswer(200, answer);
  }

  Answer GetExperiment(const Call& call, const char* key) {
    ASSAY_ASSIGN(const std::string name, Arguments(call).Needed(key));
    ASSAY_ASSIGN(const std::optional<Account> account, Find(call, name));
    if (!account) return NotFound("no experiment {} in this token's account", name);
    return JsonAnswer(200, {{"experiment", ExperimentJson(*account)}});
  }

  Answer SearchRuns(const Call& call) {
    const Arguments arguments(call);
    Search search;
    ASSAY_ASSIGN(const auto experiments, arguments.Texts("experiment_ids", 1'000));
    ASSAY_ASSIGN(const std::string text, arguments.Text("filter"));
    ASSAY_ASSIGN(search.filter, ParseMlflowFilter(text));
    ASSAY_ASSIGN(const auto order_by, arguments.Texts("order_by", 16));
    for (const std::string& one : order_by) {
      ASSAY_ASSIGN(MlflowOrdering ordering, ParseMlflowOrdering(one));
      search.order.push_back(std::move(ordering));
    }
    ASSAY_ASSIGN(const std::int64_t limit, arguments.Limit("max_results", 50'000));
    search.most = std::min(kMostRunsInPage, limit == kNoLimit ? std::size_t{1'000} : static_cast<std::size_t>(limit));
    ASSAY_ASSIGN(search.token, arguments.Text("page_token"));
    ASSAY_ASSIGN(const bool deleted, arguments.WantsDeleted("run_view_type"));
    for (const std::string& experiment : experiments) {
      if (!deleted && MaySee(call, experiment)) search.accounts.push_back(experiment);
    }
    ASSAY_ASSIGN(const Page page, search.order.empty() ? Newest(search) : Sorted(search));
    Json list = Json::array();
    for (const MlflowRun& run : page.runs) list.push_back(ToJson(run));
    Json answer = {{"runs", std::move(list)}};
    if (!page.next.empty()) answer["next_page_token"] = page.next;
    return JsonAnswer(200, answer);
  }

  Answer GetRun(const Call& call) {
    ASSAY_ASSIGN(const MlflowRunName name, RunOf(call, "run_id", "run_uuid"));
    ASSAY_ASSIGN(const std::string account, OrFail(office_.book.AccountOf(name.order)));
    ASSAY_ASSIGN(const std::vector<MlflowRun> runs, runs_.Of(account, name.order));
    const auto found = std::ranges::find(runs, RunIdOf(name), &MlflowRun::id);
    if (found == runs.end()) return NotFound("no run {} in this token's account", RunIdOf(name));
    return JsonAnswer(200, {{"run", ToJson(*found)}});
  }

  Answer GetHistory(const Call& call) {
    const Arguments arguments(call);
    ASSAY_ASSIGN(const MlflowRunName name, RunOf(call, "run_id", "run_uuid"));
    ASSAY_ASSIGN(const std::string key, arguments.Needed("metric_key"));
    ASSAY_ASSIGN(const std::int64_t limit, arguments.Limit("max_results", INT32_MAX));
    ASSAY_ASSIGN(const std::int64_t from, arguments.Number("page_token", 0));
    ASSAY_ASSIGN(const std::vector<Numbered> history, History(name, key, from));
    const std::size_t most = limit == kNoLimit ? history.size() : std::min(history.size(), static_cast<std::size_t>(limit));
    Json metrics = Json::array();
    for (std::size_t i = 0; i < most; ++i) metrics.push_back(ToJson(history[i].metric));
    Json answer = {{"metrics", std::move(metrics)}};
    if (most < history.size()) answer["next_page_token"] = std::to_string(history[most].number);
    return JsonAnswer(200, answer);
  }

  // Of several runs. `interval`: between two steps, each run thinned out to so many.
  Answer GetHistories(const Call& call, bool interval) {
    const Arguments arguments(call);
    ASSAY_ASSIGN(std::vector<std::string> ids, arguments.Texts(interval ? "run_ids" : "run_id", kMostRunsInBulk));
    if (ids.empty()) return BadRequest("{}: is missing", interval ? "run_ids" : "run_id");
    ASSAY_ASSIGN(const std::string key, arguments.Needed("metric_key"));
    ASSAY_ASSIGN(const std::int64_t limit, arguments.Limit("max_results", kMostHistory));
    ASSAY_ASSIGN(const std::int64_t first, arguments.Number("start_step", 0));
    ASSAY_ASSIGN(const std::int64_t last, arguments.Number("end_step", INT64_MAX));
    const std::size_t most = limit == kNoLimit ? (interval ? 2'500 : kMostHistory) : static_cast<std::size_t>(limit);
    std::ranges::sort(ids);
    Json metrics = Json::array();
    for (const std::string& id : ids) {
      ASSAY_ASSIGN(const MlflowRunName name, VisibleRun(call, id));
      ASSAY_ASSIGN(std::vector<Numbered> history, History(name, key, 0));
      if (interval) std::erase_if(history, [&](const Numbered& at) { return at.metric.step < first || at.metric.step > last; });
      const std::size_t stride = interval ? std::max<std::size_t>(1, (history.size() + most - 1) / most) : 1;
      for (std::size_t i = 0; i < history.size() && (interval || metrics.size() < most); i += stride) {
        Json metric = ToJson(history[i].metric);
        metric["run_id"] = id;
        metrics.push_back(std::move(metric));
      }
    }
    return JsonAnswer(200, {{"metrics", std::move(metrics)}});
  }

 private:
  struct Account {
    std::string id{};
    std::int64_t made_ms = 0;
  };
  struct Search {
    std::vector<std::string> accounts{};
    std::vector<MlflowComparison> filter{};
    std::vector<MlflowOrdering> order{};
    std::size_t most = 0;
    std::string token{};
  };
  struct Page {
    std::vector<MlflowRun> runs{};
    std::string next{};
  };
  struct Numbered {
    std::int64_t number = 0;
    MlflowMetric metric{};
  };
  struct OrderAt {
    std::string id{}, account{};
    std::int64_t seq = 0;
  };

  static Json ExperimentJson(const Account& account) {
    return {{"experiment_id", account.id},
            {"name", account.id},
            {"artifact_location", ""},
            {"lifecycle_stage", "active"},
            {"last_update_time", account.made_ms},
            {"creation_time", account.made_ms}};
  }

  static Result<std::vector<Account>> AccountsIn(const Rows& rows) {
    std::vector<Account> accounts;
    for (const store::Row& row : rows) {
      Account account;
      ASSAY_ASSIGN(account.id, row.Text(0));
      ASSAY_ASSIGN(account.made_ms, row.Integer(1));
      accounts.push_back(std::move(account));
    }
    return accounts;
  }

  // Those that the caller may see, by name, after `after`. Administrators see the accounts that have orders.
  Outcome<std::vector<Account>> Accounts(const Call& call, const std::string& after, std::int64_t most) {
    return OrFail(office_.database.Read([&](Transaction& t) -> Result<std::vector<Account>> {
      if (!call.caller.admin()) {
        ASSAY_ASSIGN(const Rows rows,
                     t.Run("SELECT id, made FROM accounts WHERE id = $1 AND id > $2", {call.caller.account, after}));
        return AccountsIn(rows);
      }
      ASSAY_ASSIGN(const Rows rows, t.Run("SELECT id, made FROM accounts WHERE id > $1 AND EXISTS (SELECT 1 FROM orders WHERE "
                                          "orders.account = accounts.id) ORDER BY id LIMIT $2",
                                          {after, most}));
      return AccountsIn(rows);
    }));
  }

  Outcome<std::optional<Account>> Find(const Call& call, const std::string& name) {
    if (!MaySee(call, name)) return std::optional<Account>();
    return OrFail(office_.database.Read([&](Transaction& t) -> Result<std::optional<Account>> {
      ASSAY_ASSIGN(const Rows rows, t.Run("SELECT id, made FROM accounts WHERE id = $1", {name}));
      ASSAY_ASSIGN(const std::vector<Account> found, AccountsIn(rows));
      return found.empty() ? std::optional<Account>() : std::optional<Account>(found.front());
    }));
  }

  // Orders of these accounts before `seq`, the newest first.
  Outcome<std::vector<OrderAt>> OrdersBefore(const std::vector<std::string>& accounts, std::int64_t seq, std::int64_t most) {
    return OrFail(office_.database.Read([&](Transaction& t) -> Result<std::vector<OrderAt>> {
      std::vector<OrderAt> orders;
      for (const std::string& account : accounts) {
        ASSAY_ASSIGN(const Rows rows,
                     t.Run("SELECT id, seq FROM orders WHERE account = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
                           {account, seq, most}));
        for (const store::Row& row : rows) {
          OrderAt order{.account = account};
          ASSAY_ASSIGN(order.id, row.Text(0));
          ASSAY_ASSIGN(order.seq, row.Integer(1));
          orders.push_back(std::move(order));
        }
      }
      std::ranges::sort(orders, std::greater(), &OrderAt::seq);
      if (std::cmp_greater(orders.size(), most)) orders.resize(static_cast<std::size_t>(most));
      return orders;
    }));
  }

  // Orders come newest first, and so do the runs of each; no more are looked at than a page takes.
  Outcome<Page> Newest(const Search& search) {
    std::int64_t before = INT64_MAX;
    const char* end = search.token.data() + search.token.size();
    if (!search.token.empty() && std::from_chars(search.token.data(), end, before).ptr != end)
      return BadRequest("page_token: is none of this search");
    Page page;
    for (std::int64_t looked = 0; looked < kMostOrdersSorted;) {
      ASSAY_ASSIGN(const std::vector<OrderAt> orders, OrdersBefore(search.accounts, before, 100));
      for (const OrderAt& order : orders) {
        ASSAY_ASSIGN(std::vector<MlflowRun> runs, runs_.Of(order.account, order.id));
        std::erase_if(runs, [&](const MlflowRun& run) { return !Fits(search.filter, SubjectOf(run)); });
        // An order's runs stand on one page, unless it alone has more than a page.
        if (!page.runs.empty() && page.runs.size() + runs.size() > search.most) {
          page.next = std::to_string(before);
          return page;
        }
        if (runs.size() > search.most) runs.resize(search.most);
        std::ranges::move(runs, std::back_inserter(page.runs));
        before = order.seq;
      }
      if (orders.size() < 100) return page;
      looked += static_cast<std::int64_t>(orders.size());
    }
    page.next = std::to_string(before);
    return page;
  }

  Outcome<Page> Sorted(const Search& search) {
    std::size_t from = 0;
    const char* end = search.token.data() + search.token.size();
    if (!search.token.empty() && std::from_chars(search.token.data(), end, from).ptr != end)
      return BadRequest("page_token: is none of this search");
    ASSAY_ASSIGN(const std::vector<OrderAt> orders, OrdersBefore(search.accounts, INT64_MAX, kMostOrdersSorted));
    std::vector<MlflowRun> all;
    for (const OrderAt& order : orders) {
      ASSAY_ASSIGN(std::vector<MlflowRun> runs, runs_.Of(order.account, order.id));
      std::erase_if(runs, [&](const MlflowRun& run) { return !Fits(search.filter, SubjectOf(run)); });
      std::ranges::move(runs, std::back_inserter(all));
    }
    // Runs that the order does not tell apart stay as they are.
    std::vector<std::size_t> places(all.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, [&](std::size_t a, std::size_t b) {
      if (Before(search.order, SubjectOf(all[a]), SubjectOf(all[b]))) return true;
      return !Before(search.order, SubjectOf(all[b]), SubjectOf(all[a])) && a < b;
    });
    Page page;
    for (std::size_t i = from; i < all.size() && page.runs.size() < search.most; ++i)
      page.runs.push_back(std::move(all[places[i]]));
    if (from + page.runs.size() < all.size()) page.next = std::to_string(from + page.runs.size());
    return page;
  }

  Outcome<MlflowRunName> VisibleRun(const Call& call, const std::string& id) {
    const auto name = ParseRunId(id);
    if (!name || !CheckOwner(office_, call, name->order)) return NotFound("no run {} in this token's account", id);
    return *name;
  }
  Outcome<MlflowRunName> RunOf(const Call& call, const char* key, const char* older_key) {
    const Arguments arguments(call);
    ASSAY_ASSIGN(std::string id, arguments.Text(key));
    if (id.empty()) {
      ASSAY_ASSIGN(id, arguments.Needed(older_key));
    }
    return VisibleRun(call, id);
  }

  // From the point of that number on; empty where there is no such metric.
  Outcome<std::vector<Numbered>> History(const MlflowRunName& name, const std::string& key, std::int64_t from) {
    std::vector<Numbered> history;
    const auto place = tracking::PlaceOf(key);
    if (!place) return history;
    ASSAY_ASSIGN(const auto points, OrFail(office_.histories.Read(name.order, name.lease, place->series)));
    for (const NumberedPoint& numbered : points) {
      const auto& value = numbered.point.values[place->value];
      if (!value || numbered.number < from) continue;
      history.push_back({.number = numbered.number,
                         .metric = {.key = key, .value = *value, .at_ms = numbered.point.at_ms, .step = numbered.point.step}});
    }
    return history;
  }

  Office& office_;
  MlflowRuns runs_;
};

void AddSchemas(Routes& routes) {
  routes.AddSchema("MlflowSearch", R"({"type":"object","properties":{
    "experiment_ids":{"type":"array","items":{"type":"string"}},"filter":{"type":"string"},"max_results":{"type":"integer"},
    "order_by":{"type":"array","items":{"type":"string"}},"page_token":{"type":"string"},
    "run_view_type":{"enum":["ACTIVE_ONLY","DELETED_ONLY","ALL"]},"view_type":{"enum":["ACTIVE_ONLY","DELETED_ONLY","ALL"]}}})");
  routes.AddSchema("MlflowExperiments", R"({"type":"object","properties":{
    "experiments":{"type":"array","items":{"type":"object"}},"next_page_token":{"type":"string"}}})");
  routes.AddSchema("MlflowExperiment",
                   R"({"type":"object","required":["experiment"],"properties":{"experiment":{"type":"object"}}})");
  routes.AddSchema("MlflowRunPage", R"({"type":"object","properties":{
    "runs":{"type":"array","items":{"type":"object"}},"next_page_token":{"type":"string"}}})");
  routes.AddSchema("MlflowRun", R"({"type":"object","required":["run"],"properties":{"run":{"type":"object"}}})");
  routes.AddSchema("MlflowMetrics", R"({"type":"object","properties":{
    "metrics":{"type":"array","items":{"type":"object"}},"next_page_token":{"type":"string"}}})");
}

}  // namespace

void AddMlflowRoutes(Routes& routes, Office& office) {
  AddSchemas(routes);
  const auto mlflow = std::make_shared<MlflowOffice>(office);
  const auto get = [&](const std::string& path, std::string summary, std::vector<QueryField> query, std::string schema,
                       std::function<Answer(const Call&)> answer, const std::string& prefix = "/api") {
    routes.Add({.method = "GET",
                .path = prefix + "/2.0/mlflow/" + path,
                .roles = kClients,
                .summary = std::move(summary),
                .query = std::move(query),
                .response_schema = std::move(schema),
                .answer = std::move(answer)});
  };
  const auto post = [&](const std::string& path, std::string summary, std::string schema,
                        std::function<Answer(const Call&)> answer) {
    routes.Add({.method = "POST",
                .path = "/api/2.0/mlflow/" + path,
                .roles = kClients,
                .summary = std::move(summary),
                .body = Route::Body::kJson,
                .request_schema = "MlflowSearch",
                .response_schema = std::move(schema),
                .answer = std::move(answer)});
  };
  const std::vector<QueryField> paged = {{"max_results", "integer", "of a page"},
                                         {"page_token", "string", "of the page before"}};
  const auto experiments = [mlflow](const Call& call) { return mlflow->SearchExperiments(call); };
  post("experiments/search", "MLflow: accounts as experiments", "MlflowExperiments", experiments);
  get("experiments/search", "MLflow: accounts as experiments", paged, "MlflowExperiments", experiments);
  get("experiments/list", "MLflow, older clients: accounts as experiments", paged, "MlflowExperiments", experiments);
  get("experiments/get", "MLflow: an account", {{"experiment_id", "string", "its name", true}}, "MlflowExperiment",
      [mlflow](const Call& call) { return mlflow->GetExperiment(call, "experiment_id"); });
  get("experiments/get-by-name", "MLflow: an account", {{"experiment_name", "string", "its name", true}}, "MlflowExperiment",
      [mlflow](const Call& call) { return mlflow->GetExperiment(call, "experiment_name"); });
  post("runs/search", "MLflow: training leases as runs, those of the newest orders first unless order_by is given",
       "MlflowRunPage", [mlflow](const Call& call) { return mlflow->SearchRuns(call); });
  get("runs/get", "MLflow: a training lease", {{"run_id", "string", "ORDER-LEASE"}, {"run_uuid", "string", "the same"}},
      "MlflowRun", [mlflow](const Call& call) { return mlflow->GetRun(call); });
  std::vector<QueryField> history = {{"run_id", "string", "ORDER-LEASE"},
                                     {"run_uuid", "string", "the same"},
                                     {"metric_key", "string", "loss, throughput, cpu_util, ...", true}};
  history.insert(history.end(), paged.begin(), paged.end());
  get("metrics/get-history", "MLflow: a metric over time", history, "MlflowMetrics",
      [mlflow](const Call& call) { return mlflow->GetHistory(call); });
  for (const std::string prefix : {"/api", "/ajax-api"}) {
    get(
        "metrics/get-history-bulk", "MLflow: a metric of several runs",
        {{"run_id", "string", "repeated"}, {"metric_key", "string", "as above", true}, {"max_results", "integer", "in all"}},
        "MlflowMetrics", [mlflow](const Call& call) { return mlflow->GetHistories(call, false); }, prefix);
    get(
        "metrics/get-history-bulk-interval", "MLflow: a metric of several runs between two steps",
        {{"run_ids", "string", "repeated"},
         {"metric_key", "string", "as above", true},
         {"start_step", "integer", "the first"},
         {"end_step", "integer", "the last"},
         {"max_results", "integer", "of each run"}},
        "MlflowMetrics", [mlflow](const Call& call) { return mlflow->GetHistories(call, true); }, prefix);
  }
}

}  // namespace assay::coordinator
