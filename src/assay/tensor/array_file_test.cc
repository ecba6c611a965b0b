#include "assay/tensor/array_file.h"

#include <gtest/gtest.h>

#include "assay/base/file.h"
#include "assay/tensor/inflate.h"
#include "assay/tensor/zip.h"
#include "support/array_bytes.h"
#include "support/scratch.h"

namespace assay {
namespace {

using testkit::Npy;
using testkit::Zip;
using testkit::ZipEntry;

Bytes Numbers() { return Npy("|u1", "(2, 3)", Bytes{1, 2, 3, 4, 5, 6}); }

Result<OutsideArray> ReadArray(const std::string& path, std::string_view name) {
  Allowance everything;
  return assay::ReadArray(path, name, everything);
}

std::string ErrorOf(ByteSpan file, std::string_view name = "x") {
  const auto array = ParseArray(file, name, "f");
  return array ? "accepted" : array.error().message;
}

// Deflated by zlib: "abc" a hundred times.
constexpr std::string_view kDeflated = "4b4c4a4e1c45c42100";

TEST(Inflate, ExactlyTheStream) {
  const Bytes stream = *FromHex(kDeflated);
  if (!CanInflate()) {
    EXPECT_EQ(Inflate(stream, 300, "s").error().message,
              "s: is deflated, and this build has no zlib to read it with; save it uncompressed (numpy.savez)");
    return;
  }
  const auto all = Inflate(stream, 300, "s");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ((*all)[299], 'c');
  EXPECT_EQ(InflateStart(stream, 7, "s")->size(), 7u);
  EXPECT_EQ(InflateStart(stream, 1000, "s")->size(), 300u);
  for (const std::size_t size : {0u, 1u, 299u, 301u}) EXPECT_FALSE(Inflate(stream, size, "s")) << size;
  for (std::size_t cut = 0; cut < stream.size(); ++cut) EXPECT_FALSE(Inflate(ByteSpan(stream).first(cut), 300, "s")) << cut;
  Bytes longer = stream;
  longer.push_back(0);
  EXPECT_FALSE(Inflate(longer, 300, "s"));
}

TEST(ArrayFile, MembersThatAreStoredDeflatedAndWide) {
  for (const bool deflated : {false, true}) {
    if (deflated && !CanInflate()) continue;
    for (const bool wide : {false, true}) {
      const Bytes file = Zip({{.name = "y.npy", .bytes = Npy("<i4", "(1,)", Bytes(4, 0))},
                              {.name = "x.npy", .bytes = Numbers(), .deflated = deflated, .wide = wide}});
      const auto array = ParseArray(file, "x", "f");
      ASSERT_TRUE(array) << array.error().message;
      EXPECT_EQ(array->array.shape, (Shape{2, 3}));
      EXPECT_EQ(Bytes(array->array.data.begin(), array->array.data.end()), (Bytes{1, 2, 3, 4, 5, 6}));
      EXPECT_EQ(array->owner != nullptr, deflated);
    }
  }
}

TEST(ArrayFile, FoldersAndSafetensors) {
  testkit::Scratch folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "x.npy", Numbers()));
  EXPECT_EQ(ReadArray(folder.path(), "x")->array.shape, (Shape{2, 3}));
  EXPECT_FALSE(ReadArray(folder.path(), "../x"));
  EXPECT_NE(ReadArray(folder.path(), "y").error().message.find("y.npy"), std::string::npos);
  EXPECT_EQ(ReadArray(folder / "x.npy", "x").error().message,
            folder / "x.npy" +
                ": holds one array; expected a .npz or safetensors file, or a folder with one .npy file for each array");
  Tensor tensor(DType::kF32, {4});
  const TensorRef refs[] = {{"x", &tensor}};
  ASSERT_TRUE(WriteSafetensors(folder / "t", refs));
  EXPECT_EQ(ReadArray(folder / "t", "x")->array.shape, Shape{4});
  EXPECT_EQ(ReadArray(folder / "t", "z").error().message, folder / "t" + ": has no array 'z'; it has 'x'");
}

