// Fsck: whether a run directory is whole, down to every byte, without its data set and without repeating any of its steps (docs/formats/run.md). It is the one
// answer to what a whole run is: audits, disputes and providers ask it, too.
//
// Damaged is what nobody signed, or what is missing: it speaks against nobody. What well signed parts say against each other refutes the run, whatever else is
// damaged: such a finding rests on whole parts alone.
//
// What a kill or a power cut can leave is told from damage: it is named, and training goes on from it. Nothing is written. While it
// looks, it shares the run's lock, so that no training changes what it reads. Not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/graph/program.h"
#include "assay/merkle/sha256.h"
#include "assay/run/log.h"
#include "assay/run/receipt.h"
#include "assay/sign/key.h"

namespace assay {

enum class FsckVerdict : std::uint8_t {
  kWhole,       // has a receipt, and everything that it needs is there and agrees
  kUnfinished,  // has none yet; what is there agrees
  kDamaged,
  kRefuted,  // its signer signed what cannot be true
};
std::string_view Name(FsckVerdict verdict);  // "whole"

struct Finding {
  std::string file;  // under the run's directory
  std::string problem;
  bool damage = true;  // to the copy
  bool refutes =
      false;  // its signer contradicts itself. Neither: something to know, such as what an interrupted write left or a file that is not of the run
  std::optional<std::int64_t> step{};  // of what refutes, where one can be named
};

// What the run asserts, as far as a replay can be held against it: well signed, for the job that the run names, and nothing in it is wrong by itself.
struct SignedClaims {
  RunLog log;  // the one that the receipt signs
  Receipt receipt;
  Digest receipt_hash{};  // SHA-256 of the file
};

struct FsckReport {
  FsckVerdict verdict = FsckVerdict::kDamaged;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<Finding> findings;
  std::optional<SignedClaims> claims{};  // may be there although files are damaged
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
