#include "assay/merkle/proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "assay/base/philox.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::uint64_t kSizes = 40;

Digest Numbered(std::uint64_t a, std::uint64_t b = 0) {
  ByteWriter out;
  out.U64(a);
  out.U64(b);
  return LeafHash(out.bytes());
}

std::vector<Digest> Leaves(std::uint64_t count) {
  std::vector<Digest> leaves(count);
  for (std::uint64_t i = 0; i < count; ++i) leaves[i] = Numbered(i);
  return leaves;
}

std::uint64_t Below(std::uint64_t size) {  // the largest power of two below it
  std::uint64_t k = 1;
  while (2 * k < size) k *= 2;
  return k;
}

// RFC 6962, section 2.1, word for word. `mth` gives the hash of the leaves [lo, hi), so that trees need not exist to be talked
// about.
using Mth = std::function<Digest(std::uint64_t lo, std::uint64_t hi)>;

void NaivePath(std::uint64_t m, std::uint64_t lo, std::uint64_t hi, const Mth& mth, Hashes& out) {
  if (hi - lo == 1) return;
  const std::uint64_t k = Below(hi - lo);
  if (m < k) {
    NaivePath(m, lo, lo + k, mth, out);
    out.push_back(mth(lo + k, hi));
  } else {
    NaivePath(m - k, lo + k, hi, mth, out);
    out.push_back(mth(lo, lo + k));
  }
}

void NaiveSubproof(std::uint64_t m, std::uint64_t lo, std::uint64_t hi, bool b, const Mth& mth, Hashes& out) {
  if (m == hi - lo) {
    if (!b) out.push_back(mth(lo, hi));
    return;
  }
  const std::uint64_t k = Below(hi - lo);
  if (m <= k) {
    NaiveSubproof(m, lo, lo + k, b, mth, out);
    out.push_back(mth(lo + k, hi));
  } else {
    NaiveSubproof(m - k, lo + k, hi, false, mth, out);
    out.push_back(mth(lo, lo + k));
  }
}

// Every subtree that has no leaf of [begin, end) while its parent has one, from left to right.
void NaiveRange(std::uint64_t begin, std::uint64_t end, std::uint64_t lo, std::uint64_t hi, const Mth& mth, Hashes& out) {
  if (std::max(lo, begin) >= std::min(hi, end)) {
    out.push_back(mth(lo, hi));
  } else if (hi - lo > 1) {
    const std::uint64_t k = Below(hi - lo);
    NaiveRange(begin, end, lo, lo + k, mth, out);
    NaiveRange(begin, end, lo + k, hi, mth, out);
  }
}

// The hash of [lo, hi) where the leaves are Numbered.
Digest NaiveMth(std::uint64_t lo, std::uint64_t hi) {
  if (hi - lo == 1) return Numbered(lo);
  const std::uint64_t k = Below(hi - lo);
  return NodeHash(NaiveMth(lo, lo + k), NaiveMth(lo + k, hi));
}

// A tree in which a subtree without any of the leaves [begin, end), and that does not touch the cut, has a made-up hash: sizes up
// to 2^63 - 1.
class SparseTree {
 public:
  SparseTree(std::uint64_t begin, std::uint64_t end) : begin_(begin), end_(end) {}
  Digest operator()(std::uint64_t lo, std::uint64_t hi) const {
    if (hi - lo == 1 || hi <= begin_ || end_ <= lo) return Numbered(lo, hi);
    const std::uint64_t k = Below(hi - lo);
    return NodeHash((*this)(lo, lo + k), (*this)(lo + k, hi));
  }

 private:
  std::uint64_t begin_, end_;
};

