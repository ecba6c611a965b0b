// The bytes of .npy files and zip archives, also of wrong ones, for tests of those who read them. Nothing is compressed: a deflated member is
// made of stored blocks, which every inflater takes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/crc32.h"

namespace assay::testkit {

// With this header, whatever it says.
inline Bytes NpyWith(std::string_view header, ByteSpan data, std::uint8_t major = 1) {
  ByteWriter out;
  out.Raw(AsBytes("\x93NUMPY"));
  out.U8(major);
  out.U8(0);
  if (major == 1) {
    out.U16(static_cast<std::uint16_t>(header.size()));
  } else {
    out.U32(static_cast<std::uint32_t>(header.size()));
  }
  out.Raw(AsBytes(header));
  out.Raw(data);
  return out.Take();
}

inline Bytes Npy(std::string_view descr, std::string_view shape, ByteSpan data) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  return NpyWith(header + "\n", data);
}

inline Bytes StoredBlocks(ByteSpan bytes) {
  ByteWriter out;
  do {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 65535);
    out.U8(size == bytes.size() ? 1 : 0);
    out.U16(static_cast<std::uint16_t>(size));
    out.U16(static_cast<std::uint16_t>(~size));
    out.Raw(bytes.first(size));
    bytes = bytes.subspan(size);
  } while (!bytes.empty());
  return out.Take();
}

struct ZipEntry {
  std::string name;
  Bytes bytes;
  bool deflated = false;
  std::uint64_t declared = UINT64_MAX;  // another size than the true one
  std::uint16_t flags = 0;
  bool wide = false;  // sizes in a zip64 field
};

inline Bytes Zip(const std::vector<ZipEntry>& entries) {
  ByteWriter out, directory;
  for (const ZipEntry& entry : entries) {
    const Bytes packed = entry.deflated ? StoredBlocks(entry.bytes) : entry.bytes;
    const std::uint64_t size = entry.declared == UINT64_MAX ? entry.bytes.size() : entry.declared;
    const std::uint32_t begin = static_cast<std::uint32_t>(out.bytes().size());
    const auto head = [&](ByteWriter& to) {
      to.U16(entry.flags);
      to.U16(entry.deflated ? 8 : 0);
      to.U32(0);
      to.U32(Crc32(entry.bytes));
      to.U32(entry.wide ? 0xffffffffu : static_cast<std::uint32_t>(packed.size()));
      to.U32(entry.wide ? 0xffffffffu : static_cast<std::uint32_t>(size));
      to.U16(static_cast<std::uint16_t>(entry.name.size()));
      to.U16(entry.wide ? 20 : 0);
    };
    const auto extra = [&](ByteWriter& to) {
      if (!entry.wide) return;
      to.U16(1);
      to.U16(16);
      to.U64(size);
      to.U64(packed.size());
    };
    out.U32(0x04034b50);
    out.U16(45);
    head(out);
    out.Raw(AsBytes(entry.name));
    extra(out);
    out.Raw(packed);
    directory.U32(0x02014b50);
    directory.U16(45);
    directory.U16(45);
    head(directory);
    directory.Raw(Bytes(2 + 2 + 2 + 4, 0));
    directory.U32(begin);
    directory.Raw(AsBytes(entry.name));
    extra(directory);
  }
  const auto begin = static_cast<std::uint32_t>(out.bytes().size()),
             bytes = static_cast<std::uint32_t>(directory.bytes().size());
  out.Raw(directory.bytes());
  out.U32(0x06054b50);
  out.U32(0);
  out.U16(static_cast<std::uint16_t>(entries.size()));
  out.U16(static_cast<std::uint16_t>(entries.size()));
  out.U32(bytes);
  out.U32(begin);
  out.U16(0);
  return out.Take();
}

}  // namespace assay::testkit
