#include "assay/model/import.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <variant>
#include <vector>

#include "assay/base/check.h"
#include "assay/base/quote.h"

namespace assay {
namespace {

// The name that a tensor of the file has with us.
std::string OurName(const ModelConfig& model, std::string_view name) {
  constexpr std::string_view kPrefix = "transformer.";
  if (std::holds_alternative<Gpt2Config>(model) && name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const bool bare = name.starts_with("layers.") || name == "embed_tokens.weight" || name == "norm.weight";
  return std::holds_alternative<LlamaConfig>(model) && bare ? fmt::format("model.{}", name) : std::string(name);
}

// What other programs store beside the parameters, and the optimizer state in our own files.
bool Ignored(const ModelConfig& model, std::string_view name) {
  if (name.starts_with("adam.m/") || name.starts_with("adam.v/") || name.starts_with("sgd.m/")) return true;
  if (std::holds_alternative<Gpt2Config>(model)) {
    return name == "lm_head.weight" || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  }
  if (const auto* llama = std::get_if<LlamaConfig>(&model)) {
    return (llama->tied && name == "lm_head.weight") || name.ends_with(".rotary_emb.inv_freq");
  }
  return std::holds_alternative<ResNetConfig>(model) && name.ends_with(".num_batches_tracked");
}

Tensor OihwToOhwi(const Tensor& in) {
  const std::int64_t outputs = in.shape()[0], inputs = in.shape()[1], height = in.shape()[2], width = in.shape()[3];
  Tensor out(DType::kF32, {outputs, height, width, inputs});
  const float* from = in.Span<float>().data();
  float* to = out.Span<float>().data();
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t h = 0; h < height; ++h) {
      for (std::int64_t w = 0; w < width; ++w) {
        for (std::int64_t i = 0; i < inputs; ++i) *to++ = from[((o * inputs + i) * height + h) * width + w];
      }
    }
  }
  return out;
}

Shape StoredShape(const Shape& ours, bool permuted) { return permuted ? Shape{ours[0], ours[3], ours[1], ours[2]} : ours; }

Status CheckParameter(const Safetensors& file, const StoredTensor& stored, const StateSpec& spec, bool permuted) {
  const Shape expected = StoredShape(spec.type.shape, permuted);
  const bool floats = stored.type == StoredType::kF32 || stored.type == StoredType::kF16 || stored.type == StoredType::kBF16;
  if (floats && stored.shape == expected) return {};
  return Err("{}: tensor {}: expected F32{} (or F16, BF16), got {}{}", file.what(), Quote(stored.name), ToString(expected),
             Name(stored.type), ToString(stored.shape));
}

// Which tensor of the file each of the model's is.
struct Found {
  const StateSpec* spec = nullptr;
  const StoredTensor* stored = nullptr;
  bool permuted = false;  // OIHW
};

using Places = std::unordered_map<std::string, std::size_t>;  // in a list of what is found, by our name

Status FindIn(const ModelConfig& model, const Safetensors& file, const Places& places, std::span<Found> found) {
  const auto layout = file.metadata().find(kLayoutKey);
  const bool native = layout != file.metadata().end() && layout->second == kLayoutNative;
  for (const StoredTensor& stored : file.tensors()) {
    const std::string name = OurName(model, stored.name);
    const auto it = places.find(name);
    if (it == places.end()) {
      if (Ignored(model, name)) continue;
      return Err("{}: tensor {} is not part of the model", file.what(), Quote(stored.name));
    }
    Found& place = found[it->second];
    if (place.stored != nullptr) return Err("{}: tensor {} appears twice", file.what(), Quote(name));
    place.permuted = !native && std::holds_alternative<ResNetConfig>(model) && place.spec->type.shape.rank() == 4;
    ASSAY_TRY(CheckParameter(file, stored, *place.spec, place.permuted));
    place.stored = &stored;
  }
  return {};
}

// In the order of `wanted`, which must outlive it, as must the files.
Result<std::vector<Found>> FindAll(const ModelConfig& model, std::span<const Safetensors> files,
                                   std::span<const StateSpec> wanted) {
  std::vector<Found> found;
  Places places;
  for (const StateSpec& spec : wanted) {
    places[spec.name] = found.size();
    found.push_back({.spec = &spec});
  }
  for (const Safetensors& file : files) ASSAY_TRY(FindIn(model, file, places, found));
  for (const Found& place : found) {
    if (place.stored != nullptr) continue;
    const std::string others = files.size() > 1 ? " and the files beside it" : "";
    return Err("{}{}: tensor {} is missing", files.front().what(), others, Quote(place.spec->name));
  }
  return found;
}

}  // namespace

std::map<std::string, std::string> NativeMetadata() { return {{kLayoutKey, kLayoutNative}}; }

Status CheckImport(const ModelConfig& model, std::span<const Safetensors> files) {
  const std::vector<StateSpec> wanted = ModelState(model);
  ASSAY_TRY(FindAll(model, files, wanted));
  return {};
}

Status ImportWeights(const ModelConfig& model, const Safetensors& file, std::span<const StateSpec> specs,
                     std::span<Tensor> state) {
  return ImportWeights(model, std::span(&file, 1), specs, state);
}

Status ImportWeights(const ModelConfig& model, std::span<const Safetensors> files, std::span<const StateSpec> specs,
                     std::span<Tensor> state) {
  ASSAY_CHECK(specs.size() == state.size() && !files.empty());
  const std::vector<StateSpec> wanted = ModelState(model);
  ASSAY_ASSIGN(const std::vector<Found> found, FindAll(model, files, wanted));
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < specs.size(); ++i) places[specs[i].name] = i;
  for (const Found& parameter : found) {
    const auto place = places.find(parameter.spec->name);
    ASSAY_CHECK(place != places.end() && specs[place->second].type == parameter.spec->type);
    auto tensor = parameter.stored->Load();
    ASSAY_CHECK(tensor);  // its type is one that can be loaded
    state[place->second] = parameter.permuted ? OihwToOhwi(*tensor) : *std::move(tensor);
  }
  return {};
}

}  // namespace assay
