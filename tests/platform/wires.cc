#include "platform/wires.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "assay/base/check.h"

namespace assay::wires {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::string_view kHeaderEnd = "\r\n\r\n";

std::optional<std::size_t> LengthOf(std::string_view header) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const std::size_t at = header.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t length = 0;
  const char* begin = header.data() + at + kName.size();
  if (std::from_chars(begin, header.data() + header.size(), length).ec != std::errc()) return std::nullopt;
  return length;
}

int StatusOf(std::string_view header) {
  int status = 0;
  constexpr std::size_t kAt = std::string_view("HTTP/1.1 ").size();
  if (header.size() > kAt + 3) std::from_chars(header.data() + kAt, header.data() + kAt + 3, status);
  return status;
}

}  // namespace

std::string Write(const Message& message) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {}\r\n", message.method, message.target,
                                 message.token);
  for (const auto& [name, value] : message.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!message.body.empty())
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", message.body.size());
  text += "\r\n";
  text += message.body;
  return text;
}

Wires::Wires(std::uint16_t port) : port_(port), poll_(::epoll_create1(EPOLL_CLOEXEC)), piece_(kPieceBytes) {
  ASSAY_CHECK(poll_ >= 0);
}

Wires::~Wires() {
  for (const auto& wire : wires_) {
    if (wire->descriptor >= 0) ::close(wire->descriptor);
  }
  ::close(poll_);
}

Wires::Id Wires::Add() {
  wires_.push_back(std::make_unique<Wire>());
  return wires_.size() - 1;
}

Status Wires::Connect(Wire& wire, Id id) {
  wire.is_new = false;
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return Err("socket: {}", std::strerror(errno));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int number = errno;
    ::close(descriptor);
    return Err("connect: {}", std::strerror(number));
  }
  wire.descriptor = descriptor;
  Watch(wire, id, EPOLL_CTL_ADD);
  return {};
}

void Wires::Watch(const Wire& wire, Id id, int how) const {
  epoll_event event{};
  event.events = wire.asks_to_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = id;
  ASSAY_CHECK(::epoll_ctl(poll_, how, wire.descriptor, &event) == 0);
}

void Wires::Send(Id id, const std::string& request, Answered answered) {
  ASSAY_CHECK(!IsBusy(id));
  wires_[id]->answered = std::move(answered);
  Begin(id, request);
}

void Wires::Listen(Id id, const std::string& request, Streamed streamed) {
  ASSAY_CHECK(!IsBusy(id));
  wires_[id]->streamed = std::move(streamed);
  Begin(id, request);
}

void Wires::Begin(Id id, const std::string& request) {
  Wire& wire = *wires_[id];
  if (wire.is_new) {
    if (const Status connected = Connect(wire, id); !connected) return End(wire, connected.error().message);
  }
  if (wire.descriptor < 0) return End(wire, "the connection has ended");
  wire.out += request;
  Flush(wire, id);
}

void Wires::Flush(Wire& wire, Id id) {
  const ssize_t sent = ::send(wire.descriptor, wire.out.data(), wire.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN) return End(wire, std::strerror(errno));
  if (sent > 0) wire.out.erase(0, static_cast<std::size_t>(sent));
  if (wire.asks_to_write == wire.out.empty()) {
    wire.asks_to_write = !wire.out.empty();
    Watch(wire, id, EPOLL_CTL_MOD);
  }
}

// The callback may begin the next request, so it has left the wire before it is called.
void Wires::End(Wire& wire, std::string_view why) {
  if (wire.descriptor >= 0) ::close(wire.descriptor);
  wire.descriptor = -1;
  if (const Answered answered = std::exchange(wire.answered, nullptr)) answered(0, why);
  if (const Streamed streamed = std::exchange(wire.streamed, nullptr)) streamed(why, true);
}

void Wires::Receive(Wire& wire) {
  const ssize_t got = ::recv(wire.descriptor, piece_.data(), piece_.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) return End(wire, got == 0 ? "the server closed the connection" : std::strerror(errno));
  wire.in.append(piece_.data(), static_cast<std::size_t>(got));
  if (wire.streamed) {
    TakeStream(wire);
  } else {
    TakeAnswer(wire);
  }
}

void Wires::TakeAnswer(Wire& wire) {
  const std::size_t end = wire.in.find(kHeaderEnd);
  if (end == std::string::npos) return;
  const std::string_view header(wire.in.data(), end + 2);
  const std::optional<std::size_t> length = LengthOf(header);
  if (!length || !wire.answered) return End(wire, "an answer without a length, or to nothing");
  const std::size_t whole = end + kHeaderEnd.size() + *length;
  if (wire.in.size() < whole) return;
  const int status = StatusOf(header);
  const std::string in = std::exchange(wire.in, {});
  const Answered answered = std::exchange(wire.answered, nullptr);
  answered(status, std::string_view(in).substr(end + kHeaderEnd.size(), *length));
}

void Wires::TakeStream(Wire& wire) {
  if (!wire.streams) {
    const std::size_t end = wire.in.find(kHeaderEnd);
    if (end == std::string::npos) return;
    const std::string header = wire.in.substr(0, end + 2);
    if (StatusOf(header) != 200 || LengthOf(header)) return End(wire, header);
    wire.in.erase(0, end + kHeaderEnd.size());
    wire.streams = true;
  }
  std::string_view rest = wire.in;
  while (!rest.empty()) {
    if (wire.chunk_left > 2) {  // two bytes of line end come after its content
      const std::string_view content = rest.substr(0, wire.chunk_left - 2);
      wire.chunk_left -= content.size();
      rest.remove_prefix(content.size());
      wire.streamed(content, false);
    } else if (wire.chunk_left > 0) {
      const std::size_t line_end = std::min(wire.chunk_left, rest.size());
      wire.chunk_left -= line_end;
      rest.remove_prefix(line_end);
    } else {
      const std::size_t end = rest.find("\r\n");
      if (end == std::string_view::npos) break;
      std::size_t size = 0;
      std::from_chars(rest.data(), rest.data() + end, size, 16);
      if (size == 0) return End(wire, "the stream is over");
      wire.chunk_left = size + 2;
      rest.remove_prefix(end + 2);
    }
  }
  wire.in.erase(0, wire.in.size() - rest.size());
}

void Wires::Turn(int timeout_ms) {
  std::array<epoll_event, 512> events;
  const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    Wire& wire = *wires_[event.data.u64];
    if (wire.descriptor >= 0 && (event.events & EPOLLOUT) != 0) Flush(wire, event.data.u64);
    if (wire.descriptor >= 0 && (event.events & ~static_cast<unsigned>(EPOLLOUT)) != 0) Receive(wire);
  }
}

}  // namespace assay::wires
