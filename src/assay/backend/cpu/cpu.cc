#include "assay/backend/cpu/cpu.h"

#include <array>

#include "assay/backend/cpu/kernels.h"
#include "assay/base/check.h"
#include "assay/ops/table.h"

namespace assay::cpu {

Context::Context(ThreadPool& pool, DigitUnit digit_unit)
    : pool_(pool), digit_unit_(digit_unit), scratch_(static_cast<std::size_t>(pool.threads()) + 1) {}

void* Context::Scratch(int worker, std::size_t bytes) {
  std::unique_ptr<Tensor>& slot = scratch_[static_cast<std::size_t>(worker + 1)];
  if (!slot || slot->type().bytes() < bytes) {
    slot.reset();
    slot = std::make_unique<Tensor>(DType::kU8, Shape{static_cast<std::int64_t>(bytes)});
  }
  return slot->data();
}

namespace {

using KernelTable = std::array<Kernel, op::kCount>;

#define ASSAY_ENTRY_Elementwise(ns, name) Kernel{.run = nullptr, .elements = &ns::Elements_##name},
#define ASSAY_ENTRY_General(ns, name) Kernel{.run = &ns::Run_##name, .elements = nullptr},
#if defined(__x86_64__)
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_ENTRY_##kind(N_AVX2, name)
constexpr KernelTable kAvx2Kernels = {
#include "assay/ops/op_table.inc"
};
#undef ASSAY_OP
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_ENTRY_##kind(N_AVX3, name)
constexpr KernelTable kAvx512Kernels = {
#include "assay/ops/op_table.inc"
};
#undef ASSAY_OP
#elif defined(__aarch64__)
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_ENTRY_##kind(N_NEON, name)
constexpr KernelTable kNeonKernels = {
#include "assay/ops/op_table.inc"
};
#undef ASSAY_OP
#endif

const KernelTable& Table(Simd simd) {
  switch (simd) {
#if defined(__x86_64__)
    case Simd::kAvx2: return kAvx2Kernels;
    case Simd::kAvx512: return kAvx512Kernels;
#elif defined(__aarch64__)
    case Simd::kNeon: return kNeonKernels;
#endif
    default: CheckFailed("instruction set of this machine", __FILE__, __LINE__);
  }
}

// Pieces of an elementwise op handed to one thread: large enough to hide the hand-over, small enough to balance.
constexpr std::int64_t kElementGrain = 32768;

class CpuBackend final : public HostBackend {
 public:
  CpuBackend(Simd simd, DigitUnit unit, ThreadPool& pool)
      : HostBackend(pool), simd_(simd), kernels_(Table(simd)), context_(pool, unit) {}

  std::string_view name() const override { return Name(simd_); }

  void Run(const KernelArgs& args) override {
    const Kernel& kernel = Find(args);
    if (kernel.run != nullptr) {
      kernel.run(args, context_);
      return;
    }
    pool().ParallelFor(args.out_type(0).elements(), kElementGrain, [&](std::int64_t begin, std::int64_t end, int) {
      std::array<const void*, 16> in{};
      std::array<void*, 4> out{};
      ASSAY_CHECK(args.in.size() <= in.size() && args.out.size() <= out.size());
      for (std::size_t k = 0; k < args.in.size(); ++k) {
        const bool aligned = (args.op->def->aligned_inputs >> k & 1) != 0;
        in[k] = static_cast<const char*>(args.in[k]) +
                (aligned ? begin * static_cast<std::int64_t>(SizeOf(args.in_type(k).dtype)) : 0);
      }
      for (std::size_t k = 0; k < args.out.size(); ++k) {
        out[k] = static_cast<char*>(args.out[k]) + begin * static_cast<std::int64_t>(SizeOf(args.out_type(k).dtype));
      }
      kernel.elements({args.op, {in.data(), args.in.size()}, {out.data(), args.out.size()}}, begin, end);
    });
  }

  void RunElements(const KernelArgs& args, std::int64_t begin, std::int64_t end) override {
    const Kernel& kernel = Find(args);
    ASSAY_CHECK(kernel.elements != nullptr);
    kernel.elements(args, begin, end);
  }

  bool in_place() const override { return true; }

  bool LeaveOutProducts(bool leave) override {
    context_.leaves_out_products = leave;
    return true;
  }

 private:
  const Kernel& Find(const KernelArgs& args) const { return kernels_[args.op->def->index]; }

  Simd simd_;
  const KernelTable& kernels_;
  Context context_;
};

}  // namespace

std::string_view Name(Simd simd) {
  switch (simd) {
    case Simd::kAvx2: return "avx2";
    case Simd::kAvx512: return "avx512";
    case Simd::kNeon: return "neon";
  }
  CheckFailed("known instruction set", __FILE__, __LINE__);
}

std::vector<Simd> SupportedSimd() {
  std::vector<Simd> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("f16c");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
    found.push_back(Simd::kAvx512);
  }
  if (avx2) found.push_back(Simd::kAvx2);
#elif defined(__aarch64__)
  found.push_back(Simd::kNeon);
#endif
  return found;
}

std::unique_ptr<HostBackend> MakeCpuBackend(Simd simd, ThreadPool& pool) {
  return MakeCpuBackend(simd, DigitUnits(simd).front(), pool);
}
std::unique_ptr<HostBackend> MakeCpuBackend(Simd simd, DigitUnit unit, ThreadPool& pool) {
  return std::make_unique<CpuBackend>(simd, unit, pool);
}

}  // namespace assay::cpu
