// Stage: what a load test needs of a fresh coordinator before the load begins: accounts with tokens, an uploaded job, orders.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/life/order.h"
#include "assay/platform/api_client.h"
#include "assay/sign/key.h"

namespace assay::load {

class Stage {
 public:
  // Makes the client's account and as many of providers.
  static Result<std::unique_ptr<Stage>> Open(const std::string& server, const std::string& admin_token, int providers);

  std::uint16_t port() const { return port_; }
  const VerifyKey& coordinator() const { return *coordinator_key_; }
  const std::string& client_token() const { return client_token_; }
  const std::string& provider_token(std::size_t worker) const { return provider_tokens_[worker % provider_tokens_.size()]; }
  const std::string& job_blob() const { return job_blob_; }
  platform::ApiClient& client() { return *client_; }

  // An order of the client's that differs from all before.
  std::string MakeOrder(int replicas);
  // Submits one and says its id.
  Result<std::string> Submit(int replicas);

 private:
  Stage() : key_(SigningKey::Generate("load")) {}
  Status UploadJob();

  const SigningKey key_;
  std::uint16_t port_ = 0;
  std::string coordinator_, client_token_, job_blob_;
  std::optional<VerifyKey> coordinator_key_;
  std::vector<std::string> provider_tokens_;
  std::unique_ptr<platform::ApiClient> client_;
  std::vector<life::OrderFile> files_;
  int made_ = 0;
};

}  // namespace assay::load
