// Routes of workers and about workers: who they are, and what they are told to do.
#include <algorithm>
#include <iterator>

#include "assay/base/base64.h"
#include "assay/coordinator/work_office.h"
#include "assay/life/fields.h"
#include "assay/platform/request_signature.h"

namespace assay::coordinator {
namespace {

constexpr std::size_t kMaxHardware = 16 << 10;
constexpr std::size_t kMaxAnnouncement = 8 << 10;
constexpr std::size_t kMaxHolding = 256;
constexpr std::int64_t kMaxWaitMs = 30'000;

Json LeaseJson(const GivenLease& lease) {
  return {{"order", lease.order}, {"lease", lease.lease}, {"role", life::Name(lease.role)},
          {"of", lease.of},       {"nonce", lease.nonce}, {"ends_in_ms", lease.ends_in_ms}};
}

}  // namespace

Outcome<VerifyKey> WorkOffice::Signer(const Call& call) {
  const platform::SignedRequest request{.method = call.request.method,
                                        .target = call.request.target,
                                        .body = HashBytes(call.request.body),
                                        .coordinator = office_.key.verify_key().point(),
                                        .token = BearerHash(call.request.Header("Authorization")).value_or(Digest{})};
  std::optional<VerifyKey> known;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = keys_.find(call.request.Header(platform::kWorkerHeader)); found != keys_.end())
      known = found->second;
  }
  auto key = platform::VerifyRequest(request, call.request.headers, office_.Now(), known);
  if (key) return *std::move(key);
  Failure failure{.status = 401, .code = "unauthorized", .error = key.error().message};
  if (key.error().clock) failure.headers.emplace_back(platform::kTimeHeader, std::to_string(office_.Now()));
  return tl::unexpected(std::move(failure));
}

Outcome<std::string> WorkOffice::WorkerOf(const Call& call) {
  ASSAY_ASSIGN(const VerifyKey key, Signer(call));
  const std::string point = PointOf(key);
  std::optional<Known> known;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(point); found != known_.end()) known = found->second;
  }
  // An operator may have given the key to another account since.
  if (!known || known->account != call.caller.account) {
    ASSAY_ASSIGN(const auto registered, OrFail(office_.book.Registered(key.ToString())));
    if (!registered) return Fail(403, "forbidden", "this key is not registered: PUT /v1/workers first");
    known = Known{registered->first, registered->second};
    const std::lock_guard lock(mutex_);
    known_.insert_or_assign(point, *known);
    if (known->key == key.ToString()) keys_.emplace(known->key, key);
  }
  if (known->account != call.caller.account) return Fail(403, "forbidden", fmt::format("this key is {}", kKeyOfAnother));
  return known->key;
}

Answer WorkOffice::Register(const Call& call) {
  ASSAY_ASSIGN(const VerifyKey key, Signer(call));
  Registration says;
  ASSAY_ASSIGN(says.announcement, call.TextOr("recipient", kMaxAnnouncement, ""));
  const auto hardware = call.body.find("hardware");
  if (hardware == call.body.end() || !hardware->is_object()) return BadRequest("hardware: expected an object");
  says.hardware = Compact(*hardware);
  if (says.hardware.size() > kMaxHardware)
    return BadRequest("hardware: expected at most {} bytes, got {}", kMaxHardware, says.hardware.size());
  if (call.caller.role == AccountRole::kAuditor) says.role = "auditor";
  ASSAY_ASSIGN(const auto registered, OrFail(office_.book.Registered(key.ToString())));
  if (registered && registered->second != call.caller.account)
    return Fail(409, "conflict", fmt::format("this key is {}", kKeyOfAnother));
  ASSAY_TRY(OrFail(office_.book.AddWorker(call.caller.account, registered ? registered->first : key.ToString(), says)));
  heartbeats_.See(PointOf(key), true);
  return JsonAnswer(200, {{"key", registered ? registered->first : key.ToString()}});
}