// What a forger may try on any list of hashes: each hash changed, dropped, doubled, swapped with the next, replaced by an earlier
// one; hashes added in front and behind.
std::vector<Hashes> Forgeries(const Hashes& proof, const Digest& root) {
  std::vector<Hashes> out;
  const auto with = [&](const std::function<void(Hashes&)>& change) {
    Hashes other = proof;
    change(other);
    if (other != proof) out.push_back(std::move(other));
  };
  for (std::size_t i = 0; i < proof.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    with([&](Hashes& p) { p[i].bytes[i % 32] ^= 0x10; });
    with([&](Hashes& p) { p[i] = root; });
    with([&](Hashes& p) { p[i] = p[0]; });
    with([&](Hashes& p) { p.erase(p.begin() + at); });
    with([&](Hashes& p) { p.insert(p.begin() + at, proof[i]); });
    with([&](Hashes& p) { p.resize(i); });
    with([&](Hashes& p) { std::swap(p[i], p[(i + 1) % p.size()]); });
  }
  with([&](Hashes& p) { p.push_back(root); });
  with([&](Hashes& p) { p.push_back(Digest{}); });
  with([&](Hashes& p) { p.insert(p.begin(), root); });
  return out;
}

// Two trees give a leaf the same path if its siblings stand on the same sides all the way up; then their sizes cannot be told
// apart by it.
std::string PathShape(std::uint64_t m, std::uint64_t lo, std::uint64_t hi) {
  if (hi - lo == 1) return "";
  const std::uint64_t k = Below(hi - lo);
  return m < k ? PathShape(m, lo, lo + k) + "r" : PathShape(m - k, lo + k, hi) + "l";
}

// The same for consistency proofs; 'o' is the hash of the old part, which the proof holds or the old root is.
std::string GrowthShape(std::uint64_t m, std::uint64_t lo, std::uint64_t hi) {
  if (m == hi - lo) return lo == 0 ? "O" : "o";
  const std::uint64_t k = Below(hi - lo);
  return m <= k ? GrowthShape(m, lo, lo + k) + "r" : GrowthShape(m - k, lo + k, hi) + "l";
}

// The same for ranges: the tree with a hash of the proof as 'p' and a leaf of the range as 'x'.
std::string RangeShape(std::uint64_t begin, std::uint64_t end, std::uint64_t lo, std::uint64_t hi) {
  if (std::max(lo, begin) >= std::min(hi, end)) return "p";
  if (hi - lo == 1) return "x";
  const std::uint64_t k = Below(hi - lo);
  return fmt::format("({}{})", RangeShape(begin, end, lo, lo + k), RangeShape(begin, end, lo + k, hi));
}

TEST(Inclusion, EveryLeafOfEverySize) {
  const std::vector<Digest> all = Leaves(kSizes);
  for (std::uint64_t size = 1; size <= kSizes; ++size) {
    const std::span<const Digest> leaves = std::span(all).first(size);
    const Digest root = NaiveMth(0, size);
    for (std::uint64_t index = 0; index < size; ++index) {
      Hashes expected;
      NaivePath(index, 0, size, NaiveMth, expected);
      const Hashes proof = ProveInclusion(leaves, index);
      ASSERT_EQ(proof, expected) << index << " of " << size;
      ASSERT_EQ(proof.size(), RangeProofSize(index, index + 1, size)) << index << " of " << size;
      ASSERT_TRUE(VerifyInclusion(leaves[index], index, size, proof, root)) << index << " of " << size;
      for (const Hashes& forged : Forgeries(proof, root)) {
        ASSERT_FALSE(VerifyInclusion(leaves[index], index, size, forged, root)) << index << " of " << size;
      }
      for (std::uint64_t other = 0; other <= kSizes + 1; ++other) {
        ASSERT_TRUE(other == index || !VerifyInclusion(leaves[index], other, size, proof, root)) << index << " as " << other;
        if (other < size && other != index) {
          ASSERT_FALSE(VerifyInclusion(leaves[other], index, size, proof, root));
        }
        const bool alike = other > index && PathShape(index, 0, other) == PathShape(index, 0, size);
        ASSERT_EQ(VerifyInclusion(leaves[index], index, other, proof, root).has_value(), alike) << size << " as " << other;
      }
      Digest wrong = root;
      wrong.bytes[31] ^= 1;
      ASSERT_FALSE(VerifyInclusion(leaves[index], index, size, proof, wrong));
      // A hash too many is refused whatever root was made to fit it.
      Hashes longer = proof;
      longer.push_back(wrong);
      ASSERT_FALSE(VerifyInclusion(leaves[index], index, size, longer, NodeHash(wrong, root)));
      ASSERT_FALSE(VerifyInclusion(leaves[index], index, size, longer, NodeHash(root, wrong)));
    }
  }
}

