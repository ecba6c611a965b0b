// What is packed: the files that the inputs of `assay data pack` name, in their one order, and the pieces that they are read in.
//
// Inputs come in the order in which they were given; a folder stands for the plain files in it, at any depth, in ascending byte order of
// their paths relative to it. Links inside a folder are not followed, and are counted like everything else that is no plain file. Where
// pieces begin and end never influences what is packed. The planner is not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/file_parts.h"
#include "assay/base/result.h"
#include "assay/data/pretokenize.h"

namespace assay {

enum class InputForm : std::uint8_t { kText, kJsonLines, kTokens };

struct PackInput {
  std::string path;
  InputForm form = InputForm::kText;
  FileFacts facts;
};

struct PackInputs {
  std::vector<PackInput> files;
  std::uint64_t bytes = 0;   // of all files
  std::int64_t skipped = 0;  // of what a folder holds: links and special files
};

// Files called *.jsonl or *.ndjson are JSON lines, unless all are `tokens`. What lies in `but_not` is left out: the packer's own files.
Result<PackInputs> FindInputs(const std::vector<std::string>& inputs, bool tokens, const std::string& but_not);

// Bytes [begin, end) of a file.
struct PackPiece {
  std::size_t file = 0;
  std::uint64_t begin = 0, end = 0;
};

// Where reading goes on.
struct PackPlace {
  std::uint64_t file = 0, offset = 0;
  friend bool operator==(const PackPlace&, const PackPlace&) = default;
};

class PackPlanner {
 public:
  // Of text, a piece ends where words do if `words` says how they are cut; where it is null, anywhere.
  PackPlanner(const PackInputs& inputs, const Pretokenizer* words, std::uint64_t piece_bytes, PackPlace place)
      : inputs_(inputs), words_(words), piece_bytes_(piece_bytes), place_(place) {}

  // The next pieces, together about `piece_bytes` long: many small files, or a part of a large one. None: that was all.
  Result<std::vector<PackPiece>> Next();
  PackPlace place() const { return place_; }  // behind what Next has returned

 private:
  Result<std::uint64_t> EndOf(const PackInput& input, std::uint64_t begin) const;

  const PackInputs& inputs_;
  const Pretokenizer* words_;
  std::uint64_t piece_bytes_;
  PackPlace place_;
};

}  // namespace assay
