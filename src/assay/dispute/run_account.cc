#include "assay/dispute/run_account.h"

#include <algorithm>
#include <utility>

#include "assay/base/file.h"
#include "assay/dispute/batch_check.h"
#include "assay/dispute/claim.h"
#include "assay/dispute/fees.h"
#include "assay/dispute/parts.h"
#include "assay/job/rounded_bill.h"
#include "assay/merkle/tree.h"
#include "assay/run/weights_root.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kMaxReceiptBytes = 65536;

// tests/dispute/bill.cc shows that a bout needs less; of a rounded job all answers of both parties have less.
static_assert(kMaxRoundedBytes <= kBoutBytes);

bool IsListing(TreeKind kind) {
  switch (kind) {
    case TreeKind::kLog:
    case TreeKind::kBatches:
    case TreeKind::kStates:
    case TreeKind::kTrace:
    case TreeKind::kState:
    case TreeKind::kRoundings:
    case TreeKind::kWeights:
    case TreeKind::kBatch: return true;
    default: return false;
  }
}

std::vector<Digest> LeavesOf(const Tensor& tensor, Backend& backend) {
  const ByteSpan bytes(static_cast<const std::uint8_t*>(tensor.data()), tensor.type().bytes());
  if (!tensor.space().is_host()) return backend.LeafHashes(bytes);
  std::vector<Digest> leaves(CountLeaves(bytes.size()));
  HashLeaves(bytes, leaves);
  return leaves;
}

std::vector<Digest> RootsOf(const std::vector<Tensor>& tensors, Backend& backend, ThreadPool& pool) {
  std::vector<ByteSpan> spans;
  for (const Tensor& tensor : tensors)
    spans.emplace_back(static_cast<const std::uint8_t*>(tensor.data()), tensor.type().bytes());
  const bool host = std::ranges::all_of(tensors, [](const Tensor& tensor) { return tensor.space().is_host(); });
  return host ? TensorRoots(spans, pool) : backend.TensorRoots(spans);
}

Bytes BlockOf(const Tensor& tensor, std::uint64_t index) {
  const std::size_t begin = static_cast<std::size_t>(index) * kLeafBytes;
  Bytes block(std::min(kLeafBytes, tensor.type().bytes() - begin));
  tensor.space().CopyOut(block.data(), static_cast<const std::uint8_t*>(tensor.data()) + begin, block.size());
  return block;
}

}  // namespace

RunAccount::Limits RunAccount::Limits::Of(std::size_t bytes) {
  return {.states = bytes / 2, .traces = bytes / 8, .nodes = bytes / 4, .trees = bytes / 16, .batches = bytes / 16};
}

RunAccount::RunAccount(const Site& site, Terms terms, RunLog log, std::string receipt, const Limits& limits, Conduct* conduct)
    : site_(site),
      terms_(std::move(terms)),
      log_(std::move(log)),
      receipt_(std::move(receipt)),
      rerun_(
          {site.run, site.prepared, log_, site.backend, site.pool, conduct != nullptr ? *conduct : honest_, conduct == nullptr},
          limits.states),
      lists_(limits.trees / 2),
      trees_(limits.trees / 2),
      traces_(limits.traces),
      captures_(limits.nodes),
      batches_(limits.batches) {}

Result<std::unique_ptr<RunAccount>> RunAccount::Make(const RunDirectory& run, const PreparedJob& prepared, Backend& backend,
                                                     ThreadPool& pool, const Limits& limits, Conduct* conduct) {
  if (prepared.identity != run.identity())
    return Err("{}: its data or job file is not the one it was trained with", run.path());
  if (!IsTaken(run.receipt_path())) return Err("{}: has no receipt: the run is not finished", run.path());
  ASSAY_ASSIGN(const Bytes receipt, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  RunContent content = ContentOf(prepared);
  ASSAY_ASSIGN(Terms terms, Terms::Make(std::move(content.job), std::move(content.program)));
  ASSAY_ASSIGN(RunLog log, RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory, terms.entries()));
  if (log.entries().size() != terms.entries()) {
    return Err("{}: the log has {} entries, a finished run has {}", run.path(), log.entries().size(), terms.entries());
  }
  // Whoever answers from another log than the one that was signed for speaks against itself.
  std::string text(receipt.begin(), receipt.end());
  ASSAY_ASSIGN(const Claim claim, OpenClaim(text, run.receipt_path()));
  if (claim.signer != run.signer()) {
    return Err("{}: is the receipt of another run, signed by {}: what is asked about it cannot be answered from this one",
               run.receipt_path(), claim.signer.id());
  }
  if (claim.receipt.log != log.checkpoint()) {
    return Err("{}: the receipt signs another log than the one here: this copy is damaged", run.path());
  }
  std::unique_ptr<RunAccount> account(
      new RunAccount({run, prepared, backend, pool}, std::move(terms), std::move(log), std::move(text), limits, conduct));
  // The delivered file is read while it is there: whoever trains the run further replaces it.
  if (auto weights = account->WeightRecords()) account->weights_ = std::make_shared<const Listing>(std::move(*weights));
  return account;
}

