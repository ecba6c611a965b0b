#include "one_step.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "assay/base/check.h"
#include "assay/dispute/parts.h"
#include "assay/dispute/squares.h"
#include "assay/merkle/tree.h"
#include "assay/rounding/rounder.h"
#include "assay/run/log.h"
#include "assay/run/receipt.h"
#include "assay/train/batch.h"

namespace assay::dispute {
namespace {

template <class T>
Bytes RawBytes(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::size_t PlaceOf(const Program& program, std::size_t micro_input) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < micro_input; ++i) place += program.micro.inputs()[i].name.starts_with("batch/") ? 1 : 0;
  return place;
}

Digest MadeUp(std::string_view what, std::int64_t at) { return HashBytes(AsBytes(fmt::format("{} {}", what, at))); }

}  // namespace

OneStep::OneStep(const PreparedJob& prepared, Backend& backend, std::int64_t step) : prepared_(prepared), step_(step) {
  const Job& job = prepared.job;
  auto terms = Terms::Make(Encode(job, prepared.inputs), Encode(prepared.program));
  ASSAY_CHECK(terms.has_value());
  terms_ = std::make_unique<Terms>(std::move(*terms));
  State state = *StartingState(prepared);
  for (const Tensor& tensor : state) before_.push_back(tensor.CopyTo(HostMemory()));
  const StepNodes& nodes = terms_->nodes();
  outputs_.resize(nodes.size());
  const auto number = static_cast<std::uint32_t>(step - 1);
  const float lr = LearningRate(job.schedule, step - 1);
  lr_ = RawBytes(lr);
  number_ = RawBytes(step);
  {
    StepRunner runner(prepared.program, backend);
    BatchLoader loader(*prepared.data.train, runner.batch_fields());
    const std::vector<std::int64_t> indices =
        BatchIndices(job.seed, prepared.data.train->samples(), number, job.batch.microbatch * job.batch.microbatches);
    const StepInput input{.seed = job.seed, .step = number, .lr = lr, .load = [&](std::int64_t m, std::span<Tensor> fields) {
                            const auto rows = static_cast<std::size_t>(job.batch.microbatch);
                            const DrawContext context{
                                .seed = job.seed, .step = number, .position = m * job.batch.microbatch, .train = true};
                            loader.Load(std::span(indices).subspan(static_cast<std::size_t>(m) * rows, rows), context, fields);
                            std::vector<Bytes>& kept = fields_.emplace_back();
                            for (const Tensor& field : fields) kept.emplace_back(field.bytes().begin(), field.bytes().end());
                            rng_.push_back(RawBytes(std::array<std::uint32_t, 4>{static_cast<std::uint32_t>(job.seed),
                                                                                 static_cast<std::uint32_t>(job.seed >> 32),
                                                                                 number, static_cast<std::uint32_t>(m)}));
                          }};
    if (backend.rounder() != nullptr) backend.rounder()->BeginRecord();
    runner.RunTraced(state, input, [&](std::size_t node, std::span<const void* const> outputs) {
      const std::vector<TensorType> types = nodes.OutputTypes(node);
      outputs_[node].clear();
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const auto* bytes = static_cast<const std::uint8_t*>(outputs[k]);
        outputs_[node].emplace_back(bytes, bytes + types[k].bytes());
      }
    });
    if (backend.rounder() != nullptr) rounding_log_ = backend.rounder()->End().log;
  }
  std::vector<std::vector<Digest>> roots(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const Bytes& output : outputs_[n]) roots[n].push_back(TensorRoot(output));
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    NodeRecord record = BlankRecord(nodes, n);
    const std::vector<InputSource> sources = nodes.Sources(n);
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const bool node = sources[k].kind == InputSource::Kind::kNode;
      record.inputs[k] = node ? roots[sources[k].node][sources[k].index] : TensorRoot(Input(n, k));
    }
    for (std::size_t k = 0; k < roots[n].size(); ++k) record.outputs[k].root = roots[n][k];
    records_.push_back(std::move(record));
  }
  std::vector<TensorEntry> state_entries;
  for (std::size_t i = 0; i < before_.size(); ++i) {
    state_entries.push_back({prepared.program.state[i].name, prepared.program.state[i].type, TensorRoot(Before(i))});
  }
  before_root_ = StateRoot(state_entries);
  batch_root_ = MadeUp("batch", step);  // nobody disputes it
}

