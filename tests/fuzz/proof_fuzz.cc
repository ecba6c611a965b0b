// Verifiers of proofs, driven by bytes that pick from the true nodes of a small tree: what verifies must be exactly what the
// makers write.
#include <algorithm>
#include <array>
#include <optional>

#include "assay/base/check.h"
#include "assay/merkle/proof.h"
#include "assay/merkle/tree.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

constexpr std::uint64_t kMaxLeaves = 32;
constexpr std::array<std::uint8_t, 7> kSeedSizes = {1, 2, 3, 7, 8, 13, 32};
constexpr std::uint8_t kRawNumbers = 1;  // flag: sizes and positions are any u64

// A tree and all its nodes, which are what a forger has to work with, and a hash that is none.
struct Tree {
  explicit Tree(std::uint64_t size) {
    for (std::uint64_t i = 0; i < size; ++i) leaves.push_back(LeafHash(Bytes(1, static_cast<std::uint8_t>(i))));
    nodes.push_back(Digest{});
    Collect(leaves);
    root = TreeRoot(leaves);
  }
  void Collect(std::span<const Digest> part) {
    nodes.push_back(TreeRoot({part.begin(), part.end()}));
    if (part.size() == 1) return;
    std::size_t k = 1;
    while (2 * k < part.size()) k *= 2;
    Collect(part.first(k));
    Collect(part.subspan(k));
  }
  std::uint64_t size() const { return leaves.size(); }
  std::vector<Digest> leaves, nodes;
  Digest root;
};

// The input: flags, the tree's size, two numbers (u64 each where the flag says so, else one byte), then as many leaves and nodes
// as there are bytes.
class Script {
 public:
  explicit Script(ByteSpan input) : in_(input, "input") {
    flags_ = in_.U8().value_or(0);
    tree.emplace(1 + in_.U8().value_or(0) % kMaxLeaves);
  }
  std::uint64_t Number(std::uint64_t below) {
    if ((flags_ & kRawNumbers) != 0) return in_.U64().value_or(0);
    return in_.U8().value_or(0) % below;
  }
  std::uint64_t Size() { return (flags_ & kRawNumbers) != 0 ? Number(0) : tree->size(); }
  std::uint8_t Byte() { return in_.U8().value_or(0); }
  Hashes Nodes(std::span<const Digest> pool) {
    Hashes out(std::min<std::size_t>(in_.remaining(), 200));
    for (Digest& hash : out) hash = pool[Byte() % pool.size()];
    return out;
  }
  std::optional<Tree> tree;

 private:
  ByteReader in_;
  std::uint8_t flags_ = 0;
};

void CheckMessage(const Status& status) {
  if (!status) ASSAY_CHECK(!status.error().message.empty() && status.error().message.find('\n') == std::string::npos);
}

std::uint8_t IndexOf(std::span<const Digest> pool, const Digest& hash) {
  return static_cast<std::uint8_t>(std::find(pool.begin(), pool.end(), hash) - pool.begin());
}

void Append(Bytes& seed, std::span<const Digest> pool, const Hashes& hashes) {
  for (const Digest& hash : hashes) seed.push_back(IndexOf(pool, hash));
}

}  // namespace

void RunInclusion(ByteSpan input) {
  Script script(input);
  const Tree& tree = *script.tree;
  const std::uint64_t size = script.Size(), index = script.Number(tree.size()), position = script.Byte() % tree.size();
  const Hashes proof = script.Nodes(tree.nodes);
  const Status verified = VerifyInclusion(tree.leaves[position], index, size, proof, tree.root);
  CheckMessage(verified);
  // Where size and root do not belong together the index may be another, but the path is the leaf's own.
  const bool genuine = proof == ProveInclusion(tree.leaves, position);
  if (verified) ASSAY_CHECK(genuine);
  if (size == tree.size()) ASSAY_CHECK(verified.has_value() == (genuine && index == position));
}

