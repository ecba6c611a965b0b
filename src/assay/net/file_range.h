// Some bytes of a file that are sent, by a server or a client, without being held in memory. Copies share the descriptor; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "assay/base/result.h"

namespace assay {

// Some bytes of a file, which stays open for as long as they may be needed. Ranges that a client asks for are the caller's to work out.
class FileRange {
 public:
  // Takes the descriptor over. The file has to have these bytes: one that turns out shorter makes a connection that ends too early.
  FileRange(int descriptor, std::uint64_t offset, std::uint64_t length);
  static Result<FileRange> Open(const std::string& path, std::uint64_t offset, std::uint64_t length);

  std::uint64_t length() const { return length_; }
  // The same as Read where that need not wait for the disk; otherwise false, and nothing is known of `into`.
  bool ReadAtOnce(std::uint64_t at, std::uint8_t* into, std::size_t count) const;
  // `count` bytes from `at` of the range on. Waits for the disk.
  Status Read(std::uint64_t at, std::uint8_t* into, std::size_t count) const;

 private:
  std::shared_ptr<const int> descriptor_;
  std::uint64_t offset_;
  std::uint64_t length_;
};

}  // namespace assay
