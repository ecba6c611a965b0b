// One op with its data, run by the best CPU backend of this machine: what a benchmark measures as "ours".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "assay/backend/cpu/cpu.h"
#include "assay/base/philox.h"
#include "assay/base/thread_pool.h"
#include "assay/ops/table.h"

namespace assay::bench {

// Uniform in [-1, 1), the same in every run.
inline Tensor RandomTensor(Shape shape, std::uint32_t seed) {
  Tensor tensor(DType::kF32, shape);
  const std::span<float> values = tensor.Span<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const PhiloxBlock draw = Philox({seed, 0}, {static_cast<std::uint32_t>(i), 0, 0, 0});
    values[i] = static_cast<float>(static_cast<std::int32_t>(draw[0])) * 0x1p-31f;
  }
  return tensor;
}

class Machine {
 public:
  explicit Machine(int threads) : pool_(threads), backend_(cpu::MakeCpuBackend(cpu::SupportedSimd().front(), pool_)) {}
  Backend& backend() { return *backend_; }
  ThreadPool& pool() { return pool_; }

 private:
  ThreadPool pool_;
  std::unique_ptr<Backend> backend_;
};

class BackendOp {
 public:
  BackendOp(OpIndex op, Attrs attrs, const Tensor& a, const Tensor& b, Shape out) : out_(DType::kF32, out) {
    def_.index = op;
    instance_.def = &def_;
    instance_.attrs = std::move(attrs);
    instance_.in = {a.type(), b.type()};
    instance_.out = {out_.type()};
    in_ = {a.data(), b.data()};
    outs_ = {out_.data()};
  }
  BackendOp(const BackendOp&) = delete;
  BackendOp& operator=(const BackendOp&) = delete;

  void Run(Backend& backend) { backend.Run({&instance_, in_, outs_}); }
  Tensor& out() { return out_; }

 private:
  Tensor out_;
  OpDef def_;
  OpInstance instance_;
  std::vector<const void*> in_;
  std::vector<void*> outs_;
};

}  // namespace assay::bench
