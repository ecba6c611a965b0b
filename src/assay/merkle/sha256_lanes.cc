#include "assay/merkle/sha256_lanes.h"

#include <algorithm>
#include <array>

#include "assay/merkle/sha256_constants.h"
#include "assay/merkle/trial.h"

namespace assay::sha256 {
namespace {

constexpr std::size_t kBlock = 64;

void CompressOne(std::uint32_t* state, const std::uint8_t* const* data, std::size_t blocks) {
  CompressPortable(state, data[0], blocks);
}

// The rule: SHA instructions if there are any, otherwise the widest lanes. Measured on Zen 4 at 3.7 GHz with leaves of 4 KiB, in
// GB/s: SHA instructions 3.9, or 4.3 with the registers of AVX-512; AVX-512 lanes 3.0, AVX2 lanes 1.8; one stream of SHA
// instructions 1.8. A block costs about 170 slots of the four vector pipes with SHA instructions, about 210 in lanes of AVX-512 and
// 420 in those of AVX2. Lanes and SHA instructions in one loop, in any proportion and register width, stayed below SHA instructions
// alone: they want the same pipes.
std::vector<Lanes> InOrderOfSpeed() {
  std::vector<Lanes> all = {{"portable", 1, CompressOne}};
  const auto add = [&](std::string_view name, std::size_t streams, CompressLanesFn compress) {
    if (compress != nullptr) all.push_back({name, streams, compress});
  };
  add("avx2 x 8", 8, CompressLanesAvx2());
  add("avx512 x 16", 16, CompressLanesAvx512());
#if defined(__clang__)  // whose version 19 uses the further registers badly: 3.0 GB/s instead of 3.4
  add("sha avx512 x 3", 3, CompressLanesShaNiAvx512());
  add("sha x 3", 3, CompressLanesShaNi());
#else
  add("sha x 3", 3, CompressLanesShaNi());
  add("sha avx512 x 3", 3, CompressLanesShaNiAvx512());
#endif
  return all;
}

void StoreBigEndian(std::uint32_t word, std::uint8_t* p) {
  p[0] = static_cast<std::uint8_t>(word >> 24);
  p[1] = static_cast<std::uint8_t>(word >> 16);
  p[2] = static_cast<std::uint8_t>(word >> 8);
  p[3] = static_cast<std::uint8_t>(word);
}

// Writes what follows a message of `size` bytes, the last `held` of which begin at `block`: a one bit, zeros, the length in bits.
// Returns the number of blocks that this fills.
std::size_t Pad(std::uint8_t* block, std::size_t held, std::uint64_t size) {
  const std::size_t end = (held + 9 + kBlock - 1) / kBlock * kBlock;
  block[held] = 0x80;
  std::fill(block + held + 1, block + end - 8, std::uint8_t{0});
  StoreBigEndian(static_cast<std::uint32_t>(size >> 29), block + end - 8);
  StoreBigEndian(static_cast<std::uint32_t>(size << 3), block + end - 4);
  return end / kBlock;
}

// Hashes messages of one size in groups of at most as many as there are streams; streams without a message repeat the last. The
// first bytes of a message are copied into its head, a block that begins with the prefix, and the last into its tail, which ends
// with the padding; the blocks between are read where they are. A short message has no head: the tail takes all, prefix included.
class Groups {
 public:
  Groups(const Lanes& lanes, std::uint8_t prefix, std::size_t size)
      : lanes_(lanes),
        head_bytes_(size + 1 + 9 <= sizeof(tail_[0]) ? 0 : kBlock - 1),
        whole_blocks_(head_bytes_ == 0 ? 0 : (size - head_bytes_) / kBlock),
        tail_begin_(head_bytes_ == 0 ? 1 : 0),
        tail_bytes_(size - head_bytes_ - kBlock * whole_blocks_) {
    for (std::size_t n = 0; n < lanes.streams; ++n) {
      (head_bytes_ == 0 ? tail_[n] : head_[n])[0] = prefix;
      tail_blocks_ = Pad(tail_[n], tail_begin_ + tail_bytes_, size + 1);
    }
  }

