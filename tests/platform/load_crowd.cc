#include "platform/load_crowd.h"

#include <algorithm>
#include <charconv>

#include "assay/platform/request_signature.h"

namespace assay::load {
namespace {

using platform::Json;
using std::chrono::duration;
using std::chrono::milliseconds;

constexpr std::size_t kMostSamples = 256;  // of one post
constexpr int kPollMs = 30'000;
constexpr std::size_t kEnlistAtOnce = 32;

std::int64_t WallMs() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The number after a key of compact JSON; 0 where there is none.
std::int64_t NumberOf(std::string_view json, std::string_view key) {
  const std::size_t at = json.find(key);
  std::int64_t number = 0;
  if (at != std::string_view::npos) std::from_chars(json.data() + at + key.size(), json.data() + json.size(), number);
  return number;
}

std::string SampleText(std::int64_t step) {
  return fmt::format(
      R"({{"at":{},"phase":"train","step":{},"steps":100000,"loss":{:.6f},"rate":12345.5,"unit":"tokens","cpu":7.93,"memory":1234567890}})",
      WallMs(), step, 2 + 1 / static_cast<double>(step));
}

}  // namespace

double Latencies::Quantile(double q) {
  if (ms.empty()) return 0;
  const auto at = ms.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(ms.size() - 1));
  std::nth_element(ms.begin(), at, ms.end());
  return *at;
}

Crowd::Crowd(Stage& stage, const Plan& plan)
    : stage_(stage), plan_(plan), wires_(stage.port()), client_token_(stage.client_token()) {}

void Crowd::Fail(std::string_view what, int status, std::string_view body) {
  ++outcome_.failed;
  if (outcome_.first_failure.empty()) outcome_.first_failure = fmt::format("{}: {} {}", what, status, body.substr(0, 300));
}

Status Crowd::TurnUntil(const std::function<bool()>& done, int seconds, std::string_view what) {
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  while (!done()) {
    if (outcome_.failed > 0) return Err("{}: {}", what, outcome_.first_failure);
    if (Clock::now() > end) return Err("waited {} s for {}", seconds, what);
    wires_.Turn(10);
  }
  return {};
}

Status Crowd::Gather() {
  ASSAY_TRY(MakeOrders());
  Cast();
  for (std::size_t i = 0; i < std::min(kEnlistAtOnce, workers_.size()); ++i) Enlist(workers_[enlisted_++]);
  const auto has_lease = [](const Worker& worker) { return worker.lease > 0; };
  ASSAY_TRY(TurnUntil([&] { return std::ranges::all_of(workers_, has_lease); }, 300, "leases of all workers"));
  for (Viewer& viewer : viewers_) OpenView(viewer);
  // Who has seen an entry sees every sample from then on.
  return TurnUntil([&] { return std::ranges::all_of(viewers_, &Viewer::begun); }, 60, "the first event of all viewers");
}

Status Crowd::MakeOrders() {
  for (int held = 0; held < plan_.workers; held += plan_.replicas) {
    ASSAY_ASSIGN(std::string id, stage_.Submit(plan_.replicas));
    orders_.push_back(std::move(id));
  }
  return {};
}

void Crowd::Cast() {
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan_.workers); ++i) {
    workers_.push_back({.key = SigningKey::Generate(fmt::format("load-{}", i)),
                        .token = stage_.provider_token(i),
                        .wire = wires_.Add(),
                        .poll = wires_.Add()});
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan_.viewers); ++i) {
    Viewer& viewer = viewers_.emplace_back();
    viewer.order = orders_[i % orders_.size()];
    viewer.wire = wires_.Add();
  }
  for (int i = 0; i < plan_.callers; ++i) callers_.push_back(wires_.Add());
}

void Crowd::SendSigned(const Worker& worker, wires::Wires::Id wire, std::string_view method, const std::string& target,
                       const std::string& body, wires::Answered answered) {
  const platform::SignedRequest request{.method = method,
                                        .target = target,
                                        .body = HashBytes(AsBytes(body)),
                                        .coordinator = stage_.coordinator().point(),
                                        .token = HashBytes(AsBytes(worker.token))};
  wires_.Send(wire,
              wires::Write({.method = method,
                            .target = target,
                            .token = worker.token,
                            .headers = platform::SignRequest(request, WallMs(), worker.key),
                            .body = body}),
              std::move(answered));
}

