#include "assay/worker/hardware.h"

#include <cmath>

#include "assay/monitor/speed.h"
#include "assay/monitor/usage.h"

namespace assay::worker {
namespace {

constexpr std::int64_t kWidth = 512;  // of the matrices
constexpr double kLongEnough = 0.05;  // seconds
constexpr double kGiga = 1e9;

double Rounded(double value) {
  constexpr double kTenths = 10;
  return std::round(value * kTenths) / kTenths;
}

}  // namespace

void Measure(const Compute& compute, Hardware& hardware) {
  hardware.threads = compute.pool->threads();
  hardware.cores = monitor::Cores();
  hardware.kernels = compute.backend->name();
  hardware.matmul_gflops = Rounded(monitor::MatmulSpeed(*compute.backend, kWidth, kLongEnough).flops_per_s / kGiga);
  hardware.hash_gbps = Rounded(monitor::HashBytesPerSecond(*compute.backend) / kGiga);
}

}  // namespace assay::worker
