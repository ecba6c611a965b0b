#include "toy.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "assay/base/check.h"
#include "assay/merkle/hash_tree.h"
#include "assay/merkle/tree.h"

namespace assay::dispute::toy {
namespace {

std::uint32_t Mix(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  std::uint32_t h = a * 0x9E3779B1u + b * 0x85EBCA77u + c * 0xC2B2AE3Du + d * 0x27D4EB2Fu + 0x165667B1u;
  h = (h ^ (h >> 15)) * 0x2C1B3C6Du;
  h = (h ^ (h >> 12)) * 0x297A2D39u;
  return h ^ (h >> 15);
}

constexpr std::uint32_t kStart = 12345;
constexpr std::size_t kMaxLeaf = 4096;

std::uint32_t Part(std::int64_t step, std::uint32_t node, std::uint32_t input, std::uint32_t part) {
  return Mix(static_cast<std::uint32_t>(step), node, input, part);
}

Digest RootOfNumber(std::uint32_t number) {
  ByteWriter out;
  out.U32(number);
  return LeafHash(out.bytes());
}

Bytes Leaf(std::uint64_t a, std::uint32_t b, std::uint32_t c = 0, const Digest& d = {}) {
  ByteWriter out;
  out.U64(a);
  out.U32(b);
  out.U32(c);
  out.Raw(d.bytes);
  return out.Take();
}

struct ReadLeaf {
  std::uint64_t at = 0;  // step or node
  std::uint32_t value = 0, input = 0;
  Digest previous{};
};
Result<ReadLeaf> ReadFrom(const Bytes& bytes) {
  ByteReader in(bytes, "leaf");
  ReadLeaf leaf;
  ASSAY_ASSIGN(leaf.at, in.U64());
  ASSAY_ASSIGN(leaf.value, in.U32());
  ASSAY_ASSIGN(leaf.input, in.U32());
  ASSAY_ASSIGN(const ByteSpan previous, in.Raw(32));
  std::ranges::copy(previous, leaf.previous.bytes.begin());
  ASSAY_TRY(in.End());
  return leaf;
}

HashTree TreeOf(const std::vector<Bytes>& leaves) {
  std::vector<Digest> hashes;
  for (const Bytes& leaf : leaves) hashes.push_back(LeafHash(leaf));
  return HashTree(std::move(hashes));
}

std::uint64_t SizeOf(const Shape& shape, const TreeName& tree) {
  switch (tree.kind) {
    case TreeKind::kLog: return shape.entries();
    case TreeKind::kStates: return static_cast<std::uint64_t>(shape.every);
    default: return shape.nodes;
  }
}

// The law. Functions return what they found, or what ends the examination.
using Next = decltype(Outcome::next);
template <class T>
using Step = tl::expected<T, Next>;
template <class T>
using Both = std::array<T, 2>;

class Exam {
 public:
  Exam(const Shape& shape, const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b)
      : shape_(shape), claims_{&a, &b}, said_{&said_a, &said_b} {}

  Step<void> Run() {
    const Receipt &a = claims_[0]->receipt, &b = claims_[1]->receipt;
    if (a.log.root == b.log.root && a.final_state_root == b.final_state_root) return End(Agreement{});
    const std::uint64_t last = shape_.entries() - 1;
    ASSAY_ASSIGN(const Both<ReadLeaf> ends, Open(kLog, last, {a.log.root, b.log.root}));
    const Both<bool> contradicts{RootOfNumber(ends[0].value) != a.final_state_root,
                                 RootOfNumber(ends[1].value) != b.final_state_root};
    if (contradicts[0] || contradicts[1]) return Convict(contradicts[0], contradicts[1], Finding{.cause = Cause::kReceipt});
    ASSAY_ASSIGN(const std::uint64_t entry, Descend(kLog, {a.log.root, b.log.root}));
    return Entry(entry, {a.log.root, b.log.root});
  }

 private:
  static constexpr TreeName kLog{.kind = TreeKind::kLog};

  static tl::unexpected<Next> End(Next next) { return tl::unexpected<Next>(std::move(next)); }
  static tl::unexpected<Next> Convict(bool a, bool b, Finding finding) {
    ASSAY_CHECK(a || b);
    finding.guilty[0] = a;
    finding.guilty[1] = b;
    finding.reason = std::string(ToString(finding.cause));
    return End(finding);
  }

  static tl::unexpected<Next> Blame(bool a, bool b, Cause cause, const Question& question) {
    Finding finding;
    finding.cause = cause;
    finding.unproven = question;
    return Convict(a, b, finding);
  }

