#include "assay/dispute/sparse.h"

#ifndef __wasm__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {

#ifdef __wasm__

// Addresses are counted modulo 2^32 here: element 0 may lie below what was allocated, and even below 0, as long as nothing but the stretch is used.
Result<SparseTensor> SparseTensor::Make(const TensorType& type, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t begin = first * kLeafBytes;
  const std::uint64_t end = std::min<std::uint64_t>(type.bytes(), (last + 1) * kLeafBytes);
  const auto bytes = static_cast<std::size_t>(first > last || begin >= end ? 1 : end - begin);
  void* kept = std::calloc(bytes, 1);
  ASSAY_CHECK(kept != nullptr && "memory of a browser's judge");
  return SparseTensor(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(kept) - static_cast<std::uintptr_t>(begin)),
                      type.bytes(), kept);
}

SparseTensor::~SparseTensor() { std::free(kept_); }

#else

Result<SparseTensor> SparseTensor::Make(const TensorType& type, std::uint64_t, std::uint64_t) {
  const std::size_t bytes = std::max<std::size_t>(type.bytes(), 1);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return tl::unexpected(Error{fmt::format("no room for the addresses of {}", ToString(type)), true});
  return SparseTensor(data, bytes, data);
}

SparseTensor::~SparseTensor() {
  if (kept_ != nullptr) munmap(kept_, bytes_);
}

#endif

SparseTensor::SparseTensor(SparseTensor&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      kept_(std::exchange(other.kept_, nullptr)) {}

SparseTensor& SparseTensor::operator=(SparseTensor&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(kept_, other.kept_);
  return *this;
}

void SparseTensor::Put(std::uint64_t index, ByteSpan leaf) {
  ASSAY_CHECK(index < CountLeaves(bytes_) && leaf.size() <= bytes_ - index * kLeafBytes);
  std::memcpy(static_cast<std::uint8_t*>(data_) + index * kLeafBytes, leaf.data(), leaf.size());
}

}  // namespace assay::dispute
