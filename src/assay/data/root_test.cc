#include "assay/data/root.h"

#include <gtest/gtest.h>

#include <limits>

#include "assay/data/cifar.h"
#include "assay/data/tokens.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

Bytes Pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 131 + (i >> 8));
  return bytes;
}

Bytes Records(std::size_t count) {
  Bytes bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i % 10));
    for (std::size_t j = 0; j < 3072; ++j) bytes.push_back(static_cast<std::uint8_t>(i * 7 + j * 13 + (j >> 8)));
  }
  return bytes;
}

DataPart TokensOf(ByteSpan bytes) {
  const auto stream = TokenStream::Parse(bytes, "tokens").value();
  return TokenPart(stream, 0, stream->size());
}

// All computed from docs/formats/data.md by tests/vectors/data_root.py.
TEST(DataRoot, TokenVectors) {
  EXPECT_EQ(DataRoot(TokensOf(Pattern(2)), nullptr).hex(), "cb13ed4a4c540288bd8041772c41fd09a5285ac8ecf532bc94f85f28fe54e617");
  const Bytes leaf = Pattern(4096), odd = Pattern(10000);
  EXPECT_EQ(DataRoot(TokensOf(leaf), nullptr).hex(), "f74ed4ffd4d8b3a4110623bffd533cb90f38a7e9798e807a398413ae27c20d3e");
  EXPECT_EQ(DataRoot(TokensOf(odd), nullptr).hex(), "652ce4c1e31d4d8b39fc796a38ed59e7aee663f10d2126b7b56cebb33dabc23f");
}

TEST(DataRoot, CifarVectors) {
  const Bytes bytes = Records(9);
  const auto records = CifarRecords::Parse(bytes, "records").value();
  EXPECT_EQ(DataRoot(CifarPart(records, 0, 1), nullptr).hex(),
            "0d5b38529c262f95c7ea282041556399ee6429261acbb292b4eee4f1ddbbf571");
  EXPECT_EQ(DataRoot(CifarPart(records, 0, 7), nullptr).hex(),
            "de2ff1f2111265a93697bf07b1d59a4901f9bb3aecfbc41677cbfad929721938");
}

TEST(DataRoot, GeneratedVectors) {
  const GeneratedDescriptor features{.begin = 0, .end = 90, .classes = 4, .features = 16, .noise = 0.5f, .seed = 77};
  EXPECT_EQ(DataRoot(features, {}).hex(), "4c594e22c57f94363355ef382edc3822c1e3429c0fccd014d1f6f264108bf3f1");
  const GeneratedDescriptor images{
      .begin = 90, .end = 100, .classes = 4, .image = 8, .channels = 3, .noise = 0.25f, .seed = (std::uint64_t{1} << 63) + 5};
  EXPECT_EQ(DataRoot(images, {}).hex(), "bfce060a6b902c01a7c62e57cba69d65e5c9eafb90384d031f21962520282227");
}

// Neither the number of threads nor where files begin and end changes the root.
TEST(DataRoot, ThreadsAndPiecesDoNotMatter) {
  const Bytes bytes = Records(700);
  const DataPart whole = CifarPart(CifarRecords::Parse(bytes, "records").value(), 0, 700);
  const Digest root = DataRoot(whole, nullptr);
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    EXPECT_EQ(DataRoot(whole, &pool), root) << threads;
    DataPart cut = whole;
    const ByteSpan span = bytes;
    cut.arrays = {DataArray({span.first(3073), span.subspan(3073, 0), span.subspan(3073, 10 * 3073), span.subspan(11 * 3073)})};
    EXPECT_EQ(DataRoot(cut, &pool), root) << threads;
  }
  EXPECT_EQ(TreeRoot(LeafHashes(whole.arrays[0], nullptr)), TensorRoot(bytes));
}

TEST(DataArray, FetchesAcrossPieces) {
  const Bytes bytes = Pattern(50);
  const ByteSpan span = bytes;
  const DataArray array({span.first(7), span.subspan(7, 0), span.subspan(7, 1), span.subspan(8, 40), span.subspan(48)});
  ASSERT_EQ(array.size(), 50u);
  for (std::size_t begin = 0; begin <= 50; ++begin) {
    for (std::size_t end = begin; end <= 50; ++end) {
      const Bytes want(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.begin() + static_cast<std::ptrdiff_t>(end));
      Bytes scratch, other;
      const ByteSpan got = array.Fetch(begin, end, scratch);
      EXPECT_EQ(Bytes(got.begin(), got.end()), want);
      const DataArray slice = array.Slice(begin, end);
      const ByteSpan sliced = slice.Fetch(0, slice.size(), other);
      EXPECT_EQ(Bytes(sliced.begin(), sliced.end()), want);
    }
  }
}

TEST(Descriptor, ImpossibleOnesAreRefused) {
  const auto error = [](const DataDescriptor& d) {
    const Status status = Check(d);
    return status ? std::string("accepted") : status.error().message;
  };
  EXPECT_EQ(error(TokensDescriptor{1}), "accepted");
  EXPECT_EQ(error(TokensDescriptor{0}), "data: tokens: expected 1 .. 281474976710656, got 0");
  EXPECT_EQ(error(CifarDescriptor{-1}), "data: records: expected 1 .. 281474976710656, got -1");
  const GeneratedDescriptor good{.begin = 5, .end = 6, .classes = 1, .image = 4, .channels = 1};
  EXPECT_EQ(error(good), "accepted");
  const auto changed = [&](auto&& change) {
    GeneratedDescriptor other = good;
    change(other);
    return error(other).substr(0, error(other).find(" expected"));
  };
  EXPECT_EQ(changed([](auto& d) { d.end = 5; }), "data: last sample + 1:");
  EXPECT_EQ(changed([](auto& d) { d.begin = -1; }), "data: first sample:");
  EXPECT_EQ(changed([](auto& d) { d.classes = 0; }), "data: classes:");
  EXPECT_EQ(changed([](auto& d) { d.image = 1025; }), "data: image:");
  EXPECT_EQ(changed([](auto& d) { d.image = 0; }), "data: channels:");
  EXPECT_EQ(changed([](auto& d) { d.features = 1; }), "data: features:");
  EXPECT_EQ(changed([](auto& d) { d.noise = std::numeric_limits<float>::quiet_NaN(); }), "data: noise:");
  EXPECT_EQ(changed([](auto& d) { d.noise = -1; }), "data: noise:");
}

}  // namespace
}  // namespace assay
