#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "hostile.h"
#include "sockets.h"

namespace assay::hostile {
namespace {

using std::chrono::steady_clock;

// False at the end of what comes from `from`, or when `to` takes no more.
bool Carry(const Socket& from, const Socket& to) {
  std::array<char, 16384> piece;
  const ssize_t got = recv(from.get(), piece.data(), piece.size(), 0);
  ssize_t sent = 0;
  while (got > 0 && sent < got) {
    const ssize_t now = send(to.get(), piece.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += now;
  }
  return got > 0;
}

void CarryBothWays(const Socket& one, const Socket& other) {
  for (bool open = true; open;) {
    std::array<pollfd, 2> ready{pollfd{.fd = one.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = other.get(), .events = POLLIN, .revents = 0}};
    if (poll(ready.data(), ready.size(), -1) < 0) return;
    if (ready[0].revents != 0) open = Carry(one, other);
    if (open && ready[1].revents != 0) open = Carry(other, one);
  }
}

}  // namespace

Status Relay(const RelayOptions& options) {
  ASSAY_ASSIGN(const sockaddr_in address, AddressOf(options.url));
  ASSAY_ASSIGN(const auto listener, ListenAnywhere());
  fmt::print("listening on http://127.0.0.1:{}\n", listener.second);
  std::fflush(stdout);
  const auto start = steady_clock::now();
  for (int number = 0;; ++number) {
    Socket peer(accept(listener.first.get(), nullptr, nullptr));
    if (!peer) continue;
    if (number < options.drop || steady_clock::now() - start < std::chrono::duration<double>(options.drop_seconds)) {
      std::array<char, 4096> request;
      static_cast<void>(recv(peer.get(), request.data(), request.size(), 0));
      peer.ResetOnClose();
      continue;
    }
    std::thread([peer = std::move(peer), address] {
      if (const Socket provider = ConnectTo(address, 0)) CarryBothWays(peer, provider);
    }).detach();
  }
}

}  // namespace assay::hostile
