#include <iterator>
#include <utility>

#include "assay/coordinator/office.h"
#include "assay/net/event_stream.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

constexpr std::size_t kMostLifeBytes = 1 << 20;    // of entries in one answer
constexpr std::size_t kMostQueuedBytes = 2 << 20;  // for a viewer that is slow; several times the largest entry

std::string_view Name(life::Lease::State state) {
  switch (state) {
    case life::Lease::State::kOpen: return "open";
    case life::Lease::State::kGone: return "gone";
    case life::Lease::State::kHeld: return "held";
    case life::Lease::State::kOut: break;
  }
  return "out";
}

// The account of an order; nothing where there is none of this id.
Outcome<std::optional<std::string>> OwnerOf(Office& office, const std::string& order) {
  if (!life::IsOrderId(order)) return std::optional<std::string>();
  return OrFail(office.database.Read([&](Transaction& t) -> Result<std::optional<std::string>> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT account FROM orders WHERE id = $1", {order}));
    if (rows.empty()) return std::optional<std::string>();
    ASSAY_ASSIGN(std::string account, rows[0].Text(0));
    return std::optional<std::string>(std::move(account));
  }));
}

std::string NotWhole(const life::Order& order, const life::OrderFile& file) {
  return fmt::format("order {}: {}: the blob {} is not whole; upload it first", order.id, file.name, file.sha256.hex());
}

// That every file is a whole blob of its size, which the account may see.
Outcome<void> CheckFiles(Office& office, const std::string& account, const life::Order& order) {
  ASSAY_ASSIGN(const std::vector<bool> seen, OrFail(office.database.Read([&](Transaction& t) -> Result<std::vector<bool>> {
                 std::vector<bool> may_see;
                 for (const life::OrderFile& file : order.files) {
                   ASSAY_ASSIGN(const bool one, BlobRights::MaySee(t, account, file.sha256));
                   may_see.push_back(one);
                 }
                 return may_see;
               })));
  for (std::size_t i = 0; i < order.files.size(); ++i) {
    const life::OrderFile& file = order.files[i];
    bool whole = seen[i];
    if (whole) {
      ASSAY_ASSIGN(whole, OrFail(office.blobs.Has(file.sha256)));
    }
    if (!whole) return Refused("{}", NotWhole(order, file));
    ASSAY_ASSIGN(const std::uint64_t size, OrFail(office.blobs.Size(file.sha256)));
    if (static_cast<std::int64_t>(size) != file.bytes)
      return Refused("order {}: {}: the blob has {} bytes, the order says {}", order.id, file.name, size, file.bytes);
  }
  return {};
}

// An error, in words, where the account has as many open orders as it may.
Status CheckQuota(Office& office, Transaction& t, const std::string& account) {
  ASSAY_ASSIGN(const Quota quota, office.rights.QuotaOf(t, account));
  ASSAY_ASSIGN(const Rows rows, t.Run("SELECT COUNT(*) FROM orders WHERE account = $1 AND verdict = ''", {account}));
  ASSAY_ASSIGN(const std::int64_t open, rows[0].Integer(0));
  if (open < quota.orders) return {};
  return Err("the account may have {} open order{}, and has {}", quota.orders, quota.orders == 1 ? "" : "s", open);
}

