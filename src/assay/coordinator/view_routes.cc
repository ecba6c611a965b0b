// Routes for people who look: who a token is, what a worker's record is made of, and what a dispute was about. Nothing here changes anything.
#include <deque>
#include <mutex>

#include "assay/coordinator/office.h"
#include "assay/dispute/retelling.h"
#include "assay/life/fields.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

constexpr std::int64_t kMostOrders = 200;          // of one worker, the newest
constexpr std::uint64_t kMostEvidence = 16 << 20;  // that is gone through for a page; longer evidence is judged elsewhere
constexpr std::size_t kRetellingsKept = 32;

Answer ShowToken(const Call& call) {
  return JsonAnswer(200, {{"id", call.caller.token}, {"account", call.caller.account}, {"role", Name(call.caller.role)}});
}

struct LeaseLine {
  std::string order, job, verdict;
  std::int64_t lease = 0, made = 0;
  bool open = false;
};

// The newest leases of a worker, in orders of the account; of any order where `account` is empty.
Result<std::vector<LeaseLine>> LeasesOf(Transaction& t, const std::string& point, const std::string& account) {
  ASSAY_ASSIGN(
      const Rows rows,
      t.Run("SELECT l.order_id, l.number, l.open, o.job, o.made, o.verdict FROM leases l JOIN orders o ON o.id = l.order_id "
            "WHERE l.worker = $1 AND (o.account = $2 OR $2 = '') ORDER BY o.seq DESC, l.number DESC LIMIT $3",
            {point, account, kMostOrders}));
  std::vector<LeaseLine> lines;
  for (const store::Row& row : rows) {
    LeaseLine line;
    ASSAY_ASSIGN(line.order, row.Text(0));
    ASSAY_ASSIGN(line.lease, row.Integer(1));
    ASSAY_ASSIGN(const std::int64_t open, row.Integer(2));
    line.open = open == 1;
    ASSAY_ASSIGN(line.job, row.Text(3));
    ASSAY_ASSIGN(line.made, row.Integer(4));
    ASSAY_ASSIGN(line.verdict, row.Text(5));
    lines.push_back(std::move(line));
  }
  return lines;
}

// Who the worker is, as far as the caller may know; a provider's token knows the workers of its account.
Outcome<WorkerLine> FindWorker(Office& office, const Call& call, const std::string& point) {
  ASSAY_ASSIGN(const auto lines, OrFail(office.book.Workers(true)));
  const bool sees_all = call.caller.admin() || call.caller.role == AccountRole::kClient;
  for (const WorkerLine& line : lines) {
    const auto its = PointOf(line.key);
    if (its && *its == point && (sees_all || line.account == call.caller.account)) return line;
  }
  return NotFound("there is no worker of this key, or it is another account's");
}

// Where evidence convicts the worker. A convicted key is given no more leases, so that these are few.
Outcome<Json> ConvictionsOf(Office& office, const WorkerLine& worker, const std::vector<LeaseLine>& leases) {
  Json convictions = Json::array();
  if (worker.evidence.empty()) return convictions;
  for (const LeaseLine& line : leases) {
    ASSAY_ASSIGN(const auto written, OrFail(office.book.Look(line.order)));
    for (const life::Judged& judged : written->life.disputes()) {
      if (std::ranges::find(judged.convicted, line.lease) == judged.convicted.end()) continue;
      convictions.push_back(
          {{"order", line.order}, {"lease", line.lease}, {"evidence", judged.evidence}, {"words", judged.words}});
    }
  }
  return convictions;
}

Answer ShowWorker(Office& office, const Call& call) {
  const std::string& point = call.Path("worker");
  ASSAY_ASSIGN(const WorkerLine worker, FindWorker(office, call, point));
  const bool every = call.caller.role != AccountRole::kClient;  // of its own worker, or an administrator
  ASSAY_ASSIGN(const auto leases, OrFail(office.database.Read([&](Transaction& t) {
                 return LeasesOf(t, point, every ? std::string() : call.caller.account);
               })));
  ASSAY_ASSIGN(Json convictions, ConvictionsOf(office, worker, leases));
  Json orders = Json::array();
  for (const LeaseLine& line : leases) {
    orders.push_back({{"order", line.order},
                      {"lease", line.lease},
                      {"open", line.open},
                      {"job", line.job},
                      {"made", line.made},
                      {"verdict", line.verdict}});
  }
  Json hardware = Json::parse(worker.hardware, nullptr, false);
  return JsonAnswer(200, {{"key", worker.key},
                          {"role", worker.role},
                          {"hardware", hardware.is_object() ? std::move(hardware) : Json::object()},
                          {"made", worker.made_ms},
                          {"seen", worker.seen_ms},
                          {"record", worker.clean},
                          {"evidence", worker.evidence},
                          {"convictions", std::move(convictions)},
                          {"orders", std::move(orders)}});
}

// What is told of evidence follows from its bytes alone, so the last few are kept. One is worked out at a time, however many ask, and nobody waits for it: threads
// that answer are few.
class Retellings {
 public:
  explicit Retellings(Office& office) : office_(office) {}

