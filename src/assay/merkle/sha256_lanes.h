// SHA-256 of many messages of one length at once: the leaves of a tensor, the nodes on one level of a tree.
//
// A single message is a chain in which every step waits for the one before, so several messages side by side take hardly longer
// than one. There is one implementation for each instruction set that helps; the digests are the same with all of them, and
// HashEach takes the one that should be fastest on this machine, unless it loses a short trial against plain code. Pure functions; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/merkle/sha256.h"

namespace assay::sha256 {

// `count` messages of `size` bytes each, the first at `first`, every further one `stride` bytes after the one before.
struct Messages {
  const std::uint8_t* first = nullptr;
  std::size_t stride = 0;
  std::size_t size = 0;
  std::size_t count = 0;
};

// out[i] = SHA-256 of the byte `prefix` followed by message i. `out` may begin where the messages begin if they stand at least a
// digest apart (stride >= 32): that is how one level of a tree replaces the level below.
void HashEach(std::uint8_t prefix, const Messages& messages, Digest* out);

// Folds `blocks` blocks of 64 bytes into each of several streams: those of stream n are at data[n], and word i of its state is
// states[streams * i + n].
using CompressLanesFn = void (*)(std::uint32_t* states, const std::uint8_t* const* data, std::size_t blocks);

struct Lanes {
  std::string_view name;
  std::size_t streams;
  CompressLanesFn compress;
};

inline constexpr std::size_t kMostStreams = 16;

// Every implementation that this machine can execute, slowest first; there is always the portable one.
std::vector<Lanes> AllLanes();
// HashEach by one of them.
void HashEachBy(const Lanes& lanes, std::uint8_t prefix, const Messages& messages, Digest* out);

// The implementations; null where this machine or build has none.
CompressLanesFn CompressLanesAvx2();         // 8 streams
CompressLanesFn CompressLanesAvx512();       // 16 streams
CompressLanesFn CompressLanesShaNi();        // 3 streams
CompressLanesFn CompressLanesShaNiAvx512();  // 3 streams, in twice as many registers

}  // namespace assay::sha256
