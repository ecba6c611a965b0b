// What the interposed library records: every operation of a process that changes files below one directory, in order, with its
// data.
//
// A record is u8 kind, u32 handle, u64 offset, u32 length and bytes of a path, u32 length and bytes of a second path or of data;
// little-endian. The records of several processes may follow each other: each begins with kStart.
#pragma once

#include <cstdint>

namespace assay::storage {

enum class Kind : std::uint8_t {
  kStart = 0,     // a process begins; handles of the one before are gone
  kOpen = 1,      // path, from now on called `handle`
  kCreate = 2,    // path, a file that did not exist; then an kOpen of it follows
  kWrite = 3,     // handle, offset, data
  kTruncate = 4,  // handle, offset: the new size
  kSync = 5,      // handle
  kRename = 6,    // path, second path
  kUnlink = 7,    // path
  kLink = 8,      // path, second path
  kMkdir = 9,     // path
};

}  // namespace assay::storage
