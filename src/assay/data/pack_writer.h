// PackWriter: a packed file in the making, in the folder FILE.partial beside it.
//
// Arrays are appended in their order. A checkpoint is what a killed packer goes on from: whatever was appended after the last one is cut
// off when the folder is opened again. Finish adds the other sections and the header and gives the file its name, which nothing may have:
// FILE is whole or absent. Not synchronised; another process that opens the same folder is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/file.h"
#include "assay/base/result.h"
#include "assay/data/pack_inputs.h"
#include "assay/data/packed_header.h"
#include "assay/merkle/growing_root.h"

namespace assay {

// How far packing has come.
struct PackState {
  PackPlace place{};              // where reading goes on
  std::uint64_t read_bytes = 0;   // of the inputs
  std::uint64_t array_bytes = 0;  // of the first array
  std::int64_t documents = 0;
  std::int64_t empty = 0;     // documents without a token, which are left out
  std::int64_t largest = -1;  // of the tokens
  bool finished = false;      // all but the name
  friend bool operator==(const PackState&, const PackState&) = default;
};

class PackWriter {
 public:
  PackWriter(PackWriter&&) = default;
  PackWriter& operator=(PackWriter&&) = default;
  static std::string FolderOf(const std::string& file);
  // `plan` stands for everything that decides the bytes of the file; a folder that was begun by another plan is refused.
  static Result<PackWriter> Open(const std::string& file, const Digest& plan);

  const PackState& resumed() const { return resumed_; }  // from the last checkpoint

  Status Append(ByteSpan bytes);                           // to the array at hand
  Status AppendEnds(std::span<const std::uint64_t> ends);  // of documents, counted in tokens from the first
  Status EndArray();                                       // what follows belongs to the next one
  std::uint64_t array_bytes() const { return bytes_; }
  Status Checkpoint(PackState state);

  // A section whose bytes are known, after the arrays and documents.
  struct Extra {
    std::string name;
    ByteSpan bytes;
  };
  // `header` has everything but its sections; they are added here, each array having been ended. `state` is that of the end.
  Status Finish(PackedHeader& header, std::span<const Extra> extras, PackState state);
  // Where a packer of this plan was killed after all of the file was written: gives the file its name, if it has none yet, and says what was
  // packed. None otherwise.
  static Result<std::optional<PackState>> TakeUpFinished(const std::string& file, const Digest& plan);
  static bool HasState(const std::string& file);  // a checkpoint
  static Status RemoveFolder(const std::string& file);

 private:
  PackWriter(std::string file, FileLock lock, const Digest& plan)
      : file_(std::move(file)), plan_(plan), lock_(std::move(lock)) {}
  std::string Inside(std::string_view name) const;
  Status GoOn();
  Status OpenFiles();
  Status AddLeaves(std::uint64_t size);
  Status Pad();
  Status AppendFrom(const std::string& path, std::uint64_t begin, std::uint64_t bytes, const std::string& name);
  Status AppendSection(const std::string& name, ByteSpan bytes);

  std::string file_;
  Digest plan_;
  FileLock lock_;
  PackState resumed_;
  std::optional<AppendFile> data_, ends_, leaves_;
  std::uint64_t end_ = kPackedHeaderBytes;  // of the data file
  std::uint64_t leaf_bytes_ = 0;            // of the file of leaf hashes
  // The array at hand, and those before it.
  GrowingRoot root_;
  Bytes tail_;  // the bytes of a leaf that is not full yet
  std::uint64_t bytes_ = 0;
  std::vector<PackedSection> arrays_;
};

}  // namespace assay