Answer WorkOffice::ListWorkers(const Call& call) {
  ASSAY_ASSIGN(const std::int64_t all, call.QueryNumber("all", 0, 0, 1));
  ASSAY_ASSIGN(auto lines, OrFail(office_.book.Workers(all == 1)));
  // Whom else there is work for is no business of a provider's.
  if (!kClients.Has(call.caller.role))
    std::erase_if(lines, [&](const WorkerLine& line) { return line.account != call.caller.account; });
  // Written as text, since there may be thousands; what a worker says of its hardware is kept as the JSON that Register made of it.
  std::string text = R"({"workers":[)";
  for (const WorkerLine& line : lines) {
    fmt::format_to(std::back_inserter(text),
                   R"({}{{"key":{},"recipient":{},"hardware":{},"role":{},"seen":{},"record":{},"evidence":{}}})",
                   &line == lines.data() ? "" : ",", Compact(line.key), Compact(line.announcement),
                   line.hardware.starts_with('{') ? line.hardware : "{}", Compact(line.role), line.seen_ms, line.clean,
                   Json(line.evidence).dump());
  }
  return JsonText(200, text + "]}");
}

std::optional<Answer> WorkOffice::Work(const std::string& account, const std::string& worker,
                                       const std::vector<std::string>& holding, bool fresh, bool last) {
  const auto found = [&]() -> Outcome<std::optional<Json>> {
    ASSAY_ASSIGN(const std::string point, OrFail(PointOf(worker)));
    ASSAY_ASSIGN(const auto questions, OrFail(mailbox_.For(point)));
    auto held = office_.book.Held(account, worker);
    // Whoever is convicted in one dispute may still be asked in another.
    const bool is_ours = !held && held.error().not_the_askers();
    if (!held && (is_ours || questions.empty()))
      return tl::unexpected(is_ours ? FailureOf(held.error())
                                    : Failure{.status = 403, .code = "forbidden", .error = held.error().message});
    std::optional<GivenLease> lease = held ? *held : std::nullopt;
    if (lease) {
      ASSAY_TRY(OrFail(heartbeats_.Beat(worker, lease->order, lease->lease)));
    } else if (held && fresh) {
      ASSAY_ASSIGN(const std::string wants, OrFail(office_.book.WantsNow()));
      if (!wants.empty()) {
        ASSAY_ASSIGN(lease, OrFail(office_.book.Next(worker)));
      }
    }
    ASSAY_ASSIGN(const WorkerNews news, OrFail(office_.book.News(worker, holding)));
    const bool is_new = lease && std::ranges::find(holding, lease->order) == holding.end();
    if (!last && !is_new && questions.empty() && news.cancelled.empty() && news.decided.empty()) return std::optional<Json>();
    Json told = {{"lease", lease ? LeaseJson(*lease) : Json(nullptr)},
                 {"questions", Json::array()},
                 {"cancelled", Json::array()},
                 {"decided", news.decided}};
    for (const PostedQuestion& question : questions) {
      told["questions"].push_back({{"id", question.id},
                                   {"order", question.order},
                                   {"lease", question.lease},
                                   {"kind", question.kind},
                                   {"body", Base64(question.body)}});
    }
    for (const auto& [order, number] : news.cancelled) told["cancelled"].push_back({{"order", order}, {"lease", number}});
    return std::optional<Json>(std::move(told));
  }();
  if (!found) return Answer(tl::unexpected(found.error()));
  if (!*found) return std::nullopt;
  return Answer(JsonAnswer(200, **found));
}

void WorkOffice::Poll(Call call, Responder responder) {
  struct Asked {
    std::string worker, point;
    std::int64_t wait_ms = 0;
    std::vector<std::string> holding{};
    bool fresh = true;
  };
  const auto asked = [&]() -> Outcome<Asked> {
    Asked read;
    ASSAY_ASSIGN(read.worker, WorkerOf(call));
    ASSAY_ASSIGN(read.point, OrFail(PointOf(read.worker)));
    ASSAY_ASSIGN(read.wait_ms, call.NumberOr("wait_ms", 0));
    if (call.body.contains("holding")) {
      ASSAY_ASSIGN(read.holding, call.Texts("holding", kMaxHolding));
    }
    if (const auto fresh = call.body.find("new"); fresh != call.body.end()) {
      if (!fresh->is_boolean()) return BadRequest("new: expected true or false");
      read.fresh = fresh->get<bool>();
    }
    return read;
  }();
  if (!asked) {
    responder.Send(tl::unexpected(asked.error()));
    return;
  }
  heartbeats_.See(asked->point, false);
  const std::uint64_t heard = bell_.count();
  const std::string account = call.caller.account;
  if (auto answer = Work(account, asked->worker, asked->holding, asked->fresh, asked->wait_ms == 0)) {
    responder.Send(*std::move(answer));
    return;
  }
  desk_.Wait(std::min(asked->wait_ms, kMaxWaitMs), heard, std::move(responder),
             [this, account, worker = asked->worker, point = asked->point, holding = asked->holding,
              fresh = asked->fresh](const News& news) -> std::optional<Answer> {
               const bool concerns =
                   news.last || (news.wanted && fresh && !news.holders.contains(point)) || news.addressees.contains(point) ||
                   std::ranges::any_of(holding, [&](const std::string& order) { return news.changed.contains(order); });
               return concerns ? Work(account, worker, holding, fresh, news.last) : std::nullopt;
             });
}

