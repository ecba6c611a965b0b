#include "assay/service/peers.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/dispute/answer.h"
#include "assay/dispute/run_account.h"
#include "assay/job/limits.h"
#include "assay/net/http_client.h"

namespace assay::service {
namespace {

using dispute::FromPeer;
using dispute::PeerError;

constexpr std::size_t kMaxReceipt = std::size_t{64} << 10;
constexpr std::size_t kMaxReply = 4096;  // to an opening
constexpr std::size_t kMaxWhy = 200;     // characters of a server's explanation that are shown

int Timeout(std::int64_t ms) { return static_cast<int>(std::min<std::int64_t>(ms, std::numeric_limits<int>::max())); }

class RemotePeer : public dispute::Peer {
 public:
  RemotePeer(std::string url, std::unique_ptr<HttpClient> client) : url_(std::move(url)), client_(std::move(client)) {}

  std::string name() const override { return url_; }
  FromPeer<std::string> Receipt(std::int64_t timeout_ms) override {
    FromPeer<Bytes> body = Checked(client_->Get("/v1/receipt", Timeout(timeout_ms), kMaxReceipt));
    if (!body && client_->misplaced()) body.error().kind = PeerError::Kind::kNoProvider;
    if (!body) return tl::unexpected(body.error());
    return std::string(body->begin(), body->end());
  }
  FromPeer<Bytes> Job(std::int64_t timeout_ms) override {
    return Checked(client_->GetPatiently("/v1/job", Timeout(timeout_ms), kMaxJobBytes));
  }
  FromPeer<Bytes> Program(std::int64_t timeout_ms) override {
    return Checked(client_->GetPatiently("/v1/program", Timeout(timeout_ms), kMaxProgramBytes));
  }
  FromPeer<void> Open(ByteSpan opening, std::int64_t timeout_ms) override {
    FromPeer<Bytes> done = Checked(client_->Post("/v1/dispute", opening, Timeout(timeout_ms), kMaxReply));
    if (!done) return tl::unexpected(done.error());
    return {};
  }
  FromPeer<Bytes> Answer(ByteSpan question, std::int64_t timeout_ms) override {
    FromPeer<Bytes> answer = Checked(client_->Post("/v1/answer", question, Timeout(timeout_ms), dispute::kMaxAnswerBytes));
    if (!answer && client_->overlong()) answer.error().kind = PeerError::Kind::kNoAnswer;
    return answer;
  }
  void Cancel() override { client_->Cancel(); }

 private:
  // Who refuses says so at once; who is busy, failing or cannot be reached may be asked again.
  FromPeer<Bytes> Checked(Result<HttpResponse> response) const {
    if (!response) return tl::unexpected(PeerError{PeerError::Kind::kLater, response.error().message});
    if (response->status == 200) return std::move(response->body);
    std::string_view text(reinterpret_cast<const char*>(response->body.data()), response->body.size());
    while (text.ends_with('\n')) text.remove_suffix(1);
    std::string why = OneLine(text);
    why.resize(std::min(why.size(), kMaxWhy));
    const bool never = response->status >= 400 && response->status < 500 && response->status != 408 && response->status != 429;
    const auto kind = response->status == 409   ? PeerError::Kind::kNotOpen
                      : response->status == 403 ? PeerError::Kind::kDenied
                      : never                   ? PeerError::Kind::kNever
                                                : PeerError::Kind::kLater;
    return tl::unexpected(PeerError{kind, fmt::format("{}: status {}: {}", url_, response->status, why),
                                    std::int64_t{1000} * response->retry_after_s});
  }
  std::string url_;
  std::unique_ptr<HttpClient> client_;
};

// A run directory on this machine, whose steps are run again here.
class LocalPeer : public dispute::Peer {
 public:
  LocalPeer(RunDirectory run, const SigningKey& key, std::mutex& turn) : run_(std::move(run)), key_(key), turn_(turn) {}
  Status Open(const PreparedJob& prepared, Backend& backend, ThreadPool& pool) {
    const std::size_t memory = std::size_t{2} << 30;
    ASSAY_ASSIGN(account_, dispute::RunAccount::Make(run_, prepared, backend, pool, dispute::RunAccount::Limits::Of(memory)));
    return {};
  }

  std::string name() const override { return run_.path(); }
  FromPeer<std::string> Receipt(std::int64_t) override { return account_->receipt(); }
  FromPeer<Bytes> Job(std::int64_t) override { return account_->job(); }
  FromPeer<Bytes> Program(std::int64_t) override { return account_->program(); }
  FromPeer<void> Open(ByteSpan, std::int64_t) override { return {}; }
  FromPeer<Bytes> Answer(ByteSpan question, std::int64_t) override {
    const std::lock_guard lock(turn_);
    // What this machine cannot read or run says nothing about the run.
    const auto never = [](const Error& error) {
      return tl::unexpected(PeerError{error.system ? PeerError::Kind::kFailed : PeerError::Kind::kNever, error.message});
    };
    const auto addressed = dispute::DecodeQuestion(question);
    if (!addressed) return never(addressed.error());
    auto body = dispute::AnswerFrom(*account_, addressed->question);
    if (!body) return never(body.error());
    return dispute::Encode(dispute::Sign(question, std::move(*body), key_));
  }
  void Cancel() override {}

 private:
  RunDirectory run_;
  const SigningKey& key_;
  std::mutex& turn_;
  std::unique_ptr<dispute::RunAccount> account_;
};

}  // namespace

Result<std::unique_ptr<dispute::Peer>> MakeRemotePeer(const std::string& url, const std::string& ca_file) {
  ClientOptions options;
  options.ca_file = ca_file;
  ASSAY_ASSIGN(auto client, HttpClient::Create(url, options));
  return std::make_unique<RemotePeer>(url, std::move(client));
}

Result<std::unique_ptr<dispute::Peer>> MakeLocalPeer(const std::string& path, const PreparedJob& prepared, Backend& backend,
                                                     ThreadPool& pool, const SigningKey& key, std::mutex& turn) {
  ASSAY_ASSIGN(RunDirectory run, RunDirectory::Open(path));
  auto peer = std::make_unique<LocalPeer>(std::move(run), key, turn);
  ASSAY_TRY(peer->Open(prepared, backend, pool));
  return peer;
}

}  // namespace assay::service
