#include "assay/data/open.h"

#include <utility>
#include <vector>

#include "assay/base/file.h"
#include "assay/data/bpe.h"
#include "assay/data/chars.h"
#include "assay/data/cifar10.h"
#include "assay/data/corpus.h"
#include "assay/data/generated.h"
#include "assay/data/tokens.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxText = std::uint64_t{1} << 31;

// How many of n items, the last ones, are kept back for validation.
std::int64_t KeptBack(std::int64_t n, float fraction) {
  return static_cast<std::int64_t>(static_cast<double>(n) * static_cast<double>(fraction));
}

Result<std::string> ReadText(const std::string& path) {
  if (path.empty()) return std::string(EmbeddedText());
  ASSAY_ASSIGN(Bytes bytes, ReadFile(path, kMaxText));
  return std::string(bytes.begin(), bytes.end());
}

Result<Data> SplitTokens(const DataConfig& config, std::int64_t sequence, std::shared_ptr<const TokenStream> stream,
                         std::string_view what, const std::string& description, Data data) {
  const std::int64_t total = stream->size(), kept = KeptBack(total, config.validation), train = total - kept;
  if (train <= sequence) {
    return Err("{}: {} tokens for training, a sequence of {} needs at least {}", what, train, sequence, sequence + 1);
  }
  if (config.validation > 0 && kept <= sequence) {
    return Err("{}: {} tokens for validation, a sequence of {} needs at least {}", what, kept, sequence, sequence + 1);
  }
  const std::int64_t stride = config.stride == 0 ? sequence : config.stride;
  const auto describe = [&](std::int64_t tokens) { return fmt::format("{}, {} tokens", description, tokens); };
  data.content = stream->Content(0, train);
  data.train = std::make_unique<TokenDataset>(stream, 0, train, sequence, stride, describe(train));
  if (kept > 0) data.validation = std::make_unique<TokenDataset>(stream, train, total, sequence, sequence, describe(kept));
  return data;
}

Result<Data> OpenText(const DataConfig& config, std::int64_t sequence) {
  const std::string what = config.path.empty() ? "embedded text" : config.path;
  ASSAY_ASSIGN(std::string text, ReadText(config.path));
  Data data;
  std::string description;
  if (config.kind == DataKind::kBpe) {
    if (config.vocabulary.empty()) return Err("data.vocabulary: expected a folder with encoder.json and vocab.bpe");
    ASSAY_ASSIGN(data.tokenizer, BpeTokenizer::Open(config.vocabulary));
    description = "GPT-2 byte pairs";
  } else {
    data.tokenizer = CharTokenizer::FromText(text);
    description = fmt::format("characters, vocabulary {}", data.tokenizer->vocabulary());
  }
  auto tokens = data.tokenizer->Encode(text);
  if (!tokens) return Err("{}: {}", what, tokens.error().message);
  data.shape.vocabulary = data.tokenizer->vocabulary();
  return SplitTokens(config, sequence, TokenStream::Own(std::move(tokens).value()), what, description, std::move(data));
}

Result<Data> OpenTokens(const DataConfig& config, std::int64_t sequence) {
  Data data;
  if (config.path.empty()) {
    data.tokenizer = CharTokenizer::AllBytes();
    data.shape.vocabulary = data.tokenizer->vocabulary();
    ASSAY_ASSIGN(std::vector<std::uint16_t> tokens, data.tokenizer->Encode(EmbeddedText()));
    return SplitTokens(config, sequence, TokenStream::Own(std::move(tokens)), "embedded text", "bytes of the embedded text",
                       std::move(data));
  }
  ASSAY_ASSIGN(std::shared_ptr<const TokenStream> stream, TokenStream::Open(config.path));
  data.shape.vocabulary = stream->largest() + 1;
  data.shape.vocabulary_exact = false;
  return SplitTokens(config, sequence, std::move(stream), config.path, "token file", std::move(data));
}

Result<Data> OpenGenerated(const DataConfig& config) {
  GeneratedConfig generated{.samples = config.samples, .classes = config.classes, .noise = config.noise, .seed = config.seed};
  if (config.kind == DataKind::kFeatures) {
    generated.features = config.features;
  } else {
    generated.image = config.kind == DataKind::kCifar10 ? kCifarSide : config.image;
    generated.channels = config.kind == DataKind::kCifar10 ? kCifarChannels : config.channels;
    if (config.kind == DataKind::kCifar10) generated.classes = kCifarClasses;
  }
  const std::int64_t kept = KeptBack(config.samples, config.validation), train = config.samples - kept;
  if (train < 1 || (config.validation > 0 && kept < 1)) {
    return Err("data.samples: {} samples cannot be split with data.validation = {}", config.samples, config.validation);
  }
  Data data;
  data.shape.classes = generated.classes;
  data.shape.image = generated.image;
  data.shape.channels = generated.channels;
  data.shape.features = generated.features;
  auto set = std::make_unique<GeneratedDataset>(generated, 0, train);
  data.content = set->Content();
  data.train = std::move(set);
  if (kept > 0) data.validation = std::make_unique<GeneratedDataset>(generated, train, config.samples);
  return data;
}

Result<Data> OpenCifar(const DataConfig& config) {
  if (config.path.empty()) return OpenGenerated(config);
  Data data;
  data.shape.classes = kCifarClasses;
  data.shape.image = kCifarSide;
  data.shape.channels = kCifarChannels;
  if (IsDirectory(config.path)) {
    std::vector<std::string> paths;
    for (int i = 1; i <= 5; ++i) paths.push_back(JoinPath(config.path, fmt::format("data_batch_{}.bin", i)));
    ASSAY_ASSIGN(auto train, CifarRecords::Open(paths));
    ASSAY_ASSIGN(auto test, CifarRecords::Open({JoinPath(config.path, "test_batch.bin")}));
    data.content = train->Content(0, train->size());
    data.train = std::make_unique<CifarDataset>(train, 0, train->size(), config.augment);
    data.validation = std::make_unique<CifarDataset>(test, 0, test->size(), false);
    return data;
  }
  ASSAY_ASSIGN(auto records, CifarRecords::Open({config.path}));
  const std::int64_t kept = KeptBack(records->size(), config.validation), train = records->size() - kept;
  if (train < 1 || (config.validation > 0 && kept < 1)) {
    return Err("{}: {} records cannot be split with data.validation = {}", config.path, records->size(), config.validation);
  }
  data.content = records->Content(0, train);
  data.train = std::make_unique<CifarDataset>(records, 0, train, config.augment);
  if (kept > 0) data.validation = std::make_unique<CifarDataset>(records, train, records->size(), false);
  return data;
}

}  // namespace

Result<Data> OpenData(const DataConfig& config, std::int64_t sequence) {
  switch (config.kind) {
    case DataKind::kChars:
    case DataKind::kBpe: return OpenText(config, sequence);
    case DataKind::kTokens: return OpenTokens(config, sequence);
    case DataKind::kCifar10: return OpenCifar(config);
    case DataKind::kImages:
    case DataKind::kFeatures: return OpenGenerated(config);
  }
  return Err("data.kind: unknown");
}

}  // namespace assay
