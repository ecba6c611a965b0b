#include <utility>

#include "assay/coordinator/blob_uses.h"
#include "assay/coordinator/office.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

Answer MakeToken(Office& office, const Call& call) {
  ASSAY_ASSIGN(const std::string role_name, call.Text("role", 32));
  const auto role = AccountRoleOf(role_name);
  if (!role) return BadRequest("role: expected client, provider, auditor or admin");
  ASSAY_ASSIGN(const std::string account, call.TextOr("account", 64, ""));
  ASSAY_ASSIGN(const std::string name, call.TextOr("name", 200, ""));
  ASSAY_ASSIGN(const std::int64_t expires, call.NumberOr("expires_ms", 0));
  ASSAY_ASSIGN(const NewToken made, OrFail(office.tokens.Make(*role, account, name, expires)));
  return JsonAnswer(201, {{"token", made.token}, {"id", made.id}, {"account", made.account}});
}

Answer ListTokens(Office& office, const Call&) {
  ASSAY_ASSIGN(const auto lines, OrFail(office.tokens.List()));
  Json tokens = Json::array();
  for (const TokenLine& line : lines) {
    tokens.push_back({{"id", line.id},
                      {"account", line.account},
                      {"role", line.role},
                      {"name", line.name},
                      {"made", line.made_ms},
                      {"expires_ms", line.expires_ms},
                      {"revoked_ms", line.revoked_ms}});
  }
  return JsonAnswer(200, {{"tokens", std::move(tokens)}});
}

Answer RevokeToken(Office& office, const Call& call) {
  ASSAY_ASSIGN(const bool found, OrFail(office.tokens.Revoke(call.Path("token"))));
  if (!found) return NotFound("there is no token of this id");
  return JsonAnswer(200, Json::object());
}

Answer ListWorkers(Office& office, const Call&) {
  ASSAY_ASSIGN(const auto lines, OrFail(office.book.Workers(true)));
  Json workers = Json::array();
  for (const WorkerLine& line : lines) {
    Json hardware = Json::parse(line.hardware, nullptr, false);
    if (hardware.is_discarded()) hardware = nullptr;
    workers.push_back({{"key", line.key},
                       {"account", line.account},
                       {"role", line.role},
                       {"hardware", std::move(hardware)},
                       {"recipient", line.announcement},
                       {"made", line.made_ms},
                       {"seen", line.seen_ms},
                       {"record", line.clean},
                       {"evidence", line.evidence}});
  }
  return JsonAnswer(200, {{"workers", std::move(workers)}});
}

Answer ReleaseWorker(Office& office, const Call& call) {
  ASSAY_ASSIGN(const std::string key, call.Text("key", 1024));
  ASSAY_ASSIGN(const bool found, OrFail(office.book.ReleaseWorker(key)));
  if (!found) return NotFound("no account has this key");
  return JsonAnswer(200, Json::object());
}

Answer ListOrders(Office& office, const Call& call) {
  ASSAY_ASSIGN(const std::int64_t after, call.QueryNumber("after", 0, 0, INT64_MAX));
  ASSAY_ASSIGN(const std::int64_t limit, call.QueryNumber("limit", 100, 1, 1000));
  const std::string_view state = call.target.Query("state").value_or("all");
  if (state != "open" && state != "all") return BadRequest("state: expected open or all");
  const char* sql =
      state == "open"
          ? "SELECT id, seq, job, made, account, verdict FROM orders WHERE verdict = '' AND seq > $1 ORDER BY seq LIMIT $2"
          : "SELECT id, seq, job, made, account, verdict FROM orders WHERE seq > $1 ORDER BY seq LIMIT $2";
  ASSAY_ASSIGN(
      Json orders, OrFail(office.database.Read([&](Transaction& t) -> Result<Json> {
        ASSAY_ASSIGN(const Rows rows, t.Run(sql, {after, limit}));
        Json list = Json::array();
        for (const store::Row& row : rows) {
          ASSAY_ASSIGN(const std::string id, row.Text(0));
          ASSAY_ASSIGN(const std::int64_t seq, row.Integer(1));
          ASSAY_ASSIGN(const std::string job, row.Text(2));
          ASSAY_ASSIGN(const std::int64_t made, row.Integer(3));
          ASSAY_ASSIGN(const std::string account, row.Text(4));
          ASSAY_ASSIGN(const std::string verdict, row.Text(5));
          list.push_back({{"id", id}, {"seq", seq}, {"job", job}, {"made", made}, {"account", account}, {"verdict", verdict}});
        }
        return list;
      })));
  return JsonAnswer(200, {{"orders", std::move(orders)}});
}