Result<Budget> RunAccount::Bill() const {
  const Job& job = terms_.job();
  ASSAY_ASSIGN(std::vector<std::int64_t> steps, site_.run.SnapshotSteps());
  steps.insert(steps.begin(), 0);
  steps.push_back(job.steps);
  std::int64_t interval = std::min(job.commit_every, job.steps);
  for (std::size_t i = 1; i < steps.size(); ++i) interval = std::max(interval, steps[i] - steps[i - 1]);
  return Budget{.work = BillOf(job.commit_every, interval), .bytes = kBoutBytes};
}

std::optional<Meter> RunAccount::NewMeter() const {
  const auto steps = site_.run.SnapshotSteps();
  if (!steps) return std::nullopt;
  return Meter(terms_.job().steps, terms_.job().commit_every, std::make_shared<const std::vector<std::int64_t>>(*steps));
}

Work RunAccount::BillOf(std::int64_t commit_every, std::int64_t interval) {
  return {.steps_run = 2 * interval, .steps_traced = 2, .batches_loaded = commit_every + 2};
}

Result<std::shared_ptr<const HashTree>> RunAccount::Tree(const TreeName& tree) {
  if (tree.kind != TreeKind::kRoundingLog && tree.kind != TreeKind::kWeights) ASSAY_TRY(terms_.TreeSize(tree));
  if (IsListing(tree.kind)) {
    ASSAY_ASSIGN(const auto list, List(tree));
    return list->tree;
  }
  if (const auto* made = trees_.Find(tree)) return *made;
  ASSAY_ASSIGN(std::vector<Digest> leaves, TensorLeaves(tree));
  const std::size_t bytes = 2 * sizeof(Digest) * leaves.size();
  auto made = std::make_shared<const HashTree>(std::move(leaves));
  trees_.Put(tree, made, bytes);
  return made;
}

Result<Bytes> RunAccount::Leaf(const TreeName& tree, std::uint64_t index) {
  if (tree.kind == TreeKind::kRoundingLog) {
    ASSAY_ASSIGN(const Bytes log, RoundingLog(tree));
    if (index >= CountLeaves(log.size())) return Err("leaf {}: the tree has {}", index, CountLeaves(log.size()));
    const ByteSpan rest = ByteSpan(log).subspan(static_cast<std::size_t>(index) * kLeafBytes);
    return Bytes(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(std::min(kLeafBytes, rest.size())));
  }
  if (IsListing(tree.kind)) {
    ASSAY_ASSIGN(const auto made, Tree(tree));
    if (index >= made->size()) return Err("leaf {}: the tree has {}", index, made->size());
    ASSAY_ASSIGN(const auto list, List(tree));
    return list->leaves[static_cast<std::size_t>(index)];
  }
  ASSAY_ASSIGN(const std::uint64_t size, terms_.TreeSize(tree));
  if (index >= size) return Err("leaf {}: the tree has {}", index, size);
  ASSAY_ASSIGN(const Tensor* tensor, Content(tree));
  return BlockOf(*tensor, index);
}

Result<std::shared_ptr<const Listing>> RunAccount::List(const TreeName& tree) {
  if (tree.kind == TreeKind::kTrace) {
    ASSAY_ASSIGN(const auto traced, Traced(tree.at));
    return traced->records;
  }
  if (tree.kind == TreeKind::kWeights && weights_) return weights_;
  if (const auto* made = lists_.Find(tree)) return *made;
  ASSAY_ASSIGN(std::vector<Bytes> records, Records(tree));
  auto made = std::make_shared<const Listing>(std::move(records));
  lists_.Put(tree, made, made->bytes());
  return made;
}

Result<std::vector<Bytes>> RunAccount::Records(const TreeName& tree) {
  switch (tree.kind) {
    case TreeKind::kLog: return LogRecords();
    case TreeKind::kBatches: return BatchRecords(tree.at);
    case TreeKind::kStates: return StateRecords(tree.at);
    case TreeKind::kState: return StateEntries(tree.at);
    case TreeKind::kRoundings: return RoundingRecords(tree.at);
    case TreeKind::kWeights: return WeightRecords();
    default: return BatchEntries(tree.at);
  }
}

Result<std::vector<Bytes>> RunAccount::LogRecords() const {
  std::vector<Bytes> records;
  for (const LogEntry& entry : log_.entries()) records.push_back(assay::Encode(entry));
  return records;
}

