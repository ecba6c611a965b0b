#include "assay/backend/vendor_cuda/vendor_cuda.h"

#include <optional>
#include <vector>

#include "assay/backend/cuda/cuda.h"
#include "assay/backend/vendor_cuda/device_rounder.h"
#include "assay/ops/table.h"

namespace assay::vendor_cuda {
namespace {

// Ops that only move values, and integers: the CUDA backend's kernels give the same, up to the grid.
bool Moves(OpIndex op) {
  switch (op) {
    case op::fill:
    case op::neg:
    case op::maximum:
    case op::broadcast_to:
    case op::relu:
    case op::relu_grad:
    case op::reshape:
    case op::transpose:
    case op::slice:
    case op::pad:
    case op::concat:
    case op::row_max:
    case op::row_max_grad:
    case op::max_pool2d:
    case op::embedding: return true;
    default: return false;
  }
}

// Null for those.
Kernel KernelOf(OpIndex op) {
  switch (op) {
    case op::matmul: return &Run_matmul;
    case op::conv2d: return &Run_conv2d;
    case op::conv2d_grad_x: return &Run_conv2d_grad_x;
    case op::conv2d_grad_w: return &Run_conv2d_grad_w;
    case op::row_sum: return &Run_row_sum;
    case op::col_sum: return &Run_col_sum;
    case op::layernorm: return &Run_layernorm;
    case op::layernorm_grad_x: return &Run_layernorm_grad_x;
    case op::layernorm_grad_params: return &Run_layernorm_grad_params;
    case op::rmsnorm: return &Run_rmsnorm;
    case op::rmsnorm_grad_x: return &Run_rmsnorm_grad_x;
    case op::rmsnorm_grad_gamma: return &Run_rmsnorm_grad_gamma;
    case op::softmax: return &Run_softmax;
    case op::softmax_grad: return &Run_softmax_grad;
    case op::cross_entropy: return &Run_cross_entropy;
    case op::cross_entropy_grad: return &Run_cross_entropy_grad;
    case op::batchnorm_train: return &Run_batchnorm_train;
    case op::batchnorm_infer: return &Run_batchnorm_infer;
    case op::batchnorm_grad: return &Run_batchnorm_grad;
    case op::attention: return &Run_attention;
    case op::attention_grad: return &Run_attention_grad;
    case op::add: return &Run_add;
    case op::sub: return &Run_sub;
    case op::mul: return &Run_mul;
    case op::div: return &Run_div;
    case op::scale: return &Run_scale;
    case op::add_scalar: return &Run_add_scalar;
    case op::exp: return &Run_exp;
    case op::log: return &Run_log;
    case op::sqrt: return &Run_sqrt;
    case op::rsqrt: return &Run_rsqrt;
    case op::tanh: return &Run_tanh;
    case op::erf: return &Run_erf;
    case op::sin: return &Run_sin;
    case op::cos: return &Run_cos;
    case op::pow: return &Run_pow;
    case op::gelu_tanh: return &Run_gelu_tanh;
    case op::gelu_tanh_grad: return &Run_gelu_tanh_grad;
    case op::gelu_erf: return &Run_gelu_erf;
    case op::gelu_erf_grad: return &Run_gelu_erf_grad;
    case op::sigmoid: return &Run_sigmoid;
    case op::silu: return &Run_silu;
    case op::silu_grad: return &Run_silu_grad;
    case op::dropout: return &Run_dropout;
    case op::sum_squares: return &Run_sum_squares;
    case op::clip_scale: return &Run_clip_scale;
    case op::max_pool2d_grad: return &Run_max_pool2d_grad;
    case op::avg_pool2d: return &Run_avg_pool2d;
    case op::avg_pool2d_grad: return &Run_avg_pool2d_grad;
    case op::global_avg_pool: return &Run_global_avg_pool;
    case op::global_avg_pool_grad: return &Run_global_avg_pool_grad;
    case op::embedding_grad: return &Run_embedding_grad;
    case op::rope: return &Run_rope;
    case op::sgd: return &Run_sgd;
    case op::adam: return &Run_adam;
    case op::adamw: return &Run_adamw;
    default: return nullptr;
  }
}

class VendorCudaBackend final : public Backend {
 public:
  VendorCudaBackend(const vendor::Options& options, std::unique_ptr<Backend> device, Cublas blas, ThreadPool& pool)
      : rounds_(options.precision == vendor::Precision::kFp64Rounded),
        device_(std::move(device)),
        rounder_(rounds_ ? options.bits : numerics::Grid::kMaxBits),
        context_(cuda::ContextOf(*device_), std::move(blas), !rounds_),
        sinks_(rounder_, device_->memory(), context_.stream()) {
    rounder_.set_pool(&pool);
  }

