// BatchLoader: fills the batch tensors of a graph with samples of a dataset, matching fields by name.
//
// The dataset must outlive the loader. Fields that do not fit are a broken invariant: ResolveModel has compared model and data. Not synchronised.
#pragma once

#include <span>
#include <vector>

#include "assay/data/dataset.h"
#include "assay/exec/step.h"

namespace assay {

class BatchLoader {
 public:
  BatchLoader(const Dataset& dataset, std::span<const BatchField> fields);

  // Loads the samples `indices` into the rows of `fields` (parallel to those of the constructor). `first` describes the first of them.
  void Load(std::span<const std::int64_t> indices, DrawContext first, std::span<Tensor> fields);

 private:
  const Dataset& dataset_;
  std::vector<std::size_t> order_;  // for each dataset field, its place among the graph's
  std::vector<Tensor> arranged_;    // the graph's tensors in the dataset's order, during Load
};

}  // namespace assay
