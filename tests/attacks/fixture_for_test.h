// What the tests of attacks share: small jobs, a machine to run them on, directories that go away.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "assay/audit/audit.h"
#include "assay/cli/backend.h"
#include "assay/job/job.h"
#include "support/scratch.h"

namespace assay::attacks {

struct Machine {
  Machine(int threads, const std::string& simd) : pool(threads), backend(cli::MakeBackend("cpu", simd, pool).value()) {}
  ThreadPool pool;
  std::unique_ptr<Backend> backend;
};

inline SigningKey TestKey() {
  ed25519::Seed seed{};
  seed.fill(7);
  return SigningKey("example.org/provider", seed);
}

// Dropout, two microbatches, clipping, AdamW: everything that a step can be.
inline constexpr char kLanguageJob[] = R"(
steps = 10
[model]
kind = "gpt2"
context = 8
layers = 2
heads = 2
width = 16
[data]
kind = "chars"
[batch]
microbatch = 4
microbatches = 2
sequence = 8
[optimizer]
weight_decay = 0.1
clip_norm = 1.0
[schedule]
kind = "warmup_cosine"
lr = 3e-3
warmup = 3
[commit]
every = 1
[snapshot]
every = 5
)";

// The quickest there is, with momentum; its first matrix has two leaves.
inline constexpr char kVectorJob[] = R"(
steps = 10
[model]
kind = "mlp"
hidden = [48]
[data]
kind = "features"
features = 32
classes = 4
samples = 256
[batch]
microbatch = 16
[optimizer]
kind = "sgd"
[schedule]
lr = 0.05
[commit]
every = 1
[snapshot]
every = 5
)";

inline Job MakeJob(const char* text, std::int64_t commit_every) {
  Job job = ParseJob(text, "job").value();
  job.commit_every = commit_every;
  return job;
}

// What an auditor says who knows which job was asked for, and whom.
inline AuditReport AuditRun(const std::string& path, const AuditOptions& options, Machine& machine) {
  const auto run = RunDirectory::Open(path);
  if (!run) return {.reason = run.error().message};
  const auto prepared = PrepareRun(*run, "", machine.pool);
  if (!prepared) return {.reason = prepared.error().message};
  return Audit(*run, *prepared, options, *machine.backend, machine.pool, {});
}

}  // namespace assay::attacks
