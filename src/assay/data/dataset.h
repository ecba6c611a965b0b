// Dataset: a finite, indexable list of samples, and the rule by which steps pick from it.
//
// Sample i of a dataset is a pure function of its bytes and i; which samples make up microbatch g of step s is a pure function of
// (seed, s, g). Both can therefore be re-derived by anyone who has the data. Immutable after opening; safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/data/decoder.h"
#include "assay/tensor/tensor.h"

namespace assay {

class Dataset {
 public:
  // The samples of `part` by `rule`.
  static Result<std::unique_ptr<Dataset>> Make(DataPart part, const SampleRule& rule, std::string description);
  virtual ~Dataset() = default;

  virtual std::int64_t samples() const = 0;
  virtual SampleFields fields() const = 0;
  // Writes sample `index` into row `row` of each batch tensor (parallel to fields(), with a leading batch axis).
  virtual void Load(std::int64_t index, const DrawContext& context, std::int64_t row, std::span<Tensor> batch) const = 0;
  virtual std::string description() const = 0;  // for people: "character text, 1115394 tokens, vocabulary 65"
};

// The sample indices of one step, `count` of them: epoch e = a permutation of [0, n) keyed by (seed, e); step s takes the next `count`
// entries of the concatenated epochs. The permutation is a Feistel network (docs/NUMERICS.md, section 4), so a call costs O(count)
// whatever n is.
std::vector<std::int64_t> BatchIndices(std::uint64_t seed, std::int64_t samples, std::uint32_t step, std::int64_t count);

}  // namespace assay