  template <class Read>
  auto Ask(const Question& question, const Read& read)
      -> Step<Both<typename std::invoke_result_t<Read, std::size_t, ByteSpan>::value_type>> {
    std::vector<dispute::Ask> asks;
    for (const std::size_t p : {0, 1}) {
      if (said_[p]->Find(question) == nullptr) asks.push_back({static_cast<Party>(p), question});
    }
    if (!asks.empty()) return End(std::move(asks));
    auto a = read(0, *said_[0]->Find(question));
    auto b = read(1, *said_[1]->Find(question));
    if (!a || !b) return Blame(!a, !b, Cause::kUnproven, question);
    return Both<typename decltype(a)::value_type>{std::move(*a), std::move(*b)};
  }

  Step<std::uint64_t> Descend(const TreeName& tree, Both<Digest> hash) {
    LeafSpan span{0, SizeOf(shape_, tree)};
    while (span.size() > 1) {
      const std::vector<LeafSpan> halves = Frontier(span, 1);
      ASSAY_ASSIGN(const auto hashes, Ask(ExpandQuestion{tree, span}, [&](std::size_t p, ByteSpan body) -> Result<Hashes> {
                     ASSAY_ASSIGN(Hashes read, ReadHashes(body, 2));
                     if (JoinFrontier(span, 1, read) != hash[p]) return Err("no");
                     return read;
                   }));
      const std::size_t half = hashes[0][0] != hashes[1][0] ? 0 : 1;
      span = halves[half];
      hash = {hashes[0][half], hashes[1][half]};
    }
    return span.begin;
  }

  Step<Both<ReadLeaf>> Open(const TreeName& tree, std::uint64_t leaf, const Both<Digest>& roots) {
    const LeavesQuestion question{tree, {{leaf, leaf + 1}}};
    return Ask(question, [&](std::size_t p, ByteSpan body) -> Result<ReadLeaf> {
      ASSAY_ASSIGN(const auto spans, OpenLeaves(body, question, SizeOf(shape_, tree), kMaxLeaf, roots[p]));
      return ReadFrom(spans.front().leaves.front());
    });
  }

  Step<Both<Digest>> Commit(const TreeName& tree) {
    return Ask(CommitQuestion{tree}, [](std::size_t, ByteSpan body) -> Result<Digest> {
      ASSAY_ASSIGN(const Hashes hashes, ReadHashes(body, 1));
      return hashes.front();
    });
  }

  // Everything but the value is known; who says otherwise is guilty.
  static Step<void> Check(const Both<ReadLeaf>& leaves, const ReadLeaf& right, Cause cause) {
    Both<bool> bad{};
    for (const std::size_t p : {0, 1}) {
      bad[p] = leaves[p].at != right.at || leaves[p].input != right.input || leaves[p].previous != right.previous;
    }
    if (bad[0] || bad[1]) return Convict(bad[0], bad[1], Finding{.cause = cause});
    return {};
  }

  Step<void> Entry(std::uint64_t entry, const Both<Digest>& roots) {
    ASSAY_ASSIGN(const Both<ReadLeaf> leaves, Open(kLog, entry, roots));
    if (entry == 0) return Convict(leaves[0].value != kStart, leaves[1].value != kStart, Finding{.cause = Cause::kStart});
    ASSAY_ASSIGN(const Both<ReadLeaf> before, Open(kLog, entry - 1, roots));
    const std::uint64_t last = entry * static_cast<std::uint64_t>(shape_.every);
    const Digest previous = LeafHash(Leaf(before[0].at, before[0].value, 0, before[0].previous));
    ASSAY_TRY(Check(leaves, {last, 0, 0, previous}, Cause::kEntry));
    return States(static_cast<std::int64_t>(entry), before[0].value, {leaves[0].value, leaves[1].value});
  }

  Step<void> States(std::int64_t entry, std::uint32_t before, const Both<std::uint32_t>& after) {
    const std::int64_t first = (entry - 1) * shape_.every + 1;
    if (shape_.every == 1) return Trace(first, before, after);
    const TreeName tree{.kind = TreeKind::kStates, .at = entry};
    ASSAY_ASSIGN(const Both<Digest> roots, Commit(tree));
    ASSAY_ASSIGN(const Both<ReadLeaf> last, Open(tree, static_cast<std::uint64_t>(shape_.every) - 1, roots));
    const Both<bool> bad{last[0].value != after[0], last[1].value != after[1]};
    if (bad[0] || bad[1]) return Convict(bad[0], bad[1], Finding{.cause = Cause::kHistory});
    ASSAY_ASSIGN(const std::uint64_t at, Descend(tree, roots));
    ASSAY_ASSIGN(const Both<ReadLeaf> leaves, Open(tree, at, roots));
    ASSAY_TRY(Check(leaves, {static_cast<std::uint64_t>(first) + at, 0, 0, {}}, Cause::kHistory));
    std::uint32_t start = before;
    if (at > 0) {
      ASSAY_ASSIGN(const Both<ReadLeaf> agreed, Open(tree, at - 1, roots));
      start = agreed[0].value;
    }
    return Trace(first + static_cast<std::int64_t>(at), start, {leaves[0].value, leaves[1].value});
  }

