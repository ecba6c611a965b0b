#include "assay/data/provable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "assay/data/batch_root.h"
#include "assay/data/cifar.h"
#include "assay/data/root.h"
#include "assay/data/tokens.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::uint64_t kSeed = 20263;  // of everything random here
constexpr std::int64_t kMicrobatch = 3, kMicrobatches = 4, kCount = kMicrobatch * kMicrobatches;

Bytes Random(std::size_t size) {
  std::mt19937 random(kSeed);
  Bytes bytes(size);
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
  return bytes;
}

// One kind of data and how samples are made of it.
struct Case {
  std::string name;
  DataPart part;
  SampleRule rule;
};

DataPart Tokens(std::size_t count) {
  std::vector<std::uint16_t> tokens(count);
  std::mt19937 random(kSeed);
  for (std::uint16_t& token : tokens) token = static_cast<std::uint16_t>(random());
  return TokenPart(TokenStream::Own(std::move(tokens)), 0, static_cast<std::int64_t>(count));
}

// Records in two pieces, so that leaves lie across their border.
DataPart Cifar(std::size_t count) {
  auto bytes = std::make_shared<Bytes>(Random(count * kCifarRecord));
  for (std::size_t i = 0; i < count; ++i) (*bytes)[i * kCifarRecord] = static_cast<std::uint8_t>(i % 10);
  const ByteSpan all = *bytes;
  return {CifarDescriptor{static_cast<std::int64_t>(count)},
          {DataArray({all.first(5 * kCifarRecord), all.subspan(5 * kCifarRecord)})},
          bytes};
}

// Samples of two axes, the inputs as bytes or as numbers, and their labels.
DataPart Arrays(std::size_t count, DType dtype) {
  const ArraysDescriptor descriptor{static_cast<std::int64_t>(count), dtype, {21, 13}};
  auto bytes = std::make_shared<Bytes>(Random(count * 21 * 13 * SizeOf(dtype) + 4 * count));
  const ByteSpan inputs = ByteSpan(*bytes).first(bytes->size() - 4 * count), labels = ByteSpan(*bytes).last(4 * count);
  // Numbers that are finite and labels that are small.
  for (std::size_t i = 3; dtype == DType::kF32 && i < inputs.size(); i += 4) (*bytes)[i] &= 0x3f;
  for (std::size_t i = 0; i < labels.size(); ++i) (*bytes)[inputs.size() + i] &= i % 4 == 0 ? 7 : 0;
  return {descriptor, {DataArray({inputs}), DataArray({labels})}, bytes};
}

std::vector<Case> Cases() {
  const GeneratedDescriptor features{.begin = 0, .end = 90, .classes = 4, .features = 16, .noise = 0.5f, .seed = 77};
  const GeneratedDescriptor images{.begin = 7, .end = 50, .classes = 3, .image = 8, .channels = 2, .noise = 0.25f, .seed = 5};
  return {{"overlapping windows", Tokens(60001), {.sequence = 64, .stride = 1}},
          {"long windows", Tokens(60001), {.sequence = 5000, .stride = 4999}},
          {"one window", Tokens(9), {.sequence = 8, .stride = 1}},
          {"images with augmentation", Cifar(41), {.augment = true}},
          {"images as they are", Cifar(41), {.augment = false}},
          {"arrays of vectors", Arrays(41, DType::kF32), {.layout = ArrayLayout::kFlat}},
          {"arrays of images", Arrays(41, DType::kU8), {.augment = true, .layout = ArrayLayout::kNchw}},
          {"generated features", {features, {}, nullptr}, {}},
          {"generated images", {images, {}, nullptr}, {}}};
}

DataClaim ClaimOf(const Case& c) { return {DataRoot(c.part, nullptr), c.part.descriptor, c.rule}; }

// The batch as training loads it: one microbatch after the other.
struct Loaded {
  std::vector<Bytes> fields;
  Digest root{};
};

Loaded Load(const Case& c, std::uint32_t step) {
  const auto set = Dataset::Make(c.part, c.rule, c.name).value();
  const std::vector<std::int64_t> indices = BatchIndices(kSeed, set->samples(), step, kCount);
  std::vector<std::string> names;
  for (const auto& [name, type] : set->fields()) names.push_back(name);
  BatchRootBuilder root(names);
  Loaded loaded;
  loaded.fields.resize(names.size());
  for (std::int64_t g = 0; g < kMicrobatches; ++g) {
    std::vector<Tensor> batch = MakeBatch(set->fields(), kMicrobatch);
    for (std::int64_t row = 0; row < kMicrobatch; ++row) {
      const std::int64_t position = g * kMicrobatch + row;
      set->Load(indices[static_cast<std::size_t>(position)], {.seed = kSeed, .step = step, .position = position}, row, batch);
    }
    root.Add(batch);
    for (std::size_t f = 0; f < batch.size(); ++f) {
      loaded.fields[f].insert(loaded.fields[f].end(), batch[f].bytes().begin(), batch[f].bytes().end());
    }
  }
  loaded.root = root.Finish();
  return loaded;
}

