#include "assay/run/weights_root.h"
#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

// The same file with other tensors: its metadata goes on naming the state root of the honest training.
Status WriteOther(const std::string& path, const PreparedJob& prepared, const State& model) {
  std::map<std::string, std::string> metadata;
  {
    ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(path));
    metadata = file.metadata();
  }
  const std::vector<bool> is_model = IsModel(prepared);
  std::vector<TensorRef> tensors;
  for (std::size_t t = 0; t < model.size(); ++t) {
    if (is_model[t]) tensors.push_back({prepared.program.state[t].name, &model[t]});
  }
  return WriteSafetensors(path, tensors, metadata);
}

}  // namespace

Result<Hooks> ReplacedWeights(const Setting& setting) {
  return Hooks{.finished = [&setting](const RunDirectory& run) -> Status {
    ASSAY_ASSIGN(const State foreign, ForeignModel(setting));
    ASSAY_TRY(WriteOther(run.weights_path(), setting.prepared, foreign));
    ASSAY_ASSIGN(const Safetensors weights, Safetensors::Open(run.weights_path()));
    ASSAY_ASSIGN(const Digest root, WeightsRoot(weights, setting.pool));
    return AmendReceipt(setting, run, [&](Receipt& receipt) {
      receipt.model = HashBytes(weights.bytes());
      receipt.weights = root;
    });
  }};
}

}  // namespace assay::attacks