// A member says how large it gets; nothing is unpacked that has no room.
TEST(ArrayFile, WhatIsUnpackedIsTakenFromTheAllowanceFirst) {
  const Bytes zeros(1 << 20, 0);
  for (const bool deflated : {false, true}) {
    if (deflated && !CanInflate()) continue;
    const Bytes file = Zip({{.name = "x.npy", .bytes = Npy("|u1", "(1024, 1024)", zeros), .deflated = deflated}});
    Allowance narrow(1 << 20, 0, {}), wide(3 << 20, 0, {}), stopped(0, 0, [] { return true; });
    const auto refused = ParseArray(file, "x", "f", narrow);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.starts_with("memory: the work takes ")) << refused.error().message;
    EXPECT_TRUE(refused.error().system);
    EXPECT_TRUE(ParseArray(file, "x", "f", wide));
    EXPECT_GE(wide.taken(), 1 << 20);
    EXPECT_LT(wide.taken(), 2 << 20) << "the packed bytes are not needed any more";
    EXPECT_EQ(ParseArray(file, "x", "f", stopped).error().message, "stopped");
  }
}

TEST(ArrayFile, AHeaderThatGrowsWhenItIsParsedIsTakenFromTheAllowance) {
  Bytes file;
  const std::string header = R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})" + std::string(100'000, ' ');
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  file.insert(file.end(), header.begin(), header.end());
  Allowance narrow(1 << 20, 0, {}), wide(8 << 20, 0, {});
  EXPECT_TRUE(ParseArray(file, "x", "f", narrow).error().message.starts_with("memory: "));
  EXPECT_TRUE(ParseArray(file, "x", "f", wide));
  EXPECT_EQ(wide.taken(), 0);
}

TEST(ArrayFile, HostileArchives) {
  EXPECT_EQ(ErrorOf(Zip({{.name = "a.npy", .bytes = Numbers()}, {.name = "note", .bytes = {1}}})),
            "f: has no array 'x'; it has 'a'");
  EXPECT_EQ(ErrorOf(Zip({{.name = "x.npy", .bytes = Numbers()}, {.name = "x.npy", .bytes = Numbers()}})),
            "f: zip: two members are called 'x.npy'");
  EXPECT_EQ(ErrorOf(Zip({{.name = "x.npy", .bytes = Numbers(), .flags = 1}})), "f: zip: member 'x.npy' is encrypted");
  EXPECT_EQ(ErrorOf(Zip({{.name = "x.npy", .bytes = Numbers(), .declared = 7}})), "f: zip: member 'x.npy' cannot have 7 bytes");
  EXPECT_EQ(ErrorOf(Zip({})), "f: has no array 'x'; it has none");
  // A checksum that is wrong, and a directory that points elsewhere.
  const Bytes good = Zip({{.name = "x.npy", .bytes = Numbers()}});
  Bytes damaged = good;
  damaged[30 + 5 + Numbers().size() - 1] ^= 1;
  EXPECT_EQ(ErrorOf(damaged), "f: x: its checksum is wrong; the file is damaged");
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(ErrorOf(ByteSpan(good).first(i)), "accepted") << i;
    Bytes other = good;
    other[i] ^= 0x80;
    const auto array = ParseArray(other, "x", "f");
    EXPECT_TRUE(!array || array->array.data.size() <= good.size()) << i;
  }
}

// What a member is said to grow to is believed only as far as deflate could, and as far as its own shape goes.
TEST(ArrayFile, BombsAreNotUnpacked) {
  if (!CanInflate()) GTEST_SKIP() << "no zlib";
  ZipEntry bomb{.name = "x.npy", .bytes = Numbers(), .deflated = true, .declared = 4'000'000'000};
  EXPECT_EQ(ErrorOf(Zip({bomb})), "f: zip: member 'x.npy' cannot have 4000000000 bytes");
  bomb.declared = Numbers().size() + 1;
  EXPECT_EQ(ErrorOf(Zip({bomb})), "f: x: npy: [2, 3] of U8 take 6 bytes, the archive says 7");
  bomb.bytes = Npy("|u1", "(1000000,)", Bytes(6, 1));
  bomb.declared = UINT64_MAX;
  EXPECT_EQ(ErrorOf(Zip({bomb})), "f: x: npy: [1000000] of U8 take 1000000 bytes, the archive says 6");
}

}  // namespace
}  // namespace assay
