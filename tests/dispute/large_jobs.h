// The terms of jobs that are too large to be trained here: their programs are built without a tensor being allocated.
#pragma once

#include <string>
#include <vector>

#include "assay/base/check.h"
#include "assay/dispute/terms.h"
#include "assay/job/limits.h"

namespace assay::dispute {

struct LargeJob {
  std::string name;
  Terms terms;
};

inline LargeJob Large(std::string name, const ModelConfig& model, const BatchConfig& batch,
                      Precision precision = Precision::kFp32, DataKind other_data = DataKind::kCifar10) {
  Job job;
  job.precision = precision;
  job.steps = 4096;
  job.commit_every = 1;
  job.model = model;
  job.batch = batch;
  job.optimizer.clip_norm = 1;
  const bool language = std::holds_alternative<Gpt2Config>(model) || std::holds_alternative<LlamaConfig>(model);
  job.data.kind = language ? DataKind::kTokens : other_data;
  auto terms = Terms::Rebuild(Encode(job, {}));
  if (!terms) fmt::print(stderr, "{}: {}\n", name, terms.error().message);
  ASSAY_CHECK(terms.has_value());
  return {std::move(name), std::move(*terms)};
}

inline LargeJob Llama7B() {
  return Large("llama-7b b32 t4096",
               LlamaConfig{.context = 4096, .layers = 32, .heads = 32, .kv_heads = 32, .width = 4096, .hidden = 11008},
               {.microbatch = 4, .microbatches = 8, .sequence = 4096});
}
inline LargeJob Llama70B() {
  return Large("llama-70b b4096 t4096",
               LlamaConfig{.context = 4096, .layers = 80, .heads = 64, .kv_heads = 8, .width = 8192, .hidden = 28672},
               {.microbatch = 4, .microbatches = 1024, .sequence = 4096});
}
inline LargeJob ResNet50() {
  return Large("resnet-50 b4096 224x224", ResNetConfig{.depth = 50, .cifar_stem = false, .classes = 1000, .image = 224},
               {.microbatch = 64, .microbatches = 64});
}
inline LargeJob Gpt2Of(std::int64_t layers) {
  return Large(fmt::format("gpt2 {} layers b512 t1024", layers), Gpt2Config{.layers = layers},
               {.microbatch = 8, .microbatches = 64, .sequence = 1024});
}
// The longest sequence whose attention is within the limit of a tensor, and as many microbatches as a job may have.
inline LargeJob LongSequences() {
  return Large("llama-tiny t131072",
               LlamaConfig{.vocab = 256, .context = 1 << 17, .layers = 1, .heads = 1, .kv_heads = 1, .width = 8, .hidden = 16},
               {.microbatch = 1, .microbatches = 1 << 16, .sequence = 1 << 17});
}

// The largest samples that an array may have.
inline LargeJob LargeArrays() {
  return Large("mlp on arrays", MlpConfig{.inputs = static_cast<std::int64_t>(kMaxArrayElements), .classes = 2, .hidden = {2}},
               {.microbatch = 2}, Precision::kFp32, DataKind::kArrays);
}

inline std::vector<LargeJob> LargeJobs() {
  std::vector<LargeJob> jobs;
  jobs.push_back(Llama70B());
  jobs.push_back(ResNet50());
  jobs.push_back(Gpt2Of(200));
  jobs.push_back(Gpt2Of(256));  // as many layers as a job may have
  jobs.push_back(LongSequences());
  jobs.push_back(LargeArrays());
  return jobs;
}

}  // namespace assay::dispute
