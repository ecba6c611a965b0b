#include "assay/cli/peers.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "assay/base/file.h"
#include "assay/dispute/answerer.h"
#include "assay/dispute/run_account.h"
#include "assay/net/http_client.h"

namespace assay::cli {
namespace {

constexpr std::size_t kMaxReceipt = std::size_t{64} << 10;
constexpr std::size_t kMaxJob = std::size_t{16} << 20;
constexpr std::size_t kMaxProgram = std::size_t{64} << 20;

int Milliseconds(std::int64_t ms) { return static_cast<int>(std::min<std::int64_t>(ms, std::numeric_limits<int>::max())); }

class RemotePeer : public dispute::Peer {
 public:
  RemotePeer(std::string url, std::unique_ptr<HttpClient> client, int patience_ms)
      : url_(std::move(url)), client_(std::move(client)), patience_ms_(patience_ms) {}

  std::string name() const override { return url_; }
  Result<std::string> Receipt() override {
    ASSAY_ASSIGN(const Bytes body, Get("/v1/receipt", kMaxReceipt));
    return std::string(body.begin(), body.end());
  }
  Result<Bytes> Job() override { return Get("/v1/job", kMaxJob); }
  Result<Bytes> Program() override { return Get("/v1/program", kMaxProgram); }
  Result<Bytes> Answer(ByteSpan question, std::int64_t timeout_ms) override {
    return Checked(client_->Post("/v1/answer", question, Milliseconds(timeout_ms), dispute::kMaxAnswerBytes));
  }
  void Cancel() override { client_->Cancel(); }

 private:
  // A provider that is busy, restarted or hard to reach is asked again: it claims no less for it.
  Result<Bytes> Get(std::string_view path, std::size_t max_bytes) {
    return Checked(client_->GetPatiently(path, patience_ms_, max_bytes));
  }
  Result<Bytes> Checked(Result<HttpResponse> response) const {
    if (!response) return tl::unexpected(response.error());
    if (response->status != 200) return Err("{}: answers with status {}", url_, response->status);
    return std::move(response->body);
  }
  std::string url_;
  std::unique_ptr<HttpClient> client_;
  int patience_ms_;
};

class LocalPeer : public dispute::Peer {
 public:
  LocalPeer(RunDirectory run, const SigningKey& key, std::mutex& turn) : run_(std::move(run)), key_(key), turn_(turn) {}
  Status Open(const PreparedJob& prepared, const Compute& compute) {
    const std::size_t memory = std::size_t{2} << 30;
    ASSAY_ASSIGN(account_, dispute::RunAccount::Make(run_, prepared, *compute.backend, *compute.pool,
                                                     dispute::RunAccount::Limits::Of(memory)));
    answerer_.emplace(*account_, key_, dispute::AnswererOptions{});
    return {};
  }

  std::string name() const override { return run_.path(); }
  Result<std::string> Receipt() override { return account_->receipt(); }
  Result<Bytes> Job() override { return account_->job(); }
  Result<Bytes> Program() override { return account_->program(); }
  Result<Bytes> Answer(ByteSpan question, std::int64_t) override {
    const std::lock_guard lock(turn_);
    return answerer_->Answer(question);
  }
  void Cancel() override {}

 private:
  RunDirectory run_;
  const SigningKey& key_;
  std::mutex& turn_;
  std::unique_ptr<dispute::RunAccount> account_;
  std::optional<dispute::Answerer> answerer_;
};

}  // namespace

Result<std::unique_ptr<dispute::Peer>> MakeRemotePeer(const std::string& url, const std::string& ca_file,
                                                      std::int64_t patience_ms) {
  ClientOptions options;
  options.ca_file = ca_file;
  ASSAY_ASSIGN(auto client, HttpClient::Create(url, options));
  return std::make_unique<RemotePeer>(url, std::move(client), Milliseconds(patience_ms));
}

Result<std::unique_ptr<dispute::Peer>> MakeLocalPeer(const std::string& path, const PreparedJob& prepared,
                                                     const Compute& compute, const SigningKey& key, std::mutex& turn) {
  ASSAY_ASSIGN(RunDirectory run, RunDirectory::Open(path));
  auto peer = std::make_unique<LocalPeer>(std::move(run), key, turn);
  ASSAY_TRY(peer->Open(prepared, compute));
  return peer;
}

}  // namespace assay::cli