// Registers the worker and gets it a lease; then comes the next one.
void Crowd::Enlist(Worker& worker) {
  const std::string says =
      R"({"hardware":{"device":"cpu","name":"load","kernels":"avx2","cores":8,"threads":8,"memory":17179869184,"disk":107374182400,)"
      R"("matmul_gflops":321.5,"hash_gbps":1.5,"version":"0.1.0"},"recipient":""})";
  SendSigned(worker, worker.wire, "PUT", "/v1/workers", says, [this, &worker](int status, std::string_view body) {
    if (status != 200) return Fail("PUT /v1/workers", status, body);
    Ask(worker, [this, &worker] {
      Poll(worker, FirstWaitMs());
      if (enlisted_ < workers_.size()) Enlist(workers_[enlisted_++]);
    });
  });
}

// Each worker's polls end at a time of its own, as they would after a while.
int Crowd::FirstWaitMs() { return 1000 + static_cast<int>(outcome_.polls_begun++ * kPollMs / plan_.workers); }

void Crowd::Ask(Worker& worker, std::function<void()> then) {
  SendSigned(worker, worker.wire, "POST", "/v1/work", R"({"wait_ms":0,"holding":[],"new":true})",
             [this, &worker, then = std::move(then)](int status, std::string_view body) {
               const Json said = Json::parse(body, nullptr, false);
               if (status != 200 || !said.is_object() || !said["lease"].is_object()) return Fail("POST /v1/work", status, body);
               worker.order = said["lease"].value("order", "");
               worker.lease = said["lease"].value("lease", std::int64_t{0});
               worker.target = fmt::format("/v1/orders/{}/leases/{}/telemetry", worker.order, worker.lease);
               then();
             });
}

void Crowd::OpenView(Viewer& viewer) {
  const std::string target = fmt::format("/v1/orders/{}/events", viewer.order);
  wires_.Listen(viewer.wire, wires::Write({.method = "GET", .target = target, .token = client_token_}),
                [this, &viewer](std::string_view piece, bool over) {
                  if (over) return Fail("a viewer's stream", 0, piece);
                  const auto taken = viewer.reader.Take(piece, [&](const ServerEvent& event) { return See(viewer, event); });
                  if (!taken) Fail("a viewer's stream", 0, taken.error().message);
                });
}

bool Crowd::See(Viewer& viewer, const ServerEvent& event) {
  viewer.begun = true;
  if (event.type != "telemetry") return true;
  std::int64_t& last = viewer.last[NumberOf(event.data, "\"lease\":")];
  const std::int64_t step = NumberOf(event.data, "\"step\":");
  if (step != last + 1) ++outcome_.out_of_place;
  last = std::max(last, step);
  ++outcome_.seen;
  return true;
}

void Crowd::Tell(Worker& worker) {
  const auto count = static_cast<std::int64_t>(std::min(worker.due.size(), kMostSamples));
  std::string body = R"({"samples":[)";
  for (std::int64_t i = 1; i <= count; ++i) body += (i > 1 ? "," : "") + SampleText(worker.accepted + i);
  body += "]}";
  SendSigned(worker, worker.wire, "POST", worker.target, body, [this, &worker, count](int status, std::string_view answer) {
    const auto now = Clock::now();
    if (status == 200) {
      for (std::int64_t i = 0; i < count; ++i) {
        outcome_.samples.ms.push_back(duration<double, std::milli>(now - worker.due.front()).count());
        worker.due.pop_front();
      }
      worker.accepted += count;
      outcome_.accepted += count;
      if (!worker.due.empty()) Tell(worker);
    } else if (status == 429 || status == 503) {
      ++outcome_.put_off;  // with the next one
      worker.not_before = now + std::chrono::seconds(1);
    } else {
      Fail("telemetry", status, answer);
    }
  });
}

void Crowd::Poll(Worker& worker, int wait_ms) {
  const std::string body = fmt::format(R"({{"wait_ms":{},"holding":["{}"],"new":true}})", wait_ms, worker.order);
  SendSigned(worker, worker.poll, "POST", "/v1/work", body, [this, &worker](int status, std::string_view answer) {
    if (is_over_) return;
    ++outcome_.polls;
    if (status != 200) return Fail("POST /v1/work", status, answer);
    Poll(worker, kPollMs);
  });
}

