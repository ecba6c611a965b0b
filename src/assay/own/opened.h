// OpenedClaim: what a claim of ownership says, once its signed parts have been found to be of one run and to agree with each other. Its files lie in a folder of its own as
// long as it lives, so that all that reads run directories reads claims, too.
//
// Movable. Not synchronised.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "assay/audit/claims.h"
#include "assay/base/allowance.h"
#include "assay/own/claim.h"
#include "assay/run/directory.h"

namespace assay::own {

// A folder that goes when it does.
class Scratch {
 public:
  static Result<Scratch> Make();  // below the system's folder for temporary files
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~Scratch();
  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class OpenedClaim {
 public:
  // A refutation: what was signed contradicts itself, or the copy is damaged. An error: cannot be told here.
  static Result<std::variant<OpenedClaim, Refutation>> Open(const OwnershipClaim& claim);

  const RunDirectory& run() const { return run_; }
  const Receipt& receipt() const { return claims_.receipt; }
  const Digest& receipt_hash() const { return claims_.receipt_hash; }
  const RunLog& log() const { return claims_.log; }
  const DecodedJob& job() const { return job_; }
  const Program& program() const { return program_; }
  const std::string& checkpoint() const { return checkpoint_; }  // the signed note, with whatever witnesses added

  // The job with its data, from `data_path` where it is not empty. Starting weights are not needed: what they must be, the job binds.
  Result<PreparedJob> Prepare(const std::string& data_path, ThreadPool& pool) const;

 private:
  OpenedClaim(Scratch scratch, RunDirectory run, SignedClaims claims, DecodedJob job, Program program, std::string checkpoint)
      : scratch_(std::move(scratch)),
        run_(std::move(run)),
        claims_(std::move(claims)),
        job_(std::move(job)),
        program_(std::move(program)),
        checkpoint_(std::move(checkpoint)) {}
  Scratch scratch_;
  RunDirectory run_;
  SignedClaims claims_;
  DecodedJob job_;
  Program program_;
  std::string checkpoint_;
};

}  // namespace assay::own