Answer Cancel(Office& office, const Call& call) {
  ASSAY_TRY(CheckOwner(office, call, call.Path("order")));
  return CancelOrder(office, call.Path("order"), "admin");
}

Outcome<void> CheckAccount(Office& office, const std::string& account) {
  ASSAY_ASSIGN(const bool there, OrFail(office.database.Read([&](Transaction& t) -> Result<bool> {
                 if (!IsAccountName(account)) return false;
                 ASSAY_ASSIGN(const Rows rows, t.Run("SELECT 1 FROM accounts WHERE id = $1", {account}));
                 return !rows.empty();
               })));
  if (!there) return NotFound("there is no account of this name");
  return {};
}

Answer ShowQuota(Office& office, const Call& call) {
  const std::string& account = call.Path("account");
  ASSAY_TRY(CheckAccount(office, account));
  return OrFail(office.database.Read([&](Transaction& t) -> Result<HttpResponse> {
    ASSAY_ASSIGN(const Quota quota, office.rights.QuotaOf(t, account));
    ASSAY_ASSIGN(const Rows orders, t.Run("SELECT COUNT(*) FROM orders WHERE account = $1 AND verdict = ''", {account}));
    ASSAY_ASSIGN(
        const Rows blobs,
        t.Run("SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM blob_rights WHERE account = $1 AND owned = 1", {account}));
    ASSAY_ASSIGN(const std::int64_t open, orders[0].Integer(0));
    ASSAY_ASSIGN(const std::int64_t used, blobs[0].Integer(0));
    return JsonAnswer(200, {{"account", account},
                            {"orders", quota.orders},
                            {"blob_bytes", quota.blob_bytes},
                            {"orders_open", open},
                            {"blob_bytes_used", used}});
  }));
}

Answer SetQuota(Office& office, const Call& call) {
  const std::string& account = call.Path("account");
  ASSAY_ASSIGN(const std::int64_t orders, call.Number("orders"));
  ASSAY_ASSIGN(const std::int64_t blob_bytes, call.Number("blob_bytes"));
  ASSAY_TRY(CheckAccount(office, account));
  const Status written = office.database.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(
        t.Run("INSERT INTO quotas (account, orders, blob_bytes) VALUES ($1, $2, $3) "
              "ON CONFLICT (account) DO UPDATE SET orders = $2, blob_bytes = $3",
              {account, orders, blob_bytes}));
    return {};
  });
  ASSAY_TRY(OrFail(written));
  return ShowQuota(office, call);
}

// One 256th of the blobs, so that no call takes long.
Answer Sweep(Office& office, const Call& call) {
  constexpr std::int64_t kLeastMs = 3600 * 1000;
  ASSAY_ASSIGN(const std::int64_t first, call.Number("first"));
  if (first > 255) return BadRequest("first: expected a number from 0 to 255");
  ASSAY_ASSIGN(const std::int64_t age_ms, call.Number("older_than_ms"));
  if (age_ms < kLeastMs) return BadRequest("older_than_ms: expected at least an hour, {}", kLeastMs);
  const auto dry = call.body.find("dry_run");
  if (dry != call.body.end() && !dry->is_boolean()) return BadRequest("dry_run: expected true or false");
  const bool dry_run = dry != call.body.end() && dry->get<bool>();
  ASSAY_ASSIGN(const Swept swept, OrFail(SweepBlobs(office.database, office.blobs, static_cast<std::uint8_t>(first),
                                                    office.Now() - age_ms, dry_run)));
  return JsonAnswer(200, {{"blobs", swept.blobs}, {"bytes", swept.bytes}, {"kept", swept.kept}});
}

