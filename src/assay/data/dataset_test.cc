#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "assay/data/batch_order.h"
#include "assay/data/corpus.h"
#include "assay/data/open.h"
#include "support/scratch.h"

namespace assay {
namespace {

class Folder {
 public:
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = scratch_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string path() const { return scratch_.path(); }

 private:
  testkit::Scratch scratch_;
};

std::string ErrorOf(const DataConfig& config, std::int64_t sequence = 8) {
  const auto data = OpenData(config, sequence);
  return data ? "accepted" : data.error().message;
}

std::vector<Tensor> BatchOf(const Dataset& set, std::int64_t rows) { return MakeBatch(set.fields(), rows); }

TEST(BatchOrder, EveryEpochIsAPermutation) {
  for (std::int64_t n : {1, 2, 3, 7, 64, 65, 1000}) {
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      const auto order = BatchIndices(5, n, epoch, n);
      EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), static_cast<std::size_t>(n));
      EXPECT_EQ(*std::min_element(order.begin(), order.end()), 0);
      EXPECT_EQ(*std::max_element(order.begin(), order.end()), n - 1);
    }
  }
}

TEST(BatchOrder, StepsConcatenateEpochs) {
  std::vector<std::int64_t> all;
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    const auto part = BatchIndices(9, 10, epoch, 10);
    all.insert(all.end(), part.begin(), part.end());
  }
  for (std::uint32_t step = 0; step < 5; ++step) {
    const auto batch = BatchIndices(9, 10, step, 8);
    for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(BatchIndex(9, 10, step, 8, i), batch[static_cast<std::size_t>(i)]);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(batch[i], all[step * 8 + i]);
  }
}

TEST(BatchOrder, DependsOnSeedAndEpoch) {
  EXPECT_NE(BatchIndices(1, 1000, 0, 1000), BatchIndices(2, 1000, 0, 1000));
  EXPECT_NE(BatchIndices(1, 1000, 0, 1000), BatchIndices(1, 1000, 1, 1000));
  EXPECT_NE(BatchIndices(1, 1000, 0, 1000), BatchIndices(1 + (std::uint64_t{1} << 32), 1000, 0, 1000));
}

// Frozen: a change of these numbers changes every run's bits.
TEST(BatchOrder, Golden) {
  EXPECT_EQ(BatchIndices(1, 10, 0, 10), (std::vector<std::int64_t>{2, 3, 9, 1, 5, 0, 7, 6, 8, 4}));
  EXPECT_EQ(BatchIndices(42, std::int64_t{1} << 40, 123456, 3),
            (std::vector<std::int64_t>{92344629138, 937506337431, 309483870592}));
}

TEST(Tokens, SamplesAreShiftedWindows) {
  const Folder folder;
  std::string bytes;
  for (int i = 0; i < 40; ++i) bytes += {static_cast<char>(i), static_cast<char>(i == 39 ? 1 : 0)};
  DataConfig config{.kind = DataKind::kTokens, .path = folder.Write("t.bin", bytes)};
  config.validation = 0.25f;
  config.stride = 3;
  const auto data = OpenData(config, 8);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->shape.vocabulary, 256 + 39 + 1);
  EXPECT_FALSE(data->shape.vocabulary_exact);
  EXPECT_EQ(data->train->samples(), (30 - 9) / 3 + 1);
  EXPECT_EQ(data->validation->samples(), 1);  // windows of the validation part do not overlap
  auto batch = BatchOf(*data->train, 2);
  data->train->Load(7, {}, 1, batch);
  EXPECT_EQ(batch[0].Span<std::int32_t>()[8], 21);
  EXPECT_EQ(batch[1].Span<std::int32_t>()[8], 22);
  EXPECT_EQ(batch[1].Span<std::int32_t>()[15], 29);
  EXPECT_EQ(batch[0].Span<std::int32_t>()[0], 0);
}

TEST(Tokens, OddAndShortFilesAreRefused) {
  const Folder folder;
  DataConfig config{.kind = DataKind::kTokens, .path = folder.Write("t.bin", std::string(33, 'x'))};
  EXPECT_EQ(ErrorOf(config), config.path + ": 2-byte token ids expected, file has 33 bytes");
  config.path = folder.Write("s.bin", std::string(16, 'x'));
  EXPECT_EQ(ErrorOf(config), config.path + ": 8 tokens for training, a sequence of 8 needs at least 9");
  config.path = folder.Write("v.bin", std::string(40, 'x'));
  EXPECT_EQ(ErrorOf(config),
            config.path + ": 2 tokens for validation (data.validation = 0.1 of 20), a sequence of 8 needs at least 9");
  config.path = folder.path() + "/missing.bin";
  EXPECT_NE(ErrorOf(config).find("missing.bin"), std::string::npos);
}