TEST(Consistency, EveryPairOfSizes) {
  const std::vector<Digest> all = Leaves(kSizes);
  for (std::uint64_t size = 1; size <= kSizes; ++size) {
    const Digest root = NaiveMth(0, size);
    for (std::uint64_t old_size = 1; old_size <= size; ++old_size) {
      const Digest old_root = NaiveMth(0, old_size);
      Hashes expected;
      NaiveSubproof(old_size, 0, size, true, NaiveMth, expected);
      const Hashes proof = ProveConsistency(std::span(all).first(size), old_size);
      ASSERT_EQ(proof, expected) << old_size << " of " << size;
      ASSERT_LE(proof.size(), kMaxConsistencyHashes);
      ASSERT_TRUE(VerifyConsistency(old_size, old_root, size, root, proof)) << old_size << " of " << size;
      for (const Hashes& forged : Forgeries(proof, root)) {
        ASSERT_FALSE(VerifyConsistency(old_size, old_root, size, root, forged)) << old_size << " of " << size;
      }
      Digest wrong = root;
      wrong.bytes[0] ^= 1;
      ASSERT_FALSE(VerifyConsistency(old_size, old_root, size, wrong, proof));
      ASSERT_FALSE(VerifyConsistency(old_size, wrong, size, root, proof));
      ASSERT_FALSE(VerifyConsistency(0, HashBytes({}), size, root, proof));
      ASSERT_FALSE(VerifyConsistency(0, HashBytes({}), size, root, {}));
      for (std::uint64_t other = 1; other <= kSizes; ++other) {
        ASSERT_TRUE(other == old_size || !VerifyConsistency(old_size, NaiveMth(0, other), size, root, proof)) << other;
        const bool alike = other >= old_size && GrowthShape(old_size, 0, other) == GrowthShape(old_size, 0, size);
        ASSERT_EQ(VerifyConsistency(old_size, old_root, other, root, proof).has_value(), alike)
            << old_size << " of " << size << " as " << other;
      }
      Hashes longer = proof;
      longer.push_back(wrong);
      ASSERT_FALSE(VerifyConsistency(old_size, NodeHash(wrong, old_root), size, NodeHash(wrong, root), longer));
      ASSERT_FALSE(VerifyConsistency(old_size, old_root, size, NodeHash(root, wrong), longer));
    }
  }
}

// A log that was rewritten at or before its old end has no proof: neither of its makers' proofs is accepted for the other's roots.
TEST(Consistency, ARewrittenLogIsNoContinuation) {
  for (std::uint64_t size = 2; size <= 20; ++size) {
    for (std::uint64_t old_size = 1; old_size < size; ++old_size) {
      const std::vector<Digest> honest = Leaves(size);
      for (std::uint64_t changed = 0; changed < old_size; ++changed) {
        std::vector<Digest> rewritten = honest;
        rewritten[changed] = Numbered(1000);
        const Digest old_root = NaiveMth(0, old_size), root = TreeRoot(rewritten);
        ASSERT_FALSE(VerifyConsistency(old_size, old_root, size, root, ProveConsistency(rewritten, old_size)));
        ASSERT_FALSE(VerifyConsistency(old_size, old_root, size, root, ProveConsistency(honest, old_size)));
      }
    }
  }
}

TEST(Range, EveryRangeOfEverySize) {
  const std::vector<Digest> all = Leaves(kSizes);
  for (std::uint64_t size = 1; size <= kSizes; ++size) {
    const std::span<const Digest> leaves = std::span(all).first(size);
    const Digest root = NaiveMth(0, size);
    for (std::uint64_t begin = 0; begin < size; ++begin) {
      for (std::uint64_t end = begin + 1; end <= size; ++end) {
        Hashes expected;
        NaiveRange(begin, end, 0, size, NaiveMth, expected);
        const Hashes proof = ProveRange(leaves, begin, end);
        ASSERT_EQ(proof, expected) << begin << " " << end << " of " << size;
        ASSERT_EQ(proof.size(), RangeProofSize(begin, end, size)) << begin << " " << end << " of " << size;
        ASSERT_TRUE(VerifyRange(leaves.subspan(begin, end - begin), begin, size, proof, root))
            << begin << " " << end << " of " << size;
      }
    }
  }
}

