// Bytes that nobody should find in memory afterwards: wiped when they are destroyed, moved from or overwritten, never copied by
// accident. Neither class is synchronised.
#pragma once

#include <string.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace assay::seal {

inline void Wipe(std::span<std::uint8_t> secret) {
  if (!secret.empty()) ::explicit_bzero(secret.data(), secret.size());
}
inline void Wipe(std::span<char> secret) {
  if (!secret.empty()) ::explicit_bzero(secret.data(), secret.size());
}

// A key of N bytes. Movable.
template <std::size_t N>
class Secret {
 public:
  Secret() = default;
  explicit Secret(const std::array<std::uint8_t, N>& bytes) : bytes_(bytes) {}
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  Secret(Secret&& other) noexcept : bytes_(other.bytes_) { Wipe(other.bytes_); }
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    bytes_ = other.bytes_;
    Wipe(other.bytes_);
    return *this;
  }
  ~Secret() { Wipe(bytes_); }
  std::array<std::uint8_t, N>& bytes() { return bytes_; }
  const std::array<std::uint8_t, N>& bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, N> bytes_{};
};

// A buffer for plaintext, of a size that is fixed when it is made. Movable; empty when moved from.
class SecretBuffer {
 public:
  explicit SecretBuffer(std::size_t size) : data_(new std::uint8_t[size]{}), size_(size) {}
  SecretBuffer(SecretBuffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  SecretBuffer& operator=(SecretBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SecretBuffer() { Wipe(span()); }
  std::span<std::uint8_t> span() { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::uint8_t[]> data_;
  std::size_t size_ = 0;
};

}  // namespace assay::seal
