// Packed files in memory, made from their page (docs/formats/packed.md), for tests of what reads them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/data/packed_header.h"
#include "assay/merkle/tree.h"

namespace assay::testkit {

inline Bytes LittleEndian(const std::vector<std::uint64_t>& values, int width) {
  Bytes out;
  for (std::uint64_t v : values) {
    for (int i = 0; i < width; ++i) out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
  }
  return out;
}

inline Bytes LeafHashesOf(const Bytes& array) {
  Bytes out;
  for (std::size_t at = 0; at < array.size(); at += 4096) {
    const Digest leaf = LeafHash(ByteSpan(array).subspan(at, std::min<std::size_t>(4096, array.size() - at)));
    out.insert(out.end(), leaf.bytes.begin(), leaf.bytes.end());
  }
  return out;
}

// With sections of these names and bytes, one after the other.
inline Bytes PackedBytes(PackedHeader header, const std::vector<std::pair<std::string, Bytes>>& sections) {
  Bytes out(kPackedHeaderBytes);
  for (const auto& [name, bytes] : sections) {
    out.resize(SectionAfter(out.size()));
    header.sections.push_back({name, out.size(), bytes.size(), TensorRoot(bytes)});
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  const Bytes head = EncodePackedHeader(header);
  std::copy(head.begin(), head.end(), out.begin());
  return out;
}

// Ids below `limit`, unless the test wants others; documents end at `ends`.
inline Bytes PackedTokens(const std::vector<std::uint16_t>& tokens, const std::vector<std::uint64_t>& ends,
                          std::int64_t limit) {
  const Bytes array = LittleEndian({tokens.begin(), tokens.end()}, 2);
  const PackedHeader header{.descriptor = TokensDescriptor{static_cast<std::int64_t>(tokens.size())},
                            .limit = limit,
                            .documents = static_cast<std::int64_t>(ends.size()),
                            .sections = {}};
  return PackedBytes(header, {{"tokens", array}, {"documents", LittleEndian(ends, 8)}, {"tokens.leaves", LeafHashesOf(array)}});
}

// Four samples of two numbers each, one of them `odd`.
inline Bytes PackedArrays(const std::vector<std::int32_t>& labels = {0, 1, 2, 0}, std::int64_t limit = 3, float odd = 0.5f) {
  ByteWriter inputs;
  for (int i = 0; i < 8; ++i) inputs.F32(i == 2 ? odd : static_cast<float>(i) / 4);
  Bytes y;
  for (std::int32_t label : labels) {
    const Bytes one = LittleEndian({static_cast<std::uint32_t>(label)}, 4);
    y.insert(y.end(), one.begin(), one.end());
  }
  const PackedHeader header{.descriptor = ArraysDescriptor{4, DType::kF32, {2}}, .limit = limit, .sections = {}};
  return PackedBytes(header, {{"inputs", inputs.bytes()},
                              {"labels", y},
                              {"inputs.leaves", LeafHashesOf(inputs.bytes())},
                              {"labels.leaves", LeafHashesOf(y)}});
}

}  // namespace assay::testkit