  Step<void> Trace(std::int64_t step, std::uint32_t before, const Both<std::uint32_t>& after) {
    const TreeName tree{.kind = TreeKind::kTrace, .at = step};
    ASSAY_ASSIGN(const Both<Digest> roots, Commit(tree));
    ASSAY_ASSIGN(const Both<ReadLeaf> last, Open(tree, shape_.nodes - 1, roots));
    const Both<bool> bad{last[0].value != after[0], last[1].value != after[1]};
    if (bad[0] || bad[1]) return Convict(bad[0], bad[1], Finding{.cause = Cause::kResult, .step = step});
    ASSAY_ASSIGN(const std::uint64_t node, Descend(tree, roots));
    ASSAY_ASSIGN(const Both<ReadLeaf> leaves, Open(tree, node, roots));
    std::uint32_t input = before;
    if (node > 0) {
      ASSAY_ASSIGN(const Both<ReadLeaf> agreed, Open(tree, node - 1, roots));
      input = agreed[0].value;
    }
    ASSAY_TRY(Check(leaves, {node, 0, input, {}}, Cause::kInput));
    return Value(step, static_cast<std::uint32_t>(node), input, {leaves[0].value, leaves[1].value});
  }

  Step<void> Value(std::int64_t step, std::uint32_t node, std::uint32_t input, const Both<std::uint32_t>& said) {
    const PartsQuestion question{.step = step, .node = node};
    ASSAY_ASSIGN(const auto parts, Ask(question, [&](std::size_t p, ByteSpan body) -> Result<std::vector<ref::Value>> {
                   ASSAY_ASSIGN(auto values, ReadValues(body, 2));
                   if (values[0] + values[1] != said[p]) return Err("no");
                   return values;
                 }));
    const std::size_t which = parts[0][0] != parts[1][0] ? 0 : 1;
    const std::uint32_t right = Part(step, node, input, static_cast<std::uint32_t>(which));
    return Convict(parts[0][which] != right, parts[1][which] != right,
                   Finding{.cause = Cause::kOutput, .step = step, .node = node});
  }

