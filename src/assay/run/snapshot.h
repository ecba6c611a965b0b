// Snapshots: the whole state after some step as a safetensors file whose metadata says what it is (docs/formats/run.md).
//
// A snapshot that ReadSnapshot returns has been checked: its tensors are those of the program and hash to the root that it names. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/graph/program.h"
#include "assay/merkle/tree.h"
#include "assay/sign/key.h"
#include "assay/tensor/safetensors.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct SnapshotInfo {
  bool weights_only = false;  // a model.safetensors: the model's tensors of that state, without the optimizer's
  std::int64_t step = 0;      // steps completed
  Digest job{};
  Digest trajectory{};                   // of the job without its number of steps
  Digest state_root{};                   // of the whole state
  float loss = 0;                        // of the last step
  std::optional<float> validation_loss;  // at this state, where it was evaluated
  // Of fp64-rounded jobs: over the rounding logs of the steps after the last multiple of the commitment interval, which no entry of the log may commit to yet.
  std::optional<Digest> rounding_root{};
  std::optional<Signature> signature{};  // of the run's signer: what binds a state that the log does not commit to

  friend bool operator==(const SnapshotInfo&, const SnapshotInfo&) = default;
};

struct Snapshot {
  SnapshotInfo info;
  std::vector<Tensor> state;  // parallel to the program's state
};

// `state` is parallel to `specs`.
Digest StateRootOf(std::span<const StateSpec> specs, std::span<const Tensor> state, ThreadPool& pool);
// Of a state in the backend's memory, hashed there.
Digest StateRootOf(std::span<const StateSpec> specs, std::span<const Tensor> state, Backend& backend);

// What the signature is about: all that going on from the snapshot takes on trust.
Bytes SignedMessage(const SnapshotInfo& info);
bool IsSignedBy(const SnapshotInfo& info, const VerifyKey& key);

std::map<std::string, std::string> ToMetadata(const SnapshotInfo& info);
// What a file says it is; that it is so remains to be checked.
enum class TensorsFormat : std::uint8_t { kOther, kSnapshot, kWeights };
TensorsFormat FormatOf(const Safetensors& file);
Result<SnapshotInfo> SnapshotInfoOf(const Safetensors& file);

Status WriteSnapshot(const std::string& path, std::span<const StateSpec> specs, std::span<const Tensor> state,
                     const SnapshotInfo& info);
Result<Snapshot> ReadSnapshot(const std::string& path, std::span<const StateSpec> specs, ThreadPool& pool);

}  // namespace assay