  Answer Of(const Call& call) {
    const std::string& order = call.Path("order");
    const auto hash = Digest::FromHex(call.Path("sha"));
    ASSAY_TRY(CheckOwner(office_, call, order));
    ASSAY_ASSIGN(const auto written, OrFail(office_.book.Look(order)));
    const auto& disputes = written->life.disputes();
    const auto named = [&](const life::Judged& judged) {
      return std::ranges::find(judged.evidence, call.Path("sha")) != judged.evidence.end();
    };
    if (!hash || std::ranges::none_of(disputes, named)) return NotFound("no dispute of this order left evidence of this hash");
    std::shared_ptr<const Bytes> text = Kept(*hash);
    if (text == nullptr) {
      const std::unique_lock work(working_, std::try_to_lock);
      if (!work) return Later(1, "the evidence of another dispute is being gone through; send the request again");
      ASSAY_ASSIGN(const std::string told, Tell(*hash));
      text = std::make_shared<const Bytes>(told.begin(), told.end());
      const std::lock_guard lock(mutex_);
      kept_.emplace_back(*hash, text);
      if (kept_.size() > kRetellingsKept) kept_.pop_front();
    }
    return HttpResponse{.status = 200, .content_type = "application/json", .document = std::move(text)};
  }

 private:
  std::shared_ptr<const Bytes> Kept(const Digest& hash) {
    const std::lock_guard lock(mutex_);
    for (const auto& [kept, text] : kept_) {
      if (kept == hash) return text;
    }
    return nullptr;
  }

  Outcome<std::string> Tell(const Digest& hash) {
    ASSAY_ASSIGN(const auto blob, OrFail(office_.blobs.OpenForReading(hash)));
    if (blob->size() > kMostEvidence)
      return Refused("this evidence has {} bytes, more than is gone through here; assay judge takes it", blob->size());
    Bytes bytes(static_cast<std::size_t>(blob->size()));
    ASSAY_TRY(OrFail(blob->Read(0, bytes)));
    ASSAY_ASSIGN(const auto evidence, OrFail(dispute::DecodeEvidence(bytes)));
    ASSAY_ASSIGN(const auto judgement, OrFail(dispute::Judge(evidence)));
    return dispute::RetellingJson(evidence, judgement);
  }

  Office& office_;
  std::mutex working_;
  std::mutex mutex_;  // of what follows
  std::deque<std::pair<Digest, std::shared_ptr<const Bytes>>> kept_;
};

void AddSchemas(Routes& routes) {
  routes.AddSchema("TokenView", R"({"type":"object","required":["id","account","role"],"properties":{"id":{"type":"string"},
    "account":{"type":"string"},"role":{"enum":["client","provider","auditor","admin"]}}})");
  routes.AddSchema(
      "WorkerView",
      R"({"type":"object","required":["key","role","hardware","made","seen","record","evidence","convictions","orders"],
    "properties":{"key":{"type":"string"},"role":{"enum":["provider","auditor"]},"hardware":{"type":"object"},"made":{"type":"integer"},
    "seen":{"type":"integer"},"record":{"type":"integer","description":"jobs that were checked and held"},
    "evidence":{"type":"array","items":{"$ref":"#/components/schemas/Hash"},"description":"by which the key is convicted"},
    "convictions":{"type":"array","items":{"type":"object","required":["order","lease","evidence","words"],"properties":{
      "order":{"type":"string"},"lease":{"type":"integer"},"evidence":{"type":"array","items":{"type":"string"}},"words":{"type":"string"}}}},
    "orders":{"type":"array","items":{"type":"object","required":["order","lease","open","job","made","verdict"],"properties":{
      "order":{"type":"string"},"lease":{"type":"integer"},"open":{"type":"boolean"},"job":{"type":"string"},"made":{"type":"integer"},
      "verdict":{"$ref":"#/components/schemas/Verdict"}}}}}})");
  routes.AddSchema("Retelling",
                   R"({"type":"object","description":"see docs/formats/retelling.md","required":["job","verdict","convicts",
    "parties","finding","open","steps","nodes","sides","rounds","shortened","graph","block"],"properties":{"job":{"type":"string"},
    "verdict":{"type":"string"},"convicts":{"type":"boolean"},"parties":{"type":"array","items":{"type":"object"}},
    "finding":{"type":["object","null"]},"open":{"type":["string","null"]},"steps":{"type":["integer","null"]},
    "nodes":{"type":["integer","null"]},"sides":{"type":["array","null"]},"rounds":{"type":"array","items":{"type":"object"}},
    "shortened":{"type":"boolean"},"graph":{"type":["object","null"]},"block":{"type":["object","null"]}}})");
}

}  // namespace

void AddViewRoutes(Routes& routes, Office& office) {
  AddSchemas(routes);
  routes.Add({.method = "GET",
              .path = "/v1/token",
              .roles = kAnyToken,
              .summary = "Who the token of this request is",
              .response_schema = "TokenView",
              .quiet = true,
              .answer = ShowToken});
  routes.Add({.method = "GET",
              .path = "/v1/workers/{worker}",
              .roles = kAnyToken,
              .summary = "A worker by the 64 hex digits of its public key: its record, its convictions, and its leases in "
                         "orders of the account",
              .response_schema = "WorkerView",
              .answer = [&office](const Call& call) { return ShowWorker(office, call); }});
  routes.Add({.method = "GET",
              .path = "/v1/orders/{order}/evidence/{sha}",
              .roles = kClients,
              .summary = "What a dispute of this order was about, gone through again from its evidence",
              .response_schema = "Retelling",
              .answer = [told = std::make_shared<Retellings>(office)](const Call& call) { return told->Of(call); }});
}

}  // namespace assay::coordinator
