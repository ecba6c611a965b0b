// config.json of a folder in Hugging Face's layout: which of our models it describes, and the config.json of one of ours.
//
// Known are gpt2, llama, mistral and qwen2. A setting that would make another function of the weights than ours is refused by its name; what only concerns
// other uses (generation, caches, file types) is not looked at. The text comes from outside: it is bounded, and every number is checked before it is used.
// Pure; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/model/model.h"

namespace assay {

inline constexpr std::uint64_t kMaxHfConfig = std::uint64_t{1} << 20;

// `what` names the text in errors: "FOLDER/config.json: rope_scaling: expected null, got an object". The longest sequence is what the model was made for, or
// less: as long as a sliding window has no effect.
Result<ModelConfig> ParseHfConfig(std::string_view text, std::string_view what);

// The config.json of a model. Where `source` is one of the same model, everything that it says besides is kept. An error: the model is of a kind that the layout
// does not have here.
Result<std::string> WriteHfConfig(const ModelConfig& model, std::string_view source);

}  // namespace assay