Answer Submit(Office& office, const Call& call) {
  const std::string envelope(call.request.body.begin(), call.request.body.end());
  ASSAY_ASSIGN(const life::Order order, OrFail(life::OpenOrder(envelope, "order")));
  ASSAY_ASSIGN(const auto owner, OwnerOf(office, order.id));
  if (!owner) ASSAY_TRY(CheckFiles(office, call.caller.account, order));
  // Counted by the transaction that adds one more: many at the same time see each other.
  bool too_many = false;
  const Result<std::string> id = office.book.Submit(call.caller.account, envelope, [&](Transaction& t) -> Status {
    const Status counted = CheckQuota(office, t, call.caller.account);
    too_many = !counted && !counted.error().not_the_askers();
    ASSAY_TRY(counted);
    // Once more: a file that nobody needed may have been removed since it was looked for (blob_uses.h).
    for (const life::OrderFile& file : order.files) {
      ASSAY_ASSIGN(const bool seen, BlobRights::MaySee(t, call.caller.account, file.sha256));
      if (!seen) return Err("{}", NotWhole(order, file));
    }
    return {};
  });
  if (id) return JsonAnswer(201, {{"id", *id}});
  if (id.error().not_the_askers()) return tl::unexpected(FailureOf(id.error()));
  if (too_many) return Fail(507, "quota", id.error().message);
  ASSAY_ASSIGN(const auto now, OwnerOf(office, order.id));
  return now ? Fail(409, "conflict", id.error().message) : Fail(422, "refused", id.error().message);
}

Answer List(Office& office, const Call& call) {
  ASSAY_ASSIGN(const std::int64_t after, call.QueryNumber("after", 0, 0, INT64_MAX));
  ASSAY_ASSIGN(const std::int64_t limit, call.QueryNumber("limit", 100, 1, 1000));
  ASSAY_ASSIGN(const auto lines, OrFail(office.book.List(call.caller.account, after, limit)));
  // Written as text, since a client may have thousands; ids, hashes and names of verdicts have nothing to escape.
  std::string text = R"({"orders":[)";
  for (const OrderLine& line : lines) {
    fmt::format_to(std::back_inserter(text), R"({}{{"id":"{}","seq":{},"job":"{}","made":{},"verdict":"{}"}})",
                   &line == lines.data() ? "" : ",", line.id, line.seq, line.job, line.made_ms, line.verdict);
  }
  return JsonText(200, text + "]}");
}

Answer Show(Office& office, const Call& call) {
  const std::string& id = call.Path("order");
  ASSAY_TRY(CheckOwner(office, call, id));
  ASSAY_ASSIGN(const auto written, OrFail(office.book.Look(id)));
  const life::Life& life = written->life;
  Json leases = Json::array();
  for (const auto& [number, lease] : life.leases()) {
    leases.push_back(
        {{"lease", number}, {"role", life::Name(lease.role)}, {"worker", lease.worker}, {"state", Name(lease.state)}});
  }
  Json files = Json::array();
  for (const life::OrderFile& file : life.order().files)
    files.push_back({{"name", file.name}, {"sha256", file.sha256.hex()}, {"bytes", file.bytes}});
  const life::Policy& policy = life.order().policy;
  Json progress = Json::array();
  for (const std::string& sample : office.hub.LastSamples(id)) progress.push_back(Json::parse(sample, nullptr, false));
  const auto& decision = life.decision();
  return JsonAnswer(
      200, {{"id", id},
            {"job", life.order().job.hex()},
            {"made", life.order().made * 1000},
            {"size", life.size()},
            {"verdict", decision ? std::string(life::Name(decision->verdict)) : std::string()},
            {"policy",
             {{"replicas", policy.replicas}, {"audit", policy.audit}, {"probe", policy.probe}, {"attempts", policy.attempts}}},
            {"sealed", !life.order().sealed.empty()},
            {"files", std::move(files)},
            {"leases", std::move(leases)},
            {"progress", std::move(progress)}});
}

Answer ReadLife(Office& office, const Call& call) {
  const std::string& id = call.Path("order");
  ASSAY_TRY(CheckOwner(office, call, id));
  ASSAY_ASSIGN(const std::int64_t from, call.QueryNumber("from", 0, 0, INT64_MAX));
  ASSAY_ASSIGN(const Chapter chapter, OrFail(office.book.Read(id, from, kMostLifeBytes)));
  std::vector<std::string> proof;
  for (const Digest& hash : chapter.proof) proof.push_back(hash.hex());
  return JsonAnswer(200, {{"from", chapter.from},
                          {"entries", chapter.entries},
                          {"size", chapter.size},
                          {"checkpoint", chapter.checkpoint},
                          {"proof", proof}});
}

