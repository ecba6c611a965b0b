#include "real_stage.h"

#include <algorithm>
#include <numeric>

#include "assay/dispute/fees.h"
#include "jobs_for_test.h"
#include "kept_evidence.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kMaxRead = 4096;
constexpr std::size_t kWholeJudgement = 16;  // of so many pieces of evidence one is judged from its bytes alone

Signature LastOf(const Bytes& message) {
  Signature signature{};
  std::copy(message.end() - static_cast<std::ptrdiff_t>(signature.size()), message.end(), signature.begin());
  return signature;
}

auto FlipNode(std::int64_t at, std::size_t which) {
  return [=](std::int64_t step, std::size_t node, std::span<const std::span<std::uint8_t>> outputs) {
    if (step == at && node == which) outputs[0][0] ^= 1;
  };
}

}  // namespace

RealStage::RealStage(const std::string& job) : prepared_(PreparedFrom(job)) {
  for (Key i = 0; i < kKeys; ++i)
    keys_.emplace_back(fmt::format("party{}", i), ed25519::Seed{static_cast<std::uint8_t>(i + 1)});
  Make({});
  MakeLies();
  if (every() > 1) MakeStories();
}

void RealStage::Make(Lies lies) {
  runs_.push_back(std::make_unique<MemoryRun>(prepared_, keys_.front(), std::move(lies)));
  if (!terms_) terms_ = std::make_shared<const Terms>(*Terms::Make(runs_.front()->job(), runs_.front()->program()));
}

void RealStage::MakeLies() {
  const std::int64_t middle = (steps() + 1) / 2;
  const std::size_t nodes = terms_->nodes().size();
  Make({.node = FlipNode(middle, nodes / 8)});
  Make({.node = [=, last = steps()](std::int64_t step, std::size_t node, auto outputs) {
    FlipNode(middle, nodes / 8)(step, node, outputs);
    FlipNode(last, nodes / 3)(step, node, outputs);
  }});
  Make({.node = FlipNode(middle, nodes - 1)});
  Make({.after = [=](std::int64_t step, State& state) {
    if (step == middle) state.back().mutable_bytes()[5] ^= 1;
  }});
  Make({.start = [](State& state) { state[1].mutable_bytes()[1] ^= 1; }});
  Make({.plan = [=](std::int64_t step, StepPlan& plan) {
    if (step >= middle) plan.lr *= 2;
  }});
  const auto poison = [=](std::int64_t step, std::int64_t, std::span<Tensor> fields) {
    if (step == middle) fields[0].mutable_bytes()[0] ^= 1;
  };
  Make({.batch = poison});
  Make({.batch = poison, .admits_batches = true});
  Make({.loss = [=](std::int64_t step, std::uint32_t& bits) {
    if (step == middle) bits ^= 1;
  }});
  Make({.weights = [](std::vector<Bytes>& weights) { weights.front()[0] ^= 1; }});
  Make({.receipt = [](Receipt& receipt) { receipt.final_state_root.bytes[0] ^= 1; }});
}

// All end the first interval in the state that the one before them ended it in.
void RealStage::MakeStories() {
  const auto end = std::make_shared<std::vector<Bytes>>();
  for (std::int64_t from = every(); from > 0; --from) {
    Make({.after = [=, this](std::int64_t step, State& state) {
      if (step == from) state.front().mutable_bytes()[0] ^= 1;
      if (step != every()) return;
      if (end->empty()) {
        for (const Tensor& tensor : state) end->emplace_back(tensor.bytes().begin(), tensor.bytes().end());
      }
      for (std::size_t i = 0; i < state.size(); ++i) std::ranges::copy((*end)[i], state[i].mutable_bytes().begin());
    }});
  }
}

Budget RealStage::bout() const {
  return {.work = {.steps_run = 2 * every(), .steps_traced = 2, .batches_loaded = every() + 2}, .bytes = kBoutBytes};
}

std::shared_ptr<const Law> RealStage::LawFor(const LawOptions& options) const { return LawOf(terms_, options); }

