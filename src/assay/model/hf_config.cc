#include "assay/model/hf_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "assay/base/quote.h"
#include "assay/base/strict_json.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 16;
constexpr std::int64_t kMaxContext = 1 << 20, kMaxHead = 256;

// Reads the settings of one object; keeps the first complaint.
class Settings {
 public:
  Settings(const Json& root, std::string what) : root_(root), what_(std::move(what)) {}

  // Null where it is not given, or given as null.
  const Json* Find(std::string_view key) const {
    const auto it = root_.find(key);
    return it == root_.end() || it->is_null() ? nullptr : &*it;
  }
  void Complain(std::string_view key, std::string_view expected) {
    if (error_) return;
    const Json* value = Find(key);
    error_ = Error{fmt::format("{}: {}: expected {}, got {}", what_, key, expected,
                               value != nullptr      ? DescribeJson(*value)
                               : root_.contains(key) ? "null"
                                                     : "nothing")};
  }

  std::int64_t Int(std::string_view key, std::int64_t high, std::optional<std::int64_t> fallback = {}) {
    const Json* value = Find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value != nullptr && value->is_number_unsigned()) {
      const auto number = value->get<std::uint64_t>();
      if (number >= 1 && number <= static_cast<std::uint64_t>(high)) return static_cast<std::int64_t>(number);
    }
    Complain(key, fmt::format("an integer in 1 .. {}", high));
    return 1;
  }
  // As binary32, in which the model has it.
  float Float(std::string_view key, float low, bool open, float high, float fallback) {
    const Json* value = Find(key);
    if (value == nullptr) return fallback;
    if (value->is_number()) {
      const auto number = value->get<double>();
      if (number >= 0 && number <= double{std::numeric_limits<float>::max()}) {
        const auto used = static_cast<float>(number);
        if ((open ? used > low : used >= low) && used < high) return used;
      }
    }
    Complain(key, open ? fmt::format("a number > {}", low) : fmt::format("a number x with {} <= x < {}", low, high));
    return fallback;
  }
  float Positive(std::string_view key, float fallback) { return Float(key, 0, true, 1e30f, fallback); }
  bool Bool(std::string_view key, bool fallback) {
    const Json* value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) Complain(key, "true or false");
    return value->is_boolean() ? value->get<bool>() : fallback;
  }
  // Settings that have one value here.
  void OnlyBool(std::string_view key, bool wanted, bool fallback) {
    if (Bool(key, fallback) != wanted) Complain(key, wanted ? "true" : "false");
  }
  void OnlyNumber(std::string_view key, double wanted) {
    const Json* value = Find(key);
    if (value != nullptr && !(value->is_number() && value->get<double>() == wanted)) Complain(key, fmt::format("{}", wanted));
  }
  void OnlyNull(std::string_view key, std::string_view why) {
    if (Find(key) != nullptr) Complain(key, fmt::format("null: {}", why));
  }
  void OnlyText(std::string_view key, std::span<const std::string_view> names) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    const bool known = value->is_string() && std::ranges::find(names, value->get_ref<const std::string&>()) != names.end();
    if (!known) Complain(key, fmt::format("{}", fmt::join(names, " or ")));
  }

  bool Has(std::string_view key) const { return root_.contains(key); }
  // The complaint of settings inside these.
  void Adopt(const Settings& inner) {
    if (!error_) error_ = inner.error_;
  }

  const std::string& what() const { return what_; }
  Status status() const { return error_ ? Status(tl::unexpected(*error_)) : Status(); }

 private:
  const Json& root_;
  std::string what_;
  std::optional<Error> error_;
};

void CheckHeads(Settings& s, std::string_view key, std::int64_t heads, std::string_view width_key, std::int64_t width) {
  if (width % heads != 0) s.Complain(key, fmt::format("a divisor of {} ({})", width_key, width));
  if (width / heads > kMaxHead) s.Complain(key, fmt::format("heads of at most {}, of {} ({})", kMaxHead, width_key, width));
}

