// The OpenBLAS backend: operators in FP64 with the vendor's kernels, every result rounded to a grid, close calls handed to a Rounder (docs/ROUNDING.md).
//
// Contractions go to OpenBLAS, which is loaded when a backend is made; everything else runs the formulas of formula.h on the pool's threads with the machine's libm. How a sum is ordered
// depends on OpenBLAS, its kernels for the processor (OPENBLAS_CORETYPE) and the number of threads: results differ in FP64, and in binary32 where calls are close.
#pragma once

#include <map>
#include <memory>

#include "assay/backend/host.h"
#include "assay/base/result.h"
#include "assay/graph/op_def.h"
#include "assay/rounding/rounder.h"

namespace assay::rounded {

enum class Precision {
  kFp64Rounded,  // FP64, rounded after every operator
  kFp32,         // contractions in FP32 by the vendor, nothing logged: shows how runs drift apart
};

struct TestHooks;  // output.h

struct Options {
  Precision precision = Precision::kFp64Rounded;
  int bits = 32;  // round_bits
  rounding::Rule rule = rounding::Rule::kBound;
  std::map<OpIndex, double> tau{};   // kPaper: thresholds in spacings of the grid; a quarter for ops that are not in it
  const TestHooks* hooks = nullptr;  // of tests; must outlive the backend
};

// An error where OpenBLAS is not installed. The pool must outlive the backend. Its rounder() rounds and notes decisions.
Result<std::unique_ptr<HostBackend>> MakeOpenBlasBackend(const Options& options, ThreadPool& pool);

}  // namespace assay::rounded
