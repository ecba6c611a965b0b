// Encodings of jobs, and of two programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "assay/base/check.h"
#include "assay/job/job.h"
#include "assay/merkle/sha256.h"
#include "docs/json.h"
#include "docs/vectors.h"

namespace assay::docs {
namespace {

// Extents that would come from the data are given, so that a job is resolved as it stands.
constexpr const char* kJobs[] = {
    R"(name = "a label"
steps = 50
seed = 1
[model]
kind = "mlp"
hidden = [3, 2]
inputs = 4
classes = 2
[data]
kind = "features"
features = 4
classes = 2
[batch]
microbatch = 2
[optimizer]
kind = "sgd"
weight_decay = 1e-4
)",
    R"(steps = 7
seed = 9223372036854775807
[model]
kind = "gpt2"
vocab = 5
context = 4
layers = 1
heads = 1
width = 2
dropout = 0.25
[data]
kind = "chars"
stride = 0
[batch]
microbatch = 1
microbatches = 3
sequence = 4
[optimizer]
kind = "adamw"
clip_norm = 1.0
[schedule]
kind = "warmup_cosine"
lr = 6e-4
warmup = 2
min_lr = 6e-5
[commit]
every = 3
[snapshot]
every = 0
)",
    R"(steps = 4294967295
precision = "fp64-rounded"
round_bits = 30
round_rule = "paper"
round_tau = { matmul = 0.125, add = 0.5 }
[model]
kind = "llama"
vocab = 7
context = 8
layers = 1
heads = 2
kv_heads = 1
width = 4
hidden = 6
tied = true
[data]
kind = "tokens"
[batch]
sequence = 8
[optimizer]
kind = "adam"
[schedule]
kind = "step"
every = 10
gamma = 0.5
[init]
weights = "weights.safetensors"
)",
    R"(precision = "fp64-rounded"
[model]
kind = "resnet"
classes = 10
image = 32
channels = 3
width = 8
[data]
kind = "cifar10"
augment = false
[optimizer]
kind = "sgd"
momentum = 0.0
)",
    R"([model]
kind = "resnet"
classes = 4
image = 8
image_width = 12
channels = 1
width = 2
[data]
kind = "arrays"
layout = "nchw"
augment = true
[optimizer]
kind = "sgd"
)",
    R"(seed_from = "00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f"
[model]
kind = "mlp"
inputs = 6
classes = 3
[data]
kind = "arrays"
[optimizer]
kind = "sgd"
)",
    R"([model]
kind = "llama"
vocab = 7
context = 8
layers = 1
heads = 2
kv_heads = 1
width = 4
hidden = 6
norm_eps = 1e-6
qkv_bias = true
[data]
kind = "tokens"
[batch]
sequence = 8
)",
    R"([model]
kind = "gpt2"
vocab = 5
context = 4
layers = 1
heads = 1
width = 2
norm_eps = 1e-6
[data]
kind = "bpe"
vocabulary = "folder"
special_tokens = true
[batch]
sequence = 4
)"};

std::string Entry(const char* text) {
  auto job = ParseJob(text, "vector");
  if (!job) CheckFailed(job.error().message.c_str(), __FILE__, __LINE__);
  JobInputs inputs{.data = HashBytes(AsBytes("data")), .weights = {}};
  if (!job->init_weights.empty()) inputs.weights = HashBytes(AsBytes("weights"));
  const Program program = BuildProgram(job->model, job->optimizer, job->batch, DigitsOf(job->precision));
  const Bytes bytes = Encode(program);
  const bool small = bytes.size() <= 12000;
  const Bytes encoding = Encode(*job, inputs);
  const auto decoded = DecodeJob(encoding);
  if (!decoded) CheckFailed(decoded.error().message.c_str(), __FILE__, __LINE__);
  return Object({{"job", Quoted(text)},
                 {"data_root", Quoted(inputs.data.hex())},
                 {"weights", inputs.weights ? Quoted(inputs.weights->hex()) : "null"},
                 {"encoding", Quoted(Hex(encoding))},
                 {"seed", Quoted(fmt::format("{:016x}", decoded->job.seed))},
                 {"program", small ? Quoted(Hex(bytes)) : "null"},
                 {"program_sha256", Quoted(HashBytes(bytes).hex())},
                 {"program_bytes", fmt::format("{}", bytes.size())},
                 {"id", Quoted(JobId(*job, inputs, program).hex())}});
}

}  // namespace

std::string JobVectors() {
  std::vector<std::string> entries;
  for (const char* text : kJobs) entries.push_back(Entry(text));
  return Lines(entries) + "\n";
}

}  // namespace assay::docs
