// The part of Fsck that is about who says what: `id` and the job's files, the receipt and the log, held against each other. Nobody signs `id`; what it names is
// bound by the receipt, which signs for a job by the hash of its encodings.
//
// A contradiction refutes only where all that it rests on is whole: the job's encodings lead to the id that the receipt is for, and the log is the one that it
// signs. Everything else is damage. Not synchronised.
#pragma once

#include <optional>
#include <string>

#include "assay/graph/program.h"
#include "assay/job/job.h"
#include "assay/run/fsck_files.h"
#include "assay/run/identity.h"

namespace assay {

class FsckSigned {
 public:
  explicit FsckSigned(FsckFiles& files);  // which must outlive it

  // Whether the run says what it is; without that, nothing can be told about the rest.
  bool Check();

  // What was found to be good, after Check.
  bool has_receipt() const { return has_receipt_; }  // some; whether it is a good one, receipt() tells
  const RunHeader& header() const { return *header_; }
  bool settled() const { return settled_; }                // the job's files are those of `id`
  bool log_is_current() const { return log_is_current_; }  // it is of the job that `id` names
  bool binds() const { return holds_ && log_is_signed_; }  // what the log says, its signer has signed a receipt for
  const std::optional<Job>& job() const { return job_; }
  const std::optional<Program>& program() const { return program_; }
  const std::optional<RunLog>& log() const { return log_; }
  const std::optional<Receipt>& receipt() const { return receipt_; }  // well signed and for this job
  // For a replay; none where something in it is wrong by itself.
  std::optional<SignedClaims> claims() const;

 private:
  bool CheckId();
  std::optional<RunHeader> ReadHeader(const std::string& file);
  void CheckNext();
  void CheckFixedFiles();
  bool CheckFixedFile(std::size_t index, Bytes& content);
  void CheckIdentity(const Bytes& job_toml, const Bytes& job_bin, const Bytes& program_bin);
  void OpenReceiptHere();
  void CheckReceipt();
  void CheckFollows();
  void CheckLog();
  std::optional<Checkpoint> CheckHead();
  void CheckOrigin();
  void CheckEntries();

  FsckFiles& files_;
  bool has_receipt_ = false;
  std::optional<RunHeader> header_;
  std::optional<RunHeader> next_;
  bool settled_ = false;
  bool holds_ = false;     // the job's encodings lead to the id, the trajectory and the data root of `id`
  bool has_toml_ = false;  // the job is that of job.toml, with what job.bin does not say
  bool log_is_current_ = false;
  bool log_is_signed_ = false;
  bool is_consistent_ = true;  // nothing that was signed is wrong by itself
  std::optional<Job> job_;
  std::optional<Program> program_;
  std::optional<RunLog> log_;
  std::optional<Receipt> receipt_;
  Digest receipt_hash_{};
};

}  // namespace assay
