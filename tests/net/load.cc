// How much the HTTP server carries, with its clients on the same machine:
//   net_load [--idle N] [--workers N] [--viewers N] [--seconds N] [--megabytes N] [--p99-ms N]
// Idle connections and what each costs; workers with a sample a second each, which live viewers see; an upload and a download. Transfers
// are given as ratios to bare sockets in the same process. Exit status 1 where anything was lost or the p99 is not below the bound.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "assay/net/event_stream.h"
#include "assay/net/http_client.h"
#include "assay/net/http_server.h"
#include "net/crowd.h"

namespace assay::load {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int idle = 5000;
  int workers = 2000;
  int viewers = 200;
  int seconds = 10;
  int megabytes = 1024;
  int p99_ms = 100;
};

Result<Options> ParseOptions(int count, char** words) {
  Options options;
  const std::map<std::string_view, int*> known = {{"--idle", &options.idle},           {"--workers", &options.workers},
                                                  {"--viewers", &options.viewers},     {"--seconds", &options.seconds},
                                                  {"--megabytes", &options.megabytes}, {"--p99-ms", &options.p99_ms}};
  for (int i = 1; i < count; i += 2) {
    const auto option = known.find(words[i]);
    if (option == known.end() || i + 1 == count) return Err("expected an option and a number, got {}", words[i]);
    const std::string_view text = words[i + 1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *option->second);
    if (error != std::errc() || end != text.data() + text.size()) return Err("{}: expected a number, got {}", words[i], text);
  }
  return options;
}

std::size_t ResidentBytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Discard : BodySink {
  std::optional<HttpResponse> Take(ByteSpan) override { return {}; }
};

// Samples go to one viewer each; bodies for "/blob" nowhere, and a file comes from there.
class Board {
 public:
  Board(int viewers, FileRange file) : viewers_(static_cast<std::size_t>(viewers)), file_(std::move(file)) {}

  Course Decide(const HttpRequest& head) {
    if (head.target == "/sample") {
      return {.handler = [this](const HttpRequest& request, Reply reply) { TakeSample(request, std::move(reply)); },
              .peer = std::string(head.Header("X-Worker"))};
    }
    if (head.target.starts_with("/view?")) {
      return {.handler = [this](const HttpRequest& request, Reply reply) { View(request, std::move(reply)); }, .at_once = true};
    }
    if (head.method == "PUT") {
      const auto done = [](const HttpRequest&, Reply reply) { reply.Send({.status = 201}); };
      return {.handler = done, .max_body_bytes = std::size_t{1} << 40, .sink = std::make_shared<Discard>()};
    }
    return {.handler = [this](const HttpRequest&, Reply reply) { reply.SendFile({}, file_); }};
  }

  std::size_t sent() const { return sent_; }
  std::size_t dropped() const { return dropped_; }

 private:
  void TakeSample(const HttpRequest& request, Reply reply) {
    const auto worker = static_cast<std::size_t>(std::atoi(std::string(request.Header("X-Worker")).c_str()));
    const std::string event =
        EncodeEvent({.type = "sample", .data = kMark + std::string(request.body.begin(), request.body.end())});
    if (!viewers_.empty()) {
      const std::lock_guard guard(mutex_);
      ++(viewers_[worker % viewers_.size()].Write(event) ? sent_ : dropped_);
    }
    reply.Send({.content_type = "text/plain", .body = Bytes(kDone.begin(), kDone.end())});
  }
  void View(const HttpRequest& request, Reply reply) {
    const auto viewer = static_cast<std::size_t>(std::atoi(request.target.c_str() + std::string_view("/view?").size()));
    const std::lock_guard guard(mutex_);
    viewers_.at(viewer) = reply.Begin({.content_type = std::string(kEventStreamType)});
  }

  std::mutex mutex_;
  std::vector<ReplyStream> viewers_;
  const FileRange file_;
  std::size_t sent_ = 0, dropped_ = 0;
};

Status MeasureIdle(const HttpServer& server, int count) {
  if (count == 0) return {};
  const std::size_t before = ResidentBytes();
  std::vector<int> held;
  for (int i = 0; i < count; ++i) {
    ASSAY_ASSIGN(const int descriptor, Connect(server.port()));
    held.push_back(descriptor);
    // Each has been of use before it idles, and counts for itself.
    const std::string request = fmt::format("POST /sample HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nX-Worker: {}\r\n\r\n", i);
    if (send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) < 0) return Err("an idle connection was closed");
    std::array<char, 1024> answer;
    if (recv(descriptor, answer.data(), answer.size(), 0) <= 0) return Err("an idle connection was not answered");
  }
  const auto bytes = static_cast<double>(ResidentBytes() - std::min(before, ResidentBytes()));
  fmt::print("idle: {} connections, {:.1f} kB each, {:.1f} MB in all\n", count, bytes / 1000 / count, bytes / 1e6);
  for (const int descriptor : held) close(descriptor);
  return {};
}

