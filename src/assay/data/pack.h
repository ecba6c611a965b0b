// Packing: from files of text, tokens or arrays to one packed file (docs/formats/packed.md).
//
// The same inputs give the same bytes, whatever the number of threads, and wherever a packer was killed and started again: it goes on from
// its last checkpoint in FILE.partial. Memory is bounded by the number of threads, not by the inputs, except for arrays that have to be
// converted. Thread safe; the pool and the hooks must outlive the call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/merkle/sha256.h"

namespace assay {

enum class PackKind : std::uint8_t { kText, kTokens, kArrays };

struct PackOptions {
  PackKind kind = PackKind::kText;
  std::vector<std::string> inputs{};
  std::string out{};
  std::string vocabulary{};  // a folder with encoder.json and vocab.bpe; empty: each byte of a text is its own token
  // Text:
  std::string field = "text";  // of JSON lines
  bool end_documents = true;   // with `end_of_text`, or where there is none with the vocabulary's <|endoftext|>, if it has one
  std::optional<std::int64_t> end_of_text{};
  // Arrays:
  std::string array_inputs = "x", array_labels = "y";
};

struct PackHooks {
  std::function<void(std::uint64_t done, std::uint64_t all)> progress{};  // bytes of the inputs; called from the calling thread
  std::function<bool()> should_stop{};                                    // what is done until then is kept
  std::uint64_t piece_bytes = 512 << 10;                                  // of text that a thread takes at a time
  double checkpoint_s = 0.5;                                              // between checkpoints
};

struct PackReport {
  std::int64_t files = 0, skipped = 0;
  std::int64_t documents = 0, empty = 0;  // of text and tokens
  std::uint64_t bytes = 0;                // of the inputs
  std::uint64_t resumed_bytes = 0;        // of those, what an earlier call had packed
  std::int64_t items = 0;                 // tokens or samples
  std::int64_t limit = 0;                 // tokens, or labels, are below this
  std::optional<std::int64_t> end_of_text{};
  std::uint64_t file_bytes = 0;
  Digest root{};  // the data root of all items
};

// Refuses to overwrite a file. Where the same call was killed before it could say so, reports what it had made.
Result<PackReport> Pack(const PackOptions& options, ThreadPool& pool, const PackHooks& hooks);

}  // namespace assay