// The identity is that of the tokens, however they were come by, and of the training part alone.
TEST(Tokens, RootIsThatOfTheTrainingTokens) {
  const Folder folder;
  const std::string text = "abababababababababab";
  std::string bytes;
  for (char c : text) bytes += {static_cast<char>(c - 'a'), '\0'};
  DataConfig chars{.kind = DataKind::kChars, .path = folder.Write("t.txt", text)};
  DataConfig tokens{.kind = DataKind::kTokens, .path = folder.Write("t.bin", bytes)};
  chars.validation = tokens.validation = 0;
  const Digest root = OpenData(chars, 4).value().root;
  EXPECT_EQ(root, OpenData(tokens, 4).value().root);
  EXPECT_EQ(OpenData(chars, 4)->validation, nullptr);
  chars.validation = 0.5f;
  EXPECT_NE(root, OpenData(chars, 4).value().root);
}

TEST(Text, EmbeddedTextTrainsWithoutAPath) {
  const auto data = OpenData({.kind = DataKind::kChars}, 64);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_GT(EmbeddedText().size(), 20000u);
  EXPECT_TRUE(
      std::all_of(EmbeddedText().begin(), EmbeddedText().end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_EQ(data->shape.vocabulary, data->tokenizer->vocabulary());
  EXPECT_EQ(OpenData({.kind = DataKind::kTokens}, 64)->shape.vocabulary, 256);
}

std::string CifarFile(int records, int first_label) {
  std::string out;
  for (int r = 0; r < records; ++r) {
    out.push_back(static_cast<char>((first_label + r) % 10));
    for (int i = 0; i < 3072; ++i) out.push_back(static_cast<char>(i / 1024 * 50 + i % 32 + r));
  }
  return out;
}

TEST(Cifar, ReadsPlanesAsNormalisedPixels) {
  const Folder folder;
  DataConfig config{.kind = DataKind::kCifar10, .path = folder.Write("b.bin", CifarFile(4, 3))};
  config.validation = 0.5f;
  config.augment = false;
  const auto data = OpenData(config, 0);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->train->samples(), 2);
  auto batch = BatchOf(*data->validation, 1);
  data->validation->Load(1, {}, 0, batch);  // record 3
  EXPECT_EQ(batch[1].Span<std::int32_t>()[0], 6);
  const float green = batch[0].Span<float>()[(5 * 32 + 7) * 3 + 1];
  EXPECT_EQ(green, (60.0f / 255.0f - 0.4822f) / 0.2435f);
}

TEST(Cifar, AugmentationShiftsAndMirrorsTrainingSamplesOnly) {
  const Folder folder;
  DataConfig config{.kind = DataKind::kCifar10, .path = folder.Write("b.bin", CifarFile(2, 0))};
  config.validation = 0.5f;
  const auto data = OpenData(config, 0);
  ASSERT_TRUE(data) << data.error().message;
  std::set<std::vector<float>> seen;
  auto batch = BatchOf(*data->train, 1);
  for (std::int64_t position = 0; position < 2000; ++position) {
    data->train->Load(0, {.seed = 7, .step = 3, .position = position}, 0, batch);
    const auto pixels = batch[0].Span<float>();
    seen.insert({pixels.begin(), pixels.end()});
  }
  // Rows are equal, so vertical shifts show only by their zeros: 9 · 9 · 2 pictures occur.
  EXPECT_EQ(seen.size(), 162u);
  seen.clear();
  for (std::int64_t position = 0; position < 20; ++position) {
    data->train->Load(0, {.seed = 7, .step = 3, .position = position, .train = false}, 0, batch);
    const auto pixels = batch[0].Span<float>();
    seen.insert({pixels.begin(), pixels.end()});
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST(Cifar, FolderAndHostileFiles) {
  const Folder folder;
  DataConfig config{.kind = DataKind::kCifar10, .path = folder.Write("b.bin", std::string(1000, '\0'))};
  EXPECT_EQ(ErrorOf(config), config.path + ": 3073-byte records expected, file has 1000 bytes");
  config.path = folder.Write("b.bin", "");
  EXPECT_NE(ErrorOf(config), "accepted");
  std::string bad = CifarFile(2, 0);
  bad[3073] = 10;
  config.path = folder.Write("b.bin", bad);
  EXPECT_EQ(ErrorOf(config), config.path + ": record 1: label 10, expected 0 .. 9");
  config.path = folder.path();
  EXPECT_NE(ErrorOf(config).find("data_batch_1.bin"), std::string::npos);
  for (int i = 1; i <= 5; ++i) folder.Write(fmt::format("data_batch_{}.bin", i), CifarFile(i, i));
  EXPECT_NE(ErrorOf(config).find("test_batch.bin"), std::string::npos);
  folder.Write("test_batch.bin", CifarFile(2, 0));
  const auto data = OpenData(config, 0);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->train->samples(), 15);
  EXPECT_EQ(data->validation->samples(), 2);
  auto batch = BatchOf(*data->train, 1);
  data->train->Load(1 + 2 + 3, {.train = false}, 0, batch);
  EXPECT_EQ(batch[1].Span<std::int32_t>()[0], 4);  // the first record of the fourth file
}

// Two label bytes, the coarse one first, and means of their own.
TEST(Cifar, Hundred) {
  Folder folder;
  const auto records = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i)
      out += std::string{static_cast<char>(i), static_cast<char>(99 - i)} + std::string(3072, static_cast<char>(i));
    return out;
  };
  folder.Write("train.bin", records(20));
  folder.Write("test.bin", records(3));
  DataConfig config{.kind = DataKind::kCifar100, .path = folder.path(), .augment = false};
  const Data fine = OpenData(config, 0).value();
  config.label = CifarLabel::kCoarse;
  const Data coarse = OpenData(config, 0).value();
  EXPECT_EQ(fine.shape.classes, 100);
  EXPECT_EQ(coarse.shape.classes, 20);
  EXPECT_NE(fine.root, coarse.root);
  EXPECT_EQ(fine.train->samples(), 20);
  EXPECT_EQ(fine.validation->samples(), 3);
  auto batch = BatchOf(*fine.train, 1);
  fine.train->Load(7, {}, 0, batch);
  EXPECT_EQ(batch[1].Span<std::int32_t>()[0], 92);
  EXPECT_EQ(batch[0].Span<float>()[4], (7.0f / 255.0f - 0.4867f) / 0.2565f);
  coarse.train->Load(7, {}, 0, batch);
  EXPECT_EQ(batch[1].Span<std::int32_t>()[0], 7);
  // A coarse label that is none does not matter to the fine ones.
  config.path = folder.Write("train.bin", records(21));
  config.validation = 0;
  EXPECT_NE(ErrorOf(config).find("record 20: label 20, expected 0 .. 19"), std::string::npos);
  config.label = CifarLabel::kFine;
  EXPECT_TRUE(OpenData(config, 0));
  config.path.clear();
  EXPECT_EQ(OpenData(config, 0)->shape.classes, 100);
  EXPECT_EQ(DecodeDescriptor(Encode(fine.part.descriptor), "d").value(), fine.part.descriptor);
}

