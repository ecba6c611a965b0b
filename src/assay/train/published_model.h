// A trained language model as others publish theirs: a folder in Hugging Face's layout, with config.json, model.safetensors and, where it is at hand, the
// tokenizer. What is written loads again as a job's model (model.kind = "huggingface"), bit for bit. Not synchronised.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/job/job.h"
#include "assay/tensor/safetensors.h"

namespace assay {

// Where files beside the weights come from; paths that are empty, or lead to nothing, bring none.
struct PublishedSources {
  std::string model;  // the folder that the training started from: settings that this model does not change, and its tokenizer
  std::string tokenizer;  // the folder of the vocabulary that the text was cut into tokens with
};
PublishedSources SourcesOf(const Job& job);

// Writes the folder, which must be empty or not there, and names its files in ascending order. config.json comes last: without it a folder is no model.
Result<std::vector<std::string>> WritePublishedModel(const std::string& folder, const ModelConfig& model,
                                                     std::span<const TensorRef> weights, const PublishedSources& sources);

}  // namespace assay
