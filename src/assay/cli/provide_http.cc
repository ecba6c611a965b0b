#include "assay/cli/provide_http.h"

#include <utility>

namespace assay::cli {
namespace {

HttpResponse Document(const HttpRequest& request, std::string type, ByteSpan body) {
  if (request.method != "GET") return TextResponse(405, "expected GET");
  return {.status = 200, .content_type = std::move(type), .body = {body.begin(), body.end()}};
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

HttpResponse RespondAsProvider(const HttpRequest& request, const dispute::Account& account, dispute::Answerer& answerer) {
  if (request.target == "/v1/receipt") return Document(request, "application/json", AsBytes(account.receipt()));
  if (request.target == "/v1/job") return Document(request, "application/octet-stream", account.job());
  if (request.target == "/v1/program") return Document(request, "application/octet-stream", account.program());
  if (request.target == "/v1/answer") return Answered(request, answerer);
  return TextResponse(404, "expected /v1/receipt, /v1/job, /v1/program or /v1/answer");
}

}  // namespace assay::cli