Outcome<std::int64_t> NextEntry(const Call& call) {
  const std::string_view last = call.request.Header("Last-Event-ID");
  if (last.empty()) return 0;
  std::int64_t number = 0;
  for (const char c : last) {
    if (c < '0' || c > '9' || number > (std::int64_t{1} << 48))
      return BadRequest("Last-Event-ID: expected the number of an entry");
    number = number * 10 + (c - '0');
  }
  return number + 1;
}

Outcome<void> Watch(Office& office, const Call& call, Responder& responder) {
  const std::string& id = call.Path("order");
  ASSAY_TRY(CheckOwner(office, call, id));
  ASSAY_ASSIGN(const std::int64_t next, NextEntry(call));
  HttpResponse head{.status = 200, .content_type = std::string(kEventStreamType)};
  head.headers.emplace_back("Cache-Control", "no-store");
  office.hub.Watch(id, next, responder.Begin(std::move(head), {.max_queued_bytes = kMostQueuedBytes}));
  return {};
}

Answer Cancel(Office& office, const Call& call) {
  const std::string& id = call.Path("order");
  ASSAY_TRY(CheckOwner(office, call, id));
  return CancelOrder(office, id, "client");
}

void AddSchemas(Routes& routes) {
  routes.AddSchema(
      "OrderEnvelope",
      R"({"type":"object","description":"DSSE envelope of an order, signed by the client, see docs/formats/life.md",
    "required":["payload","payloadType","signatures"],
    "properties":{"payload":{"type":"string"},"payloadType":{"const":"application/vnd.assay.order+json"},
                  "signatures":{"type":"array","items":{"type":"object"}}}})");
  routes.AddSchema("OrderId",
                   R"({"type":"object","required":["id"],"properties":{"id":{"$ref":"#/components/schemas/Order32"}}})");
  routes.AddSchema("Order32", R"({"type":"string","pattern":"^[0-9a-f]{32}$"})");
  routes.AddSchema("Hash", R"({"type":"string","pattern":"^[0-9a-f]{64}$"})");
  routes.AddSchema(
      "Verdict",
      R"({"enum":["","verified","refereed","undecided","withheld","failed"],"description":"empty while it is open"})");
  routes.AddSchema("OrderLine", R"({"type":"object","required":["id","seq","job","made","verdict"],"properties":{
    "id":{"$ref":"#/components/schemas/Order32"},"seq":{"type":"integer"},"job":{"$ref":"#/components/schemas/Hash"},
    "made":{"type":"integer","description":"milliseconds since 1970"},"account":{"type":"string"},"verdict":{"$ref":"#/components/schemas/Verdict"}}})");
  routes.AddSchema("OrderList", R"({"type":"object","required":["orders"],"properties":{
    "orders":{"type":"array","items":{"$ref":"#/components/schemas/OrderLine"}}}})");
  routes.AddSchema(
      "OrderView",
      R"({"type":"object","required":["id","job","made","size","verdict","policy","sealed","files","leases","progress"],"properties":{
    "id":{"$ref":"#/components/schemas/Order32"},"job":{"$ref":"#/components/schemas/Hash"},
    "made":{"type":"integer","description":"milliseconds since 1970, by the client's clock"},
    "size":{"type":"integer"},"verdict":{"$ref":"#/components/schemas/Verdict"},
    "policy":{"type":"object","required":["replicas","audit","probe","attempts"],"properties":{"replicas":{"type":"integer"},
      "audit":{"type":"integer"},"probe":{"type":"integer"},"attempts":{"type":"integer"}}},
    "sealed":{"type":"boolean"},"files":{"type":"array","items":{"type":"object","required":["name","sha256","bytes"],"properties":{
      "name":{"type":"string"},"sha256":{"$ref":"#/components/schemas/Hash"},"bytes":{"type":"integer"}}}},
    "leases":{"type":"array","items":{"type":"object","required":["lease","role","worker","state"],"properties":{
      "lease":{"type":"integer"},"role":{"enum":["train","audit"]},"worker":{"type":"string"},
      "state":{"enum":["open","gone","held","out"]}}}},
    "progress":{"type":"array","items":{"type":"object"}}}})");
  routes.AddSchema("Life", R"({"type":"object","required":["from","entries","size","checkpoint","proof"],"properties":{
    "from":{"type":"integer"},"entries":{"type":"array","items":{"type":"string"}},"size":{"type":"integer"},
    "checkpoint":{"type":"string"},"proof":{"type":"array","items":{"$ref":"#/components/schemas/Hash"}}}})");
  routes.AddSchema("Empty", R"({"type":"object"})");
}

}  // namespace

