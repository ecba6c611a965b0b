// tokenizer.json, as Hugging Face publishes byte-level byte pair encodings: those of GPT-2, Llama 3, Qwen2 and the like.
//
// Read are the vocabulary, the merges, the pattern that cuts words (GPT-2's, Llama 3's, Qwen2's, and digits one by one or together), add_prefix_space,
// ignore_merges and the added tokens. Whatever else in the file would change tokens is refused by its name: normalizers, other models and patterns, dropout,
// truncation, padding. What others put around a whole text (post_processor) is not: a training text is one stream. Tokens are 16-bit numbers here, so that a
// vocabulary has at most 65536. The file comes from outside: it is bounded, and every number is checked before it is used. Thread safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/data/byte_level_bpe.h"

namespace assay {

inline constexpr char kTokenizerFile[] = "tokenizer.json";

// `what` names the text in errors. `special`: a text is searched for the added tokens; otherwise what spells one is text like any other.
Result<std::shared_ptr<const ByteLevelBpe>> ParseTokenizerJson(std::string_view text, std::string_view what, bool special);

// The files of a folder that a tokenizer is made from: GPT-2's two, where they are there, or tokenizer.json.
std::vector<std::string> VocabularyFiles(const std::string& folder);
Result<std::shared_ptr<const Tokenizer>> OpenVocabulary(const std::string& folder, bool special, Allowance& allowance);

}  // namespace assay
