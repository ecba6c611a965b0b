#include "assay/data/provable.h"

#include <algorithm>
#include <utility>

#include "assay/base/check.h"
#include "assay/data/batch_root.h"
#include "assay/data/root.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

struct LeafRange {
  std::uint64_t begin = 0, end = 0;
};

std::uint64_t LeafCount(std::uint64_t bytes) { return (bytes + kLeafBytes - 1) / kLeafBytes; }

// Overlapping and adjacent ranges joined, ascending.
std::vector<LeafRange> Joined(std::vector<LeafRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const LeafRange& a, const LeafRange& b) { return a.begin < b.begin; });
  std::vector<LeafRange> out;
  for (const LeafRange& range : ranges) {
    if (out.empty() || range.begin > out.back().end) {
      out.push_back(range);
    } else {
      out.back().end = std::max(out.back().end, range.end);
    }
  }
  return out;
}

// For each array, the leaves that the samples are made of.
std::vector<std::vector<LeafRange>> NeededLeaves(const SampleDecoder& decoder, std::size_t arrays,
                                                 std::span<const std::int64_t> indices) {
  std::vector<std::vector<LeafRange>> needed(arrays);
  for (std::int64_t index : indices) {
    for (const SourceRange& source : decoder.Sources(index)) {
      needed[source.array].push_back({source.begin / kLeafBytes, LeafCount(source.end)});
    }
  }
  for (std::vector<LeafRange>& ranges : needed) ranges = Joined(std::move(ranges));
  return needed;
}

// The bytes of one array that a proof has shown to be its own.
class ProvenBytes {
 public:
  void Append(std::uint64_t begin, ByteSpan bytes) { runs_.push_back({begin, bytes}); }
  // The range lies inside one run, since the leaves of one source are neighbours.
  ByteSpan Fetch(std::uint64_t begin, std::uint64_t end) const {
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), begin, [](std::uint64_t at, const Run& run) { return at < run.begin; });
    ASSAY_CHECK(after != runs_.begin());
    const Run& run = *(after - 1);
    ASSAY_CHECK(end - run.begin <= run.bytes.size());
    return run.bytes.subspan(static_cast<std::size_t>(begin - run.begin), static_cast<std::size_t>(end - begin));
  }

 private:
  struct Run {
    std::uint64_t begin;
    ByteSpan bytes;
  };
  std::vector<Run> runs_;
};

Status CheckRun(const LeafRun& run, const LeafRange& leaves, std::uint64_t array_bytes, const Digest& root) {
  const std::uint64_t begin = leaves.begin * kLeafBytes, end = std::min(leaves.end * kLeafBytes, array_bytes);
  if (run.bytes.size() != end - begin) return Err("expected {} bytes, got {}", end - begin, run.bytes.size());
  std::vector<Digest> hashes;
  for (ByteSpan rest = run.bytes; !rest.empty();) {
    const std::size_t size = std::min(rest.size(), kLeafBytes);
    hashes.push_back(LeafHash(rest.first(size)));
    rest = rest.subspan(size);
  }
  return VerifyRange(hashes, leaves.begin, LeafCount(array_bytes), run.proof, root);
}

Result<ProvenBytes> CheckArray(const ArrayProof& proof, const ArraySpec& array, std::span<const LeafRange> needed) {
  if (proof.runs.size() != needed.size()) {
    return Err("array '{}': expected {} runs of leaves, got {}", array.name, needed.size(), proof.runs.size());
  }
  ProvenBytes proven;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const Status status = CheckRun(proof.runs[i], needed[i], array.type.bytes(), proof.root);
    if (!status) {
      return Err("array '{}', leaves {} .. {}: {}", array.name, needed[i].begin, needed[i].end - 1, status.error().message);
    }
    proven.Append(needed[i].begin * kLeafBytes, proof.runs[i].bytes);
  }
  return proven;
}

Status CheckRoot(const BatchProof& proof, const DataClaim& data) {
  const std::size_t arrays = ArraysOf(data.descriptor).size();
  if (proof.size() != arrays) return Err("expected {} arrays, got {}", arrays, proof.size());
  std::vector<Digest> roots;
  for (const ArrayProof& array : proof) roots.push_back(array.root);
  const Digest root = DataRoot(data.descriptor, roots);
  if (root != data.root) return Err("data root is {}, expected {}", root.hex(), data.root.hex());
  return {};
}

