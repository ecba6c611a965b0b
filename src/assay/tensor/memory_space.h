// MemorySpace: a memory that tensors can live in: the host's, or that of a device, which the host reaches only by copying.
//
// Allocation owns a piece of it. Copies to and from the host are complete when they return; all come after what was asked of the device before.
// Not synchronised; HostMemory is.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace assay {

// Too little memory, in words.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string what) : what_(std::make_shared<const std::string>(std::move(what))) {}
  const char* what() const noexcept override { return what_->c_str(); }

 private:
  std::shared_ptr<const std::string> what_;
};

class MemorySpace {
 public:
  virtual ~MemorySpace() = default;
  virtual bool is_host() const = 0;
  // Uninitialised, 64-byte aligned at least; never null. Throws std::bad_alloc, or what derives from it and says more.
  virtual void* Allocate(std::size_t bytes) = 0;
  virtual void Free(void* data) noexcept = 0;
  virtual void Zero(void* data, std::size_t bytes) = 0;
  virtual void CopyIn(void* to, const void* from_host, std::size_t bytes) = 0;
  virtual void CopyOut(void* to_host, const void* from, std::size_t bytes) = 0;
  virtual void CopyInside(void* to, const void* from, std::size_t bytes) = 0;  // may overlap
};

MemorySpace& HostMemory();

class Allocation {
 public:
  Allocation() = default;
  Allocation(MemorySpace& space, std::size_t bytes) : data_(space.Allocate(bytes), Free(&space)), bytes_(bytes) {}

  void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  MemorySpace& space() const { return data_ ? *data_.get_deleter().space : HostMemory(); }

 private:
  struct Free {
    Free() : space(nullptr) {}
    explicit Free(MemorySpace* s) : space(s) {}
    MemorySpace* space;
    void operator()(void* data) const { space->Free(data); }
  };
  std::unique_ptr<void, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace assay
