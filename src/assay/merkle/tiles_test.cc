#include "assay/merkle/tiles.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "assay/merkle/tree.h"

namespace assay {
namespace {

std::vector<Bytes> Entries(std::uint64_t count) {
  std::vector<Bytes> entries(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ByteWriter out;
    for (std::uint32_t k = 0; k < i % 7; ++k) out.U32(i);
    entries[i] = out.Take();
  }
  return entries;
}

using Files = std::map<std::string, Bytes>;

Files AllFiles(std::span<const Bytes> entries, std::uint64_t old_size = 0) {
  Files files;
  for (TileFile& file : NewTiles(entries, old_size)) EXPECT_TRUE(files.emplace(file.path, std::move(file.content)).second);
  return files;
}

// As tests/vectors/log.py does it: paths in order, each with the hash of its content.
std::string DigestOf(const Files& files) {
  Sha256 hash;
  for (const auto& [path, content] : files) hash.Update(AsBytes(path + "\n" + HashBytes(content).hex() + "\n"));
  return hash.Finish().hex();
}

// Computed from docs/formats/log.md by tests/vectors/log.py.
TEST(Tiles, Vectors) {
  const std::tuple<std::uint64_t, std::size_t, const char*> vectors[] = {
      {1, 2, "981ab79efa99c8354b5486c7da9eb249c1fcea6cb877c80915a46316adb2fc65"},
      {255, 2, "56b4a51b8926ebad96885f05e5d0d2f667bbad44af1a0ef74ede33f6c9de567f"},
      {256, 3, "27fe658e24b620fe8830bdbe8bd3a688b5679323cb27d2ca1928dba7f2dcab1c"},
      {257, 5, "fca1db1bc83f93e39568c0df4a80d31d7b4e7259b39ae61b9fb5108e936a1f9a"},
      {512, 5, "9d0d97a0e1d9a75810ed7f20910208fc809f56f6bb945940683514b7653fc092"},
      {70000, 551, "bc4dfbd667a332b93b86aca9227290e92e076af3fec47da7dd87e58fe1040fdd"}};
  for (const auto& [size, count, digest] : vectors) {
    const Files files = AllFiles(Entries(size));
    EXPECT_EQ(files.size(), count) << size;
    EXPECT_EQ(DigestOf(files), digest) << size;
  }
}

// The sizes that the C2SP page names.
TEST(Tiles, PublishedExamples) {
  const std::vector<std::string> paths = TilePaths(70000);
  const std::set<std::string> set(paths.begin(), paths.end());
  for (const char* path : {"tile/0/000", "tile/0/272", "tile/0/273.p/112", "tile/1/000", "tile/1/001.p/17", "tile/2/000.p/1"}) {
    EXPECT_TRUE(set.contains(path)) << path;
  }
  EXPECT_EQ(paths.size(), 273u + 1 + 1 + 1 + 1 + 273 + 1);
  EXPECT_EQ(TilePaths(256), (std::vector<std::string>{"tile/0/000", "tile/1/000.p/1", "tile/entries/000"}));
  EXPECT_TRUE(TilePaths(0).empty());
  EXPECT_EQ(Bundles(1234067ull * 256 + 3).back().path, "tile/entries/x001/x234/067.p/3");
  EXPECT_EQ(Bundles(1000ull * 256).back().path, "tile/entries/999");
  EXPECT_EQ(Bundles(1001ull * 256).back().path, "tile/entries/x001/000");
}

TEST(Tiles, PathsAreThoseOfTheFiles) {
  for (const std::uint64_t size : {0u, 1u, 2u, 255u, 256u, 257u, 511u, 512u, 1000u, 65535u, 65536u, 65537u}) {
    std::vector<std::string> paths;
    for (const TileFile& file : NewTiles(Entries(size), 0)) paths.push_back(file.path);
    EXPECT_EQ(paths, TilePaths(size)) << size;
  }
}

// What is new between two sizes is exactly what the one has and the other had not; nothing that stays changes.
TEST(Tiles, GrowthIsTheDifference) {
  const std::uint64_t sizes[] = {0, 1, 2, 255, 256, 257, 300, 511, 512, 513, 768, 1030};
  const std::vector<Bytes> entries = Entries(1030);
  for (const std::uint64_t old_size : sizes) {
    for (const std::uint64_t size : sizes) {
      if (size < old_size) continue;
      const auto first = [&](std::uint64_t n) { return std::span<const Bytes>(entries).first(n); };
      Files expected = AllFiles(first(size));
      for (const auto& [path, content] : AllFiles(first(old_size))) expected.erase(path);
      EXPECT_EQ(AllFiles(first(size), old_size), expected) << old_size << " " << size;
    }
  }
}

TEST(Tiles, BundlesHoldAllEntries) {
  const std::vector<Bytes> entries = Entries(600);
  const Files files = AllFiles(entries);
  std::vector<Bytes> read;
  for (const Bundle& bundle : Bundles(600)) {
    const auto part = ParseBundle(files.at(bundle.path), bundle.entries, bundle.path);
    ASSERT_TRUE(part) << part.error().message;
    read.insert(read.end(), part->begin(), part->end());
  }
  EXPECT_EQ(read, entries);
}

TEST(Tiles, MalformedBundlesAreRefused) {
  const std::vector<Bytes> entries = {{1, 2, 3}, {}, Bytes(300, 7)};
  const Bytes bundle = EncodeBundle(entries);
  EXPECT_EQ(Hex(ByteSpan(bundle).first(9)), "00030102030000012c");  // lengths with the high byte first
  EXPECT_EQ(*ParseBundle(bundle, 3, "bundle"), entries);
  for (const std::uint64_t count : {0ull, 1ull, 2ull, 4ull, 1ull << 40, ~0ull})
    EXPECT_FALSE(ParseBundle(bundle, count, "bundle"));
  for (std::size_t size = 0; size < bundle.size(); ++size) {
    EXPECT_FALSE(ParseBundle(ByteSpan(bundle).first(size), 3, "bundle")) << size;
  }
  Bytes longer = bundle;
  longer.push_back(0);
  EXPECT_EQ(ParseBundle(longer, 3, "bundle").error().message, "bundle: 1 unexpected bytes after the end");
  EXPECT_TRUE(ParseBundle({}, 0, "bundle")->empty());
  const Bytes longest(kMaxEntryBytes, 9);
  EXPECT_EQ((*ParseBundle(EncodeBundle({&longest, 1}), 1, "bundle"))[0], longest);
}

}  // namespace
}  // namespace assay
