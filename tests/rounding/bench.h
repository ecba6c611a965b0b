// What the tests of rounded training share: tiny jobs, machines of the OpenBLAS backend whose results can be perturbed, runs that are trained and audited.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "assay/audit/audit.h"
#include "assay/backend/openblas/openblas_backend.h"
#include "assay/backend/openblas/output.h"
#include "assay/ops/table.h"
#include "assay/train/trainer.h"
#include "support/scratch.h"

namespace assay::roundtest {

using testkit::Scratch;

inline bool HasBlas() {
  ThreadPool pool(1);
  return rounded::MakeOpenBlasBackend({}, pool).has_value();
}

// Somebody's machine. Its hooks may be changed between runs.
struct Machine {
  explicit Machine(std::int64_t bits, int threads = 1, double perturbation = 0, std::uint32_t seed = 0, bool credulous = false)
      : pool(threads) {
    hooks.perturbation = perturbation;
    hooks.seed = seed;
    hooks.credulous = credulous;
    rounded::Options options;
    options.bits = static_cast<int>(bits);
    options.hooks = &hooks;
    Load(options);
  }
  // By the published rule.
  Machine(const Job& job, int threads, double perturbation, std::uint32_t seed) : pool(threads) {
    hooks.perturbation = perturbation;
    hooks.seed = seed;
    rounded::Options options;
    options.bits = static_cast<int>(job.round_bits);
    options.rule = rounding::Rule::kPaper;
    for (const auto& [op, spacings] : job.round_tau) options.tau[Ops().FindName(op).value()] = double{spacings};
    options.hooks = &hooks;
    Load(options);
  }
  void Load(const rounded::Options& options) { backend = rounded::MakeOpenBlasBackend(options, pool).value(); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  ThreadPool pool;
  rounded::TestHooks hooks{};
  std::unique_ptr<Backend> backend;
};

inline SigningKey KeyOf(std::uint8_t first = 7) {
  ed25519::Seed seed{};
  seed[0] = first;
  return SigningKey("test", seed);
}

inline constexpr char kMlp[] = R"(
steps = 6
seed = 3
[model]
kind = "mlp"
hidden = [24]
[data]
kind = "features"
features = 20
classes = 3
samples = 96
[batch]
microbatch = 8
microbatches = 3
[optimizer]
clip_norm = 1.0
[commit]
every = 1
[snapshot]
every = 3
)";

inline constexpr char kGpt2[] = R"(
steps = 4
seed = 7
[model]
kind = "gpt2"
layers = 1
heads = 2
width = 16
context = 16
dropout = 0.1
[data]
kind = "chars"
[batch]
microbatch = 2
microbatches = 2
sequence = 16
[optimizer]
kind = "adamw"
weight_decay = 0.1
clip_norm = 1.0
[schedule]
kind = "warmup_cosine"
lr = 3e-3
warmup = 2
[commit]
every = 1
[snapshot]
every = 2
)";

// With close calls in its products.
inline constexpr char kLargerGpt2[] = R"(
steps = 2
seed = 1
[model]
kind = "gpt2"
layers = 2
heads = 2
width = 32
context = 32
[data]
kind = "chars"
[batch]
microbatch = 4
sequence = 32
[commit]
every = 1
[snapshot]
every = 1
)";

inline constexpr char kResNet[] = R"(
steps = 2
seed = 11
[model]
kind = "resnet"
depth = 18
width = 2
cifar_stem = true
[data]
kind = "images"
image = 8
samples = 32
[batch]
microbatch = 2
[optimizer]
kind = "sgd"
momentum = 0.9
nesterov = true
[commit]
every = 1
[snapshot]
every = 1
)";

inline PreparedJob JobOf(const char* text, std::int64_t bits, std::int64_t commit_every = 1) {
  auto job = ParseJob("precision = \"fp64-rounded\"\nround_bits = " + std::to_string(bits) + "\n" + text, "test.toml");
  if (!job) fmt::print(stderr, "{}\n", job.error().message);
  job.value().commit_every = commit_every;
  job.value().snapshot.every = (job.value().snapshot.every + commit_every - 1) / commit_every * commit_every;
  return Prepare(std::move(*job)).value();
}

inline PreparedJob Reseeded(const PreparedJob& prepared, std::uint64_t seed) {
  Job job = prepared.job;
  job.seed = seed;
  return Prepare(std::move(job)).value();
}

// Trains until `until` steps are done, or to the end.
inline Result<TrainOutcome> TrainIn(const std::string& path, const PreparedJob& prepared, Machine& machine,
                                    std::int64_t until = INT64_MAX, const SigningKey& key = KeyOf(),
                                    const RunDirectory* follow = nullptr) {
  ASSAY_ASSIGN(RunDirectory run, RunDirectory::OpenForTraining(path, ContentOf(prepared), key.verify_key()));
  std::int64_t done = 0;
  const TrainHooks hooks{.on_start = [&](std::int64_t first) { done = first; },
                         .on_step = [&](const StepReport& report) { done = report.step; },
                         .should_stop = [&] { return done >= until; }};
  std::optional<FollowedRun> followed;
  if (follow != nullptr) {
    ASSAY_ASSIGN(followed, FollowedRun::Open(*follow, prepared));
  }
  return Train(prepared, run, key, *machine.backend, machine.pool, hooks, std::move(followed));
}

inline AuditReport AuditOf(const std::string& path, const PreparedJob& prepared, Machine& machine,
                           const AuditOptions& options = {}) {
  const auto run = RunDirectory::Open(path);
  if (!run) return {.reason = run.error().message};
  return Audit(*run, prepared, options, *machine.backend, machine.pool, {});
}

// What it says, for messages.
inline std::string Said(const AuditReport& report) {
  return fmt::format("{}: {}{}", Name(report.verdict), report.reason, report.refutation.value_or(Refutation{}).reason);
}

}  // namespace assay::roundtest