void WorkOffice::AddWorkerRoutes(Routes& routes) {
  routes.AddSchema("Registration", R"({"type":"object","required":["hardware"],"properties":{
    "hardware":{"type":"object"},"recipient":{"type":"string","description":"announcement of an age recipient, or empty"}}})");
  routes.AddSchema("WorkerKey", R"({"type":"object","required":["key"],"properties":{"key":{"type":"string"}}})");
  routes.AddSchema("Workers",
                   R"({"type":"object","required":["workers"],"properties":{"workers":{"type":"array","items":{"type":"object",
    "required":["key","recipient","hardware","role","seen","record","evidence"],"properties":{"key":{"type":"string"},"recipient":{"type":"string"},
    "hardware":{"type":"object"},"role":{"type":"string","enum":["provider","auditor"]},"seen":{"type":"integer"},
    "record":{"type":"integer","description":"jobs that were checked and held"},
    "evidence":{"type":"array","items":{"$ref":"#/components/schemas/Hash"},"description":"by which the key is convicted"}}}}}})");
  routes.AddSchema("Poll", R"({"type":"object","properties":{"wait_ms":{"type":"integer","minimum":0},
    "holding":{"type":"array","maxItems":256,"items":{"type":"string"}},"new":{"type":"boolean"}}})");
  routes.AddSchema("Work", R"({"type":"object","required":["lease","questions","cancelled","decided"],"properties":{
    "lease":{"type":["object","null"],"required":["order","lease","role","of","nonce","ends_in_ms"],"properties":{"order":{"type":"string"},
      "lease":{"type":"integer"},"role":{"type":"string","enum":["train","audit"]},"of":{"type":"integer"},"nonce":{"type":"string"},"ends_in_ms":{"type":"integer"}}},
    "questions":{"type":"array","items":{"type":"object","required":["id","order","lease","kind","body"],"properties":{"id":{"type":"string"},
      "order":{"type":"string"},"lease":{"type":"integer"},"kind":{"type":"string"},"body":{"type":"string"}}}},
    "cancelled":{"type":"array","items":{"type":"object","required":["order","lease"],"properties":{"order":{"type":"string"},"lease":{"type":"integer"}}}},
    "decided":{"type":"array","items":{"type":"string"}}}})");
  routes.Add({.method = "PUT",
              .path = "/v1/workers",
              .roles = kWorkers,
              .summary = "Register the key that signed the request to the account, or renew what it says of itself",
              .body = Route::Body::kJson,
              .request_schema = "Registration",
              .response_schema = "WorkerKey",
              .statuses = {409},
              .answer = [this](const Call& call) { return Register(call); }});
  routes.Add({.method = "GET",
              .path = "/v1/workers",
              .roles = kAnyToken,
              .summary = "The workers that may be given work; to a token of role provider or auditor, those of its account",
              .query = {{"all", "integer", "1: the convicted too"}},
              .response_schema = "Workers",
              .answer = [this](const Call& call) { return ListWorkers(call); }});
  routes.Add({.method = "POST",
              .path = "/v1/work",
              .roles = kWorkers,
              .summary = "Wait for work, for questions and for what has become of orders",
              .body = Route::Body::kJson,
              .request_schema = "Poll",
              .response_schema = "Work",
              .quiet = true,
              .background = true,
              .later = [this](Call call, Responder responder) { Poll(std::move(call), std::move(responder)); }});
}

}  // namespace assay::coordinator
