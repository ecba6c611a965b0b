// Weights from safetensors files of other programs, or of our own, into a state.
//
// GPT-2 and Llama files use Hugging Face's names and layouts, which are ours; a prefix that belongs to the model around the blocks may be
// there or not. ResNet files use torchvision's names; their convolution weights are OIHW and are permuted to our OHWI, unless the file's
// metadata carries kLayoutKey = kLayoutNative, as the files that we write do. Thread safe.
#pragma once

#include <map>
#include <span>
#include <string>

#include "assay/base/result.h"
#include "assay/graph/program.h"
#include "assay/model/model.h"
#include "assay/tensor/safetensors.h"
#include "assay/tensor/tensor.h"

namespace assay {

inline constexpr char kLayoutKey[] = "assay.layout";
inline constexpr char kLayoutNative[] = "ohwi";
// The metadata that every weights file of ours carries.
std::map<std::string, std::string> NativeMetadata();

// Overwrites the model's parameters and statistics among `state` (parallel to `specs`, which may also hold optimizer state: that is left
// alone). Every parameter must be in the file with its shape; a tensor of the file that the model does not know is an error, except
// for what other programs store and training does not need (attention masks, batch counters, a tied output layer, optimizer state).
// Nothing is changed when an error is returned.
// The checks are made before anything is loaded, one tensor at a time. Of several files each has a part of the tensors.
Status ImportWeights(const ModelConfig& model, std::span<const Safetensors> files, std::span<const StateSpec> specs,
                     std::span<Tensor> state);
Status ImportWeights(const ModelConfig& model, const Safetensors& file, std::span<const StateSpec> specs,
                     std::span<Tensor> state);
// Whether ImportWeights would succeed for a whole state of the model; allocates nothing that the file could make large.
Status CheckImport(const ModelConfig& model, std::span<const Safetensors> files);

}  // namespace assay
