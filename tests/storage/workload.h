// A small training that the storage tests interrupt, cut and damage: its jobs, its key, what it must end in, and ways to run it, in
// this process and in one of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/run/fsck.h"
#include "assay/train/trainer.h"
#include "support/scratch.h"

namespace assay::storage {

// What the command line chose: `storage_test --full --seed=N`.
struct Settings {
  bool full = false;       // as many cases as were promised, instead of what fits into `make test`
  std::uint64_t seed = 0;  // of everything random
};
Settings& TheSettings();

using testkit::Scratch;

using Files = std::map<std::string, Bytes>;  // by path below a directory
Files ReadFiles(const std::string& directory);
void WriteFiles(const std::string& directory, const Files& files);  // not synced
void Empty(const std::string& directory);                           // removes everything in it, or makes it

// One job and the run that it must end in.
struct Variant {
  std::string job_file;
  PreparedJob prepared;
  Files reference;  // the run directory of an uninterrupted training, without events
};

struct Ended {
  int status = 0;  // as waitpid tells it
  std::string out, error;
};

class Workload {
 public:
  Workload();

  // The same trajectory with other numbers of steps or other words.
  enum Which : std::size_t { kFive, kNine, kFour, kNineReworded, kVariants };
  const Variant& variant(std::size_t which) const { return variants_[which]; }

  // In this process, with the reference kernels.
  Result<TrainOutcome> Train(std::size_t which, const std::string& run);
  // `assay train` in a process of its own, with these variables in its environment, and the interposed library where there are any.
  Ended Spawn(std::size_t which, const std::string& run, const std::vector<std::string>& environment);
  // Leaves a trace of step `step`, as `assay trace` does.
  Status Trace(std::size_t which, const std::string& run, std::int64_t step);
  Result<FsckReport> Check(const std::string& run);

  // Trains to the end; empty when that gives the run it must and Fsck calls it whole, otherwise what is wrong.
  std::string Completes(std::size_t which, const std::string& run);
  // Empty when the run is, apart from events and earlier snapshots, the reference of some variant.
  std::string IsSomeReference(const std::string& run) const;

 private:
  Scratch scratch_;
  ThreadPool pool_{1};
  std::unique_ptr<Backend> backend_;
  SigningKey key_;
  std::string key_file_;
  std::vector<Variant> variants_;
};

// The findings on one line.
std::string Describe(const Result<FsckReport>& report);

}  // namespace assay::storage
