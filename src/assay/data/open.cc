#include "assay/data/open.h"

#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/data/arrays.h"
#include "assay/data/bpe.h"
#include "assay/data/chars.h"
#include "assay/data/cifar.h"
#include "assay/data/corpus.h"
#include "assay/data/generated.h"
#include "assay/data/packed_file.h"
#include "assay/data/root.h"
#include "assay/data/tokenizer_json.h"
#include "assay/data/tokens.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxText = std::uint64_t{1} << 31;

// How many of n items, the last ones, are kept back for validation.
std::int64_t KeptBack(std::int64_t n, float fraction) {
  return static_cast<std::int64_t>(static_cast<double>(n) * static_cast<double>(fraction));
}

// How many of the items of a file, the first ones, are trained on.
Result<std::int64_t> TrainingShare(std::int64_t n, const DataConfig& config, std::string_view items) {
  const std::int64_t kept = KeptBack(n, config.validation), train = n - kept;
  if (train >= 1 && (config.validation == 0 || kept >= 1)) return train;
  return Err("{}: expected enough {} to split with data.validation = {}, got {}", config.path, items, config.validation, n);
}

// The text of a file, which is mapped into `file`.
Result<std::string_view> MapText(const std::string& path, MappedFile& file, Allowance& allowance) {
  if (path.empty()) return EmbeddedText();
  ASSAY_ASSIGN(file, MappedFile::Open(path));
  const ByteSpan bytes = file.bytes();
  if (bytes.size() > kMaxText) return Err("{}: has {} bytes, at most {} are read", path, bytes.size(), kMaxText);
  ASSAY_TRY(allowance.Take(bytes.size(), Allowance::Kind::kMapped));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

SampleRule ValidationRule(std::int64_t sequence) { return {.sequence = sequence, .stride = sequence, .augment = false}; }

// Puts the training part and its samples into `data`.
Status AddTraining(Data& data, DataPart part, const SampleRule& rule, std::string description) {
  data.part = part;
  data.rule = rule;
  ASSAY_ASSIGN(data.train, Dataset::Make(std::move(part), rule, std::move(description)));
  return {};
}

Result<Data> SplitTokens(const DataConfig& config, std::int64_t sequence, std::shared_ptr<const TokenStream> stream,
                         std::string_view what, const std::string& description, Data data) {
  const std::int64_t total = stream->size(), kept = KeptBack(total, config.validation), train = total - kept;
  if (train <= sequence) {
    const std::string kept_back =
        kept > 0 ? fmt::format(" ({} of {} are kept back by data.validation = {})", kept, total, config.validation) : "";
    return Err("{}: {} tokens for training{}, a sequence of {} needs at least {}", what, train, kept_back, sequence,
               sequence + 1);
  }
  if (config.validation > 0 && kept <= sequence) {
    return Err("{}: {} tokens for validation (data.validation = {} of {}), a sequence of {} needs at least {}", what, kept,
               config.validation, total, sequence, sequence + 1);
  }
  const auto describe = [&](std::int64_t tokens) { return fmt::format("{}, {} tokens", description, tokens); };
  ASSAY_TRY(AddTraining(data, TokenPart(stream, 0, train), TrainingRule(config, sequence), describe(train)));
  if (kept > 0) {
    ASSAY_ASSIGN(data.validation, Dataset::Make(TokenPart(stream, train, total), ValidationRule(sequence), describe(kept)));
  }
  return data;
}

Result<Data> OpenText(const DataConfig& config, std::int64_t sequence, Allowance& allowance) {
  const std::string what = config.path.empty() ? "embedded text" : config.path;
  MappedFile file;
  ASSAY_ASSIGN(const std::string_view text, MapText(config.path, file, allowance));
  Data data;
  std::string description;
  if (config.kind == DataKind::kBpe) {
    if (config.vocabulary.empty()) {
      return Err("data.vocabulary: expected a folder with encoder.json and vocab.bpe, or with tokenizer.json");
    }
    ASSAY_ASSIGN(data.tokenizer, OpenVocabulary(config.vocabulary, config.special_tokens, allowance));
    description = VocabularyFiles(config.vocabulary).size() == 2 ? "GPT-2 byte pairs" : "byte pairs of tokenizer.json";
  } else {
    data.tokenizer = CharTokenizer::FromText(text);
    description = fmt::format("characters, vocabulary {}", data.tokenizer->vocabulary());
  }
  auto tokens = data.tokenizer->Encode(text, allowance);
  if (!tokens && tokens.error().system) return tl::unexpected(tokens.error());
  if (!tokens) return Err("{}: {}", what, tokens.error().message);
  data.shape.vocabulary = data.tokenizer->vocabulary();
  return SplitTokens(config, sequence, TokenStream::Own(std::move(tokens).value()), what, description, std::move(data));
}

Result<Data> OpenTokens(const DataConfig& config, std::int64_t sequence, Allowance& allowance) {
  Data data;
  if (config.path.empty()) {
    data.tokenizer = CharTokenizer::AllBytes();
    data.shape.vocabulary = data.tokenizer->vocabulary();
    ASSAY_ASSIGN(std::vector<std::uint16_t> tokens, data.tokenizer->Encode(EmbeddedText(), allowance));
    return SplitTokens(config, sequence, TokenStream::Own(std::move(tokens)), "embedded text", "bytes of the embedded text",
                       std::move(data));
  }
  ASSAY_ASSIGN(std::shared_ptr<const TokenStream> stream, TokenStream::Open(config.path, allowance));
  data.shape.vocabulary = stream->largest() + 1;
  data.shape.vocabulary_exact = false;
  return SplitTokens(config, sequence, std::move(stream), config.path, "token file", std::move(data));
}

bool IsCifar(DataKind kind) { return kind == DataKind::kCifar10 || kind == DataKind::kCifar100; }

std::int64_t CifarClasses(const DataConfig& config) {
  if (config.kind == DataKind::kCifar10) return kCifarClasses;
  return config.label == CifarLabel::kFine ? kCifarFine : kCifarCoarse;
}

Result<Data> OpenGenerated(const DataConfig& config, Allowance& allowance) {
  GeneratedDescriptor train{.classes = config.classes, .noise = config.noise, .seed = config.seed};
  if (config.kind == DataKind::kFeatures) {
    train.features = config.features;
  } else {
    train.image = IsCifar(config.kind) ? kCifarSide : config.image;
    train.channels = IsCifar(config.kind) ? kCifarChannels : config.channels;
    if (IsCifar(config.kind)) train.classes = CifarClasses(config);
  }
  const std::int64_t kept = KeptBack(config.samples, config.validation);
  train.end = config.samples - kept;
  if (train.end < 1 || (config.validation > 0 && kept < 1)) {
    return Err("data.samples: expected enough to split with data.validation = {}, got {}", config.validation, config.samples);
  }
  Data data;
  data.shape.classes = train.classes;
  data.shape.height = data.shape.width = train.image;
  data.shape.channels = train.channels;
  data.shape.features = train.features;
  ASSAY_TRY(Check(DataDescriptor(train)));
  ASSAY_TRY(allowance.Take((kept > 0 ? 2 : 1) * PatternBytes(train)));
  ASSAY_TRY(AddTraining(data, {train, {}, nullptr}, TrainingRule(config, 0), DescribeGenerated(train)));
  if (kept > 0) {
    GeneratedDescriptor validation = train;
    validation.begin = train.end;
    validation.end = config.samples;
    ASSAY_ASSIGN(data.validation, Dataset::Make({validation, {}, nullptr}, ValidationRule(0), DescribeGenerated(validation)));
  }
  return data;
}

std::string_view Varied(bool augment) { return augment ? ", random crops and flips" : ""; }

std::string DescribeCifar(std::int64_t images, std::int64_t classes, bool augment) {
  const std::string_view name = classes == kCifarClasses  ? "CIFAR-10"
                                : classes == kCifarCoarse ? "CIFAR-100 by coarse labels"
                                                          : "CIFAR-100";
  return fmt::format("{}, {} images{}", name, images, Varied(augment));
}

Result<Data> SplitCifar(const DataConfig& config, std::shared_ptr<const CifarRecords> train, std::int64_t train_count,
                        std::shared_ptr<const CifarRecords> validation, std::int64_t validation_begin) {
  Data data;
  const std::int64_t classes = train->classes();
  data.shape.classes = classes;
  data.shape.height = data.shape.width = kCifarSide;
  data.shape.channels = kCifarChannels;
  ASSAY_TRY(AddTraining(data, CifarPart(std::move(train), 0, train_count), TrainingRule(config, 0),
                        DescribeCifar(train_count, classes, config.augment)));
  if (const std::int64_t kept = validation->size() - validation_begin; kept > 0) {
    const std::int64_t end = validation->size();
    ASSAY_ASSIGN(data.validation, Dataset::Make(CifarPart(std::move(validation), validation_begin, end), ValidationRule(0),
                                                DescribeCifar(kept, classes, false)));
  }
  return data;
}

Result<Data> OpenCifar(const DataConfig& config, Allowance& allowance) {
  if (config.path.empty()) return OpenGenerated(config, allowance);
  const std::int64_t classes = CifarClasses(config);
  if (IsDirectory(config.path)) {
    const bool ten = config.kind == DataKind::kCifar10;
    std::vector<std::string> paths;
    for (int i = 1; ten && i <= 5; ++i) paths.push_back(JoinPath(config.path, fmt::format("data_batch_{}.bin", i)));
    if (!ten) paths.push_back(JoinPath(config.path, "train.bin"));
    ASSAY_ASSIGN(auto train, CifarRecords::Open(paths, classes, allowance));
    ASSAY_ASSIGN(auto test,
                 CifarRecords::Open({JoinPath(config.path, ten ? "test_batch.bin" : "test.bin")}, classes, allowance));
    return SplitCifar(config, train, train->size(), test, 0);
  }
  ASSAY_ASSIGN(auto records, CifarRecords::Open({config.path}, classes, allowance));
  ASSAY_ASSIGN(const std::int64_t train, TrainingShare(records->size(), config, "records"));
  return SplitCifar(config, records, train, records, train);
}

std::string DescribeArrays(const ArraysDescriptor& arrays, std::int64_t samples, const SampleGeometry& g, bool augment) {
  if (g.features > 0) return fmt::format("arrays, {} vectors of {} {} features", samples, g.features, Name(arrays.dtype));
  return fmt::format("arrays, {} {} images of {}x{}x{}{}", samples, Name(arrays.dtype), g.height, g.width, g.channels,
                     Varied(augment));
}

// Both parts of samples like these, and what they say about a model; `part` makes one of the samples [begin, end).
Result<Data> SplitArrays(const DataConfig& config, const ArraysDescriptor& all, std::int64_t labels,
                         const std::function<DataPart(std::int64_t, std::int64_t)>& part) {
  const auto geometry = GeometryOf(all.sample, config.layout);
  if (!geometry) return Err("{}: {}", config.path, geometry.error().message);
  ASSAY_ASSIGN(const std::int64_t train, TrainingShare(all.count, config, "samples"));
  Data data;
  data.shape.classes = labels;
  data.shape.classes_exact = false;
  data.shape.features = geometry->features;
  data.shape.height = geometry->height;
  data.shape.width = geometry->width;
  data.shape.channels = geometry->channels;
  ASSAY_TRY(AddTraining(data, part(0, train), TrainingRule(config, 0), DescribeArrays(all, train, *geometry, config.augment)));
  if (const std::int64_t kept = all.count - train; kept > 0) {
    SampleRule rule = ValidationRule(0);
    rule.layout = config.layout;
    ASSAY_ASSIGN(data.validation, Dataset::Make(part(train, all.count), rule, DescribeArrays(all, kept, *geometry, false)));
  }
  return data;
}

Result<Data> OpenArrays(const DataConfig& config, Allowance& allowance) {
  if (config.path.empty()) {
    return Err("data.path: expected a .npz or safetensors file with arrays {} and {}, or a folder with {}.npy and {}.npy",
               Quote(config.inputs), Quote(config.labels), config.inputs, config.labels);
  }
  ASSAY_ASSIGN(const auto arrays, LabelledArrays::Open(config.path, config.inputs, config.labels, allowance));
  return SplitArrays(config, {arrays->size(), arrays->dtype(), arrays->sample()}, std::int64_t{arrays->largest_label()} + 1,
                     [&](std::int64_t begin, std::int64_t end) { return ArraysPart(arrays, begin, end); });
}

using Packed = std::shared_ptr<const PackedFile>;

// The tokenizer of a packed text: the one that the job names, or the file's own.
Result<std::shared_ptr<const Tokenizer>> TokenizerOf(const DataConfig& config, const PackedFile& file, Allowance& allowance) {
  if (config.vocabulary.empty()) return file.MakeTokenizer(allowance);
  ASSAY_ASSIGN(const auto tokenizer, BpeTokenizer::Open(config.vocabulary, allowance));
  const std::int64_t has = tokenizer->vocabulary(), limit = file.header().limit;
  const bool exact = file.header().tokenizer != PackedTokenizer::kNone;
  if (exact ? has == limit : has >= limit) return tokenizer;
  return Err("data.vocabulary: {} has {} tokens, expected {}{} for {}", config.vocabulary, has, exact ? "" : "at least ", limit,
             file.path());
}

Result<Data> OpenPackedTokens(const DataConfig& config, std::int64_t sequence, const Packed& file, Allowance& allowance) {
  Data data;
  ASSAY_ASSIGN(data.tokenizer, TokenizerOf(config, *file, allowance));
  const bool exact = file->header().tokenizer != PackedTokenizer::kNone;
  data.shape.vocabulary = file->header().limit;
  data.shape.vocabulary_exact = exact || data.tokenizer != nullptr;
  if (!exact && data.tokenizer != nullptr) data.shape.vocabulary = data.tokenizer->vocabulary();
  const auto stream = TokenStream::Of(file->bytes("tokens"), static_cast<std::int32_t>(file->header().limit - 1), file);
  const std::string description =
      fmt::format("packed, {} documents, vocabulary {}", file->header().documents, data.shape.vocabulary);
  return SplitTokens(config, sequence, stream, config.path, description, std::move(data));
}

Result<Data> OpenPackedArrays(const DataConfig& config, const Packed& file) {
  const auto& all = std::get<ArraysDescriptor>(file->header().descriptor);
  return SplitArrays(config, all, file->header().limit, [&](std::int64_t begin, std::int64_t end) {
    const auto cut = [&](ByteSpan bytes) {
      const std::size_t each = bytes.size() / static_cast<std::size_t>(all.count);
      return DataArray({bytes.subspan(each * static_cast<std::size_t>(begin), each * static_cast<std::size_t>(end - begin))});
    };
    return DataPart{
        ArraysDescriptor{end - begin, all.dtype, all.sample}, {cut(file->bytes("inputs")), cut(file->bytes("labels"))}, file};
  });
}

// All of the file is read, by whoever trains on it or checks a training: a header proves nothing about what follows it.
Result<Data> OpenPacked(const DataConfig& config, std::int64_t sequence, ThreadPool* pool, Allowance& allowance) {
  if (config.path.empty()) return Err("data.path: expected a file that assay data pack has made");
  ASSAY_ASSIGN(const Packed file, PackedFile::Open(config.path, allowance));
  const bool tokens = std::holds_alternative<TokensDescriptor>(file->header().descriptor);
  ASSAY_ASSIGN(Data data, tokens ? OpenPackedTokens(config, sequence, file, allowance) : OpenPackedArrays(config, file));
  ASSAY_ASSIGN(const auto roots, file->RootsOf(ArraysOf(data.part.descriptor).front().type.shape[0], pool, allowance));
  data.root = DataRoot(data.part.descriptor, roots);
  return data;
}

Result<Data> OpenKind(const DataConfig& config, std::int64_t sequence, Allowance& allowance) {
  switch (config.kind) {
    case DataKind::kChars:
    case DataKind::kBpe: return OpenText(config, sequence, allowance);
    case DataKind::kTokens: return OpenTokens(config, sequence, allowance);
    case DataKind::kCifar10:
    case DataKind::kCifar100: return OpenCifar(config, allowance);
    case DataKind::kArrays: return OpenArrays(config, allowance);
    case DataKind::kImages:
    case DataKind::kFeatures: return OpenGenerated(config, allowance);
    case DataKind::kPacked: break;  // its root is made on the way
  }
  return Err("data.kind: unknown");
}

}  // namespace

SampleRule TrainingRule(const DataConfig& config, std::int64_t sequence) {
  return {.sequence = sequence,
          .stride = config.stride == 0 ? sequence : config.stride,
          .augment = config.augment,
          .layout = config.layout};
}

Result<Data> OpenData(const DataConfig& config, std::int64_t sequence, ThreadPool* pool) {
  Allowance everything;
  return OpenData(config, sequence, pool, everything);
}

Result<Data> OpenData(const DataConfig& config, std::int64_t sequence, ThreadPool* pool, Allowance& allowance) {
  const bool generated = config.kind == DataKind::kImages || config.kind == DataKind::kFeatures;
  if (generated && !config.path.empty()) return Err("{}: the job's data is generated and takes no file", config.path);
  if (config.kind == DataKind::kPacked) return OpenPacked(config, sequence, pool, allowance);
  ASSAY_ASSIGN(Data data, OpenKind(config, sequence, allowance));
  ASSAY_ASSIGN(data.root, DataRoot(data.part, pool, allowance));
  return data;
}

}  // namespace assay
