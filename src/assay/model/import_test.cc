#include "assay/model/import.h"

#include <gtest/gtest.h>

#include <map>

namespace assay {
namespace {

const Gpt2Config kGpt2{.vocab = 5, .context = 4, .layers = 1, .heads = 1, .width = 2, .dropout = 0};
const ResNetConfig kResNet{.depth = 18, .cifar_stem = true, .classes = 2, .image = 8, .channels = 3, .width = 2};

// A file's tensors by name, to be changed by a test before they are written.
struct Weights {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  void Add(const std::string& name, Shape shape, DType dtype = DType::kF32) {
    Tensor tensor(dtype, shape);
    if (dtype == DType::kF32) {
      for (std::size_t i = 0; i < tensor.Span<float>().size(); ++i)
        tensor.Span<float>()[i] = static_cast<float>(i + tensors.size());
    }
    tensors[name] = std::move(tensor);
  }
  Bytes Encode() const {
    std::vector<TensorRef> refs;
    for (const auto& [name, tensor] : tensors) refs.push_back({name, &tensor});
    return EncodeSafetensors(refs, metadata).value();
  }
};

Weights FileOf(const ModelConfig& model, const std::string& prefix, bool oihw) {
  Weights out;
  for (const StateSpec& spec : ModelState(model)) {
    const Shape s = spec.type.shape;
    out.Add(prefix + spec.name, oihw && s.rank() == 4 ? Shape{s[0], s[3], s[1], s[2]} : s);
  }
  return out;
}

struct Imported {
  std::vector<StateSpec> specs;
  std::vector<Tensor> state;
  std::string error = "accepted";
  const Tensor& operator[](const std::string& name) const {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].name == name) return state[i];
    }
    ADD_FAILURE() << name;
    return state[0];
  }
};

Imported Import(const ModelConfig& model, const Weights& weights) {
  Imported out;
  out.specs = BuildProgram(model, {}, {.microbatch = 2, .sequence = 4}).state;
  for (const StateSpec& spec : out.specs) out.state.emplace_back(spec.type);
  const Bytes bytes = weights.Encode();
  const auto file = Safetensors::Parse(bytes, "w");
  EXPECT_TRUE(file);
  const auto status = ImportWeights(model, *file, out.specs, out.state);
  if (!status) out.error = status.error().message;
  return out;
}

TEST(Import, Gpt2AsHuggingFaceStoresIt) {
  Weights file = FileOf(kGpt2, "transformer.", false);
  file.Add("transformer.h.0.attn.bias", {1, 1, 4, 4});
  file.Add("transformer.h.0.attn.masked_bias", {});
  file.Add("lm_head.weight", {5, 2});
  const Imported in = Import(kGpt2, file);
  EXPECT_EQ(in.error, "accepted");
  const Tensor& stored = file.tensors.at("transformer.h.0.attn.c_attn.weight");
  EXPECT_TRUE(std::equal(stored.bytes().begin(), stored.bytes().end(), in["h.0.attn.c_attn.weight"].bytes().begin()));
  EXPECT_EQ(in["adam.m/wte.weight"].Span<float>()[3], 0.0f);
}

TEST(Import, LlamaWithAndWithoutThePrefix) {
  const LlamaConfig llama{.vocab = 5,
                          .context = 4,
                          .layers = 1,
                          .heads = 2,
                          .kv_heads = 1,
                          .width = 4,
                          .hidden = 6,
                          .tied = true,
                          .qkv_bias = true};
  const Weights file = FileOf(llama, "", false);
  EXPECT_TRUE(file.tensors.contains("model.layers.0.self_attn.k_proj.bias"));
  Weights bare;
  for (const auto& [name, tensor] : file.tensors)
    bare.tensors[name.substr(std::string("model.").size())] = tensor.CopyTo(HostMemory());
  bare.Add("layers.0.self_attn.rotary_emb.inv_freq", {1});
  bare.Add("lm_head.weight", {5, 4});
  for (const Weights* each : {&file, static_cast<const Weights*>(&bare)}) {
    const Imported in = Import(llama, *each);
    EXPECT_EQ(in.error, "accepted");
    const Tensor& stored = file.tensors.at("model.layers.0.self_attn.k_proj.bias");
    EXPECT_TRUE(std::ranges::equal(stored.bytes(), in["model.layers.0.self_attn.k_proj.bias"].bytes()));
  }
}

