#include "channel.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace assay::observe {
namespace {

tl::unexpected<Error> Failed(std::string_view what) { return Err("{}: {}", what, std::strerror(errno)); }

void Close(int file) {
  if (file >= 0) ::close(file);
}

}  // namespace

Result<Channel> Channel::Make(std::size_t bytes, std::string& theirs) {
  const int memory = ::memfd_create("observe", 0);
  if (memory < 0) return Failed("memfd_create");
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
    Close(memory);
    return Failed("socketpair");
  }
  Channel channel(memory, ends[0], ends[1]);
  if (::ftruncate(memory, static_cast<off_t>(bytes)) != 0) return Failed("ftruncate");
  ASSAY_TRY(channel.Map());
  theirs = fmt::format("{},{}", memory, ends[1]);
  return channel;
}

Result<Channel> Channel::Open(const std::string& theirs) {
  const std::size_t comma = theirs.find(',');
  int memory = -1, socket = -1;
  const char *first = theirs.data(), *last = first + theirs.size();
  if (comma == std::string::npos || std::from_chars(first, first + comma, memory).ec != std::errc{} ||
      std::from_chars(first + comma + 1, last, socket).ec != std::errc{}) {
    return Err("expected two open files, got {}", theirs);
  }
  Channel channel(memory, socket, -1);
  ASSAY_TRY(channel.Map());
  return channel;
}

Channel::Channel(Channel&& other) noexcept
    : memory_(std::exchange(other.memory_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      theirs_(std::exchange(other.theirs_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

Channel::~Channel() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  Close(memory_);
  Close(socket_);
  Close(theirs_);
}

Status Channel::Map() {
  struct stat status{};
  if (::fstat(memory_, &status) != 0) return Failed("fstat");
  bytes_ = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
  if (data == MAP_FAILED) return Failed("mmap");
  data_ = static_cast<char*>(data);
  return {};
}

bool Channel::Signal() const {
  const char turn = 1;
  return ::send(socket_, &turn, 1, MSG_NOSIGNAL) == 1;
}

bool Channel::Wait() const {
  char turn = 0;
  ssize_t got = 0;
  do got = ::recv(socket_, &turn, 1, 0);
  while (got < 0 && errno == EINTR);
  return got == 1;
}

void Channel::CloseTheirs() { Close(std::exchange(theirs_, -1)); }

}  // namespace assay::observe
