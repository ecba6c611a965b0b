#include "assay/own/compare.h"

#include <algorithm>

#include "assay/exec/step.h"
#include "assay/monitor/iteration_rule.h"
#include "assay/monitor/speed.h"
#include "assay/own/model_tensors.h"
#include "assay/run/weights_root.h"

namespace assay::own {
namespace {

using monitor::RuleState;

std::optional<std::uint64_t> SeenBy(const OpenedClaim& claim, const std::vector<WitnessKey>& witnesses) {
  std::optional<std::uint64_t> earliest;
  for (const WitnessKey& witness : witnesses) {
    const auto time = witness.SeenAt(claim.checkpoint());
    if (time && (!earliest || *time < *earliest)) earliest = time;
  }
  return earliest;
}

// The root over the model's tensors of the state that a run starts from which starts from a file, where the claim shows it.
std::optional<Digest> StartWeights(const OpenedClaim& claim, ThreadPool& pool) {
  if (!claim.job().inputs.weights) return std::nullopt;
  const auto snapshot = ReadSnapshot(claim.run().SnapshotPath(0), claim.program().state, pool);
  const auto weights =
      snapshot ? ModelTensors(claim.job().job.model, claim.program(), snapshot->state) : tl::unexpected(snapshot.error());
  return weights ? std::optional(WeightsRoot(*weights, pool)) : std::nullopt;
}

// Whether the run starts from the values that its seed gives. Then it descends from nobody, whatever others have committed to: whoever knows the job can compute
// these values, too.
bool StartsFromItsSeed(const OpenedClaim& claim, ThreadPool& pool) {
  if (claim.job().inputs.weights) return false;
  const State start = InitialState(claim.program(), claim.job().job.seed, &pool);
  return StateRootOf(claim.program().state, start, pool) == claim.log().entries().front().state_root;
}

// After how many steps of `whole` the run `later` begins.
std::optional<std::int64_t> StartsIn(const OpenedClaim& later, const OpenedClaim& whole, ThreadPool& pool) {
  const Receipt& receipt = whole.receipt();
  if (later.job().inputs.weights == receipt.model) return receipt.steps;
  if (StartWeights(later, pool) == receipt.weights) return receipt.steps;
  const Digest& root = later.log().entries().front().state_root;
  for (const LogEntry& entry : whole.log().entries()) {
    if (entry.step == 0 || entry.state_root != root) continue;
    // A state of another size has no such root, and whoever says so is not given memory for it.
    if (monitor::StateBytes(later.program()) != monitor::StateBytes(whole.program())) return std::nullopt;
    return StartsFromItsSeed(later, pool) ? std::nullopt : std::optional(entry.step);
  }
  return std::nullopt;
}

// What a witness signs of a checkpoint: all but the signatures.
std::string_view TextOf(const OpenedClaim& claim) {
  return std::string_view(claim.checkpoint()).substr(0, claim.checkpoint().find("\n\n"));
}

bool FollowsFrom(const OpenedClaim& later, const OpenedClaim& earlier) {
  const std::optional<Digest>& from = later.job().job.seed_from;
  return from && (*from == earlier.receipt_hash() || *from == HashBytes(AsBytes(earlier.checkpoint())));
}

// What depends on the other by a hash came after it, which decides. Of the rest, each can be written into a log by whoever signs it, or is a witness's word about
// its end alone: where these contradict each other, nothing is known.
void Order(const OpenedClaim& mine, const OpenedClaim& other, Comparison& comparison) {
  bool contradicted = false;
  const auto decide = [&](First first, std::string why) {
    if (comparison.first != First::kUnknown && comparison.first != first) {
      contradicted = true;
      why += ", which contradicts what was said before";
    } else {
      comparison.first = first;
    }
    comparison.why.push_back(std::move(why));
  };
  if (FollowsFrom(other, mine)) decide(First::kThis, "the other's seed follows from this claim's receipt or checkpoint");
  if (FollowsFrom(mine, other)) decide(First::kOther, "this claim's seed follows from the other's receipt or checkpoint");
  const bool proven = comparison.first != First::kUnknown;
  if (comparison.other_starts_in)
    decide(First::kThis, fmt::format("the other starts from a state of this one, after step {}", *comparison.other_starts_in));
  if (comparison.this_starts_in)
    decide(First::kOther, fmt::format("this one starts from a state of the other, after step {}", *comparison.this_starts_in));
  const auto mine_seen = comparison.this_seen, other_seen = comparison.other_seen;
  if (mine_seen && other_seen && TextOf(mine) == TextOf(other)) {
    comparison.why.push_back(
        "a witness signs the text of a checkpoint, which has the same in both claims: a time that it signed for one is the "
        "other's, too");
  } else if (mine_seen && other_seen && *mine_seen != *other_seen) {
    decide(*mine_seen < *other_seen ? First::kThis : First::kOther,
           fmt::format("a witness saw this log's end at {}, the other's at {} (seconds since 1970)", *mine_seen, *other_seen));
  }
  if (contradicted && !proven) comparison.first = First::kUnknown;
}

bool Names(const Lineage& lineage, const Receipt& parent) {
  return std::ranges::any_of(lineage.ancestors, [&](const Ancestor& ancestor) {
    const Receipt& receipt = ancestor.receipt;
    return receipt.job == parent.job && receipt.model == parent.model && receipt.signer == parent.signer;
  });
}

monitor::RuleResult RuleOf(const OpenedClaim& mine, const Lineage& lineage, const OpenedClaim& other,
                           const Comparison& comparison) {
  const bool named = Names(lineage, other.receipt());
  if (comparison.this_starts_in && !named) {
    return monitor::Judged(
        "against", false, std::nullopt, std::nullopt,
        fmt::format("this run starts from a state of the other, after step {}, and does not name it as its parent",
                    *comparison.this_starts_in));
  }
  const bool disputed = comparison.same_weights || comparison.common_entries > 1;
  if (!disputed || mine.receipt().signer == other.receipt().signer) {
    const char* const why = disputed ? "both claims are of one signer"
                            : named  ? "this run names the other as one that it descends from"
                            : comparison.other_starts_in
                                ? "the other run starts from a state of this one"
                                : "the two runs have neither their model nor a committed step in common";
    return monitor::Judged("against", true, std::nullopt, std::nullopt, why);
  }
  const std::string what = comparison.same_weights
                               ? "both claims are for the same model"
                               : fmt::format("both logs have the same first {} entries", comparison.common_entries);
  if (comparison.first == First::kUnknown) {
    return monitor::Named(
        "against", "order_unknown", RuleState::kUnchecked,
        what + ", and nothing shows which was committed to first: a witness that cosigned a checkpoint would (--witness KEY)");
  }
  return monitor::Judged(
      "against", comparison.first == First::kThis, std::nullopt, std::nullopt,
      fmt::format("{}; {} was committed to first", what, comparison.first == First::kThis ? "this one" : "the other"));
}

}  // namespace

std::string_view Name(First first) {
  switch (first) {
    case First::kUnknown: return "unknown";
    case First::kThis: return "this";
    case First::kOther: return "other";
  }
  return "";
}

Comparison Compare(const OpenedClaim& mine, const Lineage& lineage, const OpenedClaim& other,
                   const std::vector<WitnessKey>& witnesses, ThreadPool& pool) {
  Comparison comparison;
  comparison.same_weights = mine.receipt().weights == other.receipt().weights;
  const auto& a = mine.log().entries();
  const auto& b = other.log().entries();
  const auto differ = std::ranges::mismatch(
      a, b, [](const LogEntry& x, const LogEntry& y) { return x.step == y.step && x.state_root == y.state_root; });
  comparison.common_entries = differ.in1 - a.begin();
  comparison.this_starts_in = StartsIn(mine, other, pool);
  comparison.other_starts_in = StartsIn(other, mine, pool);
  comparison.this_seen = SeenBy(mine, witnesses);
  comparison.other_seen = SeenBy(other, witnesses);
  Order(mine, other, comparison);
  comparison.rule = RuleOf(mine, lineage, other, comparison);
  return comparison;
}

}  // namespace assay::own