Status MeasureCrowd(const HttpServer& server, const Board& board, const Options& options) {
  if (options.workers == 0) return {};
  const std::size_t sent_before = board.sent();
  const std::size_t dropped_before = board.dropped();
  ASSAY_ASSIGN(
      const Outcome outcome,
      Run({.port = server.port(), .workers = options.workers, .viewers = options.viewers, .seconds = options.seconds}));
  fmt::print("samples: {} of {} workers in {} s, p50 {:.2f} ms, p99 {:.2f} ms, most {:.2f} ms, {} late, {} failed\n",
             outcome.latencies_ms.size(), options.workers, options.seconds, outcome.Quantile(0.5), outcome.Quantile(0.99),
             outcome.Quantile(1), outcome.late, outcome.failed);
  const std::size_t sent = board.sent() - sent_before;
  const std::size_t dropped = board.dropped() - dropped_before;
  fmt::print("events: {} sent, {} seen by {} viewers, {} dropped; resident {:.0f} MB\n", sent, outcome.events, options.viewers,
             dropped, static_cast<double>(ResidentBytes()) / 1e6);
  if (outcome.failed + outcome.late + dropped != 0 || sent != outcome.events || outcome.latencies_ms.empty())
    return Err("something was lost");
  if (outcome.Quantile(0.99) >= options.p99_ms) return Err("expected a p99 below {} ms", options.p99_ms);
  return {};
}

// What a thread that reads and one that writes do on bare sockets of the loopback device, in pieces of 128 kB.
Result<double> BareSeconds(std::uint64_t bytes) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return Err("cannot listen");
  }
  ASSAY_ASSIGN(const int out, Connect(ntohs(address.sin_port)));
  const int in = accept(listener, nullptr, nullptr);
  close(listener);
  const auto begin = Clock::now();
  std::thread writer([&] {
    const Bytes piece(128 << 10);
    for (std::uint64_t sent = 0; sent < bytes;) {
      const ssize_t now = write(out, piece.data(), std::min<std::uint64_t>(piece.size(), bytes - sent));
      if (now <= 0) break;
      sent += static_cast<std::uint64_t>(now);
    }
    close(out);
  });
  Bytes piece(128 << 10);
  while (read(in, piece.data(), piece.size()) > 0) {
  }
  writer.join();
  close(in);
  return SecondsSince(begin);
}

Status MeasureTransfers(const HttpServer& server, const Options& options) {
  if (options.megabytes == 0) return {};
  const std::uint64_t bytes = static_cast<std::uint64_t>(options.megabytes) * 1'000'000;
  const double megabytes = options.megabytes;
  ASSAY_ASSIGN(const double bare, BareSeconds(bytes));
  const std::size_t before = ResidentBytes();
  ASSAY_ASSIGN(const auto client, HttpClient::Create(server.url()));
  const auto begin = Clock::now();
  const BodySource zeros{.length = bytes, .read = [](std::span<std::uint8_t>) { return Status(); }};
  ASSAY_ASSIGN(const HttpResponse up, client->Upload({.method = "PUT", .path = "/blob"}, zeros, 10'000));
  const double upload = SecondsSince(begin);
  std::uint64_t got = 0;
  const auto again = Clock::now();
  const auto count = [&](const HttpResponse&, ByteSpan piece) {
    got += piece.size();
    return Status();
  };
  ASSAY_ASSIGN(const HttpResponse down, client->Download({.path = "/blob"}, count, bytes, 10'000));
  const double download = SecondsSince(again);
  fmt::print(
      "transfers: bare {:.0f} MB/s, upload {:.0f} MB/s ({:.2f} of bare), download {:.0f} MB/s ({:.2f}), {:.1f} MB more "
      "resident\n",
      megabytes / bare, megabytes / upload, bare / upload, megabytes / download, bare / download,
      (static_cast<double>(ResidentBytes()) - static_cast<double>(before)) / 1e6);
  if (up.status != 201 || down.status != 200 || got != bytes) return Err("expected the transfers to be whole");
  return {};
}

// A file of zeros that the system has in memory, so that a download measures the server and not the disk.
Result<FileRange> WarmFile(std::uint64_t bytes) {
  std::string name = "/tmp/assay_net_load_XXXXXX";
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0 || unlink(name.c_str()) != 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    return Err("cannot make a file in /tmp");
  }
  FileRange file(descriptor, 0, bytes);
  Bytes piece(1'000'000);
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) ASSAY_TRY(file.Read(at, piece.data(), piece.size()));
  return file;
}

Status Main(int count, char** words) {
  ASSAY_ASSIGN(const Options options, ParseOptions(count, words));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  ASSAY_ASSIGN(FileRange file, WarmFile(static_cast<std::uint64_t>(options.megabytes) * 1'000'000));
  Board board(options.viewers, std::move(file));
  const ServerOptions server_options{
      .workers = 2, .max_queued = 4096, .max_connections = 10'000, .max_connections_per_peer = 10'000};
  ASSAY_ASSIGN(const auto server,
               HttpServer::Serve(server_options, [&](const HttpRequest& head) { return board.Decide(head); }));
  ASSAY_TRY(MeasureIdle(*server, options.idle));
  ASSAY_TRY(MeasureCrowd(*server, board, options));
  return MeasureTransfers(*server, options);
}

}  // namespace
}  // namespace assay::load

int main(int count, char** words) {
  const assay::Status status = assay::load::Main(count, words);
  if (!status) fmt::print(stderr, "{}\n", status.error().message);
  return status ? 0 : 1;
}