BatchProof Prove(const Case& c, std::uint32_t step) {
  const BatchProver prover = BatchProver::Make(c.part, c.rule, nullptr).value();
  EXPECT_EQ(prover.root(), DataRoot(c.part, nullptr));
  return prover.Prove(BatchIndices(kSeed, prover.samples(), step, kCount));
}

TEST(Provable, EveryKindIsRebuiltByteForByte) {
  for (const Case& c : Cases()) {
    for (std::uint32_t step : {0u, 1u, 977u}) {
      SCOPED_TRACE(fmt::format("{}, step {}", c.name, step));
      const Loaded loaded = Load(c, step);
      const auto batch = VerifyStepBatch(Prove(c, step), ClaimOf(c), kSeed, step, kCount);
      ASSERT_TRUE(batch) << batch.error().message;
      EXPECT_EQ(batch->root, loaded.root);
      ASSERT_EQ(batch->tensors.size(), loaded.fields.size());
      for (std::size_t f = 0; f < loaded.fields.size(); ++f) {
        EXPECT_TRUE(std::ranges::equal(batch->tensors[f].bytes(), loaded.fields[f])) << batch->fields[f].first;
      }
    }
  }
}

// A judge of one microbatch needs no more than its samples.
TEST(Provable, PartOfABatch) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const BatchProver prover = BatchProver::Make(c.part, c.rule, nullptr).value();
    const std::vector<std::int64_t> indices = BatchIndices(kSeed, prover.samples(), 3, kCount);
    const auto part = std::span(indices).subspan(2 * kMicrobatch, kMicrobatch);
    const DrawContext first{.seed = kSeed, .step = 3, .position = 2 * kMicrobatch};
    const auto batch = VerifyBatch(prover.Prove(part), ClaimOf(c), part, first);
    ASSERT_TRUE(batch) << batch.error().message;
    const Loaded loaded = Load(c, 3);
    for (std::size_t f = 0; f < loaded.fields.size(); ++f) {
      const ByteSpan got = batch->tensors[f].bytes();
      EXPECT_TRUE(std::equal(got.begin(), got.end(), loaded.fields[f].begin() + static_cast<std::ptrdiff_t>(2 * got.size())));
    }
  }
}

std::string ErrorOf(const BatchProof& proof, const DataClaim& claim, std::uint64_t seed = kSeed, std::uint32_t step = 1) {
  const auto batch = VerifyStepBatch(proof, claim, seed, step, kCount);
  return batch ? "accepted" : batch.error().message;
}

TEST(Provable, AnyFlippedBitIsRefused) {
  std::mt19937 random(kSeed);
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const DataClaim claim = ClaimOf(c);
    BatchProof proof = Prove(c, 1);
    ASSERT_EQ(ErrorOf(proof, claim), "accepted");
    std::vector<std::span<std::uint8_t>> pieces;
    for (ArrayProof& array : proof) {
      pieces.emplace_back(array.root.bytes);
      for (LeafRun& run : array.runs) {
        pieces.emplace_back(run.bytes);
        for (Digest& hash : run.proof) pieces.emplace_back(hash.bytes);
      }
    }
    std::size_t bits = 0;
    for (std::span<std::uint8_t> piece : pieces) bits += piece.size() * 8;
    // Every bit of a small proof; of a large one so many that every leaf and every hash has its share.
    const std::size_t stride = bits < 10000 ? 1 : 251;
    for (std::span<std::uint8_t> piece : pieces) {
      for (std::size_t bit = random() % stride; bit < piece.size() * 8; bit += stride) {
        const auto mask = static_cast<std::uint8_t>(1 << (bit % 8));
        piece[bit / 8] ^= mask;
        ASSERT_NE(ErrorOf(proof, claim), "accepted") << "bit " << bit;
        piece[bit / 8] ^= mask;
      }
    }
    EXPECT_EQ(ErrorOf(proof, claim), "accepted");
  }
}