Result<ModelConfig> ReadGpt2(Settings& s) {
  Gpt2Config c;
  c.vocab = s.Int("vocab_size", 1 << 20);
  c.context = s.Int("n_positions", kMaxContext);
  c.width = s.Int("n_embd", 1 << 16);
  c.layers = s.Int("n_layer", 256);
  c.heads = s.Int("n_head", 1 << 16);
  CheckHeads(s, "n_head", c.heads, "n_embd", c.width);
  c.norm_eps = s.Positive("layer_norm_epsilon", 1e-5f);
  c.dropout = s.Float("resid_pdrop", 0, false, 1, 0.1f);
  for (const std::string_view key : {"embd_pdrop", "attn_pdrop"}) {
    if (s.Float(key, 0, false, 1, 0.1f) != c.dropout) s.Complain(key, fmt::format("the same as resid_pdrop, {}", c.dropout));
  }
  constexpr std::string_view kActivations[] = {"gelu_new", "gelu_pytorch_tanh"};
  s.OnlyText("activation_function", kActivations);
  if (const std::int64_t inner = s.Int("n_inner", 1 << 20, 4 * c.width); inner != 4 * c.width) {
    s.Complain("n_inner", fmt::format("null or four times n_embd, {}", 4 * c.width));
  }
  s.OnlyBool("scale_attn_weights", true, true);
  s.OnlyBool("scale_attn_by_inverse_layer_idx", false, false);
  s.OnlyBool("add_cross_attention", false, false);
  s.OnlyBool("tie_word_embeddings", true, true);
  ASSAY_TRY(s.status());
  return c;
}

// Rotary positions, in the place of files of this year or of earlier ones.
float ReadRope(Settings& s) {
  float base = s.Positive("rope_theta", 10000.0f);
  constexpr std::string_view kPlain[] = {"default"};
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const Json* value = s.Find(key);
    if (value == nullptr) continue;
    if (!value->is_object()) {
      s.Complain(key, "null or an object");
      continue;
    }
    Settings inner(*value, fmt::format("{}: {}", s.what(), key));
    inner.OnlyText("rope_type", kPlain);
    inner.OnlyText("type", kPlain);
    inner.OnlyNumber("partial_rotary_factor", 1);
    if (inner.status() && inner.Find("rope_type") == nullptr && inner.Find("type") == nullptr &&
        inner.Find("rope_theta") == nullptr) {
      s.Complain(key, "null or an object with rope_type");
    }
    if (key == "rope_parameters") base = inner.Positive("rope_theta", base);
    s.Adopt(inner);
  }
  s.OnlyNumber("partial_rotary_factor", 1);
  s.OnlyBool("use_mrope", false, false);
  return base;
}

// A sequence no longer than the window is as if there were none.
std::int64_t Windowed(Settings& s, std::string_view type, std::int64_t context) {
  bool slides = type == "mistral" || (type == "qwen2" && s.Bool("use_sliding_window", false));
  if (const Json* layers = s.Find("layer_types")) {
    const auto known = [](const Json& layer) { return layer == "full_attention" || layer == "sliding_attention"; };
    if (!layers->is_array() || !std::ranges::all_of(*layers, known)) {
      s.Complain("layer_types", "a list of full_attention or sliding_attention");
    } else if (std::ranges::find(*layers, Json("sliding_attention")) != layers->end()) {
      slides = true;
    }
  }
  if (!slides) return context;
  if (type == "mistral" && s.Has("sliding_window") && s.Find("sliding_window") == nullptr) return context;
  return std::min(context, s.Int("sliding_window", std::int64_t{1} << 40, 4096));
}

Result<ModelConfig> ReadLlama(Settings& s, std::string_view type) {
  LlamaConfig c;
  c.vocab = s.Int("vocab_size", 1 << 20);
  c.width = s.Int("hidden_size", 1 << 16);
  c.hidden = s.Int("intermediate_size", 1 << 18);
  c.layers = s.Int("num_hidden_layers", 256);
  c.heads = s.Int("num_attention_heads", 1 << 16);
  CheckHeads(s, "num_attention_heads", c.heads, "hidden_size", c.width);
  if (c.width / c.heads % 2 != 0)
    s.Complain("num_attention_heads", fmt::format("heads of an even width, of hidden_size ({})", c.width));
  // Only llama's files may leave it out.
  c.kv_heads = s.Int("num_key_value_heads", 1 << 16, type == "llama" ? std::optional(c.heads) : std::nullopt);
  if (c.heads % c.kv_heads != 0)
    s.Complain("num_key_value_heads", fmt::format("a divisor of num_attention_heads ({})", c.heads));
  if (s.Int("head_dim", 1 << 16, c.width / c.heads) != c.width / c.heads) {
    s.Complain("head_dim", fmt::format("null or hidden_size / num_attention_heads, {}", c.width / c.heads));
  }
  c.norm_eps = s.Positive("rms_norm_eps", 1e-6f);
  c.rope_base = ReadRope(s);
  c.context = Windowed(s, type, s.Int("max_position_embeddings", kMaxContext));
  c.tied = s.Bool("tie_word_embeddings", false);
  c.qkv_bias = type == "qwen2";
  constexpr std::string_view kActivations[] = {"silu", "swish"};
  s.OnlyText("hidden_act", kActivations);
  s.OnlyNumber("attention_dropout", 0);
  if (type == "llama") {
    s.OnlyBool("attention_bias", false, false);
    s.OnlyBool("mlp_bias", false, false);
  }
  ASSAY_TRY(s.status());
  return c;
}

