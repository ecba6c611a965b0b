// Job: what is to be trained, on what, how, for how long. Read from TOML (docs/JOBS.md lists every key).
//
// Everything that can change a bit of the result is hashed into the job's id; what cannot (paths, evaluation, snapshots) is not, so two
// people who keep the same data in different places have the same job. Value type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/data/open.h"
#include "assay/job/learning_rate.h"
#include "assay/merkle/sha256.h"
#include "assay/model/model.h"

namespace assay {

enum class Precision : std::uint8_t {
  kFp32 = 0,         // the numeric contract (docs/NUMERICS.md)
  kFp64Rounded = 1,  // the vendor's FP64, rounded after every operator (docs/ROUNDING.md)
  kFp32Vendor = 2,   // the vendor's FP32, which nobody else can repeat
  kInt8x3 = 3,       // the numeric contract, contractions by three digits (its section 7)
  kInt8x2 = 4,       // the same by two
};
// Whether every honest run has the same bits: the numeric contract, with digits or without.
constexpr bool IsExact(Precision precision) {
  return precision == Precision::kFp32 || precision == Precision::kInt8x3 || precision == Precision::kInt8x2;
}
// How many digits the program's contractions have; 0: none.
constexpr int DigitsOf(Precision precision) {
  return precision == Precision::kInt8x3 ? 3 : precision == Precision::kInt8x2 ? 2 : 0;
}
enum class RoundRule : std::uint8_t { kBound = 0, kPaper = 1 };

struct EvalConfig {
  std::int64_t every = 0;     // steps between evaluations on the validation part; 0: only after the last step
  std::int64_t batches = 10;  // microbatches per evaluation
};

struct SnapshotConfig {
  std::int64_t every = 100;  // steps between snapshots; 0: only after the last step
  std::int64_t keep = 0;     // most recent snapshots kept; 0: all
  std::int64_t minutes = 0;  // of time between snapshots, beside `every`; 0: none by time
  bool start = false;        // one of the state before the first step, too
};

struct Job {
  std::string name;  // a label; not part of the id
  std::int64_t steps = 100;
  std::uint64_t seed = 1;
  std::optional<Digest> seed_from;  // a public commitment that the seed follows from; ResolveModel then sets `seed`
  Precision precision = Precision::kFp32;
  std::int64_t round_bits = 32;              // of fp64-rounded
  RoundRule round_rule = RoundRule::kBound;  // which roundings are written down
  std::map<std::string, float> round_tau;    // of the paper rule: thresholds by op, in spacings of the grid
  std::int64_t commit_every = 10;            // steps between log entries
  // Extents that the file leaves out are 0 until ResolveModel takes them from the data.
  ModelConfig model = Gpt2Config{};
  DataConfig data;
  BatchConfig batch;
  OptimizerConfig optimizer;
  Schedule schedule;
  EvalConfig eval;
  SnapshotConfig snapshot;
  // The folder of a model in Hugging Face's layout, of model.kind = "huggingface". TakeModelFromFolder replaces it by the model and the weights to start from.
  std::optional<std::string> model_folder;
  std::string init_weights;  // a safetensors file, or a folder of them, to start from; empty: initial values from the seed
  std::string file;          // what it was read from, for messages; empty: from no file
};

// Errors are one line: "job.toml:12: model.width: expected an integer in 1..65536, got a string". LoadJob takes relative paths inside the
// file as relative to the file's folder.
Result<Job> LoadJob(const std::filesystem::path& path);
Result<Job> ParseJob(std::string_view text, std::string_view name);
// An error that begins with a key ("model.vocab: …") gets the file and the line of that key, or of its table, in front. Others stay as they are.
Error LocatedInFile(const std::string& file, Error error);

// The job as a job file that parses to the same job.
std::string ToToml(const Job& job);

// Whether the samples of the job are those of arrays: its data is arrays, or packed for a model that is no language model.
bool TrainsOnArrays(const Job& job);

// Every key that applies to the job, as ToToml writes it. A key that the data decides is left out until ResolveModel has done so.
struct JobSetting {
  std::string name;         // "optimizer.lr"
  std::string value;        // "0.001"
  bool identifies = false;  // whether another value makes another job
};
std::vector<JobSetting> JobSettings(const Job& job);

// The seed of a job on the data with this root that has this `seed_from`: nobody who must take a commitment as it is can choose it (docs/formats/job.md).
std::uint64_t SeedFrom(const Digest& data, const Digest& commitment);

// Replaces `model_folder` by the model that its config.json describes, by its weights, and where the data is text in byte pairs without a vocabulary, by its
// tokenizer. Nothing is done where there is none. Everything that follows knows the job only as what it is then.
Status TakeModelFromFolder(Job& job);

// Takes what the file left open from the data, and checks that model, batch and data fit together.
Status ResolveModel(Job& job, const Data& data);

// The identities of the outside bytes that a job depends on.
struct JobInputs {
  Digest data{};  // Data::root
  std::optional<Digest>
      weights;  // of what is at init_weights: the file's SHA-256 (docs/formats/job.md has that of several files)
};

// The canonical encoding of a resolved job: magic, version, then every field that can change a bit, in one fixed order.
Bytes Encode(const Job& job, const JobInputs& inputs);
// The job and its inputs again, without what is not encoded (paths, evaluation, snapshots, where data comes from). Accepts exactly what Encode writes; the
// bytes may come from anyone.
struct DecodedJob {
  Job job;
  JobInputs inputs;
};
Result<DecodedJob> DecodeJob(ByteSpan bytes);
// SHA-256 of (job encoding ‖ program encoding), each with its length before it.
Digest JobId(const Job& job, const JobInputs& inputs, const Program& program);
Digest JobId(ByteSpan job, ByteSpan program);  // of the encodings

// Every key the parser knows, for documentation and its test.
struct JobKey {
  std::string name;      // "model.width"
  std::string when;      // "gpt2, llama": the kinds of its section to which it belongs; empty: all
  std::string type;      // "integer"
  std::string fallback;  // default, as written in a file; empty: required
  std::string range;     // "1 .. 65536"
};
std::vector<JobKey> JobKeys();

}  // namespace assay
