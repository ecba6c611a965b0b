// PackedFile: data that `assay data pack` has made, mapped into memory (docs/formats/packed.md).
//
// Opening reads the header alone, whatever the size of the file. What the arrays hold is taken on trust until RootsOf has read it: that is what
// whoever trains on a file, or checks a training, does first. Immutable; thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/base/file.h"
#include "assay/base/thread_pool.h"
#include "assay/data/packed_header.h"
#include "assay/data/tokenizer.h"

namespace assay {

class PackedFile {
 public:
  static Result<std::shared_ptr<const PackedFile>> Open(const std::string& path, Allowance& allowance);
  // `file` must outlive what is made of it; `what` names it in errors.
  static Result<std::shared_ptr<const PackedFile>> Parse(ByteSpan file, std::string_view what);

  const std::string& path() const { return path_; }
  const PackedHeader& header() const { return header_; }
  std::int64_t items() const;                      // tokens, or samples
  ByteSpan bytes(std::string_view section) const;  // of a section that the file has

  // Reads all of the arrays, on all threads of the pool, and gives their roots as if there were the first `items` items alone. An error names
  // the first 4 KiB that are not what was packed, or the first token, number or label that cannot be.
  Result<std::vector<Digest>> RootsOf(std::int64_t items, ThreadPool* pool, const Allowance& allowance) const;
  // Reads the other sections: boundaries of documents, the vocabulary, leaf hashes, and what lies between sections.
  Status CheckRest(const Allowance& allowance) const;

  // By the file's own vocabulary; null where it has none.
  Result<std::shared_ptr<const Tokenizer>> MakeTokenizer(Allowance& allowance) const;

 private:
  struct Array;
  Result<Digest> RootOfArray(const Array& array, std::uint64_t bytes, ThreadPool* pool, const Allowance& allowance) const;
  Status CheckItems(const Array& array, std::uint64_t begin, ByteSpan leaf) const;
  Status CheckSection(const PackedSection& section, const Allowance& allowance) const;
  Status CheckDocuments() const;
  Status CheckGaps() const;

  MappedFile file_;
  ByteSpan all_;
  std::string path_;
  PackedHeader header_;
};

}  // namespace assay