// binary32 as the shortest decimal fraction that says it.
double Plain(float v) {
  const std::string text = fmt::format("{}", v);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

void Write(const Gpt2Config& c, Json& out) {
  out["architectures"] = {"GPT2LMHeadModel"};
  out["model_type"] = "gpt2";
  out["vocab_size"] = c.vocab;
  out["n_positions"] = out["n_ctx"] = c.context;
  out["n_embd"] = c.width;
  out["n_layer"] = c.layers;
  out["n_head"] = c.heads;
  out["n_inner"] = nullptr;
  out["activation_function"] = "gelu_new";
  out["layer_norm_epsilon"] = Plain(c.norm_eps);
  for (const char* key : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) out[key] = Plain(c.dropout);
  out["tie_word_embeddings"] = true;
  out["bos_token_id"] = out["eos_token_id"] = nullptr;
}

void Write(const LlamaConfig& c, Json& out) {
  out["architectures"] = {c.qkv_bias ? "Qwen2ForCausalLM" : "LlamaForCausalLM"};
  out["model_type"] = c.qkv_bias ? "qwen2" : "llama";
  out["vocab_size"] = c.vocab;
  out["max_position_embeddings"] = c.context;
  out["hidden_size"] = c.width;
  out["intermediate_size"] = c.hidden;
  out["num_hidden_layers"] = c.layers;
  out["num_attention_heads"] = c.heads;
  out["num_key_value_heads"] = c.kv_heads;
  out["hidden_act"] = "silu";
  out["rms_norm_eps"] = Plain(c.norm_eps);
  out["rope_theta"] = Plain(c.rope_base);
  out["attention_dropout"] = 0.0;
  out["tie_word_embeddings"] = c.tied;
  if (!c.qkv_bias) out["attention_bias"] = out["mlp_bias"] = false;
  if (c.qkv_bias) out["use_sliding_window"] = false;
  out["bos_token_id"] = out["eos_token_id"] = nullptr;
}

}  // namespace

Result<ModelConfig> ParseHfConfig(std::string_view text, std::string_view what) {
  if (text.size() > kMaxHfConfig) return Err("{}: has {} bytes, at most {} are read", what, text.size(), kMaxHfConfig);
  ASSAY_ASSIGN(const Json root, ParseJsonObject(text, what, kMaxDepth));
  Settings settings(root, std::string(what));
  constexpr std::string_view kTypes[] = {"gpt2", "llama", "mistral", "qwen2"};
  const Json* type = settings.Find("model_type");
  if (type == nullptr) settings.Complain("model_type", fmt::format("one of {}", fmt::join(kTypes, ", ")));
  settings.OnlyText("model_type", kTypes);
  settings.OnlyNull("quantization_config", "weights of full precision");
  ASSAY_TRY(settings.status());
  const auto& name = type->get_ref<const std::string&>();
  return name == "gpt2" ? ReadGpt2(settings) : ReadLlama(settings, name);
}

Result<std::string> WriteHfConfig(const ModelConfig& model, std::string_view source) {
  const auto* gpt2 = std::get_if<Gpt2Config>(&model);
  const auto* llama = std::get_if<LlamaConfig>(&model);
  if (gpt2 == nullptr && llama == nullptr) return Err("model.kind: expected gpt2 or llama");
  Json out = Json::object();
  const auto said = ParseHfConfig(source, "source");
  const auto says = [&](const auto* config) {
    const auto* same = config != nullptr && said ? std::get_if<std::remove_cvref_t<decltype(*config)>>(&*said) : nullptr;
    return same != nullptr && *same == *config;
  };
  if (says(gpt2) || says(llama)) {
    out = *ParseJsonObject(source, "source", kMaxDepth);
    // Where it once lay is nobody's concern.
    out.erase("_name_or_path");
    out.erase("dtype");
  } else if (gpt2 != nullptr) {
    Write(*gpt2, out);
  } else {
    Write(*llama, out);
  }
  out["torch_dtype"] = "float32";
  return out.dump(2) + "\n";
}

}  // namespace assay
