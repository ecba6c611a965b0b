#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <map>
#include <set>
#include <vector>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/platform_session.h"
#include "assay/coordinator/station.h"
#include "assay/net/target.h"

namespace assay::cli {
namespace {

struct AdminOptions {
  std::string what, id;
  PlatformOptions platform;
  std::string store, database;
  std::string role, account, name;
  std::int64_t expires_days = 0;
  std::optional<std::int64_t> orders;
  std::string blob_bytes;
  std::string older_than = "7d";
  bool dry_run = false;
  bool all = false;
  bool json = false;
};

using platform::ApiClient;

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// "2026-11-18 00:30", of this machine's time zone.
std::string DayAndTime(std::int64_t ms) {
  if (ms <= 0) return "never";
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts)};
}

std::string TextOf(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::string() : OneLine(found->get<std::string>());
}

std::int64_t NumberOf(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_number_integer() ? 0 : found->get<std::int64_t>();
}

OrderedJson ListOf(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_array() ? OrderedJson::array() : *found;
}

// As the other commands have it: times end in _ms, and what there is not is null.
OrderedJson Shown(const OrderedJson& given, const std::map<std::string, std::string>& names,
                  const std::set<std::string>& nullable) {
  OrderedJson shown = OrderedJson::object();
  for (const auto& [key, value] : given.items()) {
    const auto renamed = names.find(key);
    const bool none = nullable.contains(key) && (value == "" || value == 0);
    shown[renamed == names.end() ? key : renamed->second] = none ? OrderedJson(nullptr) : value;
  }
  return shown;
}

template <class T>
Result<T> Plain(platform::ApiResult<T> result) {
  if (!result) return tl::unexpected(Error(result.error()));
  return *std::move(result);
}

Result<int> PrintToken(const AdminOptions& options, const OrderedJson& made) {
  if (options.json) {
    fmt::print("{}\n", Dump(made));
  } else {
    fmt::print("{}\n", TextOf(made, "token"));
  }
  return kExitOk;
}

Result<int> MakeToken(const AdminOptions& options) {
  if (options.role.empty()) return Err("--role: expected client, provider, auditor or admin");
  const std::int64_t expires_ms = options.expires_days == 0 ? 0 : NowMs() + options.expires_days * 86'400'000;
  if (!options.store.empty()) {
    if (!coordinator::IsCoordinatorStore(options.store)) {
      return Err("--store {}: is not a coordinator's folder, which assay serve --store DIR makes (it has no coordinator.key)",
                 options.store);
    }
    ASSAY_ASSIGN(const auto database, coordinator::OpenCoordinatorDatabase(options.store, options.database));
    coordinator::Tokens tokens(*database, store::SystemClock());
    ASSAY_ASSIGN(const coordinator::NewToken made,
                 tokens.Make(*coordinator::AccountRoleOf(options.role), options.account, options.name, expires_ms));
    return PrintToken(options, {{"token", made.token}, {"id", made.id}, {"account", made.account}});
  }
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  OrderedJson body = {{"role", options.role}, {"name", options.name}, {"expires_ms", expires_ms}};
  if (!options.account.empty()) body["account"] = options.account;
  ASSAY_ASSIGN(const OrderedJson made, Plain(api->Post("/v1/admin/tokens", body)));
  return PrintToken(options, made);
}

Result<int> ShowTokens(const AdminOptions& options) {
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  ASSAY_ASSIGN(const OrderedJson answer, Plain(api->Get("/v1/admin/tokens")));
  if (options.json) {
    OrderedJson tokens = OrderedJson::array();
    for (const OrderedJson& token : ListOf(answer, "tokens"))
      tokens.push_back(Shown(token, {{"made", "made_ms"}}, {"expires_ms", "revoked_ms"}));
    fmt::print("{}\n", Dump({{"tokens", tokens}}));
    return kExitOk;
  }
  for (const OrderedJson& token : ListOf(answer, "tokens")) {
    const std::int64_t revoked = NumberOf(token, "revoked_ms"), expires = NumberOf(token, "expires_ms");
    const std::string state = revoked > 0          ? "revoked " + DayAndTime(revoked)
                              : expires == 0       ? "valid"
                              : expires <= NowMs() ? "expired " + DayAndTime(expires)
                                                   : "valid until " + DayAndTime(expires);
    fmt::print("{}  {:<8}  {:<28}  {}  {}\n", TextOf(token, "id"), TextOf(token, "role"), TextOf(token, "account"), state,
               TextOf(token, "name"));
  }
  return kExitOk;
}