Result<std::vector<ProvenBytes>> CheckProof(const BatchProof& proof, const DataClaim& data, const SampleDecoder& decoder,
                                            std::span<const std::int64_t> indices) {
  ASSAY_TRY(CheckRoot(proof, data));
  const std::vector<ArraySpec> arrays = ArraysOf(data.descriptor);
  const auto needed = NeededLeaves(decoder, arrays.size(), indices);
  std::vector<ProvenBytes> proven;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    ASSAY_ASSIGN(ProvenBytes bytes, CheckArray(proof[i], arrays[i], needed[i]));
    proven.push_back(std::move(bytes));
  }
  return proven;
}

Result<ProvenBatch> Rebuild(const BatchProof& proof, const DataClaim& data, const SampleDecoder& decoder,
                            std::span<const std::int64_t> indices, const DrawContext& first) {
  if (indices.empty()) return Err("expected at least one sample");
  for (std::int64_t index : indices) {
    if (index < 0 || index >= decoder.samples()) return Err("sample {}: expected 0 .. {}", index, decoder.samples() - 1);
  }
  ASSAY_ASSIGN(const std::vector<ProvenBytes> proven, CheckProof(proof, data, decoder, indices));
  ProvenBatch batch{decoder.fields(), MakeBatch(decoder.fields(), static_cast<std::int64_t>(indices.size()))};
  for (std::size_t row = 0; row < indices.size(); ++row) {
    std::vector<ByteSpan> sources;
    for (const SourceRange& range : decoder.Sources(indices[row])) {
      sources.push_back(proven[range.array].Fetch(range.begin, range.end));
    }
    DrawContext context = first;
    context.position += static_cast<std::int64_t>(row);
    ASSAY_TRY(decoder.Decode(indices[row], context, sources, static_cast<std::int64_t>(row), batch.tensors));
  }
  std::vector<std::string> names;
  for (const auto& [name, type] : batch.fields) names.push_back(name);
  batch.root = BatchRoot(std::move(names), batch.tensors);
  return batch;
}

// Names the thing that failed.
Result<ProvenBatch> Named(Result<ProvenBatch> batch) {
  if (!batch) return Err("batch proof: {}", batch.error().message);
  return batch;
}

}  // namespace

BatchProver::BatchProver(DataPart part, std::shared_ptr<const SampleDecoder> decoder, ThreadPool* pool)
    : part_(std::move(part)), decoder_(std::move(decoder)) {
  std::vector<Digest> roots;
  for (const DataArray& array : part_.arrays) {
    trees_.emplace_back(LeafHashes(array, pool));
    roots.push_back(trees_.back().root());
  }
  root_ = DataRoot(part_.descriptor, roots);
}

Result<BatchProver> BatchProver::Make(DataPart part, const SampleRule& rule, ThreadPool* pool) {
  ASSAY_ASSIGN(auto decoder, SampleDecoder::Make(part.descriptor, rule));
  return BatchProver(std::move(part), std::move(decoder), pool);
}

BatchProof BatchProver::Prove(std::span<const std::int64_t> indices) const {
  const auto needed = NeededLeaves(*decoder_, part_.arrays.size(), indices);
  BatchProof proof;
  for (std::size_t i = 0; i < part_.arrays.size(); ++i) {
    ArrayProof array{trees_[i].root(), {}};
    for (const LeafRange& leaves : needed[i]) {
      Bytes scratch;
      const std::uint64_t end = std::min(leaves.end * kLeafBytes, part_.arrays[i].size());
      const ByteSpan bytes = part_.arrays[i].Fetch(leaves.begin * kLeafBytes, end, scratch);
      array.runs.push_back({{bytes.begin(), bytes.end()}, trees_[i].ProveRange(leaves.begin, leaves.end)});
    }
    proof.push_back(std::move(array));
  }
  return proof;
}

Status CheckDescriptor(const BatchProof& proof, const DataClaim& data) {
  ASSAY_TRY(Check(data.descriptor));
  const Status status = CheckRoot(proof, data);
  if (!status) return Err("batch proof: {}", status.error().message);
  return {};
}

Result<ProvenBatch> VerifyBatch(const BatchProof& proof, const DataClaim& data, std::span<const std::int64_t> indices,
                                const DrawContext& first) {
  ASSAY_ASSIGN(const auto decoder, SampleDecoder::Make(data.descriptor, data.rule));
  return Named(Rebuild(proof, data, *decoder, indices, first));
}

Result<ProvenBatch> VerifyStepBatch(const BatchProof& proof, const DataClaim& data, std::uint64_t seed, std::uint32_t step,
                                    std::int64_t count) {
  ASSAY_ASSIGN(const auto decoder, SampleDecoder::Make(data.descriptor, data.rule));
  const std::vector<std::int64_t> indices = BatchIndices(seed, decoder->samples(), step, count);
  return Named(Rebuild(proof, data, *decoder, indices, {.seed = seed, .step = step, .position = 0, .train = true}));
}

}  // namespace assay