ByteSpan OneStep::Input(std::size_t node, std::size_t input) const {
  const InputSource source = terms_->nodes().Sources(node)[input];
  switch (source.kind) {
    case InputSource::Kind::kState: return before_[source.index].bytes();
    case InputSource::Kind::kNode: return outputs_[source.node][source.index];
    case InputSource::Kind::kLr: return lr_;
    case InputSource::Kind::kStep: return number_;
    case InputSource::Kind::kRng: return rng_[static_cast<std::size_t>(source.microbatch)];
    case InputSource::Kind::kBatch: break;
  }
  return fields_[static_cast<std::size_t>(source.microbatch)][PlaceOf(prepared_.program, source.index)];
}

OneStepAccount::OneStepAccount(const OneStep& content, const SigningKey& key, std::optional<OneLie> lie)
    : content_(content), lie_(lie) {
  const Terms& terms = content.terms();
  if (lie_) {
    const ByteSpan output = content.Output(lie_->node, lie_->output);
    false_output_.assign(output.begin(), output.end());
    const OpInstance op = terms.nodes().Instance(lie_->node);
    false_output_[static_cast<std::size_t>(lie_->element) * SizeOf(op.out[lie_->output].dtype)] ^= 1;
  }
  Digest previous = terms.trajectory();
  std::vector<Digest> hashes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(terms.entries()); ++i) {
    const std::int64_t step = terms.StepOf(i);
    LogEntry entry{.step = step,
                   .state_root = MadeUp("state", step),
                   .batch_root = MadeUp("batches", step),
                   .loss_bits = 0,
                   .previous = previous};
    if (step == 0) entry.batch_root = HashBytes({});
    if (step == content.step() - 1) entry.state_root = content.before_root();
    if (step == content.step()) entry.batch_root = BatchRootOfSteps({&content.batch_root(), 1});
    if (step >= content.step() && lie_) entry.state_root = MadeUp("false state", step);
    if (content.rounded()) {
      const RoundingLeaf leaf = RoundingLeafOf(content.rounding_log());
      entry.rounding_root = step == content.step() ? RoundingRootOfSteps({&leaf, 1}) : MadeUp("roundings", step);
      if (step == 0) entry.rounding_root = RoundingRootOfSteps({});
    }
    previous = HashOf(entry);
    hashes.push_back(previous);
    log_.push_back(entry);
  }
  log_tree_ = std::make_shared<const HashTree>(std::move(hashes));
  std::vector<Digest> records;
  for (std::size_t n = 0; n < terms.nodes().size(); ++n) records.push_back(LeafHash(Encode(RecordOf(n))));
  trace_tree_ = std::make_shared<const HashTree>(std::move(records));
  const RunIdentity& identity = content.prepared().identity;
  receipt_ =
      SignReceipt({.model = {},
                   .job = identity.job,
                   .trajectory = identity.trajectory,
                   .program = terms.program_hash(),
                   .data = identity.data,
                   .steps = terms.job().steps,
                   .commit_every = terms.job().commit_every,
                   .snapshot_every = 100,
                   .log = {.origin = LogOrigin(key.verify_key(), identity.job), .size = log_.size(), .root = log_tree_->root()},
                   .initial_state_root = log_.front().state_root,
                   .final_state_root = log_.back().state_root,
                   .loss_bits = log_.back().loss_bits,
                   .signer = key.verify_key().ToString()},
                  key);
}

NodeRecord OneStepAccount::RecordOf(std::size_t node) const {
  NodeRecord record = content_.record(node);
  if (lie_ && lie_->node == node) record.outputs[lie_->output].root = TensorRoot(false_output_);
  return record;
}

bool OneStepAccount::IsLie(const TreeName& tree) const {
  return lie_ && tree.kind == TreeKind::kOutput && tree.node == lie_->node && tree.index == lie_->output;
}

