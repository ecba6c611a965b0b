// FP32 matmul on the shapes of GPT-2-124M and ResNet-50, forward and backward, against the faster of oneDNN and OpenBLAS. Speeds
// in GFLOP/s.
#include <dnnl.h>

#include "backend_op.h"
#include "harness.h"
#include "matmul_shapes.h"

extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a, int lda,
                 const float* b, int ldb, float beta, float* c, int ldc);
void openblas_set_num_threads(int threads);
void omp_set_num_threads(int threads);
}

namespace assay::bench {
namespace {

using Case = MatmulCase;

std::vector<Case> Cases() {
  std::vector<Case> cases;
  AddLayer(cases, "gpt2 qkv 512x768x2304", 512, 768, 2304, false);
  AddLayer(cases, "gpt2 proj 512x768x768", 512, 768, 768, false);
  AddLayer(cases, "gpt2 fc 512x768x3072", 512, 768, 3072, false);
  AddLayer(cases, "gpt2 out 512x3072x768", 512, 3072, 768, false);
  AddLayer(cases, "gpt2 head 512x768x50257", 512, 768, 50257, true);
  AddLayer(cases, "gpt2 qkv 8192x768x2304", 8192, 768, 2304, false);
  // 1x1 convolutions of ResNet-50 with the CIFAR stem, batch 32: rows = pixels, weights [O, C].
  AddLayer(cases, "resnet50 s1 32768x64x64", 32768, 64, 64, true);
  AddLayer(cases, "resnet50 s1 32768x64x256", 32768, 64, 256, true);
  AddLayer(cases, "resnet50 s1 32768x256x64", 32768, 256, 64, true);
  AddLayer(cases, "resnet50 s2 8192x128x512", 8192, 128, 512, true);
  AddLayer(cases, "resnet50 s2 8192x512x128", 8192, 512, 128, true);
  AddLayer(cases, "resnet50 s3 2048x256x1024", 2048, 256, 1024, true);
  AddLayer(cases, "resnet50 s3 2048x1024x256", 2048, 1024, 256, true);
  AddLayer(cases, "resnet50 s4 512x512x2048", 512, 512, 2048, true);
  AddLayer(cases, "resnet50 s4 512x2048x512", 512, 2048, 512, true);
  // 3x3 convolutions as the products they amount to.
  AddLayer(cases, "resnet50 3x3 32768x576x64", 32768, 576, 64, true);
  AddLayer(cases, "resnet50 3x3 8192x1152x128", 8192, 1152, 128, true);
  AddLayer(cases, "resnet50 3x3 2048x2304x256", 2048, 2304, 256, true);
  AddLayer(cases, "resnet50 3x3 512x4608x512", 512, 4608, 512, true);
  return cases;
}

void Measure(const Case& c, int threads, double seconds, Machine& machine, Report& report) {
  const Tensor a = RandomTensor(c.transpose_a ? Shape{c.k, c.m} : Shape{c.m, c.k}, 1);
  const Tensor b = RandomTensor(c.transpose_b ? Shape{c.n, c.k} : Shape{c.k, c.n}, 2);
  BackendOp ours(op::matmul, {std::int64_t{c.transpose_a}, std::int64_t{c.transpose_b}}, a, b, {c.m, c.n});
  Tensor theirs(DType::kF32, {c.m, c.n});
  float* out = theirs.Span<float>().data();
  const float* pa = a.Span<float>().data();
  const float* pb = b.Span<float>().data();
  const std::int64_t lda = c.transpose_a ? c.m : c.k, ldb = c.transpose_b ? c.k : c.n;
  const std::vector<double> best =
      Race({[&] { ours.Run(machine.backend()); },
            [&] {
              dnnl_sgemm(c.transpose_a ? 'T' : 'N', c.transpose_b ? 'T' : 'N', c.m, c.n, c.k, 1.0f, pa, lda, pb, ldb, 0.0f, out,
                         c.n);
            },
            [&] {
              cblas_sgemm(101, c.transpose_a ? 112 : 111, c.transpose_b ? 112 : 111, static_cast<int>(c.m),
                          static_cast<int>(c.n), static_cast<int>(c.k), 1.0f, pa, static_cast<int>(lda), pb,
                          static_cast<int>(ldb), 0.0f, out, static_cast<int>(c.n));
            }},
           threads, seconds);
  const double work = 2e-9 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
  const bool dnnl = best[1] <= best[2];
  report.Add(
      {"matmul " + c.name, dnnl ? "oneDNN" : "OpenBLAS", threads, work / best[0], work / (dnnl ? best[1] : best[2]), 0.8});
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  using namespace assay::bench;
  const Options options = ParseOptions(argc, argv);
  Report report;
  for (int threads : options.threads) {
    Machine machine(threads);
    openblas_set_num_threads(threads);
    omp_set_num_threads(threads);
    for (const Case& c : Cases()) {
      if (c.name.find(options.filter) != std::string::npos) Measure(c, threads, options.seconds, machine, report);
    }
    report.AddMean("matmul geometric mean", threads, 0.95);
  }
  return report.WriteJson(options.json) ? 0 : 2;
}
