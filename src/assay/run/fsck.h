// Fsck: whether a run directory is whole, down to every byte, without its data set and without repeating any of its steps
// (docs/formats/run.md).
//
// What a kill or a power cut can leave is told from damage: it is named, and training goes on from it. Nothing is written. While it
// looks, it shares the run's lock, so that no training changes what it reads. Not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/graph/program.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/key.h"

namespace assay {

enum class FsckVerdict : std::uint8_t {
  kWhole,       // has a receipt, and everything that it needs is there and agrees
  kUnfinished,  // has none yet; what is there agrees
  kDamaged,
};
std::string_view Name(FsckVerdict verdict);  // "whole"

struct Finding {
  std::string file;  // under the run's directory
  std::string problem;
  bool damage = true;  // otherwise something to know: what an interrupted write left, a file that is not of the run
};

struct FsckReport {
  FsckVerdict verdict = FsckVerdict::kDamaged;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<Finding> findings;
};

// What a trace says about the run, once its form and signature are good.
struct TraceSummary {
  Digest trajectory{};
  std::int64_t step = 0;
  Digest before{}, after{};  // state roots
};
// How traces are read, which a layer above knows; `what` names the file in errors.
using TraceReader =
    std::function<Result<TraceSummary>(ByteSpan file, const VerifyKey& signer, const Program& program, std::string_view what)>;

// An error when `path` is no run's directory, when a process trains in it, or when a file cannot be read. Without `read_trace`,
// traces are named as not checked.
Result<FsckReport> Fsck(const std::string& path, ThreadPool& pool, const TraceReader& read_trace);

}  // namespace assay