void AddSchemas(Routes& routes) {
  routes.AddSchema("Sweep", R"({"type":"object","required":["first","older_than_ms"],"properties":{
    "first":{"type":"integer","minimum":0,"maximum":255,"description":"the first byte of the hashes"},
    "older_than_ms":{"type":"integer","minimum":3600000},"dry_run":{"type":"boolean"}}})");
  routes.AddSchema("Swept", R"({"type":"object","required":["blobs","bytes","kept"],"properties":{
    "blobs":{"type":"integer"},"bytes":{"type":"integer"},"kept":{"type":"integer"}}})");
  routes.AddSchema("NewToken", R"({"type":"object","required":["role"],"properties":{
    "role":{"enum":["client","provider","auditor","admin"]},
    "account":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$","description":"absent: one of the token's own"},
    "name":{"type":"string","maxLength":200},"expires_ms":{"type":"integer","description":"since 1970; 0: never"}}})");
  routes.AddSchema("MadeToken", R"({"type":"object","required":["token","id","account"],"properties":{
    "token":{"type":"string","pattern":"^assay_[0-9a-f]{64}$"},"id":{"type":"string"},"account":{"type":"string"}}})");
  routes.AddSchema("TokenList",
                   R"({"type":"object","required":["tokens"],"properties":{"tokens":{"type":"array","items":{"type":"object",
    "required":["id","account","role","name","made","expires_ms","revoked_ms"],"properties":{
    "id":{"type":"string"},"account":{"type":"string"},"role":{"type":"string"},"name":{"type":"string"},"made":{"type":"integer"},
    "expires_ms":{"type":"integer"},"revoked_ms":{"type":"integer"}}}}}})");
  routes.AddSchema("AdminWorkerList",
                   R"({"type":"object","required":["workers"],"properties":{"workers":{"type":"array","items":{"type":"object",
    "required":["key","account","role","hardware","recipient","made","seen","record","evidence"],"properties":{
    "key":{"type":"string"},"account":{"type":"string"},"role":{"type":"string"},"hardware":{"type":["object","null"]},
    "recipient":{"type":"string"},"made":{"type":"integer"},"seen":{"type":"integer"},
    "record":{"type":"integer","description":"jobs that were checked and held"},
    "evidence":{"type":"array","items":{"$ref":"#/components/schemas/Hash"},"description":"by which the key is convicted"}}}}}})");
  routes.AddSchema("ReleasedKey", R"({"type":"object","required":["key"],"properties":{"key":{"type":"string"}}})");
  routes.AddSchema("Quota", R"({"type":"object","required":["orders","blob_bytes"],"properties":{
    "orders":{"type":"integer","minimum":0},"blob_bytes":{"type":"integer","minimum":0}}})");
  routes.AddSchema(
      "QuotaView",
      R"({"type":"object","required":["account","orders","blob_bytes","orders_open","blob_bytes_used"],"properties":{
    "account":{"type":"string"},"orders":{"type":"integer"},"blob_bytes":{"type":"integer"},"orders_open":{"type":"integer"},
    "blob_bytes_used":{"type":"integer"}}})");
}

}  // namespace

void AddAdminRoutes(Routes& routes, Office& office) {
  AddSchemas(routes);
  const auto add = [&](Route route, Answer (*handler)(Office&, const Call&)) {
    route.roles = kAdmins;
    route.answer = [&office, handler](const Call& call) { return handler(office, call); };
    routes.Add(std::move(route));
  };
  add({.method = "POST",
       .path = "/v1/admin/tokens",
       .summary = "Makes a token, which is shown this once; another with every request",
       .body = Route::Body::kJson,
       .request_schema = "NewToken",
       .response_schema = "MadeToken",
       .status = 201},
      MakeToken);
  add({.method = "GET",
       .path = "/v1/admin/tokens",
       .summary = "All tokens, without their secrets",
       .response_schema = "TokenList"},
      ListTokens);
  add({.method = "DELETE", .path = "/v1/admin/tokens/{token}", .summary = "Revokes a token", .response_schema = "Empty"},
      RevokeToken);
  add({.method = "GET",
       .path = "/v1/admin/workers",
       .summary = "All workers, with records and convictions",
       .response_schema = "AdminWorkerList"},
      ListWorkers);
  add({.method = "POST",
       .path = "/v1/admin/workers/release",
       .summary = "Takes a worker's key from its account; whoever proves it next has it",
       .body = Route::Body::kJson,
       .request_schema = "ReleasedKey",
       .response_schema = "Empty"},
      ReleaseWorker);
  add({.method = "GET",
       .path = "/v1/admin/orders",
       .summary = "Orders of all accounts, oldest first",
       .query = {{"state", "string", "open or all"},
                 {"after", "integer", "the seq of the last one that is known"},
                 {"limit", "integer", "at most 1000"}},
       .response_schema = "OrderList"},
      ListOrders);
  add({.method = "POST",
       .path = "/v1/admin/orders/{order}/cancel",
       .summary = "Cancels an order of any account",
       .body = Route::Body::kJson,
       .request_schema = "Empty",
       .response_schema = "Empty",
       .statuses = {409}},
      Cancel);
  add({.method = "GET",
       .path = "/v1/admin/quotas/{account}",
       .summary = "What an account may have, and has",
       .response_schema = "QuotaView"},
      ShowQuota);
  add({.method = "PUT",
       .path = "/v1/admin/quotas/{account}",
       .summary = "Sets what an account may have",
       .body = Route::Body::kJson,
       .request_schema = "Quota",
       .response_schema = "QuotaView"},
      SetQuota);
  add({.method = "POST",
       .path = "/v1/admin/sweep",
       .summary = "Removes blobs that no order needs, of those whose hash begins with one byte",
       .body = Route::Body::kJson,
       .request_schema = "Sweep",
       .response_schema = "Swept"},
      Sweep);
}

}  // namespace assay::coordinator