Result<std::vector<Bytes>> RunAccount::BatchRecords(std::int64_t entry) {
  std::vector<Bytes> records;
  for (std::int64_t step = terms_.StepBefore(entry) + 1; step <= terms_.StepOf(entry); ++step) {
    ASSAY_ASSIGN(const Digest root, rerun_.BatchRoot(step));
    records.emplace_back(root.bytes.begin(), root.bytes.end());
  }
  return records;
}

Result<std::vector<Bytes>> RunAccount::RoundingRecords(std::int64_t entry) {
  std::vector<Bytes> records;
  for (std::int64_t step = terms_.StepBefore(entry) + 1; step <= terms_.StepOf(entry); ++step) {
    ASSAY_ASSIGN(const Bytes log, rerun_.Rounding(step));
    records.push_back(assay::Encode(RoundingLeafOf(log)));
  }
  return records;
}

// Of the file that was delivered, whether or not it is what the last state gives: that is what the receipt promises.
Result<std::vector<Bytes>> RunAccount::WeightRecords() const {
  ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(site_.run.weights_path()));
  ASSAY_ASSIGN(const std::vector<TensorEntry> entries, EntriesOf(file, site_.pool));
  std::vector<Bytes> records;
  Hashes hashes;
  for (const TensorEntry& entry : entries) {
    records.push_back(EntryBytes(kWeightsTag, entry));
    hashes.push_back(LeafHash(records.back()));
  }
  // A copy that has gone bad is nothing to sign for.
  ASSAY_ASSIGN(const Claim own, OpenClaim(receipt_, "receipt"));
  if (TreeRoot(std::move(hashes)) != own.receipt.weights) {
    return tl::unexpected(Error{fmt::format("{}: is not the file that the receipt promises", site_.run.weights_path()), true});
  }
  return records;
}

// The job does not say how long it is.
Result<Bytes> RunAccount::RoundingLog(const TreeName& tree) {
  ASSAY_TRY(terms_.CheckRoundingLog(tree));
  return rerun_.Rounding(tree.at);
}

Result<std::vector<Bytes>> RunAccount::StateRecords(std::int64_t entry) {
  ASSAY_ASSIGN(std::vector<StepRecord> steps, rerun_.Records(terms_.StepBefore(entry), terms_.StepOf(entry)));
  // The last is what the run has committed to, whether or not running it again leads there.
  const LogEntry& committed = log_.entries().at(static_cast<std::size_t>(entry));
  steps.back() = {.step = committed.step, .state_root = committed.state_root, .loss_bits = committed.loss_bits};
  std::vector<Bytes> records;
  for (const StepRecord& step : steps) records.push_back(Encode(step));
  return records;
}

Result<std::vector<Bytes>> RunAccount::StateEntries(std::int64_t step) {
  ASSAY_ASSIGN(const State* state, rerun_.At(step));
  const std::vector<Digest> roots = RootsOf(*state, site_.backend, site_.pool);
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < roots.size(); ++i) records.push_back(terms_.StateEntry(i, roots[i]));
  return records;
}

Result<std::vector<Bytes>> RunAccount::BatchEntries(std::int64_t step) {
  ASSAY_ASSIGN(const std::vector<Tensor>* batch, BatchOf(step));
  const std::vector<Digest> roots = RootsOf(*batch, site_.backend, site_.pool);
  std::vector<Bytes> records;
  for (std::size_t i = 0; i < roots.size(); ++i) records.push_back(terms_.BatchEntry(i, roots[i]));
  return records;
}

Result<std::vector<Digest>> RunAccount::TensorLeaves(const TreeName& tree) {
  if (tree.kind == TreeKind::kRoundingLog) {
    ASSAY_ASSIGN(const Bytes log, RoundingLog(tree));
    std::vector<Digest> leaves(CountLeaves(log.size()));
    HashLeaves(log, leaves);
    return leaves;
  }
  if (tree.kind == TreeKind::kOutput) {
    ASSAY_ASSIGN(const auto traced, Traced(tree.at));
    return traced->nodes[tree.node][tree.index].leaves;
  }
  if (tree.kind == TreeKind::kInput) {
    const InputSource source = terms_.nodes().Sources(tree.node)[tree.index];
    if (source.kind == InputSource::Kind::kNode) {
      ASSAY_ASSIGN(const auto traced, Traced(tree.at));
      return traced->nodes[source.node][source.index].leaves;
    }
  }
  ASSAY_ASSIGN(const Tensor* tensor, Content(tree));
  return LeavesOf(*tensor, site_.backend);
}

