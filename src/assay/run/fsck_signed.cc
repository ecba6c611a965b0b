#include "assay/run/fsck_signed.h"

#include <algorithm>
#include <array>
#include <utility>

#include "assay/merkle/tiles.h"
#include "assay/ops/table.h"
#include "assay/run/directory.h"
#include "assay/run/entry_rules.h"
#include "assay/run/follows.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxSmallFile = 1 << 16;
constexpr std::uint64_t kMaxFixedFile = std::uint64_t{1} << 30;
constexpr std::string_view kReceiptFile = "receipt.json";
constexpr std::string_view kCheckpointFile = "log/checkpoint";

std::string_view AsText(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

FsckSigned::FsckSigned(FsckFiles& files) : files_(files) {}

bool FsckSigned::Check() {
  has_receipt_ = IsTaken(files_.Path(kReceiptFile));
  if (!CheckId()) return false;
  CheckFixedFiles();
  OpenReceiptHere();
  if (receipt_) CheckReceipt();
  CheckFollows();
  CheckLog();
  return true;
}

std::optional<SignedClaims> FsckSigned::claims() const {
  if (!binds() || !is_consistent_ || !log_ || !receipt_) return std::nullopt;
  return SignedClaims{.log = *log_, .receipt = *receipt_, .receipt_hash = receipt_hash_};
}

bool FsckSigned::CheckId() {
  const bool has_next = files_.Take("id.next");
  if (files_.Take("id")) {
    header_ = ReadHeader("id");
    if (has_next && header_) CheckNext();
    return header_.has_value();
  }
  const auto created = [](const std::string& file) {
    return IsTemporaryName(file) || file == "job.toml" || file == "job.bin" || file == "program.bin";
  };
  if (!IsDirectory(files_.Path("id")) && std::ranges::all_of(files_.rest(), created)) {
    files_.Note("id", "is not there yet: the creation of the run was interrupted");
    files_.TakeAll("");
  } else {
    files_.Damage("id", IsDirectory(files_.Path("id")) ? "is a directory, expected a file" : "is missing");
  }
  return false;
}

std::optional<RunHeader> FsckSigned::ReadHeader(const std::string& file) {
  const auto bytes = ReadFile(files_.Path(file), kMaxSmallFile);
  auto header = bytes ? ParseRunHeader(AsText(*bytes), files_.Path(file)) : tl::unexpected(bytes.error());
  if (header) return std::move(*header);
  files_.DamageFrom(header.error(), file);
  return std::nullopt;
}

// Nothing rests on it: training writes it anew or removes it. While a job is being changed it excuses files that `id` does not name.
void FsckSigned::CheckNext() {
  const auto bytes = ReadFile(files_.Path("id.next"), kMaxSmallFile);
  auto next = bytes ? ParseRunHeader(AsText(*bytes), files_.Path("id.next")) : tl::unexpected(bytes.error());
  if (!next || next->identity.trajectory != header_->identity.trajectory || next->signer != header_->signer) {
    files_.Note("id.next", "is no id of this run to come; training removes it");
    return;
  }
  next_ = std::move(*next);
  files_.Note("id.next", "left by an interrupted change of the job; training completes it or takes it back");
}

void FsckSigned::CheckFixedFiles() {
  std::array<Bytes, 3> contents;
  std::array<bool, 3> ours{};
  for (std::size_t i = 0; i < contents.size(); ++i) ours[i] = CheckFixedFile(i, contents[i]);
  // Nothing that a receipt is for depends on job.toml.
  settled_ = (ours[0] || has_receipt_) && ours[1] && ours[2];
  if (!contents[0].empty()) {
    auto job = ParseJob(AsText(contents[0]), files_.Path("job.toml"));
    if (job) {
      job_ = std::move(*job);
    } else {
      files_.DamageFrom(job.error(), "job.toml");
    }
  }
  if (!contents[2].empty()) {
    auto program = DecodeProgram(Ops(), contents[2]);
    if (program) {
      program_ = std::move(*program);
    } else {
      files_.Damage("program.bin", program.error().message);
    }
  }
  if (settled_ && program_) CheckIdentity(contents[0], contents[1], contents[2]);
}

// Whether the file is the one that `id` names. `content` is set where it can be believed.
bool FsckSigned::CheckFixedFile(std::size_t index, Bytes& content) {
  const FixedFile expected = FixedFiles(*header_)[index];
  const bool changing = next_ && !has_receipt_;
  const std::string name(expected.name);
  if (!files_.Take(name)) {
    if (!changing) files_.Damage(name, "is missing");
    return false;
  }
  auto bytes = ReadFile(files_.Path(name), kMaxFixedFile);
  if (!bytes) {
    files_.DamageFrom(bytes.error(), name);
    return false;
  }
  const Digest digest = HashBytes(*bytes);
  const bool ours = digest == expected.digest;
  if (!ours && !(changing && digest == FixedFiles(*next_)[index].digest)) {
    files_.Damage(name, "is not the file that 'id' names");
    return false;
  }
  content = std::move(*bytes);
  return ours;
}

void FsckSigned::CheckIdentity(const Bytes& job_toml, const Bytes& job_bin, const Bytes& program_bin) {
  const RunIdentity& id = header_->identity;
  const Digest job = JobId(job_bin, program_bin);
  const auto decoded = DecodeJob(job_bin);
  if (!decoded) return files_.Damage("job.bin", decoded.error().message);
  Job endless = decoded->job;
  endless.steps = 0;
  holds_ = true;
  const auto fault = [&](std::string_view file, std::string_view problem) {
    files_.Damage(file, problem);
    holds_ = false;
  };
  if (job != id.job) {
    fault("id", fmt::format("says job {}, but job.bin and program.bin make it {}", id.job.hex(), job.hex()));
  }
  if (JobId(endless, decoded->inputs, *program_) != id.trajectory) fault("id", "its trajectory is not that of the job");
  if (decoded->inputs.data != id.data) fault("id", "its data root is not that of the job");
  if (job_ && !job_toml.empty() && Encode(*job_, decoded->inputs) != job_bin) {
    files_.Damage("job.bin", "is not the encoding of job.toml with the data root of id");
    job_.reset();
  }
  has_toml_ = job_.has_value();
  if (!job_) job_ = decoded->job;
}

void FsckSigned::OpenReceiptHere() {
  const std::string name(kReceiptFile);
  if (!files_.Take(name) && !has_receipt_) return;
  const auto bytes = ReadFile(files_.Path(name), kMaxSmallFile);
  if (!bytes) return files_.DamageFrom(bytes.error(), name);
  const auto receipt = OpenReceipt(AsText(*bytes), header_->signer, files_.Path(name));
  if (!receipt) return files_.DamageFrom(receipt.error(), name);
  const Digest& job = header_->identity.job;
  // It may be as true as any; it is in the wrong place.
  if (receipt->job != job) {
    return files_.Damage(name,
                         fmt::format("the receipt is for another job, {:.16}, not for {:.16}: it does not belong to this run",
                                     receipt->job.hex(), job.hex()));
  }
  receipt_ = *receipt;
  receipt_hash_ = HashBytes(*bytes);
}

// The receipt by itself. The job's id settles everything that is compared here, so that one who signed otherwise has signed what cannot be true.
void FsckSigned::CheckReceipt() {
  if (!holds_ || !job_) return;
  const RunIdentity& id = header_->identity;
  const auto refute = [&](std::string_view problem, std::optional<std::int64_t> step = std::nullopt) {
    files_.Refute(kReceiptFile, problem, step);
    is_consistent_ = false;
  };
  const std::pair<std::string_view, bool> fields[] = {
      {"trajectory", receipt_->trajectory == id.trajectory},
      {"program", receipt_->program == header_->program_bin},
      {"data", receipt_->data == id.data},
      {"steps", receipt_->steps == job_->steps},
      {"commit_every", receipt_->commit_every == job_->commit_every},
      {"log.origin", receipt_->log.origin == LogOrigin(header_->signer, id.job)},
  };
  for (const auto& [name, holds] : fields) {
    if (!holds) refute(fmt::format("the receipt's {} is not that of its job", name));
  }
  const CommitSchedule schedule = CommitSchedule::Of(*job_);
  const auto size = static_cast<std::uint64_t>(schedule.entries());
  if (receipt_->log.size < size) {
    const std::int64_t missing = schedule.StepOfEntry(static_cast<std::int64_t>(receipt_->log.size));
    refute(fmt::format("the receipt signs a log that ends after {} of {} entries: step {} is missing", receipt_->log.size, size,
                       missing),
           missing);
  }
  if (receipt_->log.size > size) {
    refute(fmt::format("the receipt signs a log of {} entries, its job commits {}", receipt_->log.size, size));
  }
  // Not part of the job's identity: a provider may keep more or fewer snapshots than it was asked for. Nobody signs job.toml, which says it, too.
  if (has_toml_ && receipt_->snapshot_every != job_->snapshot.every) {
    files_.Damage("job.toml", fmt::format("job.toml says a snapshot every {} steps, the receipt every {}", job_->snapshot.every,
                                          receipt_->snapshot_every));
  }
}

// Nobody signs the file that says whom a run follows; what was signed is the receipt.
void FsckSigned::CheckFollows() {
  const std::string name = "follows";
  const bool is_there = files_.Take(name);
  const auto follows = ReadFollows(files_.Path(name));
  if (!follows) return files_.DamageFrom(follows.error(), name);
  if (is_there && job_ && job_->precision != Precision::kFp64Rounded) {
    files_.Damage(name, "is of a run whose job has no rounding log");
  }
  if (receipt_ && receipt_->follows != *follows) files_.Damage(name, "the run's file `follows` is not what its receipt says");
}

void FsckSigned::CheckLog() {
  const std::optional<Checkpoint> head = CheckHead();
  // The receipt signs for the entries as well as the checkpoint does.
  const bool of_receipt = receipt_ && (!head || *head == receipt_->log);
  if (!head && !of_receipt) return files_.TakeAll("log/tile/");
  const Checkpoint& wanted = of_receipt ? receipt_->log : *head;
  const auto fault = [&](const LogFault& found) {
    files_.TakeAll("log/tile/");
    if (!found.of_signer || !of_receipt || !holds_) return files_.DamageFrom(found.error, kCheckpointFile);
    is_consistent_ = false;
    files_.Refute("log", found.error.message);
  };
  // Before anything of it is read: it may claim any size.
  const std::uint64_t most =
      has_receipt_ && job_ ? static_cast<std::uint64_t>(CommitSchedule::Of(*job_).entries()) : kMaxLogEntries;
  if (wanted.size > most) {
    files_.TakeAll("log/tile/");
    if (of_receipt && !is_consistent_) return;  // which has been said
    return files_.Damage(kCheckpointFile, fmt::format("says {} entries, expected at most {}", wanted.size, most));
  }
  auto log = RunLog::Entries(files_.Path("log"), wanted, header_->identity.trajectory);
  if (!log) return fault(log.error());
  log_ = std::move(*log);
  log_is_signed_ = of_receipt;
  for (const std::string& tile : TilePaths(log_->entries().size())) files_.Take("log/" + tile);
  if (const Status tiles = log_->CheckTiles(files_.Path("log")); !tiles) files_.DamageFrom(tiles.error(), "log");
  CheckOrigin();
  if (job_) CheckEntries();
}

// What the checkpoint says, where it is a good one.
std::optional<Checkpoint> FsckSigned::CheckHead() {
  const bool has_snapshots =
      !files_.Below("snapshots/", [](std::string_view name) { return SnapshotStep(name).has_value(); }).empty();
  const bool is_directory = IsDirectory(files_.Path(kCheckpointFile));
  if (!files_.Take(std::string(kCheckpointFile)) && !is_directory) {
    if (has_receipt_ || has_snapshots) files_.Damage(kCheckpointFile, "is missing");
    return std::nullopt;
  }
  const auto head = RunLog::Head(files_.Path("log"), header_->signer);
  if (!head) {
    files_.DamageFrom(head.error(), kCheckpointFile);
    return std::nullopt;
  }
  const auto note = ReadFile(files_.Path(kCheckpointFile), kMaxSmallFile);
  if (note && std::ranges::count(*note, '\n') > 5) {
    files_.Note(kCheckpointFile, "carries signatures of others, which are not checked");
  }
  if (!receipt_ || *head == receipt_->log) return *head;
  // Only the log that the receipt signs speaks for or against who signed it: another one, of an earlier time or another run, is as well signed.
  const Checkpoint& signed_log = receipt_->log;
  files_.Damage(
      kCheckpointFile,
      signed_log.origin != head->origin
          ? fmt::format("the receipt signs another log than the one here: {}, here is {}", signed_log.origin, head->origin)
          : fmt::format("the receipt signs another log than the one here: {} entries with the root {:.16}, here are {} "
                        "with the root {:.16}",
                        signed_log.size, signed_log.root.hex(), head->size, head->root.hex()));
  return *head;
}

// A log that a run of another number of steps left is taken over when training goes on.
void FsckSigned::CheckOrigin() {
  const std::string& origin = log_->checkpoint().origin;
  const bool ours = origin == LogOrigin(header_->signer, header_->identity.job);
  log_is_current_ = ours && settled_;
  if (ours || receipt_) return;  // of a receipt's, it has been said
  const std::string prefix = header_->signer.name() + "/";
  const bool other_length = origin.starts_with(prefix) && Digest::FromHex(origin.substr(prefix.size())).has_value();
  if (other_length && !has_receipt_) {
    files_.Note(kCheckpointFile, "is of the job with another number of steps; training takes it over");
  } else {
    files_.Damage(kCheckpointFile, fmt::format("its origin is {}, which is not of this run", origin));
  }
}

void FsckSigned::CheckEntries() {
  const std::vector<LogEntry>& entries = log_->entries();
  EntryRules rules = EntryRules::Of(*job_);
  if (!log_is_current_) rules.schedule.steps = entries.empty() ? 0 : entries.back().step;
  const auto find = [&](std::string_view file, std::string_view problem, std::optional<std::int64_t> step) {
    if (!binds()) return files_.Damage(file, problem);
    is_consistent_ = false;
    files_.Refute(file, problem, step);
  };
  if (const auto wrong = FindWrongEntry(rules, entries, header_->identity.trajectory)) {
    find("log", fmt::format("entry {} of the log {}", wrong->index, wrong->what), rules.schedule.StepOfEntry(wrong->index));
    return;
  }
  if (!receipt_ || !log_is_signed_ || entries.empty()) return;
  const std::pair<std::string_view, bool> fields[] = {
      {"initial_state_root", receipt_->initial_state_root == entries.front().state_root},
      {"final_state_root", receipt_->final_state_root == entries.back().state_root},
      {"loss_bits", receipt_->loss_bits == entries.back().loss_bits},
  };
  for (const auto& [name, holds] : fields) {
    if (!holds) find(kReceiptFile, fmt::format("the receipt's {} is not that of the log that it signs", name), std::nullopt);
  }
}

}  // namespace assay
