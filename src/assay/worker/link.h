// Link: the coordinator, as a worker reaches it (docs/formats/platform.md, "Workers").
//
// An interface, so that tests and simulations put their own coordinator behind it; http_link.h is the real one. Calls come one at a time; Interrupt may come from
// any thread. Every call may be repeated: the coordinator answers a repetition like the first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/life/entry.h"
#include "assay/life/order.h"
#include "assay/monitor/nvml.h"
#include "assay/sign/key.h"

namespace assay::worker {

// Why a call gave nothing.
struct CallError {
  enum class Kind : std::uint8_t {
    kLater,        // not reached, or busy: may be repeated
    kEnded,        // the lease is over
    kGone,         // there is no such thing
    kDenied,       // this token or key may not
    kRefused,      // never, as it was put
    kHere,         // this machine failed: its disk, mostly
    kInterrupted,  // by Interrupt
  } kind{};
  std::string why;
  std::int64_t retry_ms = 0;  // kLater: when to come back; 0: as the caller likes
};
template <class T>
using Call = tl::expected<T, CallError>;

struct LeaseName {
  std::string order;
  life::LeaseNumber lease = 0;
  friend bool operator==(const LeaseName&, const LeaseName&) = default;
};

struct GivenLease {
  LeaseName name{};
  life::Role role = life::Role::kTrain;
  life::LeaseNumber of = 0;
  std::string nonce{};
  std::int64_t ends_in_ms = 0;
  friend bool operator==(const GivenLease&, const GivenLease&) = default;
};

struct Question {
  std::string id, order, kind;
  Bytes body{};
};

struct WorkRequest {
  std::int64_t wait_ms = 0;
  std::vector<std::string> holding{};  // orders of which something is kept
  bool fresh = true;                   // whether a lease of another order may be given
};

struct WorkReply {
  std::optional<GivenLease> lease{};
  std::vector<Question> questions{};
  std::vector<LeaseName> cancelled{};  // that have ended without a result
  std::vector<std::string> decided{};  // of those held
};

struct RunUnderAudit {
  std::string receipt;
  std::vector<life::OrderFile> files{};
};
struct LeasePapers {
  std::string order;  // the envelope
  std::optional<RunUnderAudit> run{};
  std::uint64_t committed = 0;  // entries of the run's log that the coordinator has a commitment to
};

struct Commitment {
  std::string note;
  std::vector<Digest> proof{};
  friend bool operator==(const Commitment&, const Commitment&) = default;
};

struct Delivery {
  std::string receipt;
  std::vector<Digest> proof{};
  std::int64_t model = 0;  // bytes of model.safetensors
  std::vector<life::OrderFile> files{};
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

// For people; nothing follows from it. Of a sealed order only when, phase, step and steps are told.
struct Sample {
  std::int64_t at_ms = 0;
  std::string phase;
  std::int64_t step = 0, steps = 0;
  float loss = 0;
  double rate = 0;  // of units
  std::string unit{};
  double cpu = 0;  // cores in use
  std::int64_t memory = 0;
  std::optional<monitor::GpuFigures> gpu{};
  monitor::GpuIdentity gpu_identity{};
  // The record of the run's telemetry that it is, and its hash; none while nothing is kept.
  std::int64_t index = -1;
  std::string chain{};
  bool sealed = false;
};

// What this machine is, as measured.
struct Hardware {
  std::string device, name, kernels;
  std::int64_t cores = 0, threads = 0;
  std::int64_t memory = 0, disk = 0;  // bytes that it offers
  double matmul_gflops = 0, hash_gbps = 0;
  std::string version{};
};

// Why a question gets no answer.
struct NoAnswer {
  enum class Kind : std::uint8_t { kLater, kNotOpen, kDenied, kNever } kind{};
  std::string why;
};
std::string_view Name(NoAnswer::Kind kind);  // "not_open"

struct CoordinatorInfo {
  std::string key;  // public
  std::int64_t lease_ms = 0;
};

class Link {
 public:
  virtual ~Link() = default;

  virtual Call<CoordinatorInfo> Coordinator() = 0;
  // Whom all other calls are for, which are made after this: nobody else can make use of what is signed for them.
  virtual void Address(const VerifyKey& coordinator) = 0;
  virtual Call<void> Register(const Hardware& hardware, const std::string& recipient) = 0;
  virtual Call<WorkReply> Work(const WorkRequest& request) = 0;
  virtual Call<LeasePapers> Papers(const LeaseName& lease) = 0;
  virtual Call<void> Renew(const LeaseName& lease) = 0;
  virtual Call<void> Commit(const LeaseName& lease, const Commitment& commitment) = 0;
  virtual Call<void> Tell(const LeaseName& lease, const std::vector<Sample>& samples) = 0;
  virtual Call<void> Deliver(const LeaseName& lease, const Delivery& delivery) = 0;
  virtual Call<void> Report(const LeaseName& lease, const std::string& report) = 0;
  virtual Call<void> GiveBack(const LeaseName& lease, life::Ending why, const std::string& words) = 0;
  virtual Call<void> Answer(const std::string& question, const tl::expected<Bytes, NoAnswer>& answer) = 0;

  // Leaves the whole blob, with this hash and size, at `path`, or what came of it where a later call finds it.
  virtual Call<void> Download(const life::OrderFile& file, const std::string& path) = 0;
  virtual Call<void> Upload(const life::OrderFile& file, const std::string& path) = 0;

  // Ends the call under way, or the next one, with kInterrupted.
  virtual void Interrupt() = 0;
};

using LinkFactory = std::function<std::unique_ptr<Link>()>;

}  // namespace assay::worker
