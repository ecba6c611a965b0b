#include "assay/model/hf_config.h"

#include <gtest/gtest.h>

#include <variant>

#include "assay/base/strict_json.h"

namespace assay {
namespace {

using Json = nlohmann::json;

// As GPT-2's is published, but small.
const Json kGpt2 = Json::parse(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
  "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
  "model_type": "gpt2", "n_ctx": 64, "n_embd": 48, "n_head": 4, "n_layer": 2, "n_positions": 64, "resid_pdrop": 0.1,
  "summary_type": "cls_index", "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 300})");
// As Qwen2's.
const Json kQwen2 = Json::parse(R"({"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "hidden_act": "silu",
  "hidden_size": 32, "intermediate_size": 80, "max_position_embeddings": 128, "max_window_layers": 24, "model_type": "qwen2",
  "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
  "sliding_window": 64, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_sliding_window": false, "vocab_size": 300})");

Json Llama(const char* type = "llama") {
  Json json = kQwen2;
  json["model_type"] = type;
  json.erase("sliding_window");
  return json;
}

std::string Refusal(const Json& json) {
  const auto model = ParseHfConfig(json.dump(), "c");
  return model ? "accepted" : model.error().message;
}

std::string RefusalWith(Json json, const std::string& key, const Json& value) {
  json[key] = value;
  return Refusal(json);
}

LlamaConfig ReadLlama(const Json& json) {
  const auto model = ParseHfConfig(json.dump(), "c");
  EXPECT_TRUE(model) << model.error().message;
  return std::get<LlamaConfig>(*model);
}

TEST(HfConfig, Gpt2) {
  Json json = kGpt2;
  json["layer_norm_epsilon"] = 1e-6;
  const auto model = ParseHfConfig(json.dump(), "c");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(
      std::get<Gpt2Config>(*model),
      (Gpt2Config{.vocab = 300, .context = 64, .layers = 2, .heads = 4, .width = 48, .dropout = 0.1f, .norm_eps = 1e-6f}));
}

TEST(HfConfig, LlamaMistralAndQwen2) {
  const LlamaConfig qwen2 = ReadLlama(kQwen2);
  EXPECT_EQ(qwen2, (LlamaConfig{.vocab = 300,
                                .context = 128,
                                .layers = 2,
                                .heads = 4,
                                .kv_heads = 2,
                                .width = 32,
                                .hidden = 80,
                                .rope_base = 1e6f,
                                .norm_eps = 1e-6f,
                                .tied = true,
                                .qkv_bias = true}));
  Json json = Llama();
  json.erase("num_key_value_heads");
  json.erase("tie_word_embeddings");
  json["rope_scaling"] = {{"rope_type", "default"}};
  LlamaConfig llama = ReadLlama(json);
  EXPECT_EQ(llama.kv_heads, 4);
  EXPECT_FALSE(llama.tied || llama.qkv_bias);
  json = Llama("mistral");
  json["head_dim"] = 8;
  json.erase("rope_theta");
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  EXPECT_EQ(ReadLlama(json).rope_base, 5e5f);
}

TEST(HfConfig, ASlidingWindowLimitsTheContext) {
  Json json = Llama("mistral");
  EXPECT_EQ(ReadLlama(json).context, 128);  // the architecture's own window is 4096
  json["sliding_window"] = 100;
  EXPECT_EQ(ReadLlama(json).context, 100);
  json["sliding_window"] = nullptr;
  EXPECT_EQ(ReadLlama(json).context, 128);
  json = kQwen2;
  json["use_sliding_window"] = true;
  EXPECT_EQ(ReadLlama(json).context, 64);
  json["use_sliding_window"] = false;
  json["layer_types"] = {"full_attention", "full_attention"};
  EXPECT_EQ(ReadLlama(json).context, 128);
  json["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_EQ(ReadLlama(json).context, 64);
}

TEST(HfConfig, RefusesWhatWouldBeAnotherFunctionByItsName) {
  EXPECT_EQ(Refusal(kGpt2), "accepted");
  EXPECT_EQ(RefusalWith(kGpt2, "model_type", "bert"), "c: model_type: expected gpt2 or llama or mistral or qwen2, got 'bert'");
  EXPECT_EQ(RefusalWith(kGpt2, "model_type", nullptr), "c: model_type: expected one of gpt2, llama, mistral, qwen2, got null");
  EXPECT_EQ(RefusalWith(kGpt2, "activation_function", "relu"),
            "c: activation_function: expected gelu_new or gelu_pytorch_tanh, got 'relu'");
  EXPECT_EQ(RefusalWith(kGpt2, "n_inner", 100), "c: n_inner: expected null or four times n_embd, 192, got 100");
  EXPECT_EQ(RefusalWith(kGpt2, "n_inner", 192), "accepted");
  EXPECT_EQ(RefusalWith(kGpt2, "attn_pdrop", 0.2), "c: attn_pdrop: expected the same as resid_pdrop, 0.1, got 0.2");
  EXPECT_EQ(RefusalWith(kGpt2, "scale_attn_by_inverse_layer_idx", true),
            "c: scale_attn_by_inverse_layer_idx: expected false, got true");
  EXPECT_EQ(RefusalWith(kGpt2, "tie_word_embeddings", false), "c: tie_word_embeddings: expected true, got false");
  EXPECT_EQ(RefusalWith(kGpt2, "n_head", 5), "c: n_head: expected a divisor of n_embd (48), got 5");
  EXPECT_EQ(RefusalWith(kGpt2, "quantization_config", {{"bits", 4}}),
            "c: quantization_config: expected null: weights of full precision, got an object");
  EXPECT_EQ(RefusalWith(Llama(), "rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}),
            "c: rope_scaling: rope_type: expected default, got 'llama3'");
  EXPECT_EQ(RefusalWith(Llama(), "rope_scaling", {{"type", "linear"}, {"factor", 2.0}}),
            "c: rope_scaling: type: expected default, got 'linear'");
  EXPECT_EQ(RefusalWith(Llama(), "rope_scaling", {{"factor", 2.0}}),
            "c: rope_scaling: expected null or an object with rope_type, got an object");
  EXPECT_EQ(RefusalWith(Llama(), "hidden_act", "gelu"), "c: hidden_act: expected silu or swish, got 'gelu'");
  EXPECT_EQ(RefusalWith(Llama(), "attention_bias", true), "c: attention_bias: expected false, got true");
  EXPECT_EQ(RefusalWith(Llama(), "mlp_bias", true), "c: mlp_bias: expected false, got true");
  EXPECT_EQ(RefusalWith(Llama(), "head_dim", 16), "c: head_dim: expected null or hidden_size / num_attention_heads, 8, got 16");
  EXPECT_EQ(RefusalWith(Llama(), "num_key_value_heads", 3),
            "c: num_key_value_heads: expected a divisor of num_attention_heads (4), got 3");
  EXPECT_EQ(RefusalWith(kQwen2, "layer_types", {"linear_attention"}),
            "c: layer_types: expected a list of full_attention or sliding_attention, got a list");
}

TEST(HfConfig, RefusesHostileNumbers) {
  for (const Json& value : {Json(0), Json(-1), Json(1.5), Json("48"), Json(1ull << 63), Json(nullptr), Json::array({48})}) {
    EXPECT_TRUE(RefusalWith(kGpt2, "n_embd", value).starts_with("c: n_embd: expected an integer in 1 .. 65536, got ")) << value;
  }
  EXPECT_EQ(RefusalWith(kGpt2, "layer_norm_epsilon", 0), "c: layer_norm_epsilon: expected a number > 0, got 0");
  EXPECT_EQ(RefusalWith(kGpt2, "layer_norm_epsilon", 1e-60), "c: layer_norm_epsilon: expected a number > 0, got 1e-60");
  EXPECT_EQ(RefusalWith(kGpt2, "resid_pdrop", 1), "c: resid_pdrop: expected a number x with 0 <= x < 1, got 1");
  EXPECT_EQ(RefusalWith(Llama(), "rope_theta", 1e300), "c: rope_theta: expected a number > 0, got 1e+300");
  EXPECT_EQ(RefusalWith(Llama(), "num_attention_heads", 64),
            "c: num_attention_heads: expected a divisor of hidden_size (32), got 64");
  Json missing = kGpt2;
  missing.erase("n_layer");
  EXPECT_EQ(Refusal(missing), "c: n_layer: expected an integer in 1 .. 256, got nothing");
  EXPECT_FALSE(ParseHfConfig("", "c"));
  EXPECT_EQ(ParseHfConfig(R"({"model_type": "gpt2", "model_type": "gpt2"})", "c").error().message,
            "c: has the key 'model_type' twice");
  EXPECT_EQ(ParseHfConfig(std::string(kMaxHfConfig + 1, ' '), "c").error().message,
            "c: has 1048577 bytes, at most 1048576 are read");
}

TEST(HfConfig, WhatIsWrittenReadsAsTheSameModel) {
  for (const Json& source : {kGpt2, kQwen2, Llama(), Llama("mistral")}) {
    const ModelConfig model = ParseHfConfig(source.dump(), "c").value();
    const auto same = [&](const std::string& text) {
      const ModelConfig again = ParseHfConfig(text, "again").value();
      if (const auto* gpt2 = std::get_if<Gpt2Config>(&model)) return std::get<Gpt2Config>(again) == *gpt2;
      return std::get<LlamaConfig>(again) == std::get<LlamaConfig>(model);
    };
    EXPECT_TRUE(same(WriteHfConfig(model, "").value()));
    const std::string kept = WriteHfConfig(model, source.dump()).value();
    EXPECT_TRUE(same(kept));
    EXPECT_EQ(Json::parse(kept)["model_type"], source["model_type"]);
    EXPECT_EQ(Json::parse(kept)["torch_dtype"], "float32");
  }
  Json other = kGpt2;
  other["n_layer"] = 3;
  other["summary_type"] = "mean";
  const Json written = Json::parse(WriteHfConfig(ParseHfConfig(kGpt2.dump(), "c").value(), other.dump()).value());
  EXPECT_FALSE(written.contains("summary_type")) << "a config of another model is no source";
  EXPECT_FALSE(WriteHfConfig(MlpConfig{}, ""));
}

}  // namespace
}  // namespace assay
