// The job file that tests of training share: a perceptron of four units on generated features, which trains in milliseconds.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace assay::testkit {

struct SmallJob {
  std::int64_t steps = 9;
  std::int64_t microbatches = 3;
  bool adam = true;  // otherwise what a job has that names no optimizer
  std::int64_t commit_every = 2;
  std::int64_t snapshot_every = 4;
  std::int64_t keep = 2;   // snapshots
  std::string sections{};  // further ones
};

inline std::string SmallJobText(const SmallJob& job = {}) {
  constexpr std::string_view kAdam = "[optimizer]\nkind = \"adam\"\n[schedule]\nkind = \"constant\"\nlr = 0.01\n";
  return fmt::format(R"(
name = "test"
steps = {}
seed = 3
[model]
kind = "mlp"
hidden = [4]
[data]
kind = "features"
features = 3
classes = 2
samples = 64
[batch]
microbatch = 4
microbatches = {}
{}{}[commit]
every = {}
[snapshot]
every = {}
keep = {}
)",
                     job.steps, job.microbatches, job.adam ? kAdam : "", job.sections, job.commit_every, job.snapshot_every,
                     job.keep);
}

}  // namespace assay::testkit
