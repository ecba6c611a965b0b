#include "assay/cli/provide_http.h"

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "assay/net/http_server.h"
#include "assay/train/interrupt.h"

namespace assay::cli {
namespace {

// What one dispute may cost, in times of what a match of two takes: a tournament has several.
constexpr std::int64_t kMatches = 16;
constexpr int kWorkers = 8;

dispute::Work Times(std::int64_t n, const dispute::Work& work) {
  return {.steps_run = n * work.steps_run, .steps_traced = n * work.steps_traced, .batches_loaded = n * work.batches_loaded};
}

// The account outlives the server: a document is not copied for each who asks, since programs are large and readers may be slow.
HttpResponse Document(const HttpRequest& request, const Bytes& document) {
  if (request.method != "GET") return TextResponse(405, "expected GET");
  return {.status = 200, .document = std::shared_ptr<const Bytes>(std::shared_ptr<void>(), &document)};
}

HttpResponse JsonDocument(const HttpRequest& request, std::string_view text) {
  if (request.method != "GET") return TextResponse(405, "expected GET");
  return {.status = 200, .content_type = "application/json", .body = {text.begin(), text.end()}};
}

HttpResponse Answered(const HttpRequest& request, dispute::Answerer& answerer) {
  if (request.method != "POST") return TextResponse(405, "expected POST");
  if (const auto question = dispute::DecodeQuestion(request.body); !question)
    return TextResponse(400, question.error().message);
  Result<Bytes> answer = answerer.Answer(request.body);
  if (!answer) return TextResponse(503, answer.error().message);
  return {.status = 200, .content_type = "application/octet-stream", .body = std::move(*answer)};
}

}  // namespace

std::optional<HttpResponse> RespondWithDocument(const HttpRequest& request, const dispute::Account& account) {
  if (request.target == "/v1/receipt") return JsonDocument(request, account.receipt());
  if (request.target == "/v1/job") return Document(request, account.job());
  if (request.target == "/v1/program") return Document(request, account.program());
  return std::nullopt;
}

HttpResponse RespondAsProvider(const HttpRequest& request, const dispute::Account& account, dispute::Answerer& answerer) {
  if (auto document = RespondWithDocument(request, account)) return *std::move(document);
  if (request.target == "/v1/answer") return Answered(request, answerer);
  return TextResponse(404, "expected /v1/receipt, /v1/job, /v1/program or /v1/answer");
}

Status ServeAccount(dispute::RunAccount& account, const SigningKey& key, const ProvideAddress& address) {
  ASSAY_ASSIGN(const dispute::Work bill, account.Bill());
  dispute::Answerer answerer(account, key, {.budget = Times(kMatches, bill)});
  ServerOptions options;
  options.listen = address.listen;
  options.workers = kWorkers;
  options.max_body_bytes = dispute::kMaxQuestionBytes;
  options.certificate_file = address.tls_cert;
  options.key_file = address.tls_key;
  const InterruptGuard interrupt;
  ASSAY_ASSIGN(const auto server,
               HttpServer::Start(
                   options, [&](const HttpRequest& request) { return RespondAsProvider(request, account, answerer); },
                   [&](const HttpRequest& request) { return RespondWithDocument(request, account); }));
  fmt::print("listening on {}\n", server->url());
  std::fflush(stdout);
  while (interrupt.signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server->Stop();
  return {};
}

}  // namespace assay::cli
