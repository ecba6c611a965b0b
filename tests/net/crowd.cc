#include "net/crowd.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

namespace assay::load {
namespace {

using Clock = std::chrono::steady_clock;

class Crowd {
 public:
  explicit Crowd(const Plan& plan) : plan_(plan), poll_(epoll_create1(EPOLL_CLOEXEC)) {}
  ~Crowd() {
    for (const Client& client : clients_) close(client.descriptor);
    close(poll_);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  Status ConnectAll();
  Outcome Run();

 private:
  struct Client {
    int descriptor = -1;
    bool is_viewer = false;
    bool is_waiting = false;
    bool is_lost = false;
    Clock::time_point due{};
    std::string got{};
  };

  void SendSample(std::size_t worker, Clock::time_point due);
  void Receive(Client& client);
  void TakeEvents(int timeout_ms);

  const Plan plan_;
  const int poll_;
  std::vector<Client> clients_;  // the workers, then the viewers
  std::vector<std::string> requests_;
  Outcome outcome_;
};

Status Crowd::ConnectAll() {
  const auto count = static_cast<std::size_t>(plan_.workers + plan_.viewers);
  for (std::size_t i = 0; i < count; ++i) {
    ASSAY_ASSIGN(const int descriptor, Connect(plan_.port));
    const bool is_viewer = i >= static_cast<std::size_t>(plan_.workers);
    clients_.push_back({.descriptor = descriptor, .is_viewer = is_viewer});
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event) != 0) return Err("epoll: {}", std::strerror(errno));
    if (is_viewer) {
      const std::string request =
          fmt::format("GET /view?{} HTTP/1.1\r\nHost: a\r\n\r\n", i - static_cast<std::size_t>(plan_.workers));
      if (send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) < 0) return Err("send: {}", std::strerror(errno));
      // Who has the header of its answer sees every event from then on.
      std::array<char, 1024> header;
      if (recv(descriptor, header.data(), header.size(), 0) <= 0) return Err("a viewer was not answered");
    } else {
      const std::string sample = fmt::format(R"({{"step": {}, "loss": 2.718281828, "tokens_per_s": 12345}})", i);
      requests_.push_back(
          fmt::format("POST /sample HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {:064}\r\nX-Worker: {}\r\n"
                      "Content-Length: {}\r\n\r\n{}",
                      i, i, sample.size(), sample));
    }
  }
  return {};
}

void Crowd::SendSample(std::size_t worker, Clock::time_point due) {
  Client& client = clients_[worker];
  if (client.is_lost) return;
  if (client.is_waiting) {
    ++outcome_.late;
    return;
  }
  client.is_waiting = true;
  client.due = due;
  const std::string& request = requests_[worker];
  if (send(client.descriptor, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    client.is_lost = true;
    ++outcome_.failed;
  }
}

void Crowd::Receive(Client& client) {
  std::array<char, 64 << 10> piece;
  const ssize_t got = recv(client.descriptor, piece.data(), piece.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    client.is_lost = true;
    ++outcome_.failed;
    epoll_ctl(poll_, EPOLL_CTL_DEL, client.descriptor, nullptr);
    return;
  }
  const std::string_view text(piece.data(), static_cast<std::size_t>(got));
  if (client.is_viewer) {
    outcome_.events += static_cast<std::size_t>(std::ranges::count(text, kMark));
    return;
  }
  client.got += text;
  const std::size_t end = client.got.find("\r\n\r\n");
  if (end == std::string::npos) return;
  const bool is_good = client.got.starts_with("HTTP/1.1 200 ");
  if (is_good && client.got.size() < end + 4 + kDone.size()) return;
  if (!is_good) ++outcome_.failed;
  client.got.clear();
  client.is_waiting = false;
  outcome_.latencies_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - client.due).count());
}

void Crowd::TakeEvents(int timeout_ms) {
  std::array<epoll_event, 256> events;
  const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) Receive(clients_[events[static_cast<std::size_t>(i)].data.u64]);
}

// The workers are due one after the other, so that each of them is once a second.
Outcome Crowd::Run() {
  const Clock::time_point begin = Clock::now();
  const auto workers = static_cast<std::size_t>(std::max(plan_.workers, 1));
  const std::size_t samples = plan_.workers > 0 ? workers * static_cast<std::size_t>(plan_.seconds) : 0;
  const auto due_at = [&](std::size_t sample) { return begin + std::chrono::nanoseconds(1'000'000'000 * sample / workers); };
  for (std::size_t next = 0; next < samples;) {
    while (next < samples && due_at(next) <= Clock::now()) {
      SendSample(next % workers, due_at(next));
      ++next;
    }
    TakeEvents(next < samples && due_at(next) > Clock::now() ? 1 : 0);
  }
  // What is on its way has two seconds.
  for (const auto last = Clock::now(); Clock::now() - last < std::chrono::seconds(2);) TakeEvents(10);
  for (const Client& client : clients_) outcome_.failed += !client.is_viewer && client.is_waiting && !client.is_lost ? 1 : 0;
  std::ranges::sort(outcome_.latencies_ms);
  return std::move(outcome_);
}

}  // namespace

double Outcome::Quantile(double q) const {
  if (latencies_ms.empty()) return 0;
  return latencies_ms[static_cast<std::size_t>(q * static_cast<double>(latencies_ms.size() - 1))];
}

Result<int> Connect(std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return Err("socket: {}", std::strerror(errno));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const Error error{fmt::format("connect: {}", std::strerror(errno))};
    close(descriptor);
    return tl::unexpected(error);
  }
  return descriptor;
}

Result<Outcome> Run(const Plan& plan) {
  Crowd crowd(plan);
  ASSAY_TRY(crowd.ConnectAll());
  return crowd.Run();
}

}  // namespace assay::load
