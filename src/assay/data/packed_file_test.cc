#include "assay/data/packed_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "assay/merkle/tree.h"
#include "support/packed_bytes.h"

namespace assay {
namespace {

using testkit::PackedArrays;
using testkit::PackedTokens;

std::string Refusal(const Bytes& file) {
  const auto packed = PackedFile::Parse(file, "f");
  if (!packed) return packed.error().message;
  Allowance everything;
  if (const auto roots = (*packed)->RootsOf((*packed)->items(), nullptr, everything); !roots) return roots.error().message;
  const Status rest = (*packed)->CheckRest(everything);
  return rest ? "" : rest.error().message;
}

std::vector<std::uint16_t> Many() {
  std::vector<std::uint16_t> tokens(5000);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint16_t>(i * i % 251);
  return tokens;
}

// With a header that fits what it says.
Bytes WithHeader(Bytes file, const std::function<void(PackedHeader&)>& change) {
  PackedHeader header = PackedFile::Parse(file, "f").value()->header();
  change(header);
  const Bytes bytes = EncodePackedHeader(header);
  std::copy(bytes.begin(), bytes.end(), file.begin());
  return file;
}

TEST(PackedFile, HoldsWhatWasPacked) {
  const Bytes file = PackedTokens(Many(), {2000, 5000}, 251);
  EXPECT_EQ(Refusal(file), "");
  const auto packed = PackedFile::Parse(file, "f").value();
  EXPECT_EQ(packed->items(), 5000);
  EXPECT_EQ(packed->header().documents, 2);
  EXPECT_EQ(packed->bytes("tokens").size(), 10000u);
  EXPECT_EQ(EncodePackedHeader(packed->header()), Bytes(file.begin(), file.begin() + 4096));
}

// The root of a part is that of its own tokens, wherever it ends.
TEST(PackedFile, RootsOfAPart) {
  const std::vector<std::uint16_t> tokens = Many();
  const Bytes file = PackedTokens(tokens, {5000}, 251);
  const auto packed = PackedFile::Parse(file, "f").value();
  ThreadPool pool(3);
  Allowance everything;
  for (const std::int64_t items : {1, 2047, 2048, 2049, 4096, 4999, 5000}) {
    const ByteSpan part(reinterpret_cast<const std::uint8_t*>(tokens.data()), static_cast<std::size_t>(2 * items));
    EXPECT_EQ(packed->RootsOf(items, nullptr, everything).value(), std::vector{TensorRoot(part)}) << items;
    EXPECT_EQ(packed->RootsOf(items, &pool, everything).value(), std::vector{TensorRoot(part)}) << items;
  }
}

TEST(PackedFile, NoByteCanBeOther) {
  for (const Bytes& whole : {PackedTokens({1, 2, 3}, {1, 3}, 4), PackedArrays()}) {
    ASSERT_EQ(Refusal(whole), "");
    for (std::size_t i = 0; i < whole.size(); ++i) {
      Bytes file = whole;
      file[i] ^= 0x10;
      EXPECT_NE(Refusal(file), "") << i;
    }
  }
}

TEST(PackedFile, NoByteCanBeMissing) {
  const Bytes whole = PackedTokens({1, 2, 3}, {1, 3}, 4);
  for (std::size_t size = 0; size < whole.size(); size += size < 4200 ? 1 : 97) {
    EXPECT_FALSE(PackedFile::Parse(ByteSpan(whole).first(size), "f")) << size;
  }
  EXPECT_EQ(Refusal(Bytes(whole.begin(), whole.end() - 1)), "f: has 12319 bytes, its header says 12320; the file is cut off");
  Bytes longer = whole;
  longer.push_back(0);
  EXPECT_EQ(Refusal(longer), "f: has 12321 bytes, its header says 12320; the file is longer than it was made");
  EXPECT_EQ(Refusal(Bytes(whole.begin(), whole.begin() + 4095)),
            "f: has 4095 bytes, a packed file has at least 4096; the file is cut off");
  EXPECT_EQ(Refusal({}), "f: is not a packed file, which assay data pack makes");
}

TEST(PackedFile, SaysWhereItIsDamaged) {
  Bytes file = PackedTokens(Many(), {5000}, 251);
  file[4096 + 5000] ^= 1;
  EXPECT_EQ(Refusal(file), "f: bytes 8192 .. 12287, in its 'tokens', are not what was packed; the file is damaged");
  Bytes arrays = PackedArrays();
  arrays[8192] ^= 1;
  EXPECT_EQ(Refusal(arrays), "f: bytes 8192 .. 8207, in its 'labels', are not what was packed; the file is damaged");
  file = PackedTokens({1}, {1}, 2);
  file[100] ^= 1;
  EXPECT_EQ(Refusal(file), "f: header: is damaged, its hash does not fit");
}

// Whoever makes such a file can make its hashes fit.
TEST(PackedFile, RefusesWhatNoDataIsLike) {
  EXPECT_EQ(Refusal(PackedTokens({1, 9, 3}, {3}, 9)), "f: token 1 is 9, expected 0 .. 8");
  EXPECT_EQ(Refusal(PackedTokens({1, 2, 3}, {2, 2}, 9)), "f: document 1 ends at token 2, expected 3 .. 3");
  EXPECT_EQ(Refusal(PackedTokens({1, 2, 3}, {2}, 9)), "f: its documents end at token 2, expected 3");
  EXPECT_EQ(Refusal(PackedTokens({1, 2, 3}, {4}, 9)), "f: document 0 ends at token 4, expected 1 .. 3");
  EXPECT_EQ(Refusal(PackedArrays({0, 1, 2, 3}, 3)), "f: label 3 is 3, expected 0 .. 2");
  EXPECT_EQ(Refusal(PackedArrays({0, -1, 2, 3}, 4)), "f: label 1 is -1, expected 0 .. 3");
  EXPECT_EQ(Refusal(PackedArrays({0, 1, 2, 3}, 4, std::numeric_limits<float>::infinity())),
            "f: element 2 of its 'inputs' is not a finite binary32 number");
}

TEST(PackedFile, RefusesHeadersThatSayWhatCannotBe) {
  const Bytes file = PackedTokens({1, 2, 3}, {1, 3}, 4);
  const auto refusal = [&](const std::function<void(PackedHeader&)>& change) { return Refusal(WithHeader(file, change)); };
  EXPECT_EQ(refusal([](auto& h) { h.limit = 0; }), "f: header: ids are below: expected 1 .. 65536, got 0");
  EXPECT_EQ(refusal([](auto& h) { h.limit = 65537; }), "f: header: ids are below: expected 1 .. 65536, got 65537");
  EXPECT_EQ(refusal([](auto& h) { h.documents = 4; }), "f: header: documents: expected 1 .. 3, got 4");
  EXPECT_EQ(refusal([](auto& h) { h.end_of_text = 4; }), "f: header: token at the end of a document: expected -1 .. 3, got 4");
  EXPECT_EQ(refusal([](auto& h) { h.descriptor = TokensDescriptor{4}; }),
            "f: header: section 'tokens': expected 8 bytes, got 6");
  EXPECT_EQ(refusal([](auto& h) { h.descriptor = TokensDescriptor{std::int64_t{1} << 60}; }),
            "data: tokens: expected 1 .. 281474976710656, got 1152921504606846976");
  EXPECT_EQ(refusal([](auto& h) { h.descriptor = CifarDescriptor{1, 10}; }), "f: header: expected tokens or arrays");
  EXPECT_EQ(refusal([](auto& h) { h.sections[1].name = "x"; }), "f: header: section 1: expected 'documents'");
  EXPECT_EQ(refusal([](auto& h) { h.sections[1].begin += 4096; }),
            "f: header: section 'documents': expected to begin at byte 8192, got 12288");
  EXPECT_EQ(refusal([](auto& h) { h.sections.pop_back(); }), "f: header: expected 3 sections, got 2");
  EXPECT_EQ(refusal([](auto& h) { h.sections.push_back(h.sections[0]); }), "f: header: expected 3 sections, got 4");
  EXPECT_EQ(refusal([](auto& h) { h.tokenizer = static_cast<PackedTokenizer>(3); }),
            "f: header: tokenizer: expected 0 .. 2, got 3");
  EXPECT_EQ(refusal([](auto& h) { h.sections[0].root.bytes[0] ^= 1; }).find("f: its 'tokens' has the root "), 0u);
}

}  // namespace
}  // namespace assay
