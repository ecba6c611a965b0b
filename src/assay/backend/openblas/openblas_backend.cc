#include "assay/backend/openblas/openblas_backend.h"

#include <cmath>
#include <vector>

#include "assay/backend/node_by_node.h"
#include "assay/backend/openblas/context.h"
#include "assay/backend/openblas/second_look.h"
#include "assay/base/check.h"
#include "assay/ops/digits.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/formula.h"

namespace assay::rounded {
namespace {

// What is faster than its formula; null elsewhere.
Kernel KernelOf(OpIndex op) {
  switch (op) {
    case op::matmul: return &Run_matmul;
    case op::conv2d: return &Run_conv2d;
    case op::conv2d_grad_x: return &Run_conv2d_grad_x;
    case op::conv2d_grad_w: return &Run_conv2d_grad_w;
    case op::attention: return &Run_attention;
    case op::attention_grad: return &Run_attention_grad;
    case op::batchnorm_train: return &Run_batchnorm_train;
    case op::batchnorm_grad: return &Run_batchnorm_grad;
    case op::sum_squares: return &Run_sum_squares;
    default: return &RunFormula;
  }
}

// Thresholds of all ops, in powers of two below a result.
std::vector<double> Thresholds(const Options& options) {
  const double spacing = std::ldexp(1.0, 9 - options.bits);
  std::vector<double> tau(op::kCount, 0.25 * spacing);
  for (const auto& [op, spacings] : options.tau) tau[op] = spacings * spacing;
  return tau;
}

class OpenBlasBackend final : public HostBackend {
 public:
  OpenBlasBackend(const Options& options, Blas blas, ThreadPool& pool)
      : HostBackend(pool),
        rounds_(options.precision == Precision::kFp64Rounded),
        hooks_(options.hooks),
        rounder_(rounds_ ? options.bits : numerics::Grid::kMaxBits, options.rule),
        tau_(Thresholds(options)),
        context_(pool, std::move(blas), !rounds_) {
    rounder_.set_pool(&pool);
    rounder_.set_examiner(hooks_ == nullptr || !hooks_->credulous);
  }

  std::string_view name() const override { return "openblas"; }
  rounding::Rounder* rounder() override { return rounds_ ? &rounder_ : nullptr; }

  void Run(const KernelArgs& args) override {
    ASSAY_CHECK(ops::DigitsOf(*args.op) == 0);  // jobs of these precisions have none (job/limits.cc)
    const OpIndex op = args.op->def->index;
    rounder_.set_tau(tau_[op]);
    std::vector<Output> outputs;
    std::vector<std::optional<std::uint64_t>> firsts(args.out.size());
    for (std::size_t k = 0; k < args.out.size(); ++k) {
      if (rounds_ && args.out_type(k).dtype == DType::kF32 && args.op->def->has_bound()) {
        firsts[k] = rounder_.Next(static_cast<std::uint64_t>(args.out_type(k).elements()));
      }
      outputs.emplace_back(rounder_, firsts[k], k, args.Out<float>(k), hooks_);
    }
    std::optional<SecondLook> look;
    if (rounder_.examines() && args.op->def->has_bound()) look.emplace(args, kept_);
    const Kernel kernel = hooks_ != nullptr && hooks_->formulas ? &RunFormula : KernelOf(op);
    kernel(args, outputs, context_);
    if (look) look->Settle(rounder_, firsts, context_.pool());
  }

  // Each result has its number, in the order of the nodes.
  void RunGroup(const Group& group) override {
    RunNodeByNode(group, memory(), slots_, [&](const KernelArgs& args) { Run(args); });
  }

  // A piece of an op has no place in the order of results: it is rounded and nothing is noted.
  void RunElements(const KernelArgs& args, std::int64_t begin, std::int64_t end) override {
    std::vector<const void*> in(args.in.begin(), args.in.end());
    std::vector<void*> out(args.out.begin(), args.out.end());
    for (std::size_t k = 0; k < in.size(); ++k) {
      if ((args.op->def->aligned_inputs >> k & 1) == 0) continue;
      in[k] = static_cast<const char*>(in[k]) - begin * static_cast<std::int64_t>(SizeOf(args.in_type(k).dtype));
    }
    std::vector<Output> outputs;
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k] = static_cast<char*>(out[k]) - begin * static_cast<std::int64_t>(SizeOf(args.out_type(k).dtype));
      outputs.emplace_back(rounder_, std::nullopt, k, static_cast<float*>(out[k]), nullptr);
    }
    RunElementsByFormula({args.op, in, out}, outputs, {begin, end});
  }

  bool in_place() const override { return true; }

 private:
  const bool rounds_;
  const TestHooks* hooks_;
  rounding::Rounder rounder_;
  const std::vector<double> tau_;  // by op
  Context context_;
  Allocation slots_;
  std::vector<Allocation> kept_;  // of SecondLook
};

}  // namespace

Result<std::unique_ptr<HostBackend>> MakeOpenBlasBackend(const Options& options, ThreadPool& pool) {
  ASSAY_ASSIGN(Blas blas, Blas::Load());
  return std::make_unique<OpenBlasBackend>(options, std::move(blas), pool);
}

}  // namespace assay::rounded