Result<int> Revoke(const AdminOptions& options) {
  if (options.id.empty()) return Err("revoke: expected the id of a token (assay admin tokens)");
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  ASSAY_TRY(Plain(api->Send("DELETE", "/v1/admin/tokens/" + PercentEncode(options.id), {})));
  if (options.json) {
    fmt::print("{}\n", Dump({{"revoked", options.id}}));
  } else {
    fmt::print("revoked {}\n", options.id);
  }
  return kExitOk;
}

Result<int> ShowWorkers(const AdminOptions& options) {
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  ASSAY_ASSIGN(const OrderedJson answer, Plain(api->Get("/v1/admin/workers")));
  if (options.json) {
    OrderedJson workers = OrderedJson::array();
    for (const OrderedJson& worker : ListOf(answer, "workers"))
      workers.push_back(Shown(worker, {{"made", "made_ms"}, {"seen", "seen_ms"}}, {"recipient", "seen", "evidence"}));
    fmt::print("{}\n", Dump({{"workers", workers}}));
    return kExitOk;
  }
  for (const OrderedJson& worker : ListOf(answer, "workers")) {
    std::string evidence;
    for (const OrderedJson& name : ListOf(worker, "evidence")) {
      if (name.is_string()) evidence += (evidence.empty() ? "" : ", ") + name.get<std::string>();
    }
    fmt::print("{}  {}  {}  seen {}  {} clean  {}\n", TextOf(worker, "key"), TextOf(worker, "role"), TextOf(worker, "account"),
               DayAndTime(NumberOf(worker, "seen")), NumberOf(worker, "record"),
               evidence.empty() ? "" : "convicted by " + evidence);
  }
  return kExitOk;
}

// The whole key where `text` is its NAME+HASH, as logs have it.
Result<std::string> WorkerKey(ApiClient& api, const std::string& text) {
  if (std::ranges::count(text, '+') != 1) return text;
  ASSAY_ASSIGN(const OrderedJson answer, Plain(api.Get("/v1/admin/workers")));
  std::vector<std::string> found;
  for (const OrderedJson& worker : ListOf(answer, "workers")) {
    if (std::string key = TextOf(worker, "key"); key.starts_with(text + "+")) found.push_back(std::move(key));
  }
  if (found.size() == 1) return found.front();
  return Err("release: {} workers have a key {}; expected a whole key, NAME+HASH+DATA, as assay admin workers lists them",
             found.empty() ? "no" : "several", Quote(text));
}

Result<int> ReleaseWorker(const AdminOptions& options) {
  if (options.id.empty()) return Err("release: expected the public key of a worker (assay admin workers)");
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  ASSAY_ASSIGN(const std::string key, WorkerKey(*api, options.id));
  ASSAY_TRY(Plain(api->Post("/v1/admin/workers/release", {{"key", key}})));
  if (options.json) {
    fmt::print("{}\n", Dump({{"released", key}}));
  } else {
    fmt::print("released {}; whoever proves next to hold this key has it\n", key);
  }
  return kExitOk;
}

Result<int> ShowOrders(const AdminOptions& options) {
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  OrderedJson orders = OrderedJson::array();
  std::int64_t after = 0;
  for (;;) {
    ASSAY_ASSIGN(
        const OrderedJson answer,
        Plain(api->Get(fmt::format("/v1/admin/orders?state={}&limit=1000&after={}", options.all ? "all" : "open", after))));
    const OrderedJson page = ListOf(answer, "orders");
    for (const OrderedJson& order : page) {
      after = std::max(after, NumberOf(order, "seq"));
      orders.push_back(order);
    }
    if (page.size() < 1000) break;
  }
  if (options.json) {
    for (OrderedJson& order : orders) order = Shown(order, {{"job", "job_id"}, {"made", "made_ms"}}, {"verdict"});
    fmt::print("{}\n", Dump({{"orders", orders}}));
    return kExitOk;
  }
  for (const OrderedJson& order : orders) {
    const std::string verdict = TextOf(order, "verdict");
    fmt::print("{}  {}  {:<9}  {}\n", TextOf(order, "id"), DayAndTime(NumberOf(order, "made")),
               verdict.empty() ? "open" : verdict, TextOf(order, "account"));
  }
  return kExitOk;
}

