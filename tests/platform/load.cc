// What a coordinator carries, as tests/platform/load.py drives it; one JSON object a line on standard output.
//   platform_load crowd SERVER ADMIN_TOKEN [--workers N] [--viewers N] [--seconds N] [--calls N]
//   platform_load list SERVER ADMIN_TOKEN COUNT      submits so many orders, and times the whole list of them, in pages
//   platform_load upload SERVER TOKEN FILE           as `assay submit` uploads a file
// Exit status 1 where something fails, not where it is slow: what is enough is for load.py to say.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <span>

#include "assay/platform/transfer.h"
#include "platform/load_crowd.h"

namespace assay::load {
namespace {

using platform::ApiClient;
using platform::Json;
using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Say(const Json& line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

Json QuantilesOf(Latencies& latencies) {
  return {{"count", latencies.ms.size()},
          {"p50", latencies.Quantile(0.5)},
          {"p99", latencies.Quantile(0.99)},
          {"max", latencies.Quantile(1)}};
}

Result<int> Number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1)
    return Err("expected a number from 1 on, got {}", text);
  return number;
}

// Connections take one descriptor each.
void RaiseDescriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Status RunCrowd(std::span<const std::string> words) {
  Plan plan;
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    ASSAY_ASSIGN(const int value, Number(words[i + 1]));
    if (words[i] == "--workers")
      plan.workers = value;
    else if (words[i] == "--viewers")
      plan.viewers = value;
    else if (words[i] == "--seconds")
      plan.seconds = value;
    else if (words[i] == "--calls")
      plan.calls_per_s = value;
    else
      return Err("unknown option {}", words[i]);
  }
  RaiseDescriptors();
  ASSAY_ASSIGN(const auto stage, Stage::Open(words[0], words[1], std::clamp(plan.workers / 100, 1, 100)));
  Crowd crowd(*stage, plan);
  const auto began = Clock::now();
  ASSAY_TRY(crowd.Gather());
  Say({{"gathered", SecondsSince(began)}});
  const double cpu = CpuSeconds();
  crowd.Run();
  Outcome& outcome = crowd.outcome();
  Latencies all;
  Json kinds = Json::object();
  for (auto& [name, latencies] : outcome.calls) {
    all.ms.insert(all.ms.end(), latencies.ms.begin(), latencies.ms.end());
    kinds[name] = QuantilesOf(latencies);
  }
  Say({{"made", outcome.made},
       {"accepted", outcome.accepted},
       {"to_see", outcome.to_see},
       {"seen", outcome.seen},
       {"out_of_place", outcome.out_of_place},
       {"put_off", outcome.put_off},
       {"failed", outcome.failed},
       {"first_failure", outcome.first_failure},
       {"polls", outcome.polls},
       {"samples", QuantilesOf(outcome.samples)},
       {"calls", QuantilesOf(all)},
       {"kinds", std::move(kinds)},
       {"cpu", CpuSeconds() - cpu}});
  return {};
}

Status SubmitMany(Stage& stage, int count) {
  constexpr int kAtOnce = 16;
  wires::Wires wires(stage.port());
  int begun = 0, done = 0;
  Status failed;
  std::function<void(wires::Wires::Id)> next = [&](wires::Wires::Id wire) {
    if (begun == count) return;
    ++begun;
    const std::string order = stage.MakeOrder(2);
    const auto answered = [&, wire](int status, std::string_view body) {
      ++done;
      if (status != 201) failed = Err("POST /v1/orders: {} {}", status, body);
      next(wire);
    };
    wires.Send(wire, wires::Write({.method = "POST", .target = "/v1/orders", .token = stage.client_token(), .body = order}),
               answered);
  };
  for (int i = 0; i < kAtOnce; ++i) next(wires.Add());
  while (failed && done < count) wires.Turn(100);
  return failed;
}

Result<std::size_t> ReadList(ApiClient& client) {
  std::size_t listed = 0;
  for (std::int64_t after = 0;;) {
    ASSAY_ASSIGN(const Json page, client.Get(fmt::format("/v1/orders?after={}&limit=1000", after)));
    const auto orders = page.find("orders");
    if (orders == page.end() || !orders->is_array()) return Err("the list is none");
    if (orders->empty()) return listed;
    listed += orders->size();
    after = orders->back().value("seq", std::int64_t{0});
  }
}

Status RunList(std::span<const std::string> words) {
  if (words.size() != 3) return Err("expected SERVER ADMIN_TOKEN COUNT");
  ASSAY_ASSIGN(const int count, Number(words[2]));
  ASSAY_ASSIGN(const auto stage, Stage::Open(words[0], words[1], 1));
  const auto began = Clock::now();
  ASSAY_TRY(SubmitMany(*stage, count));
  const double submitted = SecondsSince(began);
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    ASSAY_ASSIGN(const std::size_t listed, ReadList(stage->client()));
    seconds.push_back(SecondsSince(begin));
    if (listed != static_cast<std::size_t>(count)) return Err("expected a list of {} orders, got {}", count, listed);
  }
  Say({{"orders", count}, {"submit_s", submitted}, {"list_s", seconds}});
  return {};
}

Status RunUpload(std::span<const std::string> words) {
  if (words.size() != 3) return Err("expected SERVER TOKEN FILE");
  ASSAY_ASSIGN(const auto client, ApiClient::Create({.server = words[0], .token = words[1]}));
  const auto began = Clock::now();
  ASSAY_ASSIGN(const platform::BlobInfo blob, platform::HashFile(words[2]));
  const double hashed = SecondsSince(began);
  const auto begin = Clock::now();
  ASSAY_TRY(platform::UploadBlob(*client, words[2], blob));
  Say({{"bytes", blob.bytes}, {"hash_s", hashed}, {"send_s", SecondsSince(begin)}, {"cpu", CpuSeconds()}});
  return {};
}

}  // namespace
}  // namespace assay::load

int main(int count, char** arguments) {
  using namespace assay;
  std::vector<std::string> words(arguments + 1, arguments + count);
  const std::string command = words.size() >= 3 ? words[0] : "";
  const std::span<const std::string> rest = std::span(words).subspan(std::min<std::size_t>(words.size(), 1));
  const Status done = command == "crowd"    ? load::RunCrowd(rest)
                      : command == "list"   ? load::RunList(rest)
                      : command == "upload" ? load::RunUpload(rest)
                                            : Status(Err("expected crowd, list or upload, and a server and a token"));
  if (done) return 0;
  fmt::print(stderr, "platform_load: {}\n", done.error().message);
  return 1;
}
