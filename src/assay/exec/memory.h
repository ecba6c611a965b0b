// Memory: uninitialised, 64-byte aligned storage. Pages that are never touched cost nothing. Movable; not synchronised.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace assay::exec {

class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes);
  char* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace assay::exec