  // `count` messages, at least one.
  void Hash(const std::uint8_t* first, std::size_t stride, std::size_t count, Digest* out) {
    for (std::size_t i = 0; i < 8; ++i) std::fill_n(states_ + lanes_.streams * i, lanes_.streams, kInitial[i]);
    for (std::size_t n = 0; n < lanes_.streams; ++n) data_[n] = first + stride * std::min(n, count - 1);
    if (head_bytes_ != 0) CompressHead();
    if (whole_blocks_ != 0) CompressWhole();
    CompressTail();
    for (std::size_t n = 0; n < count; ++n) {
      for (std::size_t i = 0; i < 8; ++i) StoreBigEndian(states_[lanes_.streams * i + n], out[n].bytes.data() + 4 * i);
    }
  }

 private:
  void CompressHead() {
    for (std::size_t n = 0; n < lanes_.streams; ++n) {
      std::copy_n(data_[n], head_bytes_, head_[n] + 1);
      data_[n] += head_bytes_;
      copies_[n] = head_[n];
    }
    lanes_.compress(states_, copies_, 1);
  }

  void CompressWhole() {
    lanes_.compress(states_, data_, whole_blocks_);
    for (std::size_t n = 0; n < lanes_.streams; ++n) data_[n] += kBlock * whole_blocks_;
  }

  void CompressTail() {
    for (std::size_t n = 0; n < lanes_.streams; ++n) {
      std::copy_n(data_[n], tail_bytes_, tail_[n] + tail_begin_);
      copies_[n] = tail_[n];
    }
    lanes_.compress(states_, copies_, tail_blocks_);
  }

  const Lanes& lanes_;
  const std::size_t head_bytes_;  // behind the prefix
  const std::size_t whole_blocks_;
  const std::size_t tail_begin_;
  const std::size_t tail_bytes_;
  std::size_t tail_blocks_ = 0;
  const std::uint8_t* data_[kMostStreams];  // what is still to be hashed of each message
  const std::uint8_t* copies_[kMostStreams];
  alignas(64) std::uint32_t states_[8 * kMostStreams];
  alignas(64) std::uint8_t head_[kMostStreams][kBlock];
  alignas(64) std::uint8_t tail_[kMostStreams][2 * kBlock];
};

// Asks for the first lines of the messages that come next. Leaves are as long as pages, and processors do not look beyond a page by
// themselves: without this, a tensor that comes from memory takes a tenth longer.
void Prefetch(const std::uint8_t* first, std::size_t stride, std::size_t size, std::size_t count) {
  constexpr std::size_t kLines = 8;
  if (size < kLines * kBlock) return;
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t line = 0; line < kLines; ++line) __builtin_prefetch(first + stride * n + kBlock * line);
  }
}

}  // namespace

std::vector<Lanes> AllLanes() { return InOrderOfSpeed(); }

void HashEachBy(const Lanes& lanes, std::uint8_t prefix, const Messages& messages, Digest* out) {
  Groups groups(lanes, prefix, messages.size);
  for (std::size_t done = 0; done < messages.count;) {
    const std::size_t count = std::min(lanes.streams, messages.count - done);
    const std::uint8_t* first = messages.first + messages.stride * done;
    const std::size_t next = std::min(lanes.streams, messages.count - done - count);
    Prefetch(first + messages.stride * count, messages.stride, messages.size, next);
    groups.Hash(first, messages.stride, count, out + done);
    done += count;
  }
}

namespace {

double Seconds(const Lanes& lanes) {
  constexpr std::size_t kSize = 512, kCount = 16;
  const std::array<std::uint8_t, kSize * kCount> messages{};
  std::array<Digest, kCount> out;
  return BestSeconds([&] { HashEachBy(lanes, 0, {messages.data(), kSize, kSize, kCount}, out.data()); });
}

// That a machine has the instructions does not say how it runs them: what loses against plain code in a short trial is not used.
Lanes FastestHere() {
  std::vector<Lanes> all = AllLanes();
  const double plain = Seconds(all.front());
  while (all.size() > 1 && Seconds(all.back()) > plain) all.pop_back();
  return all.back();
}

}  // namespace

void HashEach(std::uint8_t prefix, const Messages& messages, Digest* out) {
  static const Lanes kFastest = FastestHere();
  HashEachBy(kFastest, prefix, messages, out);
}

}  // namespace assay::sha256