Result<ByteSpan> OneStepAccount::TensorOf(const TreeName& tree) const {
  if (tree.kind == TreeKind::kRoundingLog) return ByteSpan(content_.rounding_log());
  ASSAY_TRY(content_.terms().TreeSize(tree));
  if (IsLie(tree)) return ByteSpan(false_output_);
  if (tree.kind == TreeKind::kInput) return content_.Input(tree.node, tree.index);
  if (tree.kind == TreeKind::kOutput) return content_.Output(tree.node, tree.index);
  if (tree.kind == TreeKind::kStateTensor) return content_.Before(tree.index);
  return Err("not here");
}

Result<std::shared_ptr<const HashTree>> OneStepAccount::Tree(const TreeName& tree) {
  if (tree.kind == TreeKind::kLog) return log_tree_;
  if (tree.kind == TreeKind::kTrace) return trace_tree_;
  if (tree.kind == TreeKind::kBatches)
    return std::make_shared<const HashTree>(std::vector<Digest>{LeafHash(content_.batch_root().bytes)});
  if (tree.kind == TreeKind::kRoundings)
    return std::make_shared<const HashTree>(std::vector<Digest>{LeafHash(Encode(RoundingLeafOf(content_.rounding_log())))});
  if (last_ && last_->first == tree) return last_->second;
  ASSAY_ASSIGN(const ByteSpan bytes, TensorOf(tree));
  std::vector<Digest> hashes(CountLeaves(bytes.size()));
  HashLeaves(bytes, hashes);
  last_.emplace(tree, std::make_shared<const HashTree>(std::move(hashes)));
  return last_->second;
}

Result<Bytes> OneStepAccount::Leaf(const TreeName& tree, std::uint64_t index) {
  if (tree.kind == TreeKind::kLog) return Encode(log_.at(static_cast<std::size_t>(index)));
  if (tree.kind == TreeKind::kTrace) return Encode(RecordOf(static_cast<std::size_t>(index)));
  if (tree.kind == TreeKind::kBatches) return Bytes(content_.batch_root().bytes.begin(), content_.batch_root().bytes.end());
  if (tree.kind == TreeKind::kRoundings) return Encode(RoundingLeafOf(content_.rounding_log()));
  ASSAY_ASSIGN(const ByteSpan bytes, TensorOf(tree));
  const ByteSpan leaf = bytes.subspan(static_cast<std::size_t>(index) * kLeafBytes)
                            .first(std::min(kLeafBytes, bytes.size() - static_cast<std::size_t>(index) * kLeafBytes));
  return Bytes(leaf.begin(), leaf.end());
}

// The dearest is to agree on all words, and on no partial sum.
Result<std::vector<ref::Value>> OneStepAccount::RoundedParts(const PartsQuestion& question) const {
  const OpInstance op = content_.terms().nodes().Instance(question.node);
  std::vector<const void*> in;
  for (std::size_t k = 0; k < op.in.size(); ++k) in.push_back(content_.Input(question.node, k).data());
  ASSAY_ASSIGN(std::vector<ref::Value> parts, RoundedPartsAt(op, question, in));
  if (lie_ && SquaresTree::Applies(op)) parts[question.path.size() * 7 % parts.size()] ^= 1;
  return parts;
}

// A liar stays consistent for as long as it can: it lies about one part at every level, so that the dispute goes all the way down.
Result<std::vector<ref::Value>> OneStepAccount::Parts(const PartsQuestion& question) {
  if (content_.rounded()) return RoundedParts(question);
  const OpInstance op = content_.terms().nodes().Instance(question.node);
  std::vector<const void*> in;
  for (std::size_t k = 0; k < op.in.size(); ++k) in.push_back(content_.Input(question.node, k).data());
  const auto derivation = ref::Derive(op, static_cast<int>(question.output), question.element);
  if (derivation == nullptr) return Err("there are no parts");
  ref::Path path;
  ref::Settled settled;
  for (const std::uint32_t part : question.path) {
    std::vector<ref::Value> parts = ref::PartsOf(*derivation, path, settled, in);
    if (part >= parts.size()) return Err("there is no such part");
    parts.resize(part);
    settled.push_back(std::move(parts));
    path.push_back(part);
  }
  std::vector<ref::Value> parts = ref::PartsOf(*derivation, path, settled, in);
  if (lie_ && !parts.empty()) parts[(static_cast<std::size_t>(question.element) + path.size() * 7) % parts.size()] ^= 1;
  return parts;
}

}  // namespace assay::dispute
