#include "platform/load_stage.h"

#include "assay/net/url.h"
#include "assay/platform/transfer.h"

namespace assay::load {

using platform::ApiClient;
using platform::Json;

Result<std::unique_ptr<Stage>> Stage::Open(const std::string& server, const std::string& admin_token, int providers) {
  std::unique_ptr<Stage> stage(new Stage);
  ASSAY_ASSIGN(const Url url, ParseUrl(server));
  stage->port_ = url.server.port;
  ASSAY_ASSIGN(const auto admin, ApiClient::Create({.server = server, .token = admin_token}));
  const auto token = [&](std::string_view role, const std::string& account) -> Result<std::string> {
    ASSAY_ASSIGN(const Json made, admin->Post("/v1/admin/tokens", {{"role", role}, {"account", account}}));
    return made.value("token", "");
  };
  ASSAY_ASSIGN(const Json said, admin->Get("/v1/coordinator"));
  stage->coordinator_ = said.value("key", "");
  ASSAY_ASSIGN(stage->coordinator_key_, VerifyKey::Parse(stage->coordinator_));
  ASSAY_ASSIGN(stage->client_token_, token("client", "load-client"));
  for (int i = 0; i < providers; ++i) {
    ASSAY_ASSIGN(std::string made, token("provider", fmt::format("load-provider-{}", i)));
    stage->provider_tokens_.push_back(std::move(made));
  }
  ASSAY_ASSIGN(stage->client_, ApiClient::Create({.server = server, .token = stage->client_token_}));
  ASSAY_TRY(stage->UploadJob());
  return stage;
}

// The coordinator does not read job files, and nobody trains this one.
Status Stage::UploadJob() {
  const std::string job = "# a job of a load test\n";
  const platform::BlobInfo blob{.sha256 = HashBytes(AsBytes(job)), .bytes = job.size()};
  ASSAY_TRY(platform::UploadBytes(*client_, AsBytes(job), blob));
  job_blob_ = blob.sha256.hex();
  files_ = {{.name = std::string(life::kJobFile), .sha256 = blob.sha256, .bytes = static_cast<std::int64_t>(blob.bytes)}};
  return {};
}

std::string Stage::MakeOrder(int replicas) {
  const std::string name = fmt::format("{} {}", key_.verify_key().ToString(), ++made_);
  return life::SignOrder({.id = HashBytes(AsBytes(name)).hex().substr(0, 32),
                          .client = key_.verify_key().ToString(),
                          .coordinator = coordinator_,
                          .job = HashBytes(AsBytes(job_blob_)),
                          .files = files_,
                          .policy = {.replicas = replicas, .attempts = 64},
                          .made = 1'700'000'000 + made_},
                         key_);
}

Result<std::string> Stage::Submit(int replicas) {
  const std::string order = MakeOrder(replicas);
  ASSAY_ASSIGN(const HttpResponse answer, client_->Send("POST", "/v1/orders", AsBytes(order)));
  const Json said = Json::parse(answer.body.begin(), answer.body.end(), nullptr, false);
  return said.value("id", "");
}

}  // namespace assay::load
