// How fast this machine is with the kernels that train, measured in a fraction of a second: a matrix product, and hashes of a tensor. And what a step costs, counted.
#pragma once

#include <cstdint>
#include <string>

#include "assay/backend/backend.h"
#include "assay/graph/program.h"

namespace assay::monitor {

struct Speed {
  double flops_per_s = 0;
  double flops_per_cpu_s =
      0;  // a second of processor time of this process, all its threads; what other processes do hardly changes it
};

// The best of several products of two square matrices, measured for `seconds`. Nothing is measured (0) of a backend that rounds: it works inside a step alone.
Speed MatmulSpeed(Backend& backend, std::int64_t width, double seconds);
// A width that keeps so many threads, or a device, busy, and a few milliseconds of it: what a session of telemetry begins with.
Speed QuickSpeed(Backend& backend, int threads);
double HashBytesPerSecond(Backend& backend);
std::string ProcessorName();

// Operations of a graph as the op table counts them (an FMA is two).
double GraphFlops(const Graph& graph);
// Operations of one step, and bytes of the state.
double StepFlops(const Program& program);
std::int64_t StateBytes(const Program& program);

}  // namespace assay::monitor
