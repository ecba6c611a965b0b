#include "assay/coordinator/door.h"

#include <chrono>
#include <exception>
#include <utility>

#include "assay/net/places.h"

namespace assay::coordinator {
namespace {

using Steady = std::chrono::steady_clock;

std::string AddressOf(const std::string& peer) { return PeerOfAddress(peer.substr(0, peer.find_last_of(':'))); }

bool SendsBody(const HttpRequest& head) {
  const std::string_view length = head.Header("Content-Length");
  return (!length.empty() && length != "0") || !head.Header("Transfer-Encoding").empty();
}

// The parser has seen to it that it is a number.
std::uint64_t LengthOf(const HttpRequest& head) {
  std::uint64_t length = 0;
  for (const char c : head.Header("Content-Length")) {
    if (c < '0' || c > '9' || length > (std::uint64_t{1} << 56)) return ~std::uint64_t{0};
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return length;
}

Failure TooLarge(std::size_t limit) {
  return {.status = 413, .code = "too_large", .error = fmt::format("a body of this request has at most {} bytes", limit)};
}

std::optional<Failure> ComplaintAbout(const HttpRequest& head, const Route& route) {
  if (const std::string_view encoding = head.Header("Content-Encoding"); !encoding.empty() && encoding != "identity")
    return Failure{.status = 415, .code = "encoding", .error = "bodies are taken as they are, without a Content-Encoding"};
  if (route.body == Route::Body::kNone && SendsBody(head)) return TooLarge(0);
  if (route.body == Route::Body::kUpload && head.Header("Content-Length").empty() && SendsBody(head))
    return Failure{.status = 411, .code = "length", .error = "an upload needs a Content-Length"};
  if (LengthOf(head) > route.max_body_bytes) return TooLarge(route.max_body_bytes);
  return std::nullopt;
}

}  // namespace

// One request on its way.
struct Door::Visit {
  std::string method, path, peer;
  Steady::time_point begun = Steady::now();
  const Route* route = nullptr;
  std::map<std::string, std::string, std::less<>> parts{};
  Target target{};
  std::optional<Digest> token{};  // none: the route is open to all
  Caller caller{};
  bool fresh = false;   // the caller need not be looked up
  HttpRequest head{};   // of an upload
  bool mlflow = false;  // a client of MLflow's API, which has errors of its own form

  HttpResponse ToResponse(const Failure& failure) const {
    return mlflow ? ToMlflowResponse(failure, route != nullptr) : coordinator::ToResponse(failure);
  }
};

// An upload whose caller is looked up when the first piece is there, because that may wait.
class Door::LateUpload final : public BodySink {
 public:
  LateUpload(Door& door, std::shared_ptr<Visit> visit) : door_(door), visit_(std::move(visit)) {}

  std::optional<HttpResponse> Take(ByteSpan piece) override {
    if (const auto failure = Open()) {
      door_.Note(*visit_, failure->status, &*failure);
      return ToResponse(*failure);
    }
    auto refusal = upload_->Take(piece);
    if (refusal) door_.Note(*visit_, refusal->status, nullptr);
    return refusal;
  }

  Answer End() {
    if (auto failure = Open()) return tl::unexpected(*std::move(failure));
    return upload_->End();
  }

 private:
  std::optional<Failure> Open() {
    if (upload_ != nullptr) return std::nullopt;
    if (auto caller = door_.Authenticate(*visit_); !caller) return std::move(caller).error();
    auto made = visit_->route->upload(
        {.request = visit_->head, .caller = visit_->caller, .target = visit_->target, .path = visit_->parts});
    if (!made) return std::move(made).error();
    upload_ = *std::move(made);
    return std::nullopt;
  }

