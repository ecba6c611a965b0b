#include "assay/merkle/sha256_lanes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "assay/base/bytes.h"
#include "assay/base/check.h"

namespace assay::sha256 {
namespace {

constexpr std::uint32_t kSeed = 20240611;

Bytes RandomBytes(std::size_t size) {
  std::mt19937 random(kSeed);
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// The definition, with nothing but the portable compression of one stream.
Digest Expected(std::uint8_t prefix, ByteSpan message) {
  Bytes padded = {prefix};
  padded.insert(padded.end(), message.begin(), message.end());
  const std::uint64_t bits = 8 * padded.size();
  padded.push_back(0x80);
  while (padded.size() % 64 != 56) padded.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8) padded.push_back(static_cast<std::uint8_t>(bits >> shift));
  std::uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  CompressPortable(state, padded.data(), padded.size() / 64);
  Digest digest;
  for (std::size_t i = 0; i < 32; ++i) digest.bytes[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

// Hashes into the middle of a larger array and fails if its surroundings change.
std::vector<Digest> Hash(const Lanes& lanes, std::uint8_t prefix, const Messages& messages) {
  constexpr std::size_t kGuard = kMostStreams;
  Digest garbage;
  garbage.bytes.fill(0xa5);
  std::vector<Digest> out(messages.count + 2 * kGuard, garbage);
  HashEachBy(lanes, prefix, messages, out.data() + kGuard);
  EXPECT_EQ(std::count(out.begin(), out.begin() + kGuard, garbage), kGuard) << lanes.name << " writes in front";
  EXPECT_EQ(std::count(out.end() - kGuard, out.end(), garbage), kGuard) << lanes.name << " writes behind";
  return {out.begin() + kGuard, out.end() - kGuard};
}

void ExpectSame(const Lanes& lanes, std::uint8_t prefix, const Messages& m) {
  const std::vector<Digest> digests = Hash(lanes, prefix, m);
  for (std::size_t i = 0; i < m.count; ++i) {
    ASSERT_EQ(digests[i].hex(), Expected(prefix, {m.first + m.stride * i, m.size}).hex())
        << lanes.name << ": message " << i << " of " << m.count << ", " << m.size << " bytes, stride " << m.stride << ", seed "
        << kSeed;
  }
}

class EachLanes : public testing::TestWithParam<Lanes> {};

// Examples published with FIPS 180-4 and NIST's CAVP short messages; their first byte is the prefix.
TEST_P(EachLanes, PublishedVectors) {
  const std::pair<std::string, const char*> vectors[] = {
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
      {"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"}};
  for (const auto& [text, digest] : vectors) {
    const ByteSpan bytes = AsBytes(text);
    const Messages messages{bytes.data() + 1, 0, bytes.size() - 1, GetParam().streams};
    for (const Digest& got : Hash(GetParam(), bytes[0], messages)) EXPECT_EQ(got.hex(), digest) << GetParam().name;
  }
}

TEST_P(EachLanes, EveryLength) {
  const Bytes data = RandomBytes(20 * 4200);
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 200; ++size) sizes.push_back(size);
  for (std::size_t size = 4090; size <= 4200; ++size) sizes.push_back(size);
  for (std::size_t size : sizes) {
    ExpectSame(GetParam(), 0x00, {data.data(), size, size, GetParam().streams + 1});
  }
}

// Full groups, and groups in which streams have no message of their own.
TEST_P(EachLanes, EveryCount) {
  const Bytes data = RandomBytes(50 * 200);
  for (std::size_t count = 0; count <= 3 * kMostStreams + 1; ++count) {
    ExpectSame(GetParam(), 0x00, {data.data(), 200, 200, count});
    ExpectSame(GetParam(), 0x01, {data.data(), 64, 64, count});
  }
}

TEST_P(EachLanes, EveryAlignmentAndGapsBetweenMessages) {
  const Bytes data = RandomBytes(64 + 20 * 301);
  for (std::size_t offset = 0; offset < 64; ++offset) {
    ExpectSame(GetParam(), 0x00, {data.data() + offset, 301, 300, GetParam().streams + 2});
  }
}

// Two pages between two that nobody may touch.
class Enclosed {
 public:
  Enclosed() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* all = mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSAY_CHECK(all != MAP_FAILED);
    begin_ = static_cast<std::uint8_t*>(all) + page_;
    ASSAY_CHECK(mprotect(begin_, 2 * page_, PROT_READ | PROT_WRITE) == 0);
    const Bytes bytes = RandomBytes(2 * page_);
    std::copy(bytes.begin(), bytes.end(), begin_);
  }
  ~Enclosed() { munmap(begin_ - page_, 4 * page_); }
  Enclosed(const Enclosed&) = delete;
  Enclosed& operator=(const Enclosed&) = delete;
  const std::uint8_t* begin() const { return begin_; }
  const std::uint8_t* end() const { return begin_ + 2 * page_; }

 private:
  std::size_t page_;
  std::uint8_t* begin_;
};

TEST_P(EachLanes, ReadsNothingAroundTheMessages) {
  const Enclosed memory;
  for (std::size_t size : {1u, 63u, 64u, 65u, 118u, 119u, 127u, 128u, 200u, 4096u}) {
    const std::size_t count = std::min<std::size_t>(static_cast<std::size_t>(memory.end() - memory.begin()) / size, 17);
    ExpectSame(GetParam(), 0x00, {memory.begin(), size, size, count});
    ExpectSame(GetParam(), 0x00, {memory.end() - count * size, size, size, count});
  }
}

TEST_P(EachLanes, LevelReplacesTheLevelBelow) {
  for (std::size_t nodes = 0; nodes <= 70; ++nodes) {
    const Bytes data = RandomBytes(64 * nodes);
    std::vector<Digest> level(2 * nodes + 1);
    for (std::size_t i = 0; i < 64 * nodes; ++i) level[i / 32].bytes[i % 32] = data[i];
    const Digest behind = level.back();
    HashEachBy(GetParam(), 0x01, {reinterpret_cast<const std::uint8_t*>(level.data()), 64, 64, nodes}, level.data());
    for (std::size_t i = 0; i < nodes; ++i) {
      ASSERT_EQ(level[i], Expected(0x01, ByteSpan(data).subspan(64 * i, 64))) << GetParam().name << " " << i << " of " << nodes;
    }
    EXPECT_EQ(level.back(), behind);
  }
}

std::string TestName(const testing::TestParamInfo<Lanes>& info) {
  std::string name(info.param.name);
  name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sha256, EachLanes, testing::ValuesIn(AllLanes()), TestName);

TEST(Sha256Lanes, TheFastestGivesTheSame) {
  const Bytes data = RandomBytes(100 * 4096);
  for (std::size_t count : {0u, 1u, 2u, 3u, 4u, 5u, 15u, 16u, 17u, 100u}) {
    std::vector<Digest> digests(count);
    HashEach(0x00, {data.data(), 4096, 4096, count}, digests.data());
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(digests[i], Expected(0x00, ByteSpan(data).subspan(4096 * i, 4096))) << i << " of " << count;
    }
  }
}

// A machine with SHA instructions or AVX2 must not fall back to the portable implementation unnoticed.
TEST(Sha256Lanes, EveryInstructionSetOfThisMachineIsListed) {
  const std::vector<Lanes> all = AllLanes();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().name, "portable");
  const auto listed = [&](std::string_view start) {
    return std::any_of(all.begin(), all.end(), [&](const Lanes& lanes) { return lanes.name.starts_with(start); });
  };
  EXPECT_EQ(listed("sha x"), CompressHardware() != nullptr);
  for (const Lanes& lanes : all) EXPECT_LE(lanes.streams, kMostStreams) << lanes.name;
#if defined(__x86_64__)
  EXPECT_EQ(listed("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(listed("avx512"), __builtin_cpu_supports("avx512bw") != 0);
  EXPECT_EQ(listed("sha avx512"), CompressHardware() != nullptr && __builtin_cpu_supports("avx512vl") != 0);
#endif
}

}  // namespace
}  // namespace assay::sha256