Result<int> CancelOrder(const AdminOptions& options) {
  if (options.id.empty()) return Err("cancel: expected the id of an order (assay admin orders)");
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  ASSAY_TRY(Plain(api->Post("/v1/admin/orders/" + PercentEncode(options.id) + "/cancel", OrderedJson::object())));
  if (options.json) {
    fmt::print("{}\n", Dump({{"cancelled", options.id}}));
  } else {
    fmt::print("cancelled {}\n", options.id);
  }
  return kExitOk;
}

Result<int> ShowOrSetQuota(const AdminOptions& options) {
  if (options.id.empty()) return Err("quota: expected an account (assay admin tokens)");
  std::optional<std::int64_t> bytes;
  if (!options.blob_bytes.empty()) {
    ASSAY_ASSIGN(bytes, SizeInBytes("--bytes", options.blob_bytes));
  }
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  const std::string path = "/v1/admin/quotas/" + PercentEncode(options.id);
  ASSAY_ASSIGN(OrderedJson quota, Plain(api->Get(path)));
  if (options.orders || bytes) {
    const OrderedJson wanted = {{"orders", options.orders.value_or(NumberOf(quota, "orders"))},
                                {"blob_bytes", bytes.value_or(NumberOf(quota, "blob_bytes"))}};
    ASSAY_ASSIGN(quota, Plain(api->Put(path, wanted)));
  }
  if (options.json) {
    fmt::print("{}\n", Dump(quota));
    return kExitOk;
  }
  fmt::print("open orders  {} of {}\nbytes        {} of {}\n", NumberOf(quota, "orders_open"), NumberOf(quota, "orders"),
             NumberOf(quota, "blob_bytes_used"), NumberOf(quota, "blob_bytes"));
  return kExitOk;
}

// "90m", "36h", "7d".
Result<std::int64_t> AgeInMs(const std::string& name, const std::string& text) {
  constexpr std::int64_t kMost = 36'500;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::int64_t seconds = unit == "m" ? 60 : unit == "h" ? 3600 : unit == "d" ? 86'400 : 0;
  if (error != std::errc() || seconds == 0 || number < 1 || number * seconds < 3600 || number > kMost * 86'400 / seconds)
    return Err("{} {}: expected a time from an hour on, such as 90m, 36h or 7d", name, Quote(text));
  return number * seconds * 1000;
}

Result<int> SweepBlobs(const AdminOptions& options) {
  ASSAY_ASSIGN(const std::int64_t age_ms, AgeInMs("--older-than", options.older_than));
  ASSAY_ASSIGN(const auto api, OpenApi(options.platform));
  std::int64_t blobs = 0, bytes = 0, kept = 0;
  for (int first = 0; first < 256; ++first) {
    ASSAY_ASSIGN(
        const OrderedJson swept,
        Plain(api->Post("/v1/admin/sweep", {{"first", first}, {"older_than_ms", age_ms}, {"dry_run", options.dry_run}})));
    blobs += NumberOf(swept, "blobs");
    bytes += NumberOf(swept, "bytes");
    kept += NumberOf(swept, "kept");
  }
  if (options.json) {
    fmt::print("{}\n", Dump({{"dry_run", options.dry_run}, {"blobs", blobs}, {"bytes", bytes}, {"kept", kept}}));
    return kExitOk;
  }
  fmt::print("{} {} blob{} of {} bytes that no order needs; {} stay\n", options.dry_run ? "would remove" : "removed", blobs,
             blobs == 1 ? "" : "s", bytes, kept);
  return kExitOk;
}

Result<int> RunAdmin(const AdminOptions& options) {
  if (!options.store.empty() && options.what != "token") return Err("--store: is for `assay admin token` alone");
  if (options.what == "token") return MakeToken(options);
  if (options.what == "tokens") return ShowTokens(options);
  if (options.what == "revoke") return Revoke(options);
  if (options.what == "workers") return ShowWorkers(options);
  if (options.what == "release") return ReleaseWorker(options);
  if (options.what == "orders") return ShowOrders(options);
  if (options.what == "cancel") return CancelOrder(options);
  if (options.what == "sweep") return SweepBlobs(options);
  return ShowOrSetQuota(options);
}

}  // namespace

