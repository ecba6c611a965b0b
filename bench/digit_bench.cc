// Products with digits on the shapes of GPT-2-124M, packing included, against oneDNN's FP32 and, for comparison, our own FP32. Speeds in GFLOP/s.
#include <dnnl.h>

#include "assay/backend/cpu/digit_gemm.h"
#include "assay/backend/cpu/digit_units.h"
#include "assay/backend/cpu/kernels.h"
#include "backend_op.h"
#include "harness.h"
#include "matmul_shapes.h"

extern "C" void omp_set_num_threads(int threads);

namespace assay::bench {
namespace {

using Case = MatmulCase;

std::vector<Case> Cases() {
  std::vector<Case> cases = {{"square 1024", 1024, 1024, 1024, false, false}};
  AddLayer(cases, "gpt2 qkv 512x768x2304", 512, 768, 2304, false);
  AddLayer(cases, "gpt2 fc 512x768x3072", 512, 768, 3072, false);
  AddLayer(cases, "gpt2 out 512x3072x768", 512, 3072, 768, false);
  AddLayer(cases, "gpt2 head 512x768x50257", 512, 768, 50257, true);
  return cases;
}

void Measure(const Case& c, int threads, double seconds, Machine& machine, Report& report) {
  const Tensor a = RandomTensor(c.transpose_a ? Shape{c.k, c.m} : Shape{c.m, c.k}, 1);
  const Tensor b = RandomTensor(c.transpose_b ? Shape{c.n, c.k} : Shape{c.k, c.n}, 2);
  BackendOp fp32(op::matmul, {std::int64_t{c.transpose_a}, std::int64_t{c.transpose_b}}, a, b, {c.m, c.n});
  Tensor out(DType::kF32, {c.m, c.n});
  float* pc = out.Span<float>().data();
  const float* pa = a.Span<float>().data();
  const float* pb = b.Span<float>().data();
  const std::int64_t lda = c.transpose_a ? c.m : c.k, ldb = c.transpose_b ? c.k : c.n;
  std::vector<std::string> names = {"fp32"};
  std::vector<std::function<void()>> contenders = {[&] {
                                                     dnnl_sgemm(c.transpose_a ? 'T' : 'N', c.transpose_b ? 'T' : 'N', c.m, c.n,
                                                                c.k, 1.0f, pa, lda, pb, ldb, 0.0f, pc, c.n);
                                                   },
                                                   [&] { fp32.Run(machine.backend()); }};
  ThreadPool& pool = machine.pool();
  std::vector<std::unique_ptr<cpu::Context>> contexts;
  const cpu::Simd simd = cpu::SupportedSimd().front();
  const auto race = [&](cpu::Simd set, cpu::DigitUnit unit, int digits) {
    contexts.push_back(std::make_unique<cpu::Context>(pool, unit));
    cpu::Context* context = contexts.back().get();
    names.push_back(fmt::format("int8x{} {} {}", digits, cpu::Name(set), cpu::Name(unit)));
    contenders.push_back([&, digits, context, set] {
      const cpu::DigitContraction task{.m = c.m,
                                       .n = c.n,
                                       .k = c.k,
                                       .digits = digits,
                                       .a = {pa, lda, c.transpose_a},
                                       .b = {pb, ldb, !c.transpose_b},
                                       .c = pc,
                                       .c_stride = c.n};
      cpu::DigitGemm(task, set, *context);
    });
  };
  for (int digits : {3, 2}) {
    race(simd, cpu::DigitUnits(simd).front(), digits);
    if (simd == cpu::Simd::kAvx512) race(cpu::Simd::kAvx2, cpu::DigitUnit::kWide, digits);
  }
  const std::vector<double> best = Race(contenders, threads, seconds);
  const double work = 2e-9 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
  const double target =
      cpu::DigitUnits(simd).front() == cpu::DigitUnit::kAmx ? 3.0 : 0.55;  // of three digits on the fastest unit
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    report.Add(
        {fmt::format("{} {}", names[i - 1], c.name), "oneDNN", threads, work / best[i], work / best[0], i == 2 ? target : 0.0});
  }
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  using namespace assay::bench;
  const Options options = ParseOptions(argc, argv);
  Report report;
  for (int threads : options.threads) {
    Machine machine(threads);
    omp_set_num_threads(threads);
    for (const Case& c : Cases()) {
      if (c.name.find(options.filter) != std::string::npos) Measure(c, threads, options.seconds, machine, report);
    }
  }
  return report.WriteJson(options.json) ? 0 : 2;
}
