#include "assay/run/fsck_tensors.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace assay {
namespace {

bool SameBits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

// Header and metadata of a file of ours, and that it holds exactly the tensors of `specs`.
Result<SnapshotInfo> CheckForm(const Safetensors& file, std::span<const StateSpec> specs) {
  ASSAY_ASSIGN(const SnapshotInfo info, SnapshotInfoOf(file));
  if (ToMetadata(info) != file.metadata()) return Err("{}: the metadata is not what training writes", file.what());
  if (!file.IsCanonical()) return Err("{}: the header is not what training writes", file.what());
  if (file.tensors().size() != specs.size()) {
    return Err("{}: has {} tensors, expected {}", file.what(), file.tensors().size(), specs.size());
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const StoredTensor& tensor = file.tensors()[i];
    if (tensor.name != specs[i].name || !tensor.Is(specs[i].type)) {
      return Err("{}: has the tensor {} {}{}, expected {} {}", file.what(), tensor.name, Name(tensor.type),
                 ToString(tensor.shape), specs[i].name, ToString(specs[i].type));
    }
  }
  return info;
}

Digest RootOf(const Safetensors& file, std::span<const StateSpec> specs, ThreadPool& pool) {
  std::vector<ByteSpan> contents;
  for (const StoredTensor& tensor : file.tensors()) contents.push_back(tensor.data);
  const std::vector<Digest> roots = TensorRoots(contents, pool);
  std::vector<TensorEntry> entries;
  for (std::size_t i = 0; i < specs.size(); ++i) entries.push_back({specs[i].name, specs[i].type, roots[i]});
  return StateRoot(entries);
}

}  // namespace

Result<SnapshotInfo> CheckSnapshotFile(const std::string& path, std::span<const StateSpec> specs, ThreadPool& pool) {
  ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(path));
  ASSAY_ASSIGN(const SnapshotInfo info, CheckForm(file, specs));
  if (info.weights_only) return Err("{}: holds weights alone, expected a snapshot of the whole state", path);
  const Digest root = RootOf(file, specs, pool);
  if (root != info.state_root) {
    return Err("{}: state root is {}, its metadata says {}", path, root.hex(), info.state_root.hex());
  }
  return info;
}

Result<SnapshotInfo> CheckWeightsFile(const std::string& path, std::span<const StateSpec> specs,
                                      const std::function<std::string(std::int64_t step)>& snapshot_path) {
  ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(path));
  ASSAY_ASSIGN(const SnapshotInfo info, CheckForm(file, specs));
  if (!info.weights_only) return Err("{}: is a snapshot, expected the model's tensors alone", path);
  const auto snapshot = Safetensors::Open(snapshot_path(info.step));
  if (!snapshot) return Err("{}: the snapshot of step {} cannot be read, which it was taken from", path, info.step);
  for (const StoredTensor& tensor : file.tensors()) {
    const StoredTensor* source = snapshot->Find(tensor.name);
    if (source == nullptr || !std::ranges::equal(source->data, tensor.data)) {
      return Err("{}: its tensor {} is not that of the snapshot of step {}", path, tensor.name, info.step);
    }
  }
  const auto source = SnapshotInfoOf(*snapshot);
  if (source && (source->state_root != info.state_root || !SameBits(source->loss, info.loss))) {
    return Err("{}: its state root or loss is not that of the snapshot of step {}", path, info.step);
  }
  return info;
}

}  // namespace assay