TEST(Import, EachOfSeveralFilesHasAPart) {
  Weights one = FileOf(kGpt2, "", false), two;
  two.tensors.insert(one.tensors.extract("ln_f.bias"));
  const auto specs = ModelState(kGpt2);
  const auto import = [&] {
    const Bytes first = one.Encode(), second = two.Encode();
    std::vector<Safetensors> files;
    files.push_back(Safetensors::Parse(first, "one").value());
    files.push_back(Safetensors::Parse(second, "two").value());
    std::vector<Tensor> state;
    for (const StateSpec& spec : specs) state.emplace_back(spec.type);
    const Status status = ImportWeights(kGpt2, files, specs, state);
    EXPECT_EQ(CheckImport(kGpt2, files).has_value(), status.has_value());
    return status ? "accepted" : status.error().message;
  };
  EXPECT_EQ(import(), "accepted");
  one.Add("transformer.ln_f.bias", {2});
  EXPECT_EQ(import(), "two: tensor 'ln_f.bias' appears twice");
  one.tensors.erase("transformer.ln_f.bias");
  one.tensors.erase("ln_f.weight");
  EXPECT_EQ(import(), "one and the files beside it: tensor 'ln_f.weight' is missing");
}

TEST(Import, ResNetIsPermutedUnlessItIsOurs) {
  Weights theirs = FileOf(kResNet, "", true);
  theirs.Add("bn1.num_batches_tracked", {}, DType::kI64);
  const Imported in = Import(kResNet, theirs);
  EXPECT_EQ(in.error, "accepted");
  const auto stored = theirs.tensors.at("conv1.weight").Span<float>();  // [2, 3, 3, 3] OIHW
  const auto ours = in["conv1.weight"].Span<float>();
  for (std::size_t o = 0; o < 2; ++o) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 9; ++k) EXPECT_EQ(ours[(o * 9 + k) * 3 + i], stored[(o * 3 + i) * 9 + k]);
    }
  }
  Weights native = FileOf(kResNet, "", false);
  native.metadata = NativeMetadata();
  native.Add("adam.v/conv1.weight", {1});
  const Imported same = Import(kResNet, native);
  EXPECT_EQ(same.error, "accepted");
  EXPECT_EQ(same["conv1.weight"].Span<float>()[5], native.tensors.at("conv1.weight").Span<float>()[5]);
}

TEST(Import, RefusesWhatDoesNotFitAndChangesNothing) {
  Weights file = FileOf(kGpt2, "", false);
  file.tensors.erase("ln_f.bias");
  Imported in = Import(kGpt2, file);
  EXPECT_EQ(in.error, "w: tensor 'ln_f.bias' is missing");
  EXPECT_EQ(in["wte.weight"].Span<float>()[9], 0.0f);
  file = FileOf(kGpt2, "", false);
  file.Add("wte.weight", {5, 3});
  EXPECT_EQ(Import(kGpt2, file).error, "w: tensor 'wte.weight': expected F32[5, 2] (or F16, BF16), got F32[5, 3]");
  file.Add("wte.weight", {5, 2}, DType::kI32);
  EXPECT_EQ(Import(kGpt2, file).error, "w: tensor 'wte.weight': expected F32[5, 2] (or F16, BF16), got I32[5, 2]");
  file = FileOf(kGpt2, "", false);
  file.Add("h.1.ln_1.bias", {2});
  EXPECT_EQ(Import(kGpt2, file).error, "w: tensor 'h.1.ln_1.bias' is not part of the model");
  file = FileOf(kGpt2, "", false);
  file.Add("transformer.wte.weight", {5, 2});
  EXPECT_EQ(Import(kGpt2, file).error, "w: tensor 'wte.weight' appears twice");
}

}  // namespace
}  // namespace assay