Result<const Tensor*> RunAccount::Content(const TreeName& tree) {
  switch (tree.kind) {
    case TreeKind::kStateTensor: {
      ASSAY_ASSIGN(const State* state, rerun_.At(tree.at));
      return &(*state)[tree.index];
    }
    case TreeKind::kBatchField: {
      ASSAY_ASSIGN(const std::vector<Tensor>* batch, BatchOf(tree.at));
      return &(*batch)[tree.index];
    }
    default: {
      ASSAY_ASSIGN(const auto captured, Captured(tree.at, tree.node));
      return &(tree.kind == TreeKind::kInput ? captured->inputs : captured->outputs)[tree.index];
    }
  }
}

Result<std::shared_ptr<const TracedStep>> RunAccount::Traced(std::int64_t step) {
  if (const auto* made = traces_.Find(step)) return *made;
  StepRecorder recorder(terms_.program(), terms_.nodes(), site_.backend);
  ASSAY_TRY(rerun_.Observe(step, recorder));
  ASSAY_ASSIGN(TracedStep traced, recorder.Take());
  auto made = std::make_shared<const TracedStep>(std::move(traced));
  traces_.Put(step, made, made->bytes());
  return made;
}

Result<std::shared_ptr<const NodeCapture>> RunAccount::Captured(std::int64_t step, std::uint32_t node) {
  if (const auto* made = captures_.Find({step, node})) return *made;
  NodeCapturer capturer(terms_.program(), terms_.nodes(), node, site_.backend);
  ASSAY_TRY(rerun_.Observe(step, capturer));
  ASSAY_ASSIGN(NodeCapture captured, capturer.Take());
  auto made = std::make_shared<const NodeCapture>(std::move(captured));
  captures_.Put({step, node}, made, made->bytes());
  return made;
}

Result<const std::vector<Tensor>*> RunAccount::BatchOf(std::int64_t step) {
  if (const auto* made = batches_.Find(step)) return made;
  ASSAY_ASSIGN(std::vector<Tensor> loaded, rerun_.Batch(step));
  std::vector<Tensor> batch;
  std::size_t bytes = 0;
  for (const Terms::Field& field : terms_.fields()) {
    const auto found = std::ranges::find(rerun_.batch_fields(), field.name, &BatchField::name);
    batch.push_back(std::move(loaded[static_cast<std::size_t>(found - rerun_.batch_fields().begin())]));
    bytes += batch.back().type().bytes();
  }
  batches_.Put(step, std::move(batch), bytes);
  return batches_.Find(step);
}

Result<SamplesAnswer> RunAccount::Samples(const SamplesQuestion& question) {
  if (question.step < 1 || question.step > terms_.job().steps)
    return Err("step {}: the job has {}", question.step, terms_.job().steps);
  const std::vector<std::int64_t> indices = rerun_.JobsPlan(question.step).indices;
  if (question.begin >= question.end || question.end > indices.size()) {
    return Err("samples {} .. {}: a batch has {}", question.begin, question.end, indices.size());
  }
  const Data& data = site_.prepared.data;
  if (!prover_) {
    ASSAY_ASSIGN(BatchProver prover, BatchProver::Make(data.part, data.rule, &site_.pool));
    if (prover.root() != site_.prepared.identity.data) {
      return tl::unexpected(OtherData(site_.prepared, fmt::format("its root is {}", prover.root().hex())));
    }
    prover_.emplace(std::move(prover));
  }
  const auto count = static_cast<std::size_t>(question.end - question.begin);
  const auto asked = std::span(indices).subspan(static_cast<std::size_t>(question.begin), count);
  SamplesAnswer answer{.descriptor = data.part.descriptor, .proof = prover_->Prove(asked)};
  // The data may have changed since it was hashed.
  const DataClaim claim{.root = site_.prepared.identity.data, .descriptor = answer.descriptor, .rule = data.rule};
  const DrawContext first{.seed = terms_.job().seed,
                          .step = static_cast<std::uint32_t>(question.step - 1),
                          .position = static_cast<std::int64_t>(question.begin),
                          .train = true};
  if (const auto proven = VerifyBatch(answer.proof, claim, asked, first); !proven) {
    return tl::unexpected(OtherData(site_.prepared, proven.error().message));
  }
  return answer;
}

Result<std::vector<ref::Value>> RunAccount::Parts(const PartsQuestion& question) {
  ASSAY_ASSIGN(const TensorType type, terms_.TensorOf({TreeKind::kOutput, question.step, question.node, question.output}));
  if (question.element < 0 || question.element >= type.elements())
    return Err("element {}: the output is {}", question.element, ToString(type));
  ASSAY_ASSIGN(const auto captured, Captured(question.step, question.node));
  std::vector<const void*> in;
  for (const Tensor& input : captured->inputs) in.push_back(input.data());
  const OpInstance op = terms_.nodes().Instance(question.node);
  return terms_.job().precision == Precision::kFp64Rounded ? RoundedPartsAt(op, question, in) : PartsAt(op, question, in);
}

}  // namespace assay::dispute
