#include "assay/client/referee.h"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "assay/base/base64.h"
#include "assay/life/fields.h"
#include "assay/life/ruling.h"
#include "assay/life/wanted.h"
#include "assay/platform/outcome.h"
#include "assay/platform/posted_peer.h"
#include "assay/platform/transfer.h"
#include "assay/seal/seal.h"

namespace assay::client {
namespace {

using dispute::FromPeer;
using dispute::PeerError;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kSealedMagic = "age-encryption.org/v1\n";
constexpr std::int64_t kPollMs = 10'000;
constexpr int kMarginMs = 10'000;  // more than a poll asks for, for the way there and back

// The worker that holds a lease, asked through the coordinator.
class RelayedPeer : public platform::PostedPeer {
 public:
  RelayedPeer(std::unique_ptr<platform::ApiClient> api, std::string order, const life::Lease& lease,
              std::shared_ptr<const std::vector<Identity>> identities)
      : PostedPeer(lease.worker, lease.receipt_file),
        api_(std::move(api)),
        order_(std::move(order)),
        lease_(lease.number),
        identities_(std::move(identities)) {}
  void Cancel() override { api_->Cancel(); }

 protected:
  FromPeer<Bytes> Ask(std::string_view kind, ByteSpan body, std::int64_t timeout_ms) override {
    const auto deadline = steady_clock::now() + milliseconds(timeout_ms);
    const auto later = [](const Error& error) {
      return tl::unexpected(PeerError{PeerError::Kind::kLater, error.message, 1000});
    };
    const platform::Json question = {{"lease", lease_}, {"kind", kind}, {"body", Base64(body)}};
    const auto put = api_->Post(fmt::format("/v1/orders/{}/questions", order_), question,
                                {.patience_ms = static_cast<int>(std::min<std::int64_t>(timeout_ms, 30'000))});
    if (!put) return later(put.error());
    const std::string id = life::TextOf(*put, "question");
    for (;;) {
      const std::int64_t left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
      if (left <= 0) return later(Error{"gives no answer in time"});
      const std::int64_t wait = std::min(left, kPollMs);
      const auto answer =
          api_->Send("GET", fmt::format("/v1/orders/{}/questions/{}?wait_ms={}", order_, id, wait), {},
                     {.attempt_ms = static_cast<int>(wait) + kMarginMs, .patience_ms = static_cast<int>(wait) + kMarginMs});
      if (!answer) return later(answer.error());
      if (answer->status == 202) continue;
      const std::string_view refusal = FindHeader(answer->headers, "Assay-Answer");
      if (!refusal.empty())
        return tl::unexpected(platform::ErrorOf(refusal, std::string(answer->body.begin(), answer->body.end())));
      return Opened(answer->body);
    }
  }

 private:
  FromPeer<Bytes> Opened(const Bytes& answer) const {
    const std::string_view text(reinterpret_cast<const char*>(answer.data()), answer.size());
    if (!text.starts_with(kSealedMagic)) return answer;
    Bytes plain;
    const Status opened = Unseal(
        SpanSource(answer), *identities_,
        [&](ByteSpan piece) -> Status {
          plain.insert(plain.end(), piece.begin(), piece.end());
          return {};
        },
        "the answer of " + name());
    if (!opened) return tl::unexpected(PeerError{PeerError::Kind::kLater, opened.error().message, 1000});
    return plain;
  }

  std::unique_ptr<platform::ApiClient> api_;
  const std::string order_;
  const life::LeaseNumber lease_;
  const std::shared_ptr<const std::vector<Identity>> identities_;
};

Result<Digest> Nonce() {
  Digest nonce;
  if (::getrandom(nonce.bytes.data(), nonce.bytes.size(), 0) != static_cast<ssize_t>(nonce.bytes.size()))
    return Err("the system gives no randomness");
  return nonce;
}

platform::Json ToJson(const life::Judged& judged) {
  return {{"among", judged.among},
          {"evidence", judged.evidence},
          {"convicted", judged.convicted},
          {"silent", judged.silent},
          {"outcome", judged.decided ? "decided" : "undecided"},
          {"words", judged.words},
          {"signature", judged.signature}};
}

}  // namespace

bool IsRefereeOf(const life::Life& life, const SigningKey& key) {
  if (life.order().sealed.empty() || life::WantedBy(life).dispute.empty()) return false;
  const auto client = VerifyKey::Parse(life.order().client);
  return client && client->point() == key.verify_key().point();
}

Checked<std::string> HoldDispute(platform::ApiClient& api, const life::Life& life, const RefereeTerms& terms) {
  const std::vector<life::LeaseNumber> among = life::WantedBy(life).dispute;
  const std::string& order = life.order().id;
  std::vector<std::unique_ptr<dispute::Peer>> peers;
  for (const life::LeaseNumber number : among) {
    ASSAY_ASSIGN(auto own, platform::ApiClient::Create(api.options()));
    peers.push_back(std::make_unique<RelayedPeer>(std::move(own), order, *life.Find(number), terms.identities));
  }
  dispute::ArbitrateOptions how{.clocks = terms.clocks,
                                .key = terms.key,
                                .job = life.order().job,
                                .start = terms.start,
                                .watch = terms.watch,
                                .waiting = terms.waiting};
  how.law.referee = terms.key->verify_key().point();
  ASSAY_ASSIGN(how.law.nonce, Nonce());
  ASSAY_ASSIGN(const dispute::Arbitration result, dispute::Arbitrate(std::move(peers), how));
  ASSAY_ASSIGN(platform::Ruling ruling, platform::RulingOn(life, among, result, terms.start));
  life::Judged& judged = ruling.judged;
  if (judged.convicted.empty()) judged.evidence.clear();
  for (std::size_t i = 0; i < judged.evidence.size(); ++i) {
    const Bytes& evidence = ruling.evidence[i];
    ASSAY_TRY(platform::UploadBytes(api, evidence, {.sha256 = HashBytes(evidence), .bytes = evidence.size()}));
  }
  std::string words = std::exchange(judged.words, std::string());
  judged.signature = life::SignRuling(life, judged, *terms.key);
  const auto told = api.Post(fmt::format("/v1/orders/{}/judged", order), {{"judged", ToJson(judged)}});
  // Somebody else of this key was faster.
  if (!told && told.error().status != 409) return tl::unexpected(Trouble(told.error()));
  return words;
}

}  // namespace assay::client
