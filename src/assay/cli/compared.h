// What `assay diff` compares: a job, from its file or as a run has committed to it, and how it differs from another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/job/job.h"
#include "assay/merkle/sha256.h"
#include "assay/run/log.h"

namespace assay::cli {

struct Compared {
  std::string target;  // as the user named it
  Job job;
  std::optional<Digest> id{};  // not known of a job file whose data is not here
  std::optional<Digest> data{};
  std::optional<Digest> weights{};    // of a file that the job starts from
  std::optional<RunLog> log{};        // of a run
  std::optional<Digest> delivered{};  // of a finished run: the root over the weights that its receipt signs
  std::string signer{};               // of a run
  std::vector<std::string> notes{};
};

// `target` is a job file or a run directory. `data`: where its data is; empty: where the job says.
Result<Compared> OpenCompared(const std::string& target, const std::string& data);

// A setting that the two do not share; an empty value stands for none.
struct Difference {
  std::string name;
  std::string a, b;
  bool identifies = false;  // makes them different jobs
  bool digest = false;      // the values are hex digits, not as a job file has them
};
std::vector<Difference> DifferencesOf(const Compared& a, const Compared& b);

// How far two runs of one trajectory say the same.
struct Agreement {
  std::optional<std::int64_t>
      agree_until{};  // the step of the last entry that both have alike; none: they differ from the start
  std::optional<std::int64_t>
      differs_at{};  // the step of the first entry in which they differ; none: one run is as far as the other, or only shorter
  std::string what{};  // "states", "losses", "batches" or "rounding logs": what differs there
};
Agreement CompareLogs(const RunLog& a, const RunLog& b);

}  // namespace assay::cli
