// From a job's [data] section to datasets ready for training and validation.
//
// Without a path every kind but arrays and packed has data to run on: text and token kinds use the embedded text, cifar10 and cifar100 generated
// images of the same geometry; images and features are always generated. Paths never enter a job's identity: the data root does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "assay/base/allowance.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/data/dataset.h"
#include "assay/data/tokenizer.h"
#include "assay/merkle/sha256.h"

namespace assay {

enum class DataKind : std::uint8_t {
  kChars = 0,     // text, one token per byte; vocabulary = the distinct bytes of the text in ascending order
  kBpe = 1,       // text, byte pair encoding as GPT-2 has it
  kTokens = 2,    // a file of little-endian u16 token ids; without a path the bytes of the embedded text
  kCifar10 = 3,   // CIFAR-10 binary files
  kImages = 4,    // generated images
  kFeatures = 5,  // generated feature vectors
  kCifar100 = 6,  // CIFAR-100 binary files
  kArrays = 7,    // own data: an array of inputs and one of labels
  kPacked = 8,    // a file that `assay data pack` has made: tokens, or arrays
};

enum class CifarLabel : std::uint8_t { kFine = 0, kCoarse = 1 };

struct DataConfig {
  DataKind kind = DataKind::kChars;
  // chars, bpe, tokens: a file; cifar10: a file or a folder with data_batch_1..5.bin and test_batch.bin; cifar100: a file or a folder with
  // train.bin and test.bin; arrays: what ArrayFile opens; packed: a file
  std::string path{};
  std::string
      vocabulary{};  // bpe: a folder with encoder.json and vocab.bpe, or with tokenizer.json; packed: GPT-2's, for tokens that came without one
  bool special_tokens = false;  // bpe, of tokenizer.json: whether the text is searched for its added tokens
  float validation = 0.1f;      // the last fraction of the data validates; a CIFAR folder brings its own test file instead
  std::int64_t stride =
      1;  // chars, bpe, tokens, packed: distance between the starts of neighbouring training samples; 0: the sequence length
  bool augment = true;  // cifar10, cifar100, arrays of images, also packed: random crop and horizontal flip of training samples
  CifarLabel label = CifarLabel::kFine;     // cifar100: which of a record's two labels
  std::string inputs = "x", labels = "y";   // arrays: their names
  ArrayLayout layout = ArrayLayout::kFlat;  // arrays, also packed: how a sample lies in `inputs`
  // Generated data.
  std::int64_t samples = 4096, classes = 10;
  std::int64_t image = 32, channels = 3;  // images
  std::int64_t features = 64;             // features
  float noise = 0.5f;
  std::uint64_t seed = 1;
};

// What the data says about a model that is to be trained on it; 0: it says nothing.
struct DataShape {
  std::int64_t vocabulary = 0;                       // token kinds: every id is below this
  bool vocabulary_exact = true;                      // false for token files, which tell only their largest id
  std::int64_t classes = 0;                          // image and feature kinds
  bool classes_exact = true;                         // false for arrays, which tell only their largest label
  std::int64_t height = 0, width = 0, channels = 0;  // images
  std::int64_t features = 0;                         // vectors
};

struct Data {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> validation;         // null when the job keeps nothing back
  std::shared_ptr<const Tokenizer> tokenizer;  // null for kinds without text
  DataShape shape;
  DataPart part;    // what `train` is made from
  SampleRule rule;  // and how
  Digest root{};    // of `part` (docs/formats/data.md)
};

// `sequence` is the number of tokens per sample of the token kinds. A pool shortens the hashing of large data. Errors name the file and
// what was expected of it. What the data takes of memory is taken from the allowance before it is allocated.
Result<Data> OpenData(const DataConfig& config, std::int64_t sequence, ThreadPool* pool, Allowance& allowance);
Result<Data> OpenData(const DataConfig& config, std::int64_t sequence, ThreadPool* pool = nullptr);
// How samples of the training part are made; needs no data.
SampleRule TrainingRule(const DataConfig& config, std::int64_t sequence);

}  // namespace assay