TEST(Range, ForgeriesAreRefused) {
  const std::vector<Digest> all = Leaves(24);
  for (std::uint64_t size = 1; size <= 24; ++size) {
    const Digest root = NaiveMth(0, size);
    for (std::uint64_t begin = 0; begin < size; ++begin) {
      for (std::uint64_t end = begin + 1; end <= size; ++end) {
        const Hashes range(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end));
        const Hashes proof = ProveRange(std::span(all).first(size), begin, end);
        for (const Hashes& forged : Forgeries(proof, root)) ASSERT_FALSE(VerifyRange(range, begin, size, forged, root));
        for (const Hashes& forged : Forgeries(range, root)) ASSERT_FALSE(VerifyRange(forged, begin, size, proof, root));
        for (std::uint64_t other = 0; other <= size + 1; ++other) {
          if (other != begin) {
            ASSERT_FALSE(VerifyRange(range, other, size, proof, root)) << begin << " as " << other;
          }
        }
        for (std::uint64_t other = 0; other <= 30; ++other) {
          const bool alike = other >= end && RangeShape(begin, end, 0, other) == RangeShape(begin, end, 0, size);
          ASSERT_EQ(VerifyRange(range, begin, other, proof, root).has_value(), alike) << size << " as " << other;
        }
        Digest wrong = root;
        wrong.bytes[7] ^= 1;
        ASSERT_FALSE(VerifyRange(range, begin, size, proof, wrong));
        ASSERT_FALSE(VerifyRange({}, begin, size, proof, root));
      }
    }
  }
}

// Trees of any size up to the largest, in which only the leaves that matter exist.
TEST(Proofs, LargeTrees) {
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 63) - 1;
  for (std::uint32_t number = 0; number < 2000; ++number) {
    const auto random = Philox({number, 6962}, {0, 0, 0, 0});
    const std::uint64_t bits = (static_cast<std::uint64_t>(random[0]) << 32 | random[1]) >> (1 + random[2] % 62);
    const std::uint64_t size = number == 0 ? kLargest : bits + 1;
    const std::uint64_t index = number % 3 == 0 ? size - 1 : (static_cast<std::uint64_t>(random[3]) << 31) % size;
    SCOPED_TRACE(fmt::format("{}: leaf {} of {}", number, index, size));
    const std::uint64_t end = index + 1 + std::min<std::uint64_t>(random[2] % 9, size - index - 1);
    const SparseTree tree(index, end);
    const Digest root = tree(0, size);
    Hashes path, outside;
    NaivePath(index, 0, size, tree, path);
    ASSERT_TRUE(VerifyInclusion(Numbered(index, index + 1), index, size, path, root));
    NaiveRange(index, end, 0, size, tree, outside);
    ASSERT_EQ(outside.size(), RangeProofSize(index, end, size));
    ASSERT_LE(outside.size(), 124u);
    Hashes range;
    for (std::uint64_t i = index; i < end; ++i) range.push_back(Numbered(i, i + 1));
    ASSERT_TRUE(VerifyRange(range, index, size, outside, root));
    // The old tree ends after `index`; what straddles the cut is made of parts in both.
    Hashes growth;
    NaiveSubproof(index + 1, 0, size, true, tree, growth);
    ASSERT_LE(growth.size(), kMaxConsistencyHashes);
    ASSERT_TRUE(VerifyConsistency(index + 1, tree(0, index + 1), size, root, growth));
    path.push_back(root);
    ASSERT_FALSE(VerifyInclusion(Numbered(index, index + 1), index, size, path, root));
  }
}

