#include "assay/worker/http_link.h"

#include <mutex>
#include <utility>

#include "assay/base/file.h"
#include "assay/platform/transfer.h"
#include "assay/worker/messages.h"

namespace assay::worker {
namespace {

using platform::ApiClient;
using platform::ApiError;
using platform::ApiResult;

constexpr int kCallMs = 30'000;      // for an answer that takes no waiting
constexpr int kTransferMs = 10'000;  // during which nothing moves before the caller is asked whether to go on
constexpr std::int64_t kStatusUnauthorized = 401, kStatusForbidden = 403, kStatusNotFound = 404, kStatusConflict = 409;

CallError ToCallError(const ApiError& error, bool interrupted) {
  using Kind = CallError::Kind;
  CallError call{.kind = Kind::kRefused, .why = error.message};
  if (interrupted) {
    call.kind = Kind::kInterrupted;
  } else if (error.later || error.code == "full") {
    call.kind = Kind::kLater;  // a disk without room is its operator's to see to, and what is finished can wait
  } else if (error.system) {
    call.kind = Kind::kHere;
  } else if (error.status == kStatusConflict && error.code == "ended") {
    call.kind = Kind::kEnded;
  } else if (error.status == kStatusUnauthorized || error.status == kStatusForbidden) {
    call.kind = Kind::kDenied;
  } else if (error.status == kStatusNotFound) {
    call.kind = Kind::kGone;
  } else if (error.status == 0) {
    call.kind = Kind::kLater;  // no answer that was one; another may come
  }
  return call;
}

class HttpLink : public Link {
 public:
  explicit HttpLink(platform::ApiOptions options) : options_(std::move(options)) {}

  Call<CoordinatorInfo> Coordinator() override { return Parsed(Get("/v1/coordinator"), ParseCoordinator); }
  void Address(const VerifyKey& coordinator) override {
    const std::lock_guard lock(mutex_);
    options_.coordinator = coordinator;
    client_ = nullptr;
  }
  Call<void> Register(const Hardware& hardware, const std::string& recipient) override {
    return Done(Send("PUT", "/v1/workers", AsBytes(ToJson(hardware, recipient))));
  }
  Call<WorkReply> Work(const WorkRequest& request) override {
    const int longest = static_cast<int>(request.wait_ms) + kCallMs;
    return Parsed(Send("POST", "/v1/work", AsBytes(ToJson(request)), longest), ParseWorkReply);
  }
  Call<LeasePapers> Papers(const LeaseName& lease) override { return Parsed(Get(Of(lease, "")), ParsePapers); }
  Call<void> Renew(const LeaseName& lease) override { return Done(Send("POST", Of(lease, "/renew"), AsBytes("{}"))); }
  Call<void> Commit(const LeaseName& lease, const Commitment& commitment) override {
    return Done(Send("POST", Of(lease, "/commit"), AsBytes(ToJson(commitment))));
  }
  Call<void> Tell(const LeaseName& lease, const std::vector<Sample>& samples) override {
    return Done(Send("POST", Of(lease, "/telemetry"), AsBytes(ToJson(samples))));
  }
  Call<void> Deliver(const LeaseName& lease, const Delivery& delivery) override {
    return Done(Send("POST", Of(lease, "/result"), AsBytes(ToJson(delivery))));
  }
  Call<void> Report(const LeaseName& lease, const std::string& report) override {
    return Done(Send("POST", Of(lease, "/report"), AsBytes(ReportJson(report))));
  }
  Call<void> GiveBack(const LeaseName& lease, life::Ending why, const std::string& words) override {
    return Done(Send("POST", Of(lease, "/give-back"), AsBytes(GiveBackJson(why, words))));
  }
  Call<void> Answer(const std::string& question, const tl::expected<Bytes, NoAnswer>& answer) override {
    const std::string path = "/v1/answers/" + question;
    if (answer) return Done(Send("POST", path, *answer, kCallMs, "application/octet-stream"));
    return Done(Send("POST", fmt::format("{}?error={}", path, Name(answer.error().kind)), AsBytes(answer.error().why), kCallMs,
                     "text/plain"));
  }

  Call<void> Download(const life::OrderFile& file, const std::string& path) override {
    return Transfer([&](ApiClient& client) {
      return platform::DownloadBlob(client, file.sha256, static_cast<std::uint64_t>(file.bytes), path);
    });
  }
  Call<void> Upload(const life::OrderFile& file, const std::string& path) override {
    const platform::BlobInfo blob{.sha256 = file.sha256, .bytes = static_cast<std::uint64_t>(file.bytes)};
    return Transfer([&](ApiClient& client) { return platform::UploadBlob(client, path, blob); });
  }

  void Interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    if (client_ != nullptr) client_->Cancel();
  }

 private:
  static std::string Of(const LeaseName& lease, std::string_view what) {
    return fmt::format("/v1/orders/{}/leases/{}{}", lease.order, lease.lease, what);
  }

  // The client of the next call: a new one where the last was interrupted.
  Call<ApiClient*> Client() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(interrupted_, false)) {
      client_ = nullptr;
      return tl::unexpected(CallError{CallError::Kind::kInterrupted, "interrupted"});
    }
    if (client_ == nullptr) {
      auto client = ApiClient::Create(options_);
      if (!client) return tl::unexpected(CallError{CallError::Kind::kRefused, client.error().message});
      client_ = *std::move(client);
    }
    return client_.get();
  }

  // Whether the call that has just failed was interrupted.
  bool TakeInterruption() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(interrupted_, false)) return false;
    client_ = nullptr;
    return true;
  }

  template <class T, class Ask>
  Call<T> Ask1(const Ask& ask) {
    const auto client = Client();
    if (!client) return tl::unexpected(client.error());
    ApiResult<T> answer = ask(**client);
    if (!answer) return tl::unexpected(ToCallError(answer.error(), TakeInterruption()));
    return std::move(answer).map_error([](const ApiError&) { return CallError{}; });
  }

  Call<HttpResponse> Send(std::string_view method, const std::string& path, ByteSpan body, int attempt_ms = kCallMs,
                          const std::string& type = "application/json") {
    return Ask1<HttpResponse>([&](ApiClient& client) {
      return client.Send(method, path, body, {.attempt_ms = attempt_ms, .patience_ms = 0, .content_type = type});
    });
  }
  Call<HttpResponse> Get(const std::string& path) { return Send("GET", path, {}); }

  template <class Move>
  Call<void> Transfer(const Move& move) {
    return Ask1<void>([&](ApiClient& client) { return move(client); });
  }

  static Call<void> Done(const Call<HttpResponse>& answer) {
    if (!answer) return tl::unexpected(answer.error());
    return {};
  }
  template <class T>
  static Call<T> Parsed(const Call<HttpResponse>& answer, Result<T> (*parse)(std::string_view)) {
    if (!answer) return tl::unexpected(answer.error());
    auto parsed = parse({reinterpret_cast<const char*>(answer->body.data()), answer->body.size()});
    if (!parsed) return tl::unexpected(CallError{CallError::Kind::kLater, parsed.error().message});
    return *std::move(parsed);
  }

  std::mutex mutex_;  // of what follows
  platform::ApiOptions options_;
  std::unique_ptr<ApiClient> client_;
  bool interrupted_ = false;
};

}  // namespace

Result<LinkFactory> MakeHttpLinks(platform::ApiOptions options) {
  options.patience_ms = kTransferMs;
  ASSAY_TRY(ApiClient::Create(options));
  return LinkFactory([options] { return std::make_unique<HttpLink>(options); });
}

}  // namespace assay::worker
