// Models and snapshots: tensors that somebody signed for by their root.
#include "assay/cli/verification.h"
#include "assay/run/snapshot.h"
#include "assay/run/weights_root.h"

namespace assay::cli {
namespace {

// What the receipt says of a state after so many steps, where it speaks of it.
std::optional<Digest> PromisedState(const Receipt& receipt, std::int64_t step) {
  if (step == receipt.steps) return receipt.final_state_root;
  return step == 0 ? std::optional(receipt.initial_state_root) : std::nullopt;
}

// What speaks against a snapshot whose tensors hash to the root that it names. What it says of itself counts once it is well signed.
std::optional<Verification> Objection(const SnapshotInfo& info, const Against& against) {
  const VerifyKey* signer = against.receipt ? &against.receipt->signer : against.signer ? &*against.signer : nullptr;
  if (signer != nullptr && !IsSignedBy(info, *signer)) {
    return Contradicted("snapshot",
                        fmt::format("is not signed by {}; a snapshot does not name who signed it", signer->ToString()));
  }
  if (against.receipt) {
    const Receipt& receipt = against.receipt->receipt;
    if (info.trajectory != receipt.trajectory) return Contradicted("snapshot", "is of another job than the receipt");
    const std::optional<Digest> promised = PromisedState(receipt, info.step);
    if (promised && *promised != info.state_root) {
      return Contradicted("snapshot", fmt::format("its state root is {}, the receipt promises {} after step {}",
                                                  info.state_root.hex(), promised->hex(), info.step));
    }
  }
  return std::nullopt;
}

// Why a receipt does not tell whether a snapshot is of its run, and what does.
std::string Unbound(const SnapshotInfo& info, const Receipt& receipt) {
  if (info.step > receipt.steps) {
    return fmt::format("is of step {}, and the receipt is for a run of {} steps", info.step, receipt.steps);
  }
  return fmt::format(
      "the receipt binds the states after steps 0 and {}, the log and the weights, and not this state, of step {}; a proof of "
      "that entry does (assay log RUN --prove {} --json, then assay verify PROOF --receipt FILE) if it says {}",
      receipt.steps, info.step, info.step, info.state_root.hex());
}

}  // namespace

Verification VerifyModel(const Safetensors& file, const Against& against, ThreadPool& pool) {
  if (!against.receipt) {
    return {.kind = "model",
            .valid = std::nullopt,
            .reason = "weights carry no signature; name the receipt that they must be those of with --receipt FILE"};
  }
  const Receipt& receipt = against.receipt->receipt;
  const auto root = WeightsRoot(file, pool);
  if (!root) return Damaged("model", root.error().message);
  if (*root != receipt.weights) {
    return Contradicted(
        "model", fmt::format("its tensors have the root {}, the receipt promises {}: it is not the model that was signed for",
                             root->hex(), receipt.weights.hex()));
  }
  Verification out{.kind = "model", .valid = true};
  out.shows.push_back(fmt::format("its {} tensors are, bit for bit, the weights {} that {} signed for as the result of job {}",
                                  file.tensors().size(), root->hex(), against.receipt->signer.ToString(), receipt.job.hex()));
  out.shows.push_back(HashBytes(file.bytes()) == receipt.model
                          ? "the file as a whole is the one that the receipt names, its metadata too"
                          : "the file as a whole is not the one that the receipt names: its metadata or its layout is another, "
                            "its tensors are the same");
  out.shows.push_back("it does not show that the training was done as the job says: assay audit RUN does");
  if (!against.signer) out.assumed.push_back("the signer is whoever the receipt names; --signer KEY insists on one");
  return out;
}

Verification VerifySnapshot(const Safetensors& file, const Against& against, ThreadPool& pool) {
  const auto info = SnapshotInfoOf(file);
  if (!info) return Damaged("snapshot", info.error().message);
  const auto entries = EntriesOf(file, pool);
  if (!entries) return Damaged("snapshot", entries.error().message);
  const Digest root = StateRoot(*entries);
  if (root != info->state_root) {
    return Damaged("snapshot",
                   fmt::format("its tensors have the state root {}, its metadata says {}", root.hex(), info->state_root.hex()));
  }
  if (auto objection = Objection(*info, against)) return *std::move(objection);
  Verification out{.kind = "snapshot", .valid = true};
  out.shows.push_back(fmt::format("its {} tensors are the state {}, which it says is that after step {} of the trajectory {}",
                                  file.tensors().size(), root.hex(), info->step, info->trajectory.hex()));
  const bool promised = against.receipt && PromisedState(against.receipt->receipt, info->step);
  if (promised || (!against.receipt && against.signer)) {
    out.shows.push_back(
        fmt::format("{} signed for that", (against.receipt ? against.receipt->signer : *against.signer).ToString()));
  } else if (!against.receipt) {
    out.shows.push_back("it does not show that anybody signed for it");
    out.valid.reset();
    out.reason = "no signature was checked: a snapshot does not name who signed it; --signer KEY or --receipt FILE does";
  }
  if (promised) {
    out.shows.push_back("it is the state that the receipt promises");
  } else if (against.receipt) {
    out.valid.reset();
    out.reason = Unbound(*info, against.receipt->receipt);
  }
  out.shows.push_back("it does not show that the training was done as the job says: assay audit RUN does");
  return out;
}

}  // namespace assay::cli
