#include "memory_run.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "assay/backend/ref/ref_backend.h"
#include "assay/base/check.h"
#include "assay/data/open.h"
#include "assay/merkle/tree.h"
#include "assay/run/commit_schedule.h"
#include "assay/train/batch.h"

namespace assay::dispute {
namespace {

std::vector<Bytes> BytesOf(const State& state) {
  std::vector<Bytes> bytes;
  for (const Tensor& tensor : state) bytes.emplace_back(tensor.bytes().begin(), tensor.bytes().end());
  return bytes;
}

template <class T>
Bytes RawBytes(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::vector<Bytes> Blocks(const Bytes& tensor) {
  std::vector<Bytes> blocks;
  for (std::size_t at = 0; at < tensor.size(); at += kLeafBytes) {
    const std::size_t end = std::min(at + kLeafBytes, tensor.size());
    blocks.emplace_back(tensor.begin() + static_cast<std::ptrdiff_t>(at), tensor.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return blocks;
}

}  // namespace

MemoryRun::MemoryRun(const PreparedJob& prepared, const SigningKey& key, Lies lies)
    : prepared_(prepared), lies_(std::move(lies)) {
  job_ = Encode(prepared.job, prepared.inputs);
  program_ = Encode(prepared.program);
  auto terms = Terms::Make(job_, program_);
  ASSAY_CHECK(terms.has_value());
  terms_ = std::make_unique<Terms>(std::move(*terms));
  ThreadPool pool(1);
  const auto backend = ref::MakeRefBackend(pool);
  StepRunner runner(prepared.program, *backend);
  State state = *StartingState(prepared);
  if (lies_.start) lies_.start(state);
  start_ = BytesOf(state);
  for (std::int64_t step = 1; step <= prepared.job.steps; ++step) RunStep(step, runner, state);
  Commit(key);
}

void MemoryRun::RunStep(std::int64_t step, StepRunner& runner, State& state) {
  const Job& job = prepared_.job;
  StoredStep& stored = steps_.emplace_back();
  stored.before = BytesOf(state);
  const auto number = static_cast<std::uint32_t>(step - 1);
  const std::int64_t count = job.batch.microbatch * job.batch.microbatches;
  stored.plan = {.step = number,
                 .seed = job.seed,
                 .lr = LearningRate(job.schedule, step - 1),
                 .indices = BatchIndices(job.seed, prepared_.data.train->samples(), number, count)};
  const StepPlan honest = stored.plan;
  if (lies_.plan) lies_.plan(step, stored.plan);
  const StepNodes& nodes = terms_->nodes();
  stored.outputs.resize(nodes.size());
  BatchLoader loader(*prepared_.data.train, runner.batch_fields());
  const auto load = [&](const StepPlan& plan, std::int64_t m, std::span<Tensor> fields) {
    const auto rows = static_cast<std::size_t>(job.batch.microbatch);
    const DrawContext context{.seed = plan.seed, .step = plan.step, .position = m * job.batch.microbatch, .train = true};
    loader.Load(std::span(plan.indices).subspan(static_cast<std::size_t>(m) * rows, rows), context, fields);
  };
  const auto keep = [](std::span<const Tensor> fields) {
    std::vector<Bytes> bytes;
    for (const Tensor& field : fields) bytes.emplace_back(field.bytes().begin(), field.bytes().end());
    return bytes;
  };
  const StepInput input{.seed = stored.plan.seed,
                        .step = stored.plan.step,
                        .lr = stored.plan.lr,
                        .load = [&](std::int64_t m, std::span<Tensor> fields) {
                          load(honest, m, fields);
                          if (!lies_.admits_batches) stored.said.push_back(keep(fields));
                          load(stored.plan, m, fields);
                          if (lies_.batch) lies_.batch(step, m, fields);
                          if (lies_.admits_batches) stored.said.push_back(keep(fields));
                          stored.used.push_back(keep(fields));
                        }};
  const TraceSink sink = [&](std::size_t node, std::span<const void* const> outputs) {
    const std::vector<TensorType> types = nodes.OutputTypes(node);
    std::vector<std::span<std::uint8_t>> spans;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      // The executor's memory is the host's; a liar writes what it likes into it.
      spans.emplace_back(static_cast<std::uint8_t*>(const_cast<void*>(outputs[k])), types[k].bytes());
    }
    if (lies_.node) lies_.node(step, node, spans);
    stored.outputs[node].clear();
    for (const auto& span : spans) stored.outputs[node].emplace_back(span.begin(), span.end());
  };
  const StepResult result = runner.RunTraced(state, input, sink);
  stored.loss_bits = std::bit_cast<std::uint32_t>(result.loss);
  if (lies_.loss) lies_.loss(step, stored.loss_bits);
  if (lies_.after) lies_.after(step, state);
  stored.after = BytesOf(state);
  stored.after_root = StateRootOf(stored.after);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    NodeRecord record = BlankRecord(nodes, n);
    for (std::size_t k = 0; k < record.inputs.size(); ++k) record.inputs[k] = TensorRoot(InputBytes(stored, n, k));
    for (std::size_t k = 0; k < record.outputs.size(); ++k) record.outputs[k].root = TensorRoot(stored.outputs[n][k]);
    if (lies_.record) lies_.record(step, record);
    stored.records.push_back(std::move(record));
  }
  std::vector<TensorEntry> entries;
  for (std::size_t f = 0; f < terms_->fields().size(); ++f) {
    entries.push_back({terms_->fields()[f].name, terms_->fields()[f].type, TensorRoot(FieldBytes(stored, f))});
  }
  stored.batch_root = EntriesRoot(kBatchTag, entries);
}

void MemoryRun::Commit(const SigningKey& key) {
  const Job& job = prepared_.job;
  Digest previous = prepared_.identity.trajectory;
  std::vector<Digest> batches;
  const auto append = [&](std::int64_t step, const Digest& root, std::uint32_t loss) {
    LogEntry entry{.step = step,
                   .state_root = root,
                   .batch_root = step == 0 ? HashBytes({}) : BatchRootOfSteps(batches),
                   .loss_bits = loss,
                   .previous = previous};
    batches.clear();
    if (lies_.entry) lies_.entry(entry);
    previous = HashOf(entry);
    log_.push_back(entry);
  };
  append(0, StateRootOf(start_), 0);
  for (std::int64_t step = 1; step <= job.steps; ++step) {
    const StoredStep& stored = steps_[static_cast<std::size_t>(step - 1)];
    batches.push_back(stored.batch_root);
    if (CommitSchedule::Of(job).IsCommitted(step)) append(step, stored.after_root, stored.loss_bits);
  }
  std::vector<Digest> hashes;
  for (const LogEntry& entry : log_) hashes.push_back(HashOf(entry));
  for (const std::size_t weight : terms_->weights()) weights_.push_back(steps_.back().after[weight]);
  if (lies_.weights) lies_.weights(weights_);
  Hashes weight_hashes;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    weight_hashes.push_back(LeafHash(terms_->WeightEntry(i, TensorRoot(weights_[i]))));
  }
  Receipt receipt{.model = {},
                  .job = prepared_.identity.job,
                  .trajectory = prepared_.identity.trajectory,
                  .program = HashBytes(program_),
                  .data = prepared_.identity.data,
                  .steps = job.steps,
                  .commit_every = job.commit_every,
                  .snapshot_every = job.snapshot.every,
                  .log = {.origin = LogOrigin(key.verify_key(), prepared_.identity.job),
                          .size = log_.size(),
                          .root = HashTree(hashes).root()},
                  .initial_state_root = log_.front().state_root,
                  .final_state_root = log_.back().state_root,
                  .loss_bits = log_.back().loss_bits,
                  .weights = HashTree(weight_hashes).root(),
                  .signer = key.verify_key().ToString()};
  if (lies_.receipt) lies_.receipt(receipt);
  receipt_ = SignReceipt(receipt, key);
}

Digest MemoryRun::StateRootOf(const std::vector<Bytes>& state) const {
  std::vector<TensorEntry> entries;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const StateSpec& spec = prepared_.program.state[i];
    entries.push_back({spec.name, spec.type, TensorRoot(state[i])});
  }
  return StateRoot(entries);
}

