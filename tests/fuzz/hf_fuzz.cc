// Folders in Hugging Face's layout: config.json, tokenizer.json, and the index of weights in several files.
#include <variant>

#include "assay/base/check.h"
#include "assay/data/tokenizer_json.h"
#include "assay/model/hf_config.h"
#include "assay/tensor/weight_files.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

bool IsOneLine(const std::string& message) { return message.find('\n') == std::string::npos; }

// A tokenizer of all single bytes, "ab", "abc" and one added token.
std::string Tokenizer(std::string_view pre_tokenizer, std::string_view merges) {
  std::string vocabulary;
  int next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool shown = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    vocabulary += fmt::format("\"\\u{:04x}\":{},", shown ? b : next++, b);
  }
  return fmt::format(
      R"({{"added_tokens":[{{"id":258,"content":"<|end|>","special":true}}],"pre_tokenizer":{},"model":{{"type":"BPE","vocab":{{{}"ab":256,"abc":257}},"merges":{}}}}})",
      pre_tokenizer, vocabulary, merges);
}

constexpr std::string_view kLlama3 =
    R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})";

}  // namespace

void RunHfConfig(ByteSpan input) {
  const auto model = ParseHfConfig(AsText(input), "config.json");
  if (!model) {
    ASSAY_CHECK(IsOneLine(model.error().message));
    return;
  }
  // What is accepted can be built once there is memory for it, and reads back as the same model.
  ASSAY_CHECK(Check(*model, {.microbatch = 1, .sequence = 1}).has_value() || ParameterCount(*model) > std::int64_t{1} << 34);
  const auto written = WriteHfConfig(*model, AsText(input));
  ASSAY_CHECK(written.has_value());
  const auto again = ParseHfConfig(*written, "again");
  ASSAY_CHECK(again.has_value() && again->index() == model->index());
  if (const auto* gpt2 = std::get_if<Gpt2Config>(&*model)) ASSAY_CHECK(std::get<Gpt2Config>(*again) == *gpt2);
  if (const auto* llama = std::get_if<LlamaConfig>(&*model)) ASSAY_CHECK(std::get<LlamaConfig>(*again) == *llama);
}

void RunTokenizerJson(ByteSpan input) {
  const auto pieces = Pieces(input, 2);
  for (const bool special : {false, true}) {
    const auto tokenizer = ParseTokenizerJson(pieces[0], "tokenizer.json", special);
    if (!tokenizer) {
      ASSAY_CHECK(IsOneLine(tokenizer.error().message));
      continue;
    }
    const auto ids = (*tokenizer)->Encode(pieces[1]);
    ASSAY_CHECK(ids.has_value());
    for (const std::uint16_t id : *ids) ASSAY_CHECK(id < (*tokenizer)->vocabulary());
    // An added token may be spelled as another one is; all others say what they stand for, but for spaces in front.
    if (!special) ASSAY_CHECK((*tokenizer)->Decode(*ids).size() >= pieces[1].size());
  }
}

void RunWeightsIndex(ByteSpan input) {
  const auto places = ParseWeightsIndex(AsText(input), "index");
  if (!places) {
    ASSAY_CHECK(IsOneLine(places.error().message));
    return;
  }
  for (const auto& [tensor, file] : *places) ASSAY_CHECK(file.find('/') == std::string::npos && file.front() != '.');
}

std::vector<Bytes> HfConfigSeeds() {
  return {
      ToBytes(
          R"({"model_type":"gpt2","vocab_size":300,"n_positions":64,"n_embd":48,"n_layer":2,"n_head":4,"resid_pdrop":0.1,"n_inner":null,"layer_norm_epsilon":1e-05})"),
      ToBytes(
          R"({"model_type":"qwen2","vocab_size":300,"hidden_size":32,"intermediate_size":80,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"max_position_embeddings":128,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"rope_scaling":null,"use_sliding_window":false,"sliding_window":64,"layer_types":["full_attention"],"tie_word_embeddings":true})"),
      ToBytes(
          R"({"model_type":"llama","vocab_size":300,"hidden_size":32,"intermediate_size":80,"num_hidden_layers":2,"num_attention_heads":4,"max_position_embeddings":128,"rope_parameters":{"rope_type":"default","rope_theta":500000.0}})")};
}

std::vector<Bytes> TokenizerJsonSeeds() {
  const std::string text = std::string("\0", 1) + "abc ab<|end|>'LL 1234\r\n  x";
  return {ToBytes(Tokenizer(R"({"type":"ByteLevel","add_prefix_space":true})", R"(["a b","ab c"])") + text),
          ToBytes(Tokenizer(kLlama3, R"([["a","b"],["ab","c"]])") + text)};
}

std::vector<Bytes> WeightsIndexSeeds() {
  return {ToBytes(
      R"({"metadata":{"total_size":8},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})")};
}

}  // namespace assay::fuzz
