// Data: what is kept back, samples of every kind, descriptors and roots, the embedded text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "assay/base/check.h"
#include "assay/data/cifar.h"
#include "assay/data/corpus.h"
#include "assay/data/dataset.h"
#include "assay/data/decoder.h"
#include "assay/data/open.h"
#include "assay/data/root.h"
#include "assay/merkle/sha256.h"
#include "docs/json.h"
#include "docs/vectors.h"

namespace assay::docs {
namespace {

std::string Number(auto value) { return fmt::format("{}", value); }

Data Open(const DataConfig& config, std::int64_t sequence) {
  auto data = OpenData(config, sequence);
  ASSAY_CHECK(data.has_value());
  return std::move(*data);
}

// Of n samples, how many are kept back: the validation part of generated data is made of them.
std::string Shares() {
  std::vector<std::string> entries;
  for (std::int64_t n : {10, 19, 20, 4096, 50000, 1000003}) {
    for (float share : {0.1f, 0.25f, 0.7f}) {
      const Data data = Open({.kind = DataKind::kFeatures, .validation = share, .samples = n, .features = 1}, 0);
      entries.push_back(
          Object({{"items", Number(n)}, {"share", Quoted(Bits(share))}, {"kept", Number(data.validation->samples())}}));
    }
  }
  return Lines(entries, 2);
}

std::string TokenCounts() {
  std::vector<std::string> entries;
  const auto add = [&](std::int64_t tokens, std::int64_t sequence, std::int64_t stride) {
    const auto decoder = SampleDecoder::Make(TokensDescriptor{tokens}, {.sequence = sequence, .stride = stride});
    ASSAY_CHECK(decoder.has_value());
    const SourceRange last = (*decoder)->Sources((*decoder)->samples() - 1)[0];
    entries.push_back(Object({{"tokens", Number(tokens)},
                              {"sequence", Number(sequence)},
                              {"stride", Number(stride)},
                              {"samples", Number((*decoder)->samples())},
                              {"last_token", Number(last.end / 2 - 1)}}));
  };
  add(2, 1, 1);
  add(10, 4, 1);
  add(10, 4, 4);
  add(9, 4, 4);
  add(8, 4, 4);
  add(20637, 64, 7);
  return Lines(entries, 2);
}

std::string Batch(const std::vector<Tensor>& batch) {
  std::vector<std::string> fields;
  for (const Tensor& tensor : batch) fields.push_back(Elements(tensor));
  return fmt::format("[{}]", fmt::join(fields, ", "));
}

std::string Generated() {
  const GeneratedDescriptor cases[] = {
      {.begin = 0, .end = 100, .classes = 3, .features = 5, .noise = 1.5f, .seed = 1},
      {.begin = 90, .end = 100, .classes = 7, .features = 9, .noise = 0.1f, .seed = 0x0123456789abcdef},
      {.begin = 0, .end = 50, .classes = 2, .image = 5, .channels = 2, .noise = 0.5f, .seed = 3},
      {.begin = 10, .end = 50, .classes = 4, .image = 8, .channels = 1, .noise = 0.25f, .seed = 9}};
  std::vector<std::string> entries;
  for (const GeneratedDescriptor& d : cases) {
    const auto decoder = SampleDecoder::Make(d, {});
    ASSAY_CHECK(decoder.has_value());
    for (std::int64_t index : {std::int64_t{0}, std::int64_t{6}}) {
      std::vector<Tensor> batch = MakeBatch((*decoder)->fields(), 1);
      ASSAY_CHECK((*decoder)->Decode(index, {}, {}, 0, batch));
      entries.push_back(Object({{"begin", Number(d.begin)},
                                {"end", Number(d.end)},
                                {"classes", Number(d.classes)},
                                {"image", Number(d.image)},
                                {"channels", Number(d.channels)},
                                {"features", Number(d.features)},
                                {"noise", Quoted(Bits(d.noise))},
                                {"seed", Quoted(fmt::format("{:016x}", d.seed))},
                                {"descriptor", Quoted(Hex(Encode(DataDescriptor(d))))},
                                {"data_root", Quoted(DataRoot(DataDescriptor(d), {}).hex())},
                                {"sample", Number(index)},
                                {"fields", Batch(batch)}}));
    }
  }
  return Lines(entries, 2);
}

// The record whose labels are 7 and whose byte i (from 1, the last label's being 0) is (i·i + 3·i) mod 251.
std::string Images(std::int64_t classes) {
  Bytes record(CifarRecordBytes(classes), 7);
  const std::size_t before = CifarLabelBytes(classes) - 1;
  for (std::size_t i = 1; before + i < record.size(); ++i)
    record[before + i] = static_cast<std::uint8_t>((i * i + 3 * i) % 251);
  const auto decoder = SampleDecoder::Make(CifarDescriptor{1, classes}, {.augment = true});
  ASSAY_CHECK(decoder.has_value());
  std::vector<std::string> entries;
  const auto add = [&](std::uint64_t seed, std::uint32_t step, std::int64_t position, bool train) {
    std::vector<Tensor> batch = MakeBatch((*decoder)->fields(), 1);
    const ByteSpan source(record);
    ASSAY_CHECK(
        (*decoder)->Decode(0, {.seed = seed, .step = step, .position = position, .train = train}, {&source, 1}, 0, batch));
    std::vector<std::string> row;  // the middle row of pixels, channel 0
    for (std::size_t w = 0; w < 32; ++w) row.push_back(Bits(batch[0].Span<float>()[(16 * 32 + w) * 3]));
    entries.push_back(Object({{"seed", Quoted(fmt::format("{:016x}", seed))},
                              {"step", Number(step)},
                              {"position", Number(position)},
                              {"augment", train ? "true" : "false"},
                              {"row_16_of_channel_0", Quoted(fmt::format("{}", fmt::join(row, " ")))},
                              {"sha256", Quoted(HashBytes(batch[0].bytes()).hex())}}));
  };
  add(1, 0, 0, false);
  for (std::int64_t position : {0, 1, 2, 3, 4, 5}) add(1, 3, position, true);
  add(0x0123456789abcdef, 77, 1000, true);
  return Lines(entries, 2);
}

// Byte i of the inputs is (i·i + 3·i) mod 251, as a number of binary32 it is that byte less 125, divided by 8; label i is i mod 3.
std::string Arrays() {
  struct Case {
    ArraysDescriptor data;
    ArrayLayout layout;
  };
  const Case cases[] = {{{5, DType::kF32, {7}}, ArrayLayout::kFlat},
                        {{5, DType::kU8, {2, 3, 2}}, ArrayLayout::kFlat},
                        {{4, DType::kU8, {5, 9}}, ArrayLayout::kNhwc},
                        {{4, DType::kF32, {6, 3, 2}}, ArrayLayout::kNhwc},
                        {{4, DType::kU8, {2, 3, 8}}, ArrayLayout::kNchw}};
  constexpr std::string_view kNames[] = {"flat", "nhwc", "nchw"};
  std::vector<std::string> entries;
  for (const auto& [data, layout] : cases) {
    const auto elements = static_cast<std::size_t>(data.count * data.sample.elements());
    ByteWriter inputs, labels;
    for (std::size_t i = 0; i < elements; ++i) {
      const auto byte = static_cast<std::uint8_t>((i * i + 3 * i) % 251);
      data.dtype == DType::kU8 ? inputs.U8(byte) : inputs.F32((static_cast<float>(byte) - 125.0f) / 8.0f);
    }
    for (std::uint32_t i = 0; i < data.count; ++i) labels.U32(i % 3);
    const DataPart part{data, {DataArray({inputs.bytes()}), DataArray({labels.bytes()})}, nullptr};
    const bool augment = layout != ArrayLayout::kFlat;
    const auto set = Dataset::Make(part, {.augment = augment, .layout = layout}, "");
    ASSAY_CHECK(set.has_value());
    for (std::int64_t index : {std::int64_t{0}, data.count - 1}) {
      std::vector<Tensor> batch = MakeBatch((*set)->fields(), 1);
      (*set)->Load(index, {.seed = 1, .step = 3, .position = index}, 0, batch);
      entries.push_back(Object({{"count", Number(data.count)},
                                {"dtype", Number(static_cast<int>(data.dtype))},
                                {"sample_shape", fmt::format("[{}]", fmt::join(data.sample.dims(), ", "))},
                                {"layout", Quoted(kNames[static_cast<std::size_t>(layout)])},
                                {"augment", augment ? "true" : "false"},
                                {"seed", Quoted("0000000000000001")},
                                {"step", "3"},
                                {"position", Number(index)},
                                {"descriptor", Quoted(Hex(Encode(DataDescriptor(data))))},
                                {"data_root", Quoted(DataRoot(part, nullptr).hex())},
                                {"sample", Number(index)},
                                {"fields", Batch(batch)}}));
    }
  }
  return Lines(entries, 2);
}

std::string Text() {
  std::vector<std::string> entries;
  for (const auto& [kind, name] : {std::pair{DataKind::kChars, "chars"}, std::pair{DataKind::kTokens, "tokens"}}) {
    for (float share : {0.0f, 0.1f}) {
      const Data data = Open({.kind = kind, .validation = share}, 64);
      entries.push_back(Object({{"kind", Quoted(name)},
                                {"share", Quoted(Bits(share))},
                                {"vocabulary", Number(data.shape.vocabulary)},
                                {"tokens", Number(std::get<TokensDescriptor>(data.part.descriptor).count)},
                                {"data_root", Quoted(data.root.hex())}}));
    }
  }
  return Object({{"bytes", Number(EmbeddedText().size())},
                 {"sha256", Quoted(HashBytes(AsBytes(EmbeddedText())).hex())},
                 {"roots", Lines(entries, 2)}});
}

}  // namespace

std::string DataVectors() {
  return fmt::format(
      "{{\n  \"kept_back\": {},\n  \"token_samples\": {},\n  \"generated\": {},\n  \"images\": {},\n  \"images_100\": {},\n  "
      "\"arrays\": {},\n  \"embedded_text\": {}\n}}\n",
      Shares(), TokenCounts(), Generated(), Images(kCifarClasses), Images(kCifarFine), Arrays(), Text());
}

}  // namespace assay::docs
