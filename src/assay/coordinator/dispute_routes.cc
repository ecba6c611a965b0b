// Routes by which the client of a sealed order, who is its referee, asks workers and says how a dispute ended; and the runs that an order was brought.
#include <charconv>

#include "assay/base/base64.h"
#include "assay/coordinator/run_check.h"
#include "assay/coordinator/work_office.h"
#include "assay/dispute/evidence.h"
#include "assay/life/fields.h"
#include "assay/platform/outcome.h"
#include "assay/platform/posted_peer.h"

namespace assay::coordinator {
namespace {

constexpr std::int64_t kMaxWaitMs = 30'000;
constexpr std::size_t kMaxWords = 1000;

// What a client is told about a question.
std::optional<Answer> AnswerTo(const Result<Posted>& posted, bool last) {
  if (!posted) return Answer(tl::unexpected(FailureOf(posted.error())));
  if (!posted->there) return Answer(NotFound("no such question is open"));
  if (!posted->answer) return last ? std::optional<Answer>(JsonText(202, "{}")) : std::nullopt;
  HttpResponse response{.status = 200, .body = posted->answer->body};
  if (!posted->answer->error.empty()) {
    response.content_type = "text/plain; charset=utf-8";
    response.headers.emplace_back("Assay-Answer", posted->answer->error);
  }
  return Answer(std::move(response));
}

}  // namespace

// 404 where the order is not the caller's, 422 where somebody else is its referee.
Outcome<std::shared_ptr<const Written>> WorkOffice::SealedOrder(const Call& call) {
  const std::string& order = call.Path("order");
  ASSAY_TRY(CheckOwner(office_, call, order));
  ASSAY_ASSIGN(auto written, OrFail(office_.book.Look(order)));
  if (written->life.order().sealed.empty())
    return Refused("order {}: is not sealed, and the coordinator is its referee", order);
  return written;
}

Answer WorkOffice::ShowRun(const Call& call) {
  const std::string& order = call.Path("order");
  ASSAY_TRY(CheckOwner(office_, call, order));
  const std::string& text = call.Path("lease");
  life::LeaseNumber lease = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lease);
  if (error != std::errc() || end != text.data() + text.size()) return NotFound("there is no such lease");
  const auto run = office_.book.RunOf(order, lease);
  if (!run && run.error().not_the_askers()) return tl::unexpected(FailureOf(run.error()));
  if (!run) return NotFound("{}", run.error().message);
  return JsonAnswer(200, RunJson(*run));
}

Answer WorkOffice::Ask(const Call& call) {
  ASSAY_ASSIGN(const auto written, SealedOrder(call));
  PostedQuestion question{.order = call.Path("order")};
  ASSAY_ASSIGN(question.lease, call.Number("lease"));
  ASSAY_ASSIGN(question.kind, call.Text("kind", 20));
  ASSAY_ASSIGN(const std::string body, call.Text("body", platform::kMaxQuestionBody / 3 * 4 + 8));
  const auto bytes = FromBase64(body);
  if (!bytes) return BadRequest("body: expected base64");
  question.body = *bytes;
  const life::Lease* lease = written->life.Find(question.lease);
  if (lease == nullptr || !lease->receipt)
    return Refused("lease {} of order {} has brought no run", question.lease, question.order);
  if (life::WantedBy(written->life).dispute.empty())
    return Refused("order {}: there is no dispute among its runs", question.order);
  bool full = false;
  const auto id = mailbox_.Put(std::string(Mailbox::kClient), question, &full);
  if (!id && full)
    return tl::unexpected(Failure{.status = 429, .code = "later", .error = id.error().message, .retry_after_s = 1});
  if (!id) return tl::unexpected(FailureOf(id.error()));
  return JsonAnswer(202, {{"question", *id}});
}

void WorkOffice::AwaitAnswer(Call call, Responder responder) {
  const std::string order = call.Path("order"), id = call.Path("question");
  const auto wait = [&]() -> Outcome<std::int64_t> {
    ASSAY_TRY(CheckOwner(office_, call, order));
    return call.QueryNumber("wait_ms", 0, 0, kMaxWaitMs);
  }();
  if (!wait) {
    responder.Send(tl::unexpected(wait.error()));
    return;
  }
  const std::uint64_t heard = bell_.count();
  if (auto answer = AnswerTo(mailbox_.Look(order, id), *wait == 0)) {
    responder.Send(*std::move(answer));
    return;
  }
  desk_.Wait(*wait, heard, std::move(responder),
             [this, order, id](const News& news) { return AnswerTo(mailbox_.Look(order, id), news.last); });
}