void AddAdmin(Arguments& app, Command& command) {
  auto options = std::make_shared<AdminOptions>();
  Subcommand sub = app.Add("admin", "Administer a coordinator: tokens, workers, orders, quotas");
  sub.Footer(
      "  assay admin token --role client      make a token, and print it; it is shown this once. Roles: client (orders),\n"
      "                                       provider (trains), auditor (audits), admin (administers)\n"
      "  assay admin tokens                   list them\n"
      "  assay admin revoke TOKEN-ID\n"
      "  assay admin workers                  with their records and convictions\n"
      "  assay admin release KEY              take a worker's key, or NAME+HASH of it, from its account\n"
      "  assay admin orders                   of all accounts that are open, oldest first; --all: all\n"
      "  assay admin cancel ORDER\n"
      "  assay admin quota ACCOUNT            show what an account may have; --orders and --bytes set it\n"
      "  assay admin sweep                    remove uploads that no order needs; --dry-run: only count them\n"
      "\n"
      "A token belongs to an account. Without --account it gets one of its own: what tokens of one account submit, all of\n"
      "them see. With `serve --distinct-accounts`, two workers of one account never get runs of the same order.\n"
      "\n"
      "If you lose the administrator's token, make another on the coordinator's machine:\n"
      "  assay admin token --role admin --store DIR");
  sub.Option("what", options->what, "token, tokens, revoke, workers, release, orders, cancel, quota or sweep")
      .Required()
      .OneOf({"token", "tokens", "revoke", "workers", "release", "orders", "cancel", "quota", "sweep"})
      .Type("WHAT");
  sub.Option("id", options->id, "Id of a token or an order, key of a worker, or name of an account").Type("ID");
  options->platform.no_token =
      "the first start of the coordinator shows the administrator's, and assay admin token --role admin --store DIR, on its "
      "machine, makes another";
  sub.Option("--server", options->platform.server, "The coordinator's address. Default: $ASSAY_SERVER").Type("URL");
  sub.Option("--token", options->platform.token, "The administrator's token. Default: $ASSAY_TOKEN").Type("TOKEN");
  sub.Option("--ca", options->platform.ca_file, "PEM certificates to trust instead of the system's").Type("FILE");
  sub.Option("--store", options->store, "token: write to a coordinator's folder instead of asking it").Type("DIR");
  sub.Option("--database", options->database, "With --store: the database, if it is not the folder's").Type("URL");
  sub.Option("--role", options->role, "token: what it may do: client, provider, auditor or admin")
      .OneOf({"client", "provider", "auditor", "admin"})
      .Type("ROLE");
  sub.Option("--account", options->account, "token: whom it belongs to. Default: an account of its own").Type("NAME");
  sub.Option("--name", options->name, "token: a note to know it by").Type("TEXT");
  sub.Option("--expires", options->expires_days, "token: days until it expires. Default: never")
      .Range(std::int64_t{1}, std::int64_t{36'500})
      .Type("DAYS");
  sub.Option("--orders", options->orders, "quota: open orders").Type("N");
  sub.Option("--bytes", options->blob_bytes, "quota: bytes of uploads, such as 100GB").Type("SIZE");
  sub.Option("--older-than", options->older_than, "sweep: only what was not uploaded since then, such as 36h or 7d")
      .Type("TIME");
  sub.Flag("--dry-run", options->dry_run, "sweep: remove nothing");
  sub.Flag("--all", options->all, "orders: the decided too");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunAdmin);
}

}  // namespace assay::cli