Evidence RealStage::EvidenceOf(const LawOptions& options, const std::vector<std::string>& receipts,
                               const Record& record) const {
  std::vector<std::uint32_t> numbers(receipts.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  return MakeEvidence(*terms_, options, receipts, numbers, record);
}

Result<Judgement> RealStage::Judged(const Evidence& evidence) const {
  KeepEvidence(evidence);
  const bool same = evidence.job == terms_->job_bytes() && evidence.program == terms_->program_bytes();
  if (!same || ++judged_ % kWholeJudgement == 0) return Judge(evidence);
  std::vector<Claim> claims, others;
  for (const Evidence::Party& party : evidence.parties) {
    const Result<Claim>& claim = Read(party.receipt);
    if (!claim) return tl::unexpected(claim.error());
    claims.push_back(*claim);
  }
  for (const std::string& receipt : evidence.others) {
    const Result<Claim>& claim = Read(receipt);
    if (!claim) return tl::unexpected(claim.error());
    others.push_back(*claim);
  }
  return JudgeBy(*LawFor({.referee = evidence.referee, .nonce = evidence.nonce, .pair = evidence.pair, .unsigned_answers = {}}),
                 claims, evidence, others);
}

Question RealStage::AnyQuestion(Dice& dice) const {
  const StepNodes& nodes = terms_->nodes();
  while (true) {
    const auto step = static_cast<std::int64_t>(1 + dice.Below(static_cast<std::uint64_t>(steps())));
    const auto node = static_cast<std::uint32_t>(dice.Below(nodes.size()));
    if (dice.One(8)) return PartsQuestion{.step = step, .node = node};
    TreeName tree{.kind = static_cast<TreeKind>(1 + dice.Below(12))};
    if (tree.kind == TreeKind::kRoundings) continue;  // the job rounds nothing
    switch (tree.kind) {
      case TreeKind::kLog:
      case TreeKind::kWeights: break;
      case TreeKind::kBatches:
      case TreeKind::kStates: tree.at = (step + every() - 1) / every(); break;
      default: tree.at = step;
    }
    if (tree.kind == TreeKind::kInput || tree.kind == TreeKind::kOutput) tree.node = node;
    const auto size = terms_->TreeSize(tree);
    if (!size) continue;
    if ((tree.kind == TreeKind::kStates || tree.kind == TreeKind::kTrace) && dice.One(2)) return CommitQuestion{tree};
    if (*size > 1 && dice.One(2)) return ExpandQuestion{tree, {0, *size}};
    const std::uint64_t begin = dice.Below(*size);
    return LeavesQuestion{tree, {{begin, std::min(*size, begin + 1 + dice.Below(2))}}};
  }
}

std::string RealStage::ReceiptOf(std::size_t run, Key key, std::uint32_t note) const {
  std::string& made = receipts_[{run, key, note}];
  if (!made.empty()) return made;
  Receipt receipt = OpenClaim(runs_[run]->receipt(), "receipt")->receipt;
  receipt.signer = keys_[key].verify_key().ToString();
  receipt.snapshot_every += note;
  return made = SignReceipt(receipt, keys_[key]);
}

const Result<Claim>& RealStage::Read(const std::string& receipt) const {
  if (read_.size() > kMaxRead) read_.clear();
  auto found = read_.find(receipt);
  if (found == read_.end()) found = read_.emplace(receipt, OpenClaim(receipt, "receipt")).first;
  return found->second;
}

Signature RealStage::SignAnswer(ByteSpan question, ByteSpan body, Key key) const {
  return Sign(question, Bytes(body.begin(), body.end()), keys_[key]).signature;
}

Signature RealStage::SignQuestion(ByteSpan question, const Digest& receipt, Key referee) const {
  return LastOf(dispute::SignQuestion(question, receipt, keys_[referee]));
}

Signature RealStage::SignOpening(ByteSpan opening, Key referee) const {
  // The key of an opening that somebody else signs is not the one that it names.
  Bytes message(opening.begin(), opening.end());
  message.resize(message.size() + sizeof(Signature));
  const auto read = DecodeOpening(message);
  if (!read) return {};  // of what is no opening no signature is looked at
  Opening named = read->opening;
  named.referee = PointOf(referee);
  return LastOf(dispute::SignOpening(named, keys_[referee]));
}

Docket RealStage::DocketOf(const std::string& receipt, const Docket::Options& options) const {
  const Claim own = Opened(receipt);
  const auto contradicts = [this, group = GroupOf(own)](const std::string& file) -> Status {
    const Result<Claim>& other = Read(file);
    if (!other) return tl::unexpected(other.error());
    ASSAY_TRY(CheckClaim(*other, *terms_));
    if (GroupOf(*other) == group) return Err("the receipt that it shows says the same as ours");
    return {};
  };
  return Docket({.job = terms_->id(), .receipt = own.receipt_hash, .contradicts = contradicts}, options);
}

}  // namespace assay::dispute
