// What is known of a file without reading it, writing into the middle of one, and new names. Thread safe.
#pragma once

#include <cstdint>
#include <string>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay {

struct FileFacts {
  enum class Kind : std::uint8_t { kPlain, kDirectory, kLink, kOther };
  Kind kind = Kind::kOther;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;  // when its content last changed
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

// Of the file itself, or of what a link leads to.
Result<FileFacts> FactsOf(const std::string& path, bool follow_links);

// Overwrites bytes of an existing file from `begin` on, and syncs it.
Status OverwriteDurably(const std::string& path, std::uint64_t begin, ByteSpan bytes);

// Gives a file another name that nothing has yet, in the same directory or in another of the same file system, and syncs both.
Status RenameAsNew(const std::string& from, const std::string& to);

// An error when something is in it.
Status RemoveEmptyFolder(const std::string& path);

}  // namespace assay
