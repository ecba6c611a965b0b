#include "sockets.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace assay::hostile {

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Socket::SendSome(std::string_view text) const {
  const ssize_t sent = send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent >= 0 || errno == EAGAIN || errno == EWOULDBLOCK;
}

bool Socket::IsClosed() const {
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = recv(descriptor_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got == 0) return true;
    if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
  }
}

void Socket::ResetOnClose() const {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

Result<sockaddr_in> AddressOf(const std::string& url) {
  ASSAY_ASSIGN(const Url parsed, ParseUrl(url));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(parsed.server.port);
  if (inet_pton(AF_INET, parsed.server.host.c_str(), &address.sin_addr) != 1) return Err("{}: expected an IPv4 address", url);
  return address;
}

Socket ConnectTo(const sockaddr_in& address, int host) {
  Socket made(socket(AF_INET, SOCK_STREAM, 0));
  if (host != 0) {
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + static_cast<std::uint32_t>(host));
    if (bind(made.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from)) != 0) return Socket();
  }
  if (connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return Socket();
  return made;
}

Result<std::pair<Socket, std::uint16_t>> ListenAnywhere() {
  Socket listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(listener.get(), 64) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return Err("cannot listen on 127.0.0.1");
  }
  return std::pair(std::move(listener), ntohs(address.sin_port));
}

}  // namespace assay::hostile
