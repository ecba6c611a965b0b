// Batches proven against a data root.
//
// Whoever has the data sends the 4 KiB leaves of its arrays from which a batch's samples are made, and the hashes that lead from them to
// the data root. Whoever has only that root, the descriptor, the job's rule and its seed rebuilds the batch from this, byte for byte.
// Which leaves those are follows from the samples' indices, so a proof does not say it: it fits or it is refused. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/data/dataset.h"
#include "assay/data/part.h"
#include "assay/merkle/hash_tree.h"
#include "assay/merkle/proof.h"

namespace assay {

// Neighbouring leaves of an array, and the proof that they are leaves of its root.
struct LeafRun {
  Bytes bytes;
  Hashes proof;
};

struct ArrayProof {
  Digest root{};              // of the array
  std::vector<LeafRun> runs;  // ascending; between two of them lies at least one leaf
};

using BatchProof = std::vector<ArrayProof>;  // parallel to ArraysOf(descriptor)

// Makes proofs. The part's bytes must not change meanwhile.
class BatchProver {
 public:
  // Hashes all of the data.
  static Result<BatchProver> Make(DataPart part, const SampleRule& rule, ThreadPool* pool);

  const Digest& root() const { return root_; }
  std::int64_t samples() const { return decoder_->samples(); }
  // Of the samples `indices`, each in [0, samples()). The draws for augmentation need no proof.
  BatchProof Prove(std::span<const std::int64_t> indices) const;

 private:
  BatchProver(DataPart part, std::shared_ptr<const SampleDecoder> decoder, ThreadPool* pool);
  DataPart part_;
  std::shared_ptr<const SampleDecoder> decoder_;
  std::vector<HashTree> trees_;  // of the arrays
  Digest root_{};
};

// What a verifier knows of the data: from the job, and the descriptor from anyone, since the root binds it.
struct DataClaim {
  Digest root{};
  DataDescriptor descriptor;
  SampleRule rule;
};

struct ProvenBatch {
  SampleFields fields;
  std::vector<Tensor> tensors;  // parallel to `fields`, with a leading batch axis
  Digest root{};                // the batch root of these samples
};

// That the proof's arrays and the descriptor make up the data root: only then is anything that the descriptor says so.
Status CheckDescriptor(const BatchProof& proof, const DataClaim& data);
// The samples `indices`, of which `first` describes the first. Pure: reads nothing but its arguments.
Result<ProvenBatch> VerifyBatch(const BatchProof& proof, const DataClaim& data, std::span<const std::int64_t> indices,
                                const DrawContext& first);
// The whole batch of a training step of `count` samples.
Result<ProvenBatch> VerifyStepBatch(const BatchProof& proof, const DataClaim& data, std::uint64_t seed, std::uint32_t step,
                                    std::int64_t count);

}  // namespace assay