TEST(Provable, MalformedProofsAreRefused) {
  const Case c{"tokens", Tokens(60001), {.sequence = 64, .stride = 1}};
  const DataClaim claim = ClaimOf(c);
  const BatchProof good = Prove(c, 1);
  ASSERT_GE(good[0].runs.size(), 3u);
  const auto changed = [&](const std::function<void(BatchProof&)>& change) {
    BatchProof proof = good;
    change(proof);
    return ErrorOf(proof, claim);
  };
  EXPECT_EQ(changed([](BatchProof&) {}), "accepted");
  EXPECT_EQ(changed([](BatchProof& p) { p.clear(); }), "batch proof: expected 1 arrays, got 0");
  EXPECT_EQ(changed([](BatchProof& p) { p.push_back(p[0]); }), "batch proof: expected 1 arrays, got 2");
  EXPECT_NE(changed([](BatchProof& p) { p[0].runs.pop_back(); }).find("runs of leaves, got"), std::string::npos);
  EXPECT_NE(changed([](BatchProof& p) { p[0].runs.push_back(p[0].runs[0]); }).find("runs of leaves, got"), std::string::npos);
  EXPECT_NE(changed([](BatchProof& p) { p[0].runs[0].bytes.pop_back(); }).find("expected 4096 bytes, got 4095"),
            std::string::npos);
  EXPECT_NE(changed([](BatchProof& p) { p[0].runs[0].bytes.push_back(0); }), "accepted");
  EXPECT_NE(changed([](BatchProof& p) { p[0].runs[0].bytes.clear(); }), "accepted");
  EXPECT_NE(changed([](BatchProof& p) { std::swap(p[0].runs[0], p[0].runs[1]); }), "accepted");
  EXPECT_NE(changed([](BatchProof& p) { p[0].runs[0].proof.pop_back(); }), "accepted");
  EXPECT_NE(changed([](BatchProof& p) { p[0].runs[0].proof.push_back({}); }), "accepted");
  EXPECT_NE(changed([](BatchProof& p) { std::swap(p[0].runs[0].proof[0], p[0].runs[0].proof[1]); }), "accepted");
}

// Bytes that are proven for one place do not serve for another.
TEST(Provable, AnotherIndexOrRangeIsRefused) {
  const Case c{"tokens", Tokens(60001), {.sequence = 64, .stride = 1}};
  const BatchProver prover = BatchProver::Make(c.part, c.rule, nullptr).value();
  const auto error = [&](std::int64_t proven, std::int64_t asked) {
    const auto batch = VerifyBatch(prover.Prove({&proven, 1}), ClaimOf(c), {&asked, 1}, {});
    return batch ? std::string("accepted") : batch.error().message;
  };
  EXPECT_EQ(error(100, 100), "accepted");
  EXPECT_EQ(error(100, 101), "accepted");  // made of the same leaf
  for (std::int64_t other : {2100, 4200, 59000, 59936}) {
    EXPECT_NE(error(100, other), "accepted") << other;
    EXPECT_NE(error(other, 100), "accepted") << other;
  }
  EXPECT_NE(error(2000, 100), "accepted");  // two leaves, one of them the right one
  EXPECT_NE(error(100, 2000), "accepted");
  EXPECT_EQ(error(0, 59937), "batch proof: sample 59937: expected 0 .. 59936");
  EXPECT_EQ(error(0, -1), "batch proof: sample -1: expected 0 .. 59936");
  const BatchProof none = prover.Prove({});
  EXPECT_EQ(VerifyBatch(none, ClaimOf(c), {}, {}).error().message, "batch proof: expected at least one sample");
  EXPECT_NE(ErrorOf(Prove(c, 1), ClaimOf(c), kSeed + 1), "accepted");
  EXPECT_NE(ErrorOf(Prove(c, 1), ClaimOf(c), kSeed, 2), "accepted");
}

TEST(Provable, AnotherRootOrDescriptorIsRefused) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const BatchProof proof = Prove(c, 1);
    DataClaim claim = ClaimOf(c);
    for (std::size_t bit = 0; bit < 256; ++bit) {
      claim.root.bytes[bit / 8] = static_cast<std::uint8_t>(claim.root.bytes[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_NE(ErrorOf(proof, claim).find("data root is "), std::string::npos);
      claim.root.bytes[bit / 8] = static_cast<std::uint8_t>(claim.root.bytes[bit / 8] ^ (1 << (bit % 8)));
    }
    if (auto* d = std::get_if<TokensDescriptor>(&claim.descriptor)) d->count += 1;
    if (auto* d = std::get_if<CifarDescriptor>(&claim.descriptor)) d->count -= 1;
    if (auto* d = std::get_if<ArraysDescriptor>(&claim.descriptor)) d->count -= 1;
    if (auto* d = std::get_if<GeneratedDescriptor>(&claim.descriptor)) d->noise = 0.75f;
    EXPECT_NE(ErrorOf(proof, claim).find("data root is "), std::string::npos);
    claim.descriptor = TokensDescriptor{0};
    EXPECT_EQ(ErrorOf(proof, claim), "data: tokens: expected 1 .. 281474976710656, got 0");
    claim.descriptor = TokensDescriptor{std::int64_t{1} << 48};
    claim.rule = {.sequence = std::int64_t{1} << 47, .stride = 1};
    EXPECT_NE(ErrorOf(proof, claim), "accepted");  // and nothing of that size is allocated
  }
}

// A root over bytes that no CIFAR-10 file has binds them all the same.
TEST(Provable, ImpossibleRecordsAreRefused) {
  Case c{"images", Cifar(1), {.augment = true}};
  Bytes bytes = Random(kCifarRecord);
  bytes[0] = 10;
  c.part.arrays = {DataArray({ByteSpan(bytes)})};
  EXPECT_EQ(ErrorOf(Prove(c, 1), ClaimOf(c)), "batch proof: data: record 0: label 10, expected 0 .. 9");
}

}  // namespace
}  // namespace assay
