// What every backend's kernels receive, and the interface through which the executor runs them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

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

// A device that can run ops. Implementations give the same bytes; they differ in speed alone. One call at a time.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  // Runs the whole op. Outputs do not overlap inputs, except that an elementwise op may have an output in the place of an aligned
  // input when in_place() says so.
  virtual void Run(const KernelArgs& args) = 0;

  // Runs elements [begin, end) of an elementwise op on the calling thread. Aligned inputs and all outputs point at element `begin`;
  // the other inputs point at their element 0. This is what fused groups are made of.
  virtual void RunElements(const KernelArgs& args, std::int64_t begin, std::int64_t end) = 0;

  // Calls body(begin, end, worker) in parallel over [0, n) in pieces of `grain`; worker < workers().
  virtual void ParallelFor(std::int64_t n, std::int64_t grain,
                           const std::function<void(std::int64_t, std::int64_t, int)>& body) = 0;
  virtual int workers() const = 0;

  virtual bool in_place() const = 0;
};

}  // namespace assay