TEST(Generated, ClassesCanBeToldApart) {
  for (DataKind kind : {DataKind::kFeatures, DataKind::kImages}) {
    DataConfig config;
    config.kind = kind;
    config.samples = 200;
    config.classes = 4;
    config.image = 8;
    const auto data = OpenData(config, 0);
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->train->samples(), 180);
    auto a = BatchOf(*data->train, 1), b = BatchOf(*data->train, 1);
    data->train->Load(5, {}, 0, a);
    EXPECT_EQ(a[1].Span<std::int32_t>()[0], 1);
    data->train->Load(5, {.seed = 3, .step = 9, .position = 2}, 0, b);
    EXPECT_TRUE(std::equal(a[0].bytes().begin(), a[0].bytes().end(), b[0].bytes().begin()));
    data->validation->Load(0, {}, 0, b);
    EXPECT_FALSE(std::equal(a[0].bytes().begin(), a[0].bytes().end(), b[0].bytes().begin()));
  }
}

// Frozen: the digest of one sample of each sort.
TEST(Generated, Golden) {
  DataConfig config;
  config.classes = 3;
  config.image = 10;
  const auto digest = [&](DataKind kind) {
    config.kind = kind;
    const Data data = OpenData(config, 0).value();
    auto batch = BatchOf(*data.train, 1);
    data.train->Load(1234, {}, 0, batch);
    return HashBytes(batch[0].bytes()).hex().substr(0, 16);
  };
  EXPECT_EQ(digest(DataKind::kFeatures), "1e2c651e37c369ae");
  EXPECT_EQ(digest(DataKind::kImages), "ca99926219ebaf79");
}

TEST(Generated, RootFollowsTheParameters) {
  DataConfig config;
  config.kind = DataKind::kFeatures;
  const Digest root = OpenData(config, 0)->root;
  config.noise = 0.25f;
  EXPECT_NE(OpenData(config, 0)->root, root);
  config.noise = 0.5f;
  EXPECT_EQ(OpenData(config, 0)->root, root);
  config.path = "somewhere";
  const auto opened = OpenData(config, 0);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "somewhere: the job's data is generated and takes no file");
}

}  // namespace
}  // namespace assay
