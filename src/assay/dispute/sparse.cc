#include "assay/dispute/sparse.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {

Result<SparseTensor> SparseTensor::Make(const TensorType& type) {
  const std::size_t bytes = std::max<std::size_t>(type.bytes(), 1);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return tl::unexpected(Error{fmt::format("no room for the addresses of {}", ToString(type)), true});
  return SparseTensor(data, bytes);
}

SparseTensor::SparseTensor(SparseTensor&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SparseTensor& SparseTensor::operator=(SparseTensor&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SparseTensor::~SparseTensor() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void SparseTensor::Put(std::uint64_t index, ByteSpan leaf) {
  ASSAY_CHECK(index < CountLeaves(bytes_) && leaf.size() <= bytes_ - index * kLeafBytes);
  std::memcpy(static_cast<std::uint8_t*>(data_) + index * kLeafBytes, leaf.data(), leaf.size());
}

}  // namespace assay::dispute
