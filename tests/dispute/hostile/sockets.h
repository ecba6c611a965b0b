// Plain sockets of IPv4, closed when they go out of scope.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <utility>

#include "assay/base/result.h"
#include "assay/net/url.h"

namespace assay::hostile {

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  // Whatever of it fits at once. False once the peer has closed.
  bool SendSome(std::string_view text) const;
  // Whether nothing came but an end: what did come is thrown away.
  bool IsClosed() const;
  // Closing then resets the connection instead of ending it.
  void ResetOnClose() const;

 private:
  int descriptor_;
};

// The address of http://A.B.C.D:PORT.
Result<sockaddr_in> AddressOf(const std::string& url);
// From 127.0.0.`host`, or from wherever the system likes where that is 0. Not open where the connection was refused.
Socket ConnectTo(const sockaddr_in& address, int host);
// A free port of 127.0.0.1.
Result<std::pair<Socket, std::uint16_t>> ListenAnywhere();

}  // namespace assay::hostile