  Door& door_;
  std::shared_ptr<Visit> visit_;
  std::unique_ptr<Upload> upload_;
};

Door::Door(const Routes& routes, Tokens& tokens, RequestLog& log, Metrics& metrics, const DoorOptions& options)
    : routes_(routes),
      tokens_(tokens),
      log_(log),
      metrics_(metrics),
      clock_(options.clock),
      calls_(options.requests_per_s, 2 * options.requests_per_s),
      failures_(options.failures_per_s, 10 * options.failures_per_s) {}

Course Door::Decide(const HttpRequest& head) {
  const auto visit = std::make_shared<Visit>();
  visit->method = head.method;
  visit->path = LoggedPath(head.target);
  visit->mlflow = head.target.starts_with("/api/") || head.target.starts_with("/ajax-api/");
  visit->peer = head.peer;
  Outcome<Course> course = Admit(head, visit);
  if (!course) {
    Note(*visit, course.error().status, &course.error());
    return {.answer = visit->ToResponse(course.error()), .peer = visit->caller.account};
  }
  course->peer = visit->caller.account;
  return *std::move(course);
}

Outcome<Course> Door::Admit(const HttpRequest& head, const std::shared_ptr<Visit>& visit) {
  auto target = ParseTarget(head.target, visit->mlflow ? QueryRule::kForm : QueryRule::kStrict);
  if (!target) return BadRequest("{}", target.error().message);
  visit->target = *std::move(target);
  ASSAY_ASSIGN(Routes::Match match, routes_.Find(head.method, visit->target));
  visit->route = match.route;
  visit->parts = std::move(match.path);
  const Route& route = *visit->route;
  if (!route.roles.open()) {
    if (const int wait = failures_.Look(AddressOf(head.peer), clock_->SteadyMs()); wait > 0) {
      // Whoever has a token that is known to be good is not kept out by a neighbour.
      const auto hash = BearerHash(head.Header("Authorization"));
      const auto known = hash ? tokens_.Remembered(*hash) : std::nullopt;
      if (!known || !known->caller)
        return tl::unexpected(Failure{.status = 429,
                                      .code = "later",
                                      .error = "too many requests from this address had no good token",
                                      .retry_after_s = wait});
    }
    visit->token = BearerHash(head.Header("Authorization"));
    if (!visit->token) return Unauthorized(*visit);
    if (const auto known = tokens_.Remembered(*visit->token)) {
      if (!known->caller) return Unauthorized(*visit);
      visit->caller = *known->caller;
      visit->fresh = known->fresh;
      ASSAY_TRY(CheckRole(route, visit->caller));
      if (visit->fresh) ASSAY_TRY(CheckRate(visit->caller));
    }
  } else {
    visit->fresh = true;
  }
  if (auto complaint = ComplaintAbout(head, route)) return tl::unexpected(*std::move(complaint));
  Course course{.max_body_bytes = route.max_body_bytes};
  if (route.body == Route::Body::kUpload) {
    visit->head = head;
    auto late = std::make_shared<LateUpload>(*this, visit);
    course.sink = late;
    course.handler = [this, visit, late](HttpRequest, Reply reply) {
      Responder(std::move(reply), NoteOf(visit)).Send(late->End());
    };
    return course;
  }
  course.at_once = route.at_once && visit->fresh;
  course.background = route.background;
  course.handler = [this, visit](HttpRequest request, Reply reply) {
    Handle(*visit, std::move(request), Responder(std::move(reply), NoteOf(visit), visit->mlflow));
  };
  return course;
}

void Door::Handle(Visit& visit, HttpRequest request, Responder responder) {
  if (auto caller = Authenticate(visit); !caller) {
    responder.Send(tl::unexpected(std::move(caller).error()));
    return;
  }
  Call call{
      .request = std::move(request), .caller = visit.caller, .target = std::move(visit.target), .path = std::move(visit.parts)};
  if (visit.route->body == Route::Body::kJson) {
    auto body = ParseBody(call.request.body);
    if (!body) {
      responder.Send(tl::unexpected(std::move(body).error()));
      return;
    }
    call.body = *std::move(body);
  }
  if (visit.route->later != nullptr) return visit.route->later(std::move(call), std::move(responder));
  try {
    responder.Send(visit.route->answer(call));
  } catch (const std::bad_alloc&) {
    responder.Send(Later(1, "the coordinator has no memory left; send the request again"));
  } catch (const std::exception& error) {
    // None of ours throws.
    responder.Send(
        tl::unexpected(Failure{.status = 500, .code = "broken", .error = "the coordinator failed", .detail = error.what()}));
  }
}

tl::unexpected<Failure> Door::Unauthorized(const Visit& visit) {
  failures_.Take(AddressOf(visit.peer), clock_->SteadyMs());
  Failure failure{
      .status = 401, .code = "unauthorized", .error = "expected `Authorization: Bearer TOKEN` with a token that is valid"};
  failure.headers.emplace_back("WWW-Authenticate", "Bearer");
  return tl::unexpected(std::move(failure));
}

Outcome<Caller> Door::Authenticate(Visit& visit) {
  if (visit.fresh) return visit.caller;
  auto found = tokens_.Find(*visit.token);
  if (!found) return tl::unexpected(FailureOf(found.error()));
  if (!*found) return Unauthorized(visit);
  visit.caller = **found;
  visit.fresh = true;
  ASSAY_TRY(CheckRole(*visit.route, visit.caller));
  ASSAY_TRY(CheckRate(visit.caller));
  return visit.caller;
}

Outcome<void> Door::CheckRole(const Route& route, const Caller& caller) {
  if (route.roles.Has(caller.role)) return {};
  std::string who;
  for (const AccountRole role : {AccountRole::kClient, AccountRole::kProvider, AccountRole::kAuditor, AccountRole::kAdmin}) {
    if (route.roles.Has(role)) who += fmt::format("{}{}", who.empty() ? "" : " or ", Name(role));
  }
  return Fail(403, "forbidden", fmt::format("a token of role {} may not do this, only one of role {}", Name(caller.role), who));
}

Outcome<void> Door::CheckRate(const Caller& caller) {
  const int wait = calls_.Take(caller.token, clock_->SteadyMs());
  if (wait == 0) return {};
  return tl::unexpected(
      Failure{.status = 429, .code = "later", .error = "too many requests with this token", .retry_after_s = wait});
}

Responder::Note Door::NoteOf(const std::shared_ptr<Visit>& visit) {
  return [this, visit](int status, const Failure* failure) { Note(*visit, status, failure); };
}

HttpResponse Door::AnswerOwn(const OwnReply& own) {
  const std::string_view code = own.status == 503   ? "later"
                                : own.status == 413 ? "too_large"
                                : own.status == 404 ? "not_found"
                                : own.status == 500 ? "broken"
                                                    : "bad_request";
  metrics_.CountOwn(own.status);
  log_.Write({{"method", own.request == nullptr ? "" : own.request->method},
              {"path", own.request == nullptr ? "" : LoggedPath(own.request->target)},
              {"status", own.status},
              {"peer", own.peer},
              {"code", code},
              {"error", own.why}});
  return ToResponse({.status = own.status, .code = std::string(code), .error = std::string(own.why)});
}

void Door::Note(const Visit& visit, int status, const Failure* failure) {
  const double seconds = std::chrono::duration<double>(Steady::now() - visit.begun).count();
  metrics_.Count(visit.route, status, seconds);
  if (visit.route != nullptr && visit.route->quiet && status < 400) return;
  Json line = {{"method", visit.method},
               {"path", visit.path},
               {"status", status},
               {"us", static_cast<std::int64_t>(seconds * 1e6)},
               {"peer", visit.peer}};
  if (!visit.caller.token.empty()) {
    line["account"] = visit.caller.account;
    line["token"] = visit.caller.token;
  }
  if (failure != nullptr) {
    line["code"] = failure->code;
    line["error"] = Redacted(failure->error);
    if (!failure->detail.empty()) line["detail"] = Redacted(failure->detail);
  }
  log_.Write(line);
}

}  // namespace assay::coordinator
