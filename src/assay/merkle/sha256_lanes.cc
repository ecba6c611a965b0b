#include "assay/merkle/sha256_lanes.h"

#include <algorithm>

#include "assay/merkle/sha256_constants.h"

namespace assay::sha256 {
namespace {

constexpr std::size_t kBlock = 64;

void CompressOne(std::uint32_t* state, const std::uint8_t* const* data, std::size_t blocks) {
  CompressPortable(state, data[0], blocks);
}

// The rule: SHA instructions if there are any, otherwise the widest lanes. Measured on Zen 4 at 3.7 GHz with leaves of 4 KiB, in GB/s:
// SHA instructions 4.1, AVX-512 3.1, AVX2 1.8, one stream with SHA instructions 1.8. The SHA instructions win because a block takes about 170
// micro-operations with them against 210 (AVX-512, where each counts for two) or 420 (AVX2) per stream in lanes. Lanes and SHA streams interleaved
// in one loop, in any proportion and register width, stayed below the SHA instructions alone: both want the same execution ports.
std::vector<Lanes> InOrderOfSpeed() {
  std::vector<Lanes> all = {{"portable", 1, CompressOne}};
  if (CompressLanesAvx2() != nullptr) all.push_back({"avx2 x 8", 8, CompressLanesAvx2()});
  if (CompressLanesAvx512() != nullptr) all.push_back({"avx512 x 16", 16, CompressLanesAvx512()});
  if (CompressLanesShaNi() != nullptr) all.push_back({"sha x 3", 3, CompressLanesShaNi()});
  return all;
}

void StoreBigEndian(std::uint32_t word, std::uint8_t* p) {
  p[0] = static_cast<std::uint8_t>(word >> 24);
  p[1] = static_cast<std::uint8_t>(word >> 16);
  p[2] = static_cast<std::uint8_t>(word >> 8);
  p[3] = static_cast<std::uint8_t>(word);
}

// Writes what follows a message of `size` bytes, the last `held` of which begin at `block`: a one bit, zeros, the length in bits. Returns
// the number of blocks that this fills.
std::size_t Pad(std::uint8_t* block, std::size_t held, std::uint64_t size) {
  const std::size_t end = (held + 9 + kBlock - 1) / kBlock * kBlock;
  block[held] = 0x80;
  std::fill(block + held + 1, block + end - 8, std::uint8_t{0});
  StoreBigEndian(static_cast<std::uint32_t>(size >> 29), block + end - 8);
  StoreBigEndian(static_cast<std::uint32_t>(size << 3), block + end - 4);
  return end / kBlock;
}

// At most as many messages as there are streams; streams without one repeat the last. Only the first and the last bytes of a message are
// copied, to stand beside prefix and padding; the blocks between are read where they are.
class Group {
 public:
  Group(const Lanes& lanes, std::uint8_t prefix, const Messages& messages) : lanes_(lanes), messages_(messages) {
    for (std::size_t i = 0; i < 8; ++i) std::fill_n(states_ + lanes.streams * i, lanes.streams, kInitial[i]);
    if (messages.size + 1 + 9 <= kEdge) {
      CompressShort(prefix);
    } else {
      CompressLong(prefix);
    }
  }

  void Write(Digest* out) const {
    for (std::size_t n = 0; n < messages_.count; ++n) {
      for (std::size_t i = 0; i < 8; ++i) StoreBigEndian(states_[lanes_.streams * i + n], out[n].bytes.data() + 4 * i);
    }
  }

 private:
  static constexpr std::size_t kEdge = 2 * kBlock;

  const std::uint8_t* Message(std::size_t n) const {
    return messages_.first + messages_.stride * std::min(n, messages_.count - 1);
  }

  void CompressShort(std::uint8_t prefix) {
    std::size_t blocks = 0;
    for (std::size_t n = 0; n < lanes_.streams; ++n) {
      data_[n] = edges_[n];
      edges_[n][0] = prefix;
      std::copy_n(Message(n), messages_.size, edges_[n] + 1);
      blocks = Pad(edges_[n], messages_.size + 1, messages_.size + 1);
    }
    lanes_.compress(states_, data_, blocks);
  }

  void CompressLong(std::uint8_t prefix) {
    constexpr std::size_t kHead = kBlock - 1;  // what shares the first block with the prefix
    const std::size_t whole = (messages_.size - kHead) / kBlock;
    const std::size_t tail = kHead + kBlock * whole;
    for (std::size_t n = 0; n < lanes_.streams; ++n) {
      data_[n] = edges_[n];
      edges_[n][0] = prefix;
      std::copy_n(Message(n), kHead, edges_[n] + 1);
    }
    lanes_.compress(states_, data_, 1);
    for (std::size_t n = 0; n < lanes_.streams; ++n) data_[n] = Message(n) + kHead;
    lanes_.compress(states_, data_, whole);
    std::size_t blocks = 0;
    for (std::size_t n = 0; n < lanes_.streams; ++n) {
      data_[n] = edges_[n];
      std::copy_n(Message(n) + tail, messages_.size - tail, edges_[n]);
      blocks = Pad(edges_[n], messages_.size - tail, messages_.size + 1);
    }
    lanes_.compress(states_, data_, blocks);
  }

  const Lanes& lanes_;
  const Messages& messages_;
  alignas(64) std::uint32_t states_[8 * kMostStreams];
  alignas(64) std::uint8_t edges_[kMostStreams][kEdge];
  const std::uint8_t* data_[kMostStreams];
};

}  // namespace

std::vector<Lanes> AllLanes() { return InOrderOfSpeed(); }

void HashEachBy(const Lanes& lanes, std::uint8_t prefix, const Messages& messages, Digest* out) {
  for (std::size_t done = 0; done < messages.count; done += lanes.streams) {
    Messages part = messages;
    part.first += messages.stride * done;
    part.count = std::min(lanes.streams, messages.count - done);
    Group(lanes, prefix, part).Write(out + done);
  }
}

void HashEach(std::uint8_t prefix, const Messages& messages, Digest* out) {
  static const Lanes kFastest = InOrderOfSpeed().back();
  HashEachBy(kFastest, prefix, messages, out);
}

}  // namespace assay::sha256
