#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

#include "assay/base/file.h"
#include "assay/net/http_client.h"
#include "assay/net/http_server.h"
#include "hostile.h"

namespace assay::hostile {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr int kPassMs = 600'000;

class Proxying {
 public:
  explicit Proxying(const ProxyOptions& options) : options_(options), busy_(options.busy) {}

  HttpResponse Handle(const HttpRequest& request) {
    const bool meant = options_.only.empty() || request.target == options_.only;
    if (meant && (steady_clock::now() - start_ < std::chrono::duration<double>(options_.busy_seconds) || busy_-- > 0)) {
      HttpResponse busy = TextResponse(503, "busy");
      busy.retry_after_s = options_.retry_after_s;
      return busy;
    }
    if (meant) std::this_thread::sleep_for(std::chrono::milliseconds(options_.delay_ms));
    if (const auto file = options_.instead.find(request.target); file != options_.instead.end()) {
      auto bytes = ReadFile(file->second, kMaxBytes);
      return bytes ? HttpResponse{.body = std::move(*bytes)} : TextResponse(500, bytes.error().message);
    }
    const auto begins = [&](const std::string& with) { return !with.empty() && request.target.starts_with(with); };
    if (begins(options_.withhold)) return TextResponse(404, "nothing here");
    HttpResponse response = Pass(request);
    if (begins(options_.alter) && !response.body.empty()) response.body[response.body.size() / 2] ^= 1;
    if (request.method == "POST" && !options_.record.empty()) Record(request.body, response.body);
    return response;
  }

 private:
  HttpResponse Pass(const HttpRequest& request) const {
    auto client = HttpClient::Create(options_.url, {.max_response_bytes = kMaxBytes});
    if (!client) return TextResponse(502, client.error().message);
    auto response = request.method == "POST" ? (*client)->Post(request.target, request.body, kPassMs)
                                             : (*client)->Get(request.target, kPassMs);
    if (!response) return TextResponse(502, response.error().message);
    response->headers.clear();  // those of the connection are each server's own
    return std::move(*response);
  }
  void Record(ByteSpan question, ByteSpan answer) {
    const std::lock_guard lock(mutex_);
    const std::string name = JoinPath(options_.record, fmt::format("{:04}", recorded_++));
    for (const auto& [suffix, bytes] : {std::pair{".answer", answer}, std::pair{".question", question}}) {
      if (const Status written = WriteFileAtomic(name + suffix, bytes); !written) {
        fmt::print(stderr, "hostile_peer: {}\n", written.error().message);
      }
    }
  }

  const ProxyOptions& options_;
  const steady_clock::time_point start_ = steady_clock::now();
  std::atomic<int> busy_;
  std::mutex mutex_;
  int recorded_ = 0;
};

}  // namespace

Status Proxy(const ProxyOptions& options) {
  if (!options.record.empty()) ASSAY_TRY(MakeDirectories(options.record));
  Proxying proxying(options);
  ServerOptions how;
  how.listen = options.listen;
  how.workers = 16;
  ASSAY_ASSIGN(const auto server, HttpServer::Start(how, [&](const HttpRequest& request) { return proxying.Handle(request); }));
  fmt::print("listening on {}\n", server->url());
  std::fflush(stdout);
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace assay::hostile