TEST(Proofs, SizesThatCannotBe) {
  const Digest leaf = Numbered(0);
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 63;
  EXPECT_FALSE(VerifyInclusion(leaf, 0, 0, {}, leaf));
  EXPECT_FALSE(VerifyInclusion(leaf, 1, 1, {}, leaf));
  EXPECT_FALSE(VerifyInclusion(leaf, ~std::uint64_t{0}, ~std::uint64_t{0}, {}, leaf));
  EXPECT_FALSE(VerifyConsistency(2, leaf, 1, leaf, {}));
  EXPECT_FALSE(VerifyConsistency(0, leaf, 1, leaf, {&leaf, 1}));  // from no tree, with all hashes as they may be wished
  EXPECT_FALSE(VerifyConsistency(kTooLarge, leaf, kTooLarge, leaf, {}));
  EXPECT_FALSE(VerifyRange({&leaf, 1}, 0, 0, {}, leaf));
  EXPECT_FALSE(VerifyRange({&leaf, 1}, 1, 1, {}, leaf));
  EXPECT_FALSE(VerifyRange({&leaf, 1}, ~std::uint64_t{0}, 1, {}, leaf));
  EXPECT_TRUE(VerifyInclusion(leaf, 0, 1, {}, leaf));
  EXPECT_TRUE(VerifyConsistency(1, leaf, 1, leaf, {}));
  EXPECT_TRUE(VerifyRange({&leaf, 1}, 0, 1, {}, leaf));
}

// Proofs that are good but for the size, which is one too large.
TEST(Proofs, TheLargestSize) {
  const SparseTree tree(0, 1);
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 63;
  for (const std::uint64_t size : {kTooLarge - 1, kTooLarge}) {
    const Digest root = tree(0, size), leaf = Numbered(0, 1);
    Hashes path, growth, outside;
    NaivePath(0, 0, size, tree, path);
    NaiveSubproof(1, 0, size, true, tree, growth);
    NaiveRange(0, 1, 0, size, tree, outside);
    EXPECT_EQ(VerifyInclusion(leaf, 0, size, path, root).has_value(), size < kTooLarge);
    EXPECT_EQ(VerifyConsistency(1, leaf, size, root, growth).has_value(), size < kTooLarge);
    EXPECT_EQ(VerifyRange({&leaf, 1}, 0, size, outside, root).has_value(), size < kTooLarge);
  }
}

TEST(Proofs, ErrorsSayWhatIsWrong) {
  const std::vector<Digest> leaves = Leaves(5);
  const Digest root = TreeRoot(leaves);
  Hashes proof = ProveInclusion(leaves, 2);
  proof.pop_back();
  EXPECT_EQ(VerifyInclusion(leaves[2], 2, 5, proof, root).error().message, "the proof has 2 hashes, too few for leaf 2 of 5");
  EXPECT_EQ(VerifyInclusion(leaves[2], 5, 5, proof, root).error().message, "leaf 5 is not one of a tree of 5 leaves");
  EXPECT_EQ(VerifyRange(leaves, 1, 5, {}, root).error().message, "5 leaves from 1 on are not in a tree of 5 leaves");
  EXPECT_EQ(VerifyConsistency(3, root, 2, root, {}).error().message, "3 leaves cannot be proven the first of 2");
}

// Paths and proofs over the leaves that Certificate Transparency implementations share (see tree_test.cc).
TEST(Proofs, SharedVectors) {
  const char* inputs[] = {"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
  std::vector<Digest> leaves;
  for (const char* input : inputs) leaves.push_back(LeafHash(*FromHex(input)));
  const auto hex = [](const Hashes& proof) {
    std::vector<std::string> out;
    for (const Digest& hash : proof) out.push_back(hash.hex());
    return out;
  };
  using Expected = std::vector<std::string>;
  EXPECT_EQ(hex(ProveInclusion(leaves, 0)), (Expected{"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                                                      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                                                      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"}));
  EXPECT_EQ(hex(ProveInclusion(leaves, 5)), (Expected{"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                                                      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                                                      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}));
  EXPECT_EQ(hex(ProveInclusion(std::span(leaves).first(3), 2)),
            (Expected{"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"}));
  EXPECT_EQ(hex(ProveConsistency(leaves, 6)), (Expected{"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                                                        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                                                        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}));
  EXPECT_EQ(hex(ProveConsistency(std::span(leaves).first(5), 2)),
            (Expected{"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"}));
}

}  // namespace
}  // namespace assay
