// What Fsck asks of the files with tensors: that they are, byte for byte, what training writes for the state that they name. Thread
// safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "assay/run/snapshot.h"

namespace assay {

// A snapshot: header, metadata and tensors, whose root is the one that it names. Nothing is copied.
Result<SnapshotInfo> CheckSnapshotFile(const std::string& path, std::span<const StateSpec> specs, ThreadPool& pool);

// A model.safetensors with the tensors of `specs`, which must be those of the snapshot that it was taken from. `snapshot_path`
// tells where that of a step lies.
Result<SnapshotInfo> CheckWeightsFile(const std::string& path, std::span<const StateSpec> specs,
                                      const std::function<std::string(std::int64_t step)>& snapshot_path);

}  // namespace assay
