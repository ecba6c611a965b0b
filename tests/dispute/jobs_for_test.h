// Small jobs that between them use most ops: dropout, several microbatches, clipping, normalisation, tied and untied embeddings.
#pragma once

#include <string>

#include "assay/base/check.h"
#include "assay/train/prepare.h"

namespace assay::dispute {

inline PreparedJob PreparedFrom(const std::string& text) {
  auto job = ParseJob(text, "test.toml");
  if (!job) fmt::print(stderr, "{}\n", job.error().message);
  ASSAY_CHECK(job.has_value());
  auto prepared = Prepare(std::move(*job));
  if (!prepared) fmt::print(stderr, "{}\n", prepared.error().message);
  ASSAY_CHECK(prepared.has_value());
  return std::move(*prepared);
}

inline std::string MlpJob(std::int64_t steps = 4, std::int64_t commit_every = 1, std::int64_t microbatches = 1) {
  return fmt::format(
      "steps = {0}\nseed = 5\n[commit]\nevery = {1}\n[snapshot]\nevery = {1}\n[model]\nkind = \"mlp\"\nhidden = "
      "[40]\n[data]\nkind = \"features\"\nfeatures = 70\nclasses = 3\n"
      "samples = 64\n[batch]\nmicrobatch = 6\nmicrobatches = {2}\n[optimizer]\nclip_norm = 1.0\n",
      steps, commit_every, microbatches);
}

inline std::string Gpt2Job(std::int64_t steps = 2, std::int64_t microbatches = 1) {
  return fmt::format(
      "steps = {}\nseed = 7\n[commit]\nevery = 1\n[model]\nkind = \"gpt2\"\nlayers = 1\nheads = 2\nwidth = 32\ncontext = "
      "48\ndropout = 0.1\n[data]\nkind = \"chars\"\n"
      "[batch]\nmicrobatch = 2\nmicrobatches = {}\nsequence = 40\n[optimizer]\nclip_norm = 1.0\nweight_decay = "
      "0.1\n[schedule]\nkind = \"warmup_cosine\"\nlr = 1e-3\nlength = 10\nwarmup = 1\n",
      steps, microbatches);
}

inline std::string LlamaJob() {
  return "steps = 1\nseed = 9\n[commit]\nevery = 1\n[model]\nkind = \"llama\"\nlayers = 1\nheads = 4\nkv_heads = 2\nwidth = "
         "32\nhidden = 48\ncontext = 48\n[data]\nkind = \"chars\"\n"
         "[batch]\nmicrobatch = 2\nsequence = 33\n";
}

inline std::string ResNetJob() {
  return "steps = 1\nseed = 11\n[commit]\nevery = 1\n[model]\nkind = \"resnet\"\ndepth = 18\nwidth = 4\n[data]\nkind = "
         "\"images\"\nimage = 16\nsamples = 32\n"
         "[batch]\nmicrobatch = 4\n[optimizer]\nkind = \"sgd\"\nmomentum = 0.9\nnesterov = true\n";
}

}  // namespace assay::dispute
