// The batch root: what a log entry says about the samples of a step (docs/formats/data.md).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "assay/merkle/tensor_hasher.h"
#include "assay/tensor/tensor.h"

namespace assay {

// Takes the microbatches of a step one after the other; its root is that of the fields joined along their first axis. Not synchronised.
class BatchRootBuilder {
 public:
  // The names of the fields (without "batch/"), in the order in which Add gets them.
  explicit BatchRootBuilder(std::vector<std::string> names);

  // The fields of the next microbatch; from one to the next only the first extent may change.
  void Add(std::span<const Tensor> fields);
  // The root of what was added, at least one microbatch; starts over for the next step.
  Digest Finish();

 private:
  struct Field {
    std::string name;
    TensorType type;  // of all microbatches so far
    TensorHasher hasher;
  };
  std::vector<Field> fields_;
  std::vector<std::size_t> by_name_;
  bool begun_ = false;
};

// The root of a batch that is there as a whole.
Digest BatchRoot(std::vector<std::string> names, std::span<const Tensor> fields);

}  // namespace assay