Bytes MemoryRun::InputBytes(const StoredStep& step, std::size_t node, std::size_t input) const {
  const InputSource source = terms_->nodes().Sources(node)[input];
  switch (source.kind) {
    case InputSource::Kind::kState: return step.before[source.index];
    case InputSource::Kind::kNode: return step.outputs[source.node][source.index];
    case InputSource::Kind::kLr: return RawBytes(step.plan.lr);
    case InputSource::Kind::kStep: return RawBytes(std::int64_t{step.plan.step} + 1);
    case InputSource::Kind::kRng:
      return RawBytes(std::array<std::uint32_t, 4>{static_cast<std::uint32_t>(step.plan.seed),
                                                   static_cast<std::uint32_t>(step.plan.seed >> 32), step.plan.step,
                                                   static_cast<std::uint32_t>(source.microbatch)});
    case InputSource::Kind::kBatch: break;
  }
  // The fields of a runner are the program's batch inputs in their order.
  std::size_t place = 0;
  for (std::size_t i = 0; i < source.index; ++i)
    place += prepared_.program.micro.inputs()[i].name.starts_with("batch/") ? 1 : 0;
  return step.used[static_cast<std::size_t>(source.microbatch)][place];
}

Bytes MemoryRun::FieldBytes(const StoredStep& step, std::size_t field) const {
  std::size_t place = 0;
  for (std::size_t i = 0; i < terms_->fields()[field].micro_input; ++i) {
    place += prepared_.program.micro.inputs()[i].name.starts_with("batch/") ? 1 : 0;
  }
  Bytes whole;
  for (const std::vector<Bytes>& fields : step.said) whole.insert(whole.end(), fields[place].begin(), fields[place].end());
  return whole;
}