  std::string_view name() const override { return "cublas"; }
  MemorySpace& memory() override { return device_->memory(); }
  rounding::Rounder* rounder() override { return rounds_ ? &rounder_ : nullptr; }

  void Run(const KernelArgs& args) override {
    const OpIndex op = args.op->def->index;
    if (Moves(op)) return Move(args);
    const std::vector<Sink> sinks = sinks_.SinksFor(args, rounds_);
    KernelOf(op)(args, sinks, context_);
  }

  // Node by node, as results are numbered. What others keep in slots is kept whole here.
  void RunGroup(const Group& group) override {
    const std::size_t slot_bytes = (static_cast<std::size_t>(group.elements) * sizeof(float) + 255) / 256 * 256;
    if (slots_.bytes() < group.slots * slot_bytes) {
      slots_ = {};
      slots_ = Allocation(memory(), group.slots * slot_bytes);
    }
    char* slots = static_cast<char*>(slots_.data());
    const auto at = [&](const GroupArgument& argument) {
      return argument.slot == GroupArgument::kInMemory ? argument.base : slots + argument.slot * slot_bytes;
    };
    for (const GroupNode& node : group.nodes) {
      std::vector<const void*> in;
      std::vector<void*> out;
      for (const GroupArgument& argument : node.in) in.push_back(at(argument));
      for (const GroupArgument& argument : node.out) out.push_back(at(argument));
      Run({node.op, in, out});
    }
    for (const GroupFlush& flush : group.flushes) {
      memory().CopyInside(flush.to, slots + flush.slot * slot_bytes,
                          static_cast<std::size_t>(group.elements) * flush.element_bytes);
    }
  }
  bool in_place() const override { return true; }

  std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors) override { return device_->TensorRoots(tensors); }
  void QueueLeafHashes(ByteSpan tensor) override { device_->QueueLeafHashes(tensor); }
  std::vector<Digest> TakeLeafHashes() override { return device_->TakeLeafHashes(); }
  std::unique_ptr<Recording> Record(const std::function<void()>&) override { return nullptr; }
  void Wait() override { device_->Wait(); }
  std::size_t peak_bytes() const override { return device_->peak_bytes(); }
  std::optional<std::size_t> free_bytes() const override { return device_->free_bytes(); }

 private:
  void Move(const KernelArgs& args) {
    device_->Run(args);
    const numerics::Grid& grid = sinks_.grid();
    if (grid.bits() == numerics::Grid::kMaxBits) return;
    for (std::size_t k = 0; k < args.out.size(); ++k) {
      if (args.out_type(k).dtype == DType::kF32)
        RoundInPlace(grid, args.Out<float>(k), args.out_type(k).elements(), context_.stream());
    }
  }

  const bool rounds_;
  std::unique_ptr<Backend> device_;
  rounding::Rounder rounder_;
  Context context_;
  DeviceRounder sinks_;
  Allocation slots_;
};

}  // namespace

bool HasKernel(OpIndex op) { return Moves(op) || KernelOf(op) != nullptr; }

Result<std::unique_ptr<Backend>> MakeVendorCudaBackend(const vendor::Options& options, ThreadPool& pool) {
  if (options.rule != rounding::Rule::kBound) return Err("--device cuda: round_rule \"paper\" runs on the CPU alone");
  ASSAY_ASSIGN(std::unique_ptr<Backend> device, cuda::MakeCudaBackend());
  ASSAY_ASSIGN(Cublas blas, Cublas::Load(cuda::ContextOf(*device).stream()));
  return std::make_unique<VendorCudaBackend>(options, std::move(device), std::move(blas), pool);
}

}  // namespace assay::vendor_cuda
