// Merkle trees as in RFC 6962 over tensors and over lists of named tensors (docs/formats/state.md).
//
// A tensor's bytes are cut into leaves of 4 KiB (the last may be shorter); a leaf is hashed behind 0x00, an inner node behind 0x01, and a
// list that is not a power of two long splits at the largest power of two below its length. Pure functions; thread safe.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/merkle/sha256.h"
#include "assay/tensor/tensor.h"

namespace assay {

inline constexpr std::size_t kLeafBytes = 4096;

Digest LeafHash(ByteSpan data);
Digest NodeHash(const Digest& left, const Digest& right);
// The root over leaf hashes; of no leaves, the hash of no bytes.
Digest TreeRoot(std::vector<Digest> leaves);

// The leaves of a tensor of `bytes` bytes.
inline constexpr std::size_t CountLeaves(std::size_t bytes) { return bytes / kLeafBytes + (bytes % kLeafBytes != 0); }
// LeafHash of each of a tensor's leaves, several at a time; `out` has CountLeaves(bytes.size()) places.
void HashLeaves(ByteSpan bytes, std::span<Digest> out);

Digest TensorRoot(ByteSpan bytes);
// One root per tensor; all of them are shared out over the pool in pieces of 1 MiB.
std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors, ThreadPool& pool);

// One tensor of a list: of a state, of a batch, of a data set.
struct TensorEntry {
  std::string_view name;
  TensorType type;
  Digest root;  // of the tensor
};

// Each sort of list has its tag, so that no list can pose as one of another sort, nor a tensor's bytes as an entry.
inline constexpr std::string_view kStateTag = "assay/state/1";
inline constexpr std::string_view kBatchTag = "assay/batch/1";
inline constexpr std::string_view kWeightsTag = "assay/weights/1";

// The leaf that one entry is, and its hash.
Bytes EntryBytes(std::string_view tag, const TensorEntry& entry);
Digest EntryHash(std::string_view tag, const TensorEntry& entry);
// The root over the entries, which must be in ascending name order without repeats.
Digest EntriesRoot(std::string_view tag, std::span<const TensorEntry> entries);

inline Digest StateRoot(std::span<const TensorEntry> entries) { return EntriesRoot(kStateTag, entries); }

}  // namespace assay