  const Shape& shape_;
  Both<const Claim*> claims_;
  Both<const Testimony*> said_;
};

}  // namespace

const Fault* Run::Has(Lie lie, std::int64_t step, std::uint32_t node) const {
  const auto found = std::ranges::find_if(
      faults_, [&](const Fault& fault) { return fault.lie == lie && fault.step == step && fault.node == node; });
  return found == faults_.end() ? nullptr : &*found;
}

Run::Run(const Shape& shape, std::vector<Fault> faults) : shape_(shape), faults_(std::move(faults)) {
  const auto changed = [&](std::uint32_t value, Lie lie, std::int64_t step, std::uint32_t node) {
    const Fault* fault = Has(lie, step, node);
    return fault == nullptr ? value : value ^ fault->delta;
  };
  const auto steps = static_cast<std::size_t>(shape.steps);
  states_.push_back(changed(kStart, Lie::kStart, 1, 0));
  in_.resize(steps + 1, std::vector<std::uint32_t>(shape.nodes));
  out_ = in_;
  for (std::int64_t s = 1; s <= shape.steps; ++s) {
    std::uint32_t value = states_.back();
    for (std::uint32_t n = 0; n < shape.nodes; ++n) {
      value = in_[static_cast<std::size_t>(s)][n] = changed(value, Lie::kInput, s, n);
      value = changed(Part(s, n, value, 0) + Part(s, n, value, 1), Lie::kOutput, s, n);
      out_[static_cast<std::size_t>(s)][n] = value;
    }
    const Fault* result = Has(Lie::kResult, s, 0);
    states_.push_back(result != nullptr && result->to ? *result->to : changed(value, Lie::kResult, s, 0));
  }
  Digest previous{};
  for (std::int64_t s = 0; s <= shape.steps; s += shape.every) {
    log_.push_back(Leaf(static_cast<std::uint64_t>(s), states_[static_cast<std::size_t>(s)], 0, previous));
    previous = LeafHash(log_.back());
  }
  receipt_.steps = shape.steps;
  receipt_.log = {.origin = "toy", .size = log_.size(), .root = TreeOf(log_).root()};
  receipt_.initial_state_root = RootOfNumber(states_.front());
  receipt_.final_state_root = RootOfNumber(changed(states_.back(), Lie::kReceipt, 1, 0));
}

Result<std::vector<Bytes>> Run::Leaves(const TreeName& tree) const {
  std::vector<Bytes> leaves;
  if (tree.kind == TreeKind::kLog) return log_;
  if (tree.kind == TreeKind::kStates && tree.at >= 1 && tree.at <= shape_.steps / shape_.every) {
    for (std::int64_t s = (tree.at - 1) * shape_.every + 1; s <= tree.at * shape_.every; ++s) {
      leaves.push_back(Leaf(static_cast<std::uint64_t>(s), states_[static_cast<std::size_t>(s)]));
    }
    return leaves;
  }
  if (tree.kind == TreeKind::kTrace && tree.at >= 1 && tree.at <= shape_.steps) {
    const auto s = static_cast<std::size_t>(tree.at);
    for (std::uint32_t n = 0; n < shape_.nodes; ++n) leaves.push_back(Leaf(n, out_[s][n], in_[s][n]));
    return leaves;
  }
  return Err("no such tree");
}

Result<const Run::Listed*> Run::List(const TreeName& tree) const {
  auto found = lists_.find(tree);
  if (found == lists_.end()) {
    ASSAY_ASSIGN(std::vector<Bytes> leaves, Leaves(tree));
    HashTree hashed = TreeOf(leaves);
    found = lists_.emplace(tree, Listed{std::move(leaves), std::move(hashed)}).first;
  }
  return &found->second;
}

Result<Bytes> Run::Answer(const Question& question) const {
  if (const auto* q = std::get_if<PartsQuestion>(&question)) {
    if (q->step < 1 || q->step > shape_.steps || q->node >= shape_.nodes) return Err("no such value");
    const std::uint32_t input = in_[static_cast<std::size_t>(q->step)][q->node];
    const std::uint32_t value = out_[static_cast<std::size_t>(q->step)][q->node];
    std::uint32_t parts[] = {Part(q->step, q->node, input, 0), Part(q->step, q->node, input, 1)};
    const Fault* fault = Has(Lie::kOutput, q->step, q->node);
    (fault != nullptr && fault->delta % 2 == 1 ? parts[0] : parts[1]) += value - (parts[0] + parts[1]);
    return EncodeValues(parts);
  }
  const auto* commit = std::get_if<CommitQuestion>(&question);
  const auto* expand = std::get_if<ExpandQuestion>(&question);
  const auto* open = std::get_if<LeavesQuestion>(&question);
  if (commit == nullptr && expand == nullptr && open == nullptr) return Err("no such question");
  ASSAY_ASSIGN(const Listed* listed, List(commit ? commit->tree : expand ? expand->tree : open->tree));
  const std::vector<Bytes>& leaves = listed->leaves;
  const HashTree& tree = listed->tree;
  if (commit != nullptr) return EncodeHashes(std::array{tree.root()});
  if (expand != nullptr) {
    if (!IsNode(expand->span, tree.size()) || expand->span.size() < 2) return Err("no such node");
    Hashes hashes;
    for (const LeafSpan& half : Frontier(expand->span, 1)) hashes.push_back(tree.Node(half));
    return EncodeHashes(hashes);
  }
  std::vector<SpanProof> spans;
  for (const LeafSpan& span : open->spans) {
    if (span.end > tree.size()) return Err("no such leaves");
    const auto first = leaves.begin() + static_cast<std::ptrdiff_t>(span.begin);
    spans.push_back({{first, first + static_cast<std::ptrdiff_t>(span.size())}, tree.ProveRange(span.begin, span.end)});
  }
  return EncodeLeaves(spans);
}

VerifyKey KeyOf(std::uint32_t number) {
  std::array<std::uint8_t, 32> point{};
  for (std::size_t i = 0; i < 4; ++i) point[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return VerifyKey("toy", point);
}

Signature Sign(const Digest& question, ByteSpan body, const VerifyKey& key) {
  Sha256 hash;
  hash.Update(key.point());
  hash.Update(question.bytes);
  hash.Update(body);
  Signature signature{};
  std::ranges::copy(hash.Finish().bytes, signature.begin());
  return signature;
}

Signature SignAs(std::string_view what, ByteSpan bytes, const KeyPoint& key) {
  Sha256 hash;
  hash.Update(AsBytes(what));
  hash.Update(key);
  hash.Update(bytes);
  Signature signature{};
  std::ranges::copy(hash.Finish().bytes, signature.begin());
  return signature;
}

std::string ReceiptOf(const Run& run, std::uint32_t key, std::uint32_t note) {
  const Receipt& receipt = run.receipt();
  ByteWriter out;
  out.U32(key);
  out.U32(note);
  out.I64(receipt.steps);
  out.U64(receipt.log.size);
  for (const Digest& root : {receipt.log.root, receipt.initial_state_root, receipt.final_state_root}) out.Raw(root.bytes);
  out.Raw(SignAs("receipt", out.bytes(), KeyOf(key).point()));
  return {out.bytes().begin(), out.bytes().end()};
}

Result<Claim> OpenReceipt(const std::string& file) {
  ByteReader in(AsBytes(file), "receipt");
  ASSAY_ASSIGN(const std::uint32_t key, in.U32());
  ASSAY_ASSIGN(const std::uint32_t note, in.U32());
  Claim claim{Receipt(), KeyOf(key), HashBytes(AsBytes(file))};
  Receipt& receipt = claim.receipt;
  receipt.snapshot_every = note;
  receipt.signer = std::to_string(key);
  receipt.log.origin = "toy";
  ASSAY_ASSIGN(receipt.steps, in.I64());
  ASSAY_ASSIGN(receipt.log.size, in.U64());
  for (Digest* root : {&receipt.log.root, &receipt.initial_state_root, &receipt.final_state_root}) {
    ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(root->bytes.size()));
    std::ranges::copy(bytes, root->bytes.begin());
  }
  ASSAY_ASSIGN(const ByteSpan said, in.Raw(sizeof(Signature)));
  ASSAY_TRY(in.End());
  const ByteSpan before = AsBytes(file).first(file.size() - said.size());
  if (!std::ranges::equal(said, SignAs("receipt", before, claim.signer.point())))
    return Err("receipt: not signed by its signer");
  return claim;
}

Claim ClaimOf(const Run& run, std::uint32_t key) { return *OpenReceipt(ReceiptOf(run, key)); }

std::shared_ptr<const Law> ToyLaw(const Shape& shape, std::uint64_t nonce) {
  LawOptions options;
  for (std::size_t i = 0; i < 8; ++i) options.nonce.bytes[i] = static_cast<std::uint8_t>(nonce >> (8 * i));
  return ToyLaw(shape, options);
}

std::shared_ptr<const Law> ToyLaw(const Shape& shape, const LawOptions& options) {
  auto law = std::make_shared<Law>();
  law->examine = [shape](const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b) {
    Step<void> ended = Exam(shape, a, b, said_a, said_b).Run();
    ASSAY_CHECK(!ended);
    return Outcome{std::move(ended.error()), {}};
  };
  law->check = [shape](const Claim& claim) -> Status {
    if (claim.receipt.log.size != shape.entries()) return Err("the log has {} entries", claim.receipt.log.size);
    return {};
  };
  law->group = [](const Claim& claim) { return NodeHash(claim.receipt.log.root, claim.receipt.final_state_root); };
  law->contradict = [exact = !options.pair](const Claim&, const Claim&) { return exact; };
  law->dispute = [options](std::vector<Digest> receipts) {
    return DisputeId(
        {.job = {}, .referee = options.referee, .receipts = std::move(receipts), .nonce = options.nonce, .pair = options.pair});
  };
  law->is_signed = [](const Answer& answer, ByteSpan question, const VerifyKey& key) {
    return answer.signature == Sign(HashBytes(question), answer.body, key);
  };
  law->open_log = [shape](const Claim& claim, const LeavesQuestion& question, ByteSpan body) -> Result<std::vector<Bytes>> {
    ASSAY_ASSIGN(const auto spans, OpenLeaves(body, question, shape.entries(), kMaxLeaf, claim.receipt.log.root));
    std::vector<Bytes> leaves;
    for (const SpanProof& span : spans) leaves.insert(leaves.end(), span.leaves.begin(), span.leaves.end());
    return leaves;
  };
  law->max_answer_bytes = [](const Question&) { return kMaxAnswerBytes; };
  law->entry = [shape](const Question& question) -> std::optional<std::int64_t> {
    if (const auto* commit = std::get_if<CommitQuestion>(&question)) {
      return commit->tree.kind == TreeKind::kStates ? commit->tree.at : (commit->tree.at + shape.every - 1) / shape.every;
    }
    return std::nullopt;
  };
  return law;
}

}  // namespace assay::dispute::toy
