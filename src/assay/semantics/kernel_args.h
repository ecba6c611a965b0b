// What a kernel receives, be it one that defines an op's bits or one of a backend that computes them faster. Value type.
#pragma once

#include <cstddef>
#include <span>

#include "assay/graph/op_def.h"

namespace assay {

// Pointers to dense row-major data, one per input and output of the op. For whole-op calls they point at element 0.
struct KernelArgs {
  const OpInstance* op = nullptr;
  std::span<const void* const> in;
  std::span<void* const> out;

  const Attrs& attrs() const { return op->attrs; }
  const TensorType& in_type(std::size_t k) const { return op->in[k]; }
  const TensorType& out_type(std::size_t k) const { return op->out[k]; }
  template <class T>
  const T* In(std::size_t k) const {
    return static_cast<const T*>(in[k]);
  }
  template <class T>
  T* Out(std::size_t k) const {
    return static_cast<T*>(out[k]);
  }
};

}  // namespace assay