Result<std::vector<Bytes>> MemoryRun::LeavesOf(const TreeName& tree) {
  ASSAY_TRY(terms_->TreeSize(tree));
  std::vector<Bytes> leaves;
  const auto step = [&](std::int64_t number) -> StoredStep& { return steps_[static_cast<std::size_t>(number - 1)]; };
  const auto state = [&](std::int64_t done) -> const std::vector<Bytes>& { return done == 0 ? start_ : step(done).after; };
  switch (tree.kind) {
    case TreeKind::kLog:
      for (const LogEntry& entry : log_) leaves.push_back(Encode(entry));
      break;
    case TreeKind::kWeights:
      for (std::size_t i = 0; i < weights_.size(); ++i) leaves.push_back(terms_->WeightEntry(i, TensorRoot(weights_[i])));
      break;
    case TreeKind::kBatches:
    case TreeKind::kStates:
      for (std::int64_t s = terms_->StepBefore(tree.at) + 1; s <= terms_->StepOf(tree.at); ++s) {
        const StoredStep& stored = step(s);
        if (tree.kind == TreeKind::kBatches) {
          leaves.emplace_back(stored.batch_root.bytes.begin(), stored.batch_root.bytes.end());
        } else {
          leaves.push_back(Encode(StepRecord{s, stored.after_root, stored.loss_bits}));
        }
      }
      break;
    case TreeKind::kTrace:
      for (const NodeRecord& record : step(tree.at).records) leaves.push_back(Encode(record));
      break;
    case TreeKind::kState:
      for (std::size_t i = 0; i < start_.size(); ++i) leaves.push_back(terms_->StateEntry(i, TensorRoot(state(tree.at)[i])));
      break;
    case TreeKind::kStateTensor: return Blocks(state(tree.at)[tree.index]);
    case TreeKind::kBatch:
      for (std::size_t f = 0; f < terms_->fields().size(); ++f) {
        leaves.push_back(terms_->BatchEntry(f, TensorRoot(FieldBytes(step(tree.at), f))));
      }
      break;
    case TreeKind::kBatchField: return Blocks(FieldBytes(step(tree.at), tree.index));
    case TreeKind::kInput: return Blocks(InputBytes(step(tree.at), tree.node, tree.index));
    case TreeKind::kOutput: return Blocks(step(tree.at).outputs[tree.node][tree.index]);
    case TreeKind::kRoundings:
    case TreeKind::kRoundingLog: break;  // its jobs do not round
  }
  return leaves;
}

Result<std::shared_ptr<const HashTree>> MemoryRun::Tree(const TreeName& tree) {
  const Bytes encoded = Encode(Digest{}, CommitQuestion{tree});
  const std::string key(encoded.begin(), encoded.end());
  auto found = trees_.find(key);
  if (found == trees_.end()) {
    ASSAY_ASSIGN(std::vector<Bytes> leaves, LeavesOf(tree));
    if (lies_.leaves) lies_.leaves(tree, leaves);
    std::vector<Digest> hashes;
    for (const Bytes& leaf : leaves) hashes.push_back(LeafHash(leaf));
    auto made = std::make_shared<const HashTree>(std::move(hashes));
    found = trees_.emplace(key, std::pair(std::move(made), std::move(leaves))).first;
  }
  return found->second.first;
}

Result<Bytes> MemoryRun::Leaf(const TreeName& tree, std::uint64_t index) {
  ASSAY_TRY(Tree(tree));
  const Bytes encoded = Encode(Digest{}, CommitQuestion{tree});
  return trees_.at({encoded.begin(), encoded.end()}).second.at(static_cast<std::size_t>(index));
}

Result<SamplesAnswer> MemoryRun::Samples(const SamplesQuestion& question) {
  const Job& job = prepared_.job;
  ThreadPool pool(1);
  const auto prover = BatchProver::Make(prepared_.data.part, prepared_.data.rule, &pool);
  if (!prover) return tl::unexpected(prover.error());
  const std::vector<std::int64_t> all = BatchIndices(job.seed, prover->samples(), static_cast<std::uint32_t>(question.step - 1),
                                                     job.batch.microbatch * job.batch.microbatches);
  if (question.end > all.size()) return Err("no such samples");
  const auto some = std::span(all).subspan(question.begin, question.end - question.begin);
  return SamplesAnswer{prepared_.data.part.descriptor, prover->Prove(some)};
}

Result<std::vector<ref::Value>> MemoryRun::Parts(const PartsQuestion& question) {
  const StoredStep& stored = steps_.at(static_cast<std::size_t>(question.step - 1));
  const OpInstance op = terms_->nodes().Instance(question.node);
  std::vector<Bytes> inputs;
  std::vector<const void*> in;
  for (std::size_t k = 0; k < op.in.size(); ++k) inputs.push_back(InputBytes(stored, question.node, k));
  for (const Bytes& input : inputs) in.push_back(input.data());
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
  return ref::PartsOf(*derivation, path, settled, in);
}

Result<Bytes> MemoryRun::Answer(const Question& question) {
  Result<Bytes> body = AnswerFrom(*this, question);
  if (lies_.answer) lies_.answer(question, body);
  return body;
}

}  // namespace assay::dispute
