// Channel: memory that two processes share, and a socket by which each tells the other that it is its turn. One thread at a time but for the memory.
#pragma once

#include <cstddef>
#include <string>

#include "assay/base/result.h"

namespace assay::observe {

class Channel {
 public:
  // This end; `theirs` is what Open takes in a program that inherits it.
  static Result<Channel> Make(std::size_t bytes, std::string& theirs);
  static Result<Channel> Open(const std::string& theirs);
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // Whether the other process is still there.
  bool Signal() const;
  bool Wait() const;
  // Closes the end that Make left open for the other process.
  void CloseTheirs();

 private:
  Channel(int memory, int socket, int theirs) : memory_(memory), socket_(socket), theirs_(theirs) {}
  Status Map();

  int memory_, socket_, theirs_;
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace assay::observe