void RunConsistency(ByteSpan input) {
  Script script(input);
  const Tree& tree = *script.tree;
  const std::uint64_t size = script.Size(), old_size = script.Number(tree.size() + 1), made = script.Byte() % (tree.size() + 1);
  const Digest old_root = TreeRoot({tree.leaves.begin(), tree.leaves.begin() + static_cast<std::ptrdiff_t>(made)});
  const Hashes proof = script.Nodes(tree.nodes);
  const Status verified = VerifyConsistency(old_size, old_root, size, tree.root, proof);
  CheckMessage(verified);
  if (size != tree.size()) return;
  const bool genuine = old_size == made && made > 0 && proof == ProveConsistency(tree.leaves, made);
  ASSAY_CHECK(verified.has_value() == genuine);
}

void RunRange(ByteSpan input) {
  Script script(input);
  const Tree& tree = *script.tree;
  const std::uint64_t size = script.Size(), begin = script.Number(tree.size() + 1);
  Hashes range(script.Byte() % (kMaxLeaves + 1));
  for (Digest& leaf : range) leaf = tree.leaves[script.Byte() % tree.size()];
  const Hashes proof = script.Nodes(tree.nodes);
  const Status verified = VerifyRange(range, begin, size, proof, tree.root);
  CheckMessage(verified);
  if (size != tree.size()) return;
  const bool inside = begin < size && !range.empty() && range.size() <= size - begin;
  const bool genuine = inside &&
                       std::equal(range.begin(), range.end(), tree.leaves.begin() + static_cast<std::ptrdiff_t>(begin)) &&
                       proof == ProveRange(tree.leaves, begin, begin + range.size());
  ASSAY_CHECK(verified.has_value() == genuine);
}

std::vector<Bytes> InclusionSeeds() {
  std::vector<Bytes> seeds;
  for (const std::uint8_t size : kSeedSizes) {
    const Tree tree(size);
    const auto index = static_cast<std::uint8_t>(size * 2 / 3);
    Bytes seed = {0, static_cast<std::uint8_t>(size - 1), index, index};
    Append(seed, tree.nodes, ProveInclusion(tree.leaves, index));
    seeds.push_back(std::move(seed));
  }
  seeds.push_back(*FromHex("0106ffffffffffffff7ffeffffffffffff7f01020304"));
  return seeds;
}

std::vector<Bytes> ConsistencySeeds() {
  std::vector<Bytes> seeds;
  for (const std::uint8_t size : kSeedSizes) {
    const Tree tree(size);
    for (const int old_size : {size / 2 + 1, size - size / 3}) {
      const auto old_byte = static_cast<std::uint8_t>(old_size);
      Bytes seed = {0, static_cast<std::uint8_t>(size - 1), old_byte, old_byte};
      Append(seed, tree.nodes, ProveConsistency(tree.leaves, old_byte));
      seeds.push_back(std::move(seed));
    }
  }
  seeds.push_back(*FromHex("0106ffffffffffffff7ffeffffffffffff7f0502030405"));
  return seeds;
}

std::vector<Bytes> RangeSeeds() {
  std::vector<Bytes> seeds;
  for (const std::uint8_t size : kSeedSizes) {
    const Tree tree(size);
    const auto begin = static_cast<std::uint8_t>(size / 3), count = static_cast<std::uint8_t>((size + 2) / 3);
    Bytes seed = {0, static_cast<std::uint8_t>(size - 1), begin, count};
    for (std::uint8_t i = 0; i < count; ++i) seed.push_back(static_cast<std::uint8_t>(begin + i));
    Append(seed, tree.nodes, ProveRange(tree.leaves, begin, begin + count));
    seeds.push_back(std::move(seed));
  }
  seeds.push_back(*FromHex("0106ffffffffffffff7ffeffffffffffff7f010102030405"));
  return seeds;
}

}  // namespace assay::fuzz