Outcome<void> CheckOwner(Office& office, const Call& call, const std::string& order) {
  ASSAY_ASSIGN(const auto owner, OwnerOf(office, order));
  if (owner && (*owner == call.caller.account || call.caller.admin())) return {};
  if (call.caller.admin()) return NotFound("there is no order of this id");
  return NotFound("no order of this id in this token's account (tokens made with --account NAME share one)");
}

Answer CancelOrder(Office& office, const std::string& order, const std::string& by) {
  const Status cancelled = office.book.Cancel(order, by);
  if (cancelled) return JsonAnswer(200, Json::object());
  if (cancelled.error().not_the_askers()) return tl::unexpected(FailureOf(cancelled.error()));
  return Fail(409, "decided", cancelled.error().message);
}

void AddOrderRoutes(Routes& routes, Office& office) {
  AddSchemas(routes);
  const auto answers = [&office](Answer (*handler)(Office&, const Call&)) {
    return [&office, handler](const Call& call) { return handler(office, call); };
  };
  routes.Add({.method = "POST",
              .path = "/v1/orders",
              .roles = kClients,
              .summary = "Submits an order, whose files are whole blobs already",
              .body = Route::Body::kRaw,
              .max_body_bytes = life::kMaxOrderBytes,
              .request_schema = "OrderEnvelope",
              .response_schema = "OrderId",
              .status = 201,
              .statuses = {409, 507},
              .answer = answers(Submit)});
  routes.Add({.method = "GET",
              .path = "/v1/orders",
              .roles = kClients,
              .summary = "Orders of the account, in the order of their coming",
              .query = {{"after", "integer", "the seq of the last one that is known"}, {"limit", "integer", "at most 1000"}},
              .response_schema = "OrderList",
              .answer = answers(List)});
  routes.Add({.method = "GET",
              .path = "/v1/orders/{order}",
              .roles = kClients,
              .summary = "An order for people; what counts is its life",
              .response_schema = "OrderView",
              .answer = answers(Show)});
  routes.Add(
      {.method = "GET",
       .path = "/v1/orders/{order}/life",
       .roles = kClients,
       .summary = "Entries of the order's life, its signed head, and the proof that the first entries are a prefix of it",
       .query = {{"from", "integer", "number of the first entry"}},
       .response_schema = "Life",
       .answer = answers(ReadLife)});
  routes.Add(
      {.method = "GET",
       .path = "/v1/orders/{order}/events",
       .roles = kClients,
       .summary =
           "Server-sent events: entry (its id is its number) and telemetry; goes on after Last-Event-ID, ends after decided",
       .headers = {{"Last-Event-ID", "integer", "number of the last entry that is known"}},
       .response_schema = "text/event-stream",
       .later = [&office](Call call, Responder responder) {
         if (auto watched = Watch(office, call, responder); !watched)
           responder.Send(tl::unexpected(std::move(watched).error()));
       }});
  routes.Add({.method = "POST",
              .path = "/v1/orders/{order}/cancel",
              .roles = kClients,
              .summary = "Cancels the order; 409 where it is decided",
              .body = Route::Body::kJson,
              .request_schema = "Empty",
              .response_schema = "Empty",
              .statuses = {409},
              .answer = answers(Cancel)});
}

}  // namespace assay::coordinator
