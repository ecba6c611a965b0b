// Peers that do not keep to the protocol, on plain blocking sockets of 127.0.0.1, or of another address of 127.0.0.0/8 where a test needs
// several peers. Every wait ends after ten seconds.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "assay/base/check.h"

namespace assay {

class RawSocket {
 public:
  explicit RawSocket(int descriptor) : descriptor_(descriptor) {
    ASSAY_CHECK(descriptor_ >= 0);
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }
  RawSocket(RawSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  // `host`: the last part of the address to come from.
  static RawSocket ConnectTo(std::uint16_t port, int host = 1) {
    RawSocket raw(socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in from = Loopback(0, host);
    ASSAY_CHECK(bind(raw.descriptor_, reinterpret_cast<const sockaddr*>(&from), sizeof(from)) == 0);
    const sockaddr_in address = Loopback(port);
    ASSAY_CHECK(connect(raw.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    return raw;
  }

  static sockaddr_in Loopback(std::uint16_t port, int host = 1) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<std::uint32_t>(host));
    return address;
  }

  // False once the peer has closed.
  bool Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // What comes until the peer closes or `enough` has been seen.
  std::string Receive(std::string_view enough = {}) const {
    std::string all;
    std::array<char, 4096> piece;
    for (;;) {
      const ssize_t got = recv(descriptor_, piece.data(), piece.size(), 0);
      if (got <= 0) return all;
      all.append(piece.data(), static_cast<std::size_t>(got));
      if (!enough.empty() && all.find(enough) != std::string::npos) return all;
    }
  }
  // Closing then resets the connection instead of ending it.
  void ResetOnClose() const {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// A server that does to each connection what `behaviour` says, one after the other.
class RawServer {
 public:
  explicit RawServer(std::function<void(RawSocket peer)> behaviour) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = RawSocket::Loopback(0);
    socklen_t size = sizeof(address);
    ASSAY_CHECK(bind(listener_.descriptor(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    ASSAY_CHECK(listen(listener_.descriptor(), 16) == 0);
    ASSAY_CHECK(getsockname(listener_.descriptor(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, behaviour = std::move(behaviour)] {
      for (;;) {
        const int peer = accept(listener_.descriptor(), nullptr, nullptr);
        if (peer < 0) return;
        behaviour(RawSocket(peer));
      }
    });
  }
  ~RawServer() {
    shutdown(listener_.descriptor(), SHUT_RDWR);
    thread_.join();
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  RawSocket listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace assay
