// What tests of accounts share: a small finished run in a directory of its own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "assay/backend/ref/ref_backend.h"
#include "assay/dispute/run_account.h"
#include "assay/train/trainer.h"
#include "support/scratch.h"

namespace assay::dispute {

inline SigningKey TestKey(std::uint8_t first = 7) {
  ed25519::Seed seed{};
  seed[0] = first;
  return SigningKey("test", seed);
}

struct RunShape {
  std::int64_t microbatches = 1;
  std::int64_t commit_every = 1;
  std::int64_t steps = 13;
  std::int64_t snapshot_every = 4;
};

inline std::string JobText(const RunShape& shape) {
  return fmt::format(R"(
steps = {}
seed = 20266
[model]
kind = "mlp"
hidden = [24]
[data]
kind = "features"
features = 50
classes = 3
samples = 96
[batch]
microbatch = 4
microbatches = {}
[optimizer]
kind = "adam"
[schedule]
kind = "warmup_cosine"
lr = 0.01
warmup = 2
[commit]
every = {}
[snapshot]
every = {}
keep = 0
)",
                     shape.steps, shape.microbatches, shape.commit_every, shape.snapshot_every);
}

// Trains it; the directory goes away with it.
class TestRun {
 public:
  explicit TestRun(const std::string& job_text) {
    auto job = ParseJob(job_text, "test.toml");
    EXPECT_TRUE(job) << job.error().message;
    auto made = Prepare(*job);
    EXPECT_TRUE(made) << made.error().message;
    prepared = std::move(*made);
    auto opened = RunDirectory::OpenForTraining(scratch_ / "run", ContentOf(prepared), key.verify_key());
    EXPECT_TRUE(opened) << opened.error().message;
    run.emplace(std::move(*opened));
    const auto trained = Train(prepared, *run, key, *backend, pool, {});
    EXPECT_TRUE(trained) << trained.error().message;
  }
  explicit TestRun(const RunShape& shape) : TestRun(JobText(shape)) {}
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;

  std::unique_ptr<RunAccount> Account(const RunAccount::Limits& limits = {}, Conduct* conduct = nullptr) {
    auto account = RunAccount::Make(*run, prepared, *backend, pool, limits, conduct);
    EXPECT_TRUE(account) << account.error().message;
    return std::move(*account);
  }

  SigningKey key = TestKey();
  ThreadPool pool{1};
  std::unique_ptr<Backend> backend = ref::MakeRefBackend(pool);
  PreparedJob prepared;
  std::optional<RunDirectory> run;

 private:
  testkit::Scratch scratch_;
};

}  // namespace assay::dispute