Answer WorkOffice::Judged(const Call& call) {
  ASSAY_ASSIGN(const auto written, SealedOrder(call));
  const auto said = call.body.find("judged");
  if (said == call.body.end() || !said->is_object()) return BadRequest("judged: expected an object");
  const std::string outcome = life::TextOf(*said, "outcome");
  if (outcome != "decided" && outcome != "undecided") return BadRequest("judged: outcome: expected decided or undecided");
  const life::Judged judged{.among = life::CountsOf(*said, "among"),
                            .evidence = life::TextsOf(*said, "evidence"),
                            .convicted = life::CountsOf(*said, "convicted"),
                            .silent = life::CountsOf(*said, "silent"),
                            .decided = outcome == "decided",
                            .words = life::TextOf(*said, "words"),
                            .signature = life::TextOf(*said, "signature")};
  if (judged.words.size() > kMaxWords) return BadRequest("judged: words: expected at most {} bytes", kMaxWords);
  if (judged.evidence.size() > life::kMaxEvidenceFiles)
    return BadRequest("judged: evidence: expected at most {} files", life::kMaxEvidenceFiles);
  std::vector<Bytes> evidence;
  for (const std::string& name : judged.evidence) {
    const auto hash = Digest::FromHex(name);
    if (!hash) return BadRequest("judged: evidence: expected 64 lower-case hex digits of each file");
    ASSAY_ASSIGN(const bool seen, OrFail(office_.rights.MaySee(call.caller.account, *hash)));
    ASSAY_ASSIGN(const bool whole, OrFail(office_.blobs.Has(*hash)));
    if (!seen || !whole) return Refused("evidence {}: is not there; upload it first", name);
    ASSAY_ASSIGN(evidence.emplace_back(), OrFail(ReadBlob(office_.blobs, *hash, dispute::kMaxEvidenceBytes)));
  }
  ASSAY_TRY(OrFail(platform::CheckConvictions(written->life, judged, evidence)));
  ASSAY_TRY(OrFail(office_.book.JudgeSealed(call.caller.account, call.Path("order"), judged)));
  return JsonText(200, "{}");
}

void WorkOffice::AddDisputeRoutes(Routes& routes) {
  routes.AddSchema("Question",
                   R"({"type":"object","required":["lease","kind","body"],"properties":{"lease":{"type":"integer","minimum":1},
    "kind":{"type":"string","enum":["receipt","job","program","open","answer"]},"body":{"type":"string","description":"base64"}}})");
  routes.AddSchema("QuestionId", R"({"type":"object","required":["question"],"properties":{"question":{"type":"string"}}})");
  routes.AddSchema("Judged", R"({"type":"object","required":["judged"],"properties":{"judged":{"type":"object",
    "required":["among","evidence","convicted","silent","outcome","words","signature"],"properties":{"among":{"type":"array","items":{"type":"integer"}},
    "evidence":{"type":"array","items":{"$ref":"#/components/schemas/Hash"}},"convicted":{"type":"array","items":{"type":"integer"}},"silent":{"type":"array","items":{"type":"integer"}},
    "outcome":{"type":"string","enum":["decided","undecided"]},"words":{"type":"string"},
    "signature":{"type":"string","description":"of the client's key, base64"}}}}})");
  routes.Add({.method = "GET",
              .path = "/v1/orders/{order}/runs/{lease}",
              .roles = kClients,
              .summary = "The run that a lease brought",
              .response_schema = "Run",
              .answer = [this](const Call& call) { return ShowRun(call); }});
  routes.Add({.method = "POST",
              .path = "/v1/orders/{order}/questions",
              .roles = kClients,
              .summary = "Ask the worker of a run of a sealed order",
              .body = Route::Body::kJson,
              .max_body_bytes = platform::kMaxQuestionBody / 3 * 4 + 4096,
              .request_schema = "Question",
              .response_schema = "QuestionId",
              .status = 202,
              .quiet = true,
              .answer = [this](const Call& call) { return Ask(call); }});
  routes.Add({.method = "GET",
              .path = "/v1/orders/{order}/questions/{question}",
              .roles = kClients,
              .summary = "Wait for the answer to a question",
              .query = {{.name = "wait_ms", .type = "integer", .what = "how long to wait, at most 30000"}},
              .response_schema = "application/octet-stream",
              .statuses = {202},
              .quiet = true,
              .later = [this](Call call, Responder responder) { AwaitAnswer(std::move(call), std::move(responder)); }});
  routes.Add({.method = "POST",
              .path = "/v1/orders/{order}/judged",
              .roles = kClients,
              .summary = "Say how the dispute among the runs of a sealed order ended",
              .body = Route::Body::kJson,
              .request_schema = "Judged",
              .response_schema = "Empty",
              .answer = [this](const Call& call) { return Judged(call); }});
}

}  // namespace assay::coordinator