// Workers are due one after the other, so that each of them is once a second.
void Crowd::TellDue(Clock::time_point now) {
  const std::size_t count = workers_.size();
  const std::size_t all = count * static_cast<std::size_t>(plan_.seconds);
  for (; next_sample_ < all; ++next_sample_) {
    const auto due = begin_ + std::chrono::nanoseconds(1'000'000'000 * next_sample_ / count);
    if (due > now) return;
    Worker& worker = workers_[next_sample_ % count];
    ++worker.made;
    ++outcome_.made;
    worker.due.push_back(due);
    if (!wires_.IsBusy(worker.wire)) Tell(worker);
  }
  // What was put off after the last one.
  for (Worker& worker : workers_) {
    if (!worker.due.empty() && !wires_.IsBusy(worker.wire) && now > worker.not_before && outcome_.failed == 0) Tell(worker);
  }
}

// What clients ask, in the proportions in which they may.
Crowd::Call Crowd::NextCall() {
  constexpr std::string_view kTurns = "slisLpsliwslisLcslgi";
  const std::string& order = orders_[next_call_ * 7 % orders_.size()];
  switch (kTurns[next_call_ % kTurns.size()]) {
    case 's': return {"show", "GET", "/v1/orders/" + order, ""};
    case 'l': return {"list", "GET", "/v1/orders?limit=100", ""};
    case 'i': return {"life", "GET", fmt::format("/v1/orders/{}/life?from=0", order), ""};
    case 'L': return {"submit", "POST", "/v1/orders", stage_.MakeOrder(2)};
    case 'w': return {"workers", "GET", "/v1/workers", ""};
    case 'g': return {"blob", "GET", "/v1/blobs/" + stage_.job_blob(), ""};
    case 'c': break;
    default: return {"coordinator", "GET", "/v1/coordinator", ""};
  }
  if (to_cancel_.empty()) return {"show", "GET", "/v1/orders/" + order, ""};
  const std::string id = to_cancel_.front();
  to_cancel_.pop_front();
  return {"cancel", "POST", fmt::format("/v1/orders/{}/cancel", id), "{}"};
}

void Crowd::CallDue(Clock::time_point now) {
  const std::size_t all = static_cast<std::size_t>(plan_.calls_per_s) * static_cast<std::size_t>(plan_.seconds);
  for (; next_call_ < all; ++next_call_) {
    const auto due =
        begin_ + std::chrono::nanoseconds(1'000'000'000 * next_call_ / static_cast<std::size_t>(plan_.calls_per_s));
    if (due > now) return;
    const auto wire = std::ranges::find_if(callers_, [&](wires::Wires::Id id) { return !wires_.IsBusy(id); });
    if (wire == callers_.end()) return;
    const Call call = NextCall();
    wires_.Send(*wire, wires::Write({.method = call.method, .target = call.target, .token = client_token_, .body = call.body}),
                [this, name = call.name, due](int status, std::string_view body) {
                  outcome_.calls[name].ms.push_back(duration<double, std::milli>(Clock::now() - due).count());
                  if (status != 200 && status != 201) return Fail(name, status, body);
                  if (name == "submit") to_cancel_.push_back(Json::parse(body, nullptr, false).value("id", ""));
                });
  }
}

bool Crowd::IsDone() const {
  const bool answered = std::ranges::all_of(workers_, [](const Worker& worker) { return worker.due.empty(); });
  return answered && std::ranges::none_of(callers_, [&](wires::Wires::Id id) { return wires_.IsBusy(id); });
}

void Crowd::Run() {
  begin_ = Clock::now();
  const auto end = begin_ + std::chrono::seconds(plan_.seconds);
  while (Clock::now() < end) {
    const auto now = Clock::now();
    TellDue(now);
    CallDue(now);
    wires_.Turn(1);
  }
  std::map<std::string, std::int64_t> accepted;
  for (auto quiet = Clock::now(); Clock::now() - quiet < std::chrono::seconds(10);) {
    const std::int64_t before = outcome_.seen + outcome_.accepted;
    TellDue(Clock::now());
    CallDue(Clock::now());
    wires_.Turn(10);
    if (outcome_.seen + outcome_.accepted != before) quiet = Clock::now();
    accepted.clear();
    for (const Worker& worker : workers_) accepted[worker.order] += worker.accepted;
    outcome_.to_see = 0;
    for (const Viewer& viewer : viewers_) outcome_.to_see += accepted[viewer.order];
    if (IsDone() && outcome_.seen >= outcome_.to_see) break;
  }
  is_over_ = true;
}

}  // namespace assay::load
