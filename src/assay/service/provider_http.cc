#include "assay/service/provider_http.h"

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "assay/base/base64.h"
#include "assay/net/http_server.h"
#include "assay/train/interrupt.h"

namespace assay::service {
namespace {

constexpr int kWorkers = 8;
constexpr int kRetryBusySeconds = 1;    // after which there may be room
constexpr int kRetryFailedSeconds = 5;  // after which a machine that failed may have recovered

// The account outlives the server: a document is not copied for each who asks, since programs are large and readers may be slow.
HttpResponse Document(const HttpRequest& request, const Bytes& document) {
  if (request.method != "GET") return TextResponse(405, "expected GET");
  return {.status = 200, .document = std::shared_ptr<const Bytes>(std::shared_ptr<void>(), &document)};
}

HttpResponse JsonDocument(const HttpRequest& request, std::string_view text) {
  if (request.method != "GET") return TextResponse(405, "expected GET");
  return {.status = 200, .content_type = "application/json", .body = {text.begin(), text.end()}};
}

HttpResponse Later(int seconds, std::string_view why) {
  HttpResponse response = TextResponse(503, why);
  response.retry_after_s = seconds;
  return response;
}

// The beginning of the last part of a public key's text, by which it is found in a file.
std::string ShortName(const dispute::KeyPoint& key) {
  constexpr std::size_t kShown = 12;
  Bytes typed{1};  // Ed25519
  typed.insert(typed.end(), key.begin(), key.end());
  return Base64(typed).substr(0, kShown);
}

// One line for whoever runs the provider.
void Log(const dispute::OpeningNote& note) {
  const std::string referee = ShortName(note.referee);
  if (!note.refused.empty()) {
    fmt::print(stderr, "refused a dispute by referee {}: {}\n", referee, note.refused);
  } else if (note.pinned) {
    fmt::print(stderr, "opened a dispute by referee {}, who is named here: {} bout{}\n", referee, note.bouts,
               note.bouts == 1 ? "" : "s");
  } else {
    fmt::print(stderr, "opened a dispute by referee {}, who is not named here: {} bout{} set aside, {} left\n", referee,
               note.bouts, note.bouts == 1 ? "" : "s", note.bouts_left);
  }
}

HttpResponse Failed(const dispute::Answerer::Failure& failure) {
  using Kind = dispute::Answerer::Failure::Kind;
  switch (failure.kind) {
    case Kind::kMalformed: return TextResponse(400, failure.why);
    case Kind::kForbidden: return TextResponse(403, failure.why);
    case Kind::kNotOpen: return TextResponse(409, failure.why);
    case Kind::kFailed:
      fmt::print(stderr, "assay: {}\n", failure.why);  // what strangers are not told
      return Later(kRetryFailedSeconds, "this machine failed; ask again");
    case Kind::kLater: break;
  }
  return Later(kRetryBusySeconds, failure.why);
}

HttpResponse Opened(const HttpRequest& request, dispute::Answerer& answerer) {
  if (request.method != "POST") return TextResponse(405, "expected POST");
  const auto id = answerer.Open(request.body);
  return id ? TextResponse(200, id->hex()) : Failed(id.error());
}

HttpResponse Answered(const HttpRequest& request, dispute::Answerer& answerer) {
  if (request.method != "POST") return TextResponse(405, "expected POST");
  auto answer = answerer.Answer(request.body);
  if (!answer) return Failed(answer.error());
  return {.status = 200, .content_type = "application/octet-stream", .body = std::move(*answer)};
}

}  // namespace

std::optional<HttpResponse> RespondWithDocument(const HttpRequest& request, const dispute::Account& account) {
  if (request.target == "/v1/receipt") return JsonDocument(request, account.receipt());
  if (request.target == "/v1/job") return Document(request, account.job());
  if (request.target == "/v1/program") return Document(request, account.program());
  return std::nullopt;
}

HttpResponse RespondAsProvider(const HttpRequest& request, const dispute::Account& account, dispute::Answerer& answerer,
                               ShownRun* shown) {
  if (auto document = RespondWithDocument(request, account)) return *std::move(document);
  if (request.target == "/v1/dispute") return Opened(request, answerer);
  if (request.target == "/v1/answer") return Answered(request, answerer);
  if (shown != nullptr) {
    if (auto part = shown->Respond(request)) return *std::move(part);
  }
  return TextResponse(404,
                      "expected /v1/receipt, /v1/job, /v1/program, /v1/dispute or /v1/answer; of rounded runs also /v1/log, "
                      "/v1/roundings or /v1/rounding-log");
}

Status ServeAccount(dispute::RunAccount& account, const SigningKey& key, const ProvideTerms& terms) {
  ASSAY_ASSIGN(const dispute::Budget bout, account.Bill());
  ASSAY_ASSIGN(dispute::Docket docket,
               dispute::DocketOf(
                   account, {.pinned = terms.referees, .bout = bout, .open_to_all = dispute::Times(terms.open_to_all, bout)}));
  dispute::Answerer answerer(account, key, std::move(docket), {.note = Log});
  std::unique_ptr<ShownRun> shown;
  if (account.terms().job().precision == Precision::kFp64Rounded) {
    ASSAY_ASSIGN(shown, ShownRun::Open(account.run().rounding_path(), account.run_log()));
  }
  ServerOptions options;
  options.listen = terms.listen;
  options.workers = kWorkers;
  options.max_body_bytes = dispute::kMaxOpeningBytes + sizeof(Signature);
  options.certificate_file = terms.tls_cert;
  options.key_file = terms.tls_key;
  const InterruptGuard interrupt;
  ASSAY_ASSIGN(
      const auto server,
      HttpServer::Start(
          options, [&](const HttpRequest& request) { return RespondAsProvider(request, account, answerer, shown.get()); },
          [&](const HttpRequest& request) { return RespondWithDocument(request, account); }));
  constexpr std::size_t kFewest = 2;  // parties of a dispute
  if (terms.referees.empty() && terms.open_to_all < dispute::Docket::BoutsOf(kFewest)) {
    fmt::print(stderr,
               "refuses every dispute: the smallest takes {} bouts, {} are left for referees that are not named, and none is "
               "named (--open-to-all, --referee KEY.pub)\n",
               dispute::Docket::BoutsOf(kFewest), terms.open_to_all);
  } else if (terms.referees.empty()) {
    fmt::print(stderr,
               "open to any referee, for {} bouts in all; --referee KEY.pub names who may ask and is never used up by others\n",
               terms.open_to_all);
  }
  if (shown != nullptr) {
    fmt::print(stderr, "open to all: the log of states and rounding logs, so that anybody can follow this run\n");
  }
  fmt::print(stderr, "a bout costs at most {} steps run again, {} of them node by node, and {} bytes of answers\n",
             bout.work.steps_run, bout.work.steps_traced, bout.bytes);
  if (terms.json) {
    fmt::print("{{\"listening\":\"{}\",\"job_id\":\"{}\"}}\n", server->url(), account.run().identity().job.hex());
  } else {
    fmt::print("listening on {}\n", server->url());
  }
  std::fflush(stdout);
  while (interrupt.signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server->Stop();
  return {};
}

}  // namespace assay::service
