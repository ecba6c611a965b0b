// PostgresProxy: stands between a client and a PostgreSQL server on sockets of the file system, and cuts the connection at a commit: before the
// server hears of it, or before the client hears that it is done.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "assay/store/descriptor.h"
#include "support/scratch.h"

namespace assay::store {

class PostgresProxy {
 public:
  enum class Cut { kNone, kRequest, kAnswer };

  explicit PostgresProxy(const std::string& server_folder)
      : server_(Address(server_folder)), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un here = Address(scratch_.path());
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof(here)) != 0 ||
        ::listen(listener_.get(), 16) != 0)
      std::abort();
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~PostgresProxy() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& relay : relays_) relay.join();
  }
  PostgresProxy(const PostgresProxy&) = delete;
  PostgresProxy& operator=(const PostgresProxy&) = delete;

  std::string folder() const { return scratch_.path(); }
  void CutAtCommit(Cut cut) { cut_ = cut; }  // at the next one

 private:
  static sockaddr_un Address(const std::string& folder) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder + "/.s.PGSQL.5432";
    std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof(address.sun_path) - 1));
    return address;
  }
  static bool Readable(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    return ::poll(&one, 1, 10) > 0;
  }

  void Accept() {
    while (!stopping_) {
      if (!Readable(listener_.get())) continue;
      Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      Descriptor server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&server_), sizeof(server_)) != 0) continue;
      relays_.emplace_back(
          [this, client = std::move(client), server = std::move(server)] { Relay(client.get(), server.get()); });
    }
  }

  void Relay(int client, int server) {
    bool swallow = false;
    while (!stopping_) {
      pollfd both[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      if (::poll(both, 2, 10) <= 0) continue;
      char buffer[65536];
      if (both[0].revents != 0) {
        const ssize_t got = ::read(client, buffer, sizeof(buffer));
        if (got <= 0) return;
        if (std::string_view(buffer, static_cast<std::size_t>(got)).find("COMMIT") != std::string_view::npos) {
          const Cut cut = cut_.exchange(Cut::kNone);
          if (cut == Cut::kRequest) return;
          swallow = cut == Cut::kAnswer;
        }
        if (::send(server, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) return;
      }
      if (both[1].revents != 0) {
        const ssize_t got = ::read(server, buffer, sizeof(buffer));
        if (got <= 0 || swallow) return;
        if (::send(client, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) return;
      }
    }
  }

  testkit::Scratch scratch_;
  const sockaddr_un server_;
  Descriptor listener_;
  std::atomic<Cut> cut_ = Cut::kNone;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> relays_;
  std::thread acceptor_;
};

}  // namespace assay::store
