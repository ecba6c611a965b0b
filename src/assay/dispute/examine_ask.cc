// How an examination takes testimony: questions that are still open, trees that are walked down, leaves that prove themselves.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/dispute/limits.h"
#include "assay/dispute/proceedings.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {

std::vector<LeafSpan> SpansOf(std::span<const std::uint64_t> leaves) {
  std::vector<LeafSpan> spans;
  for (const std::uint64_t leaf : leaves) {
    if (!spans.empty() && leaf < spans.back().end) continue;
    if (!spans.empty() && leaf == spans.back().end) {
      ++spans.back().end;
    } else {
      spans.push_back({leaf, leaf + 1});
    }
  }
  return spans;
}

std::string UnprovenReason(const Question& question, std::string_view why) {
  const auto* expand = std::get_if<ExpandQuestion>(&question);
  const auto* leaves = std::get_if<LeavesQuestion>(&question);
  const TreeName* tree = expand != nullptr ? &expand->tree : leaves != nullptr ? &leaves->tree : nullptr;
  switch (tree != nullptr ? tree->kind : TreeKind::kTrace) {
    case TreeKind::kState:
    case TreeKind::kStateTensor:
      if (tree->at == 0) return "cannot show the starting state that it committed to";
      return fmt::format("cannot show the state that it committed to after step {}", tree->at);
    case TreeKind::kBatches:
      return fmt::format("cannot show the batches that it committed to in entry {} of its log", tree->at);
    case TreeKind::kBatch:
    case TreeKind::kBatchField: return fmt::format("cannot show the batch that it committed to for step {}", tree->at);
    default: break;
  }
  return fmt::format("the answer about {} does not hold: {}", Describe(question), why);
}

Halt Proceedings::Convict(bool a, bool b, Finding finding) {
  ASSAY_CHECK(a || b);
  finding.guilty[0] = a;
  finding.guilty[1] = b;
  return Halt{std::move(finding)};
}

std::uint64_t Proceedings::SizeOf(const TreeName& tree) const {
  const Result<std::uint64_t> size = terms_.TreeSize(tree);
  ASSAY_CHECK(size.has_value());
  return *size;
}

Step<Both<ByteSpan>> Proceedings::AskBoth(const Question& question) {
  std::vector<Ask> asks;
  Both<ByteSpan> bodies{};
  for (const Party party : {Party::kA, Party::kB}) {
    const auto p = static_cast<std::size_t>(party);
    if (const Bytes* said = said_[p]->Find(question)) {
      bodies[p] = *said;
    } else {
      asks.push_back({party, question});
    }
  }
  if (!asks.empty()) return tl::unexpected(Halt(std::move(asks)));
  return bodies;
}

Step<ByteSpan> Proceedings::AskOne(const Question& question) {
  const Bytes* said = said_[0]->Find(question);
  if (said == nullptr) return tl::unexpected(Halt(std::vector<Ask>{{Party::kA, question}}));
  return ByteSpan(*said);
}

Step<Difference> Proceedings::Descend(const TreeName& tree, const Both<Digest>& roots) {
  LeafSpan span{0, SizeOf(tree)};
  Both<Digest> hash = roots;
  ASSAY_CHECK(span.size() > 0 && hash[0] != hash[1]);
  while (span.size() > 1) {
    if (tree.kind == TreeKind::kLog && span.begin > 0) {
      const auto step = [&](std::uint64_t entry) { return terms_.StepOf(static_cast<std::int64_t>(entry)); };
      Show("steps", fmt::format("{}..{}", step(span.begin - 1), step(span.end - 1)));
    } else if (tree.kind == TreeKind::kTrace) {
      Show("nodes", fmt::format("step {}, nodes {}..{} of {}", tree.at, span.begin, span.end - 1, SizeOf(tree)));
    } else if (tree.kind != TreeKind::kLog) {
      Show("leaf", fmt::format("{}, leaves {}..{}", Describe(CommitQuestion{tree}).substr(12), span.begin, span.end - 1));
    }
    const std::vector<LeafSpan> parts = Frontier(span, kExpandLevels);
    const ExpandQuestion question{tree, span};
    ASSAY_ASSIGN(const auto hashes, ReadBoth(question, [&](Party party, ByteSpan body) -> Result<Hashes> {
                   ASSAY_ASSIGN(Hashes read, ReadHashes(body, parts.size()));
                   if (JoinFrontier(span, kExpandLevels, read) != hash[static_cast<std::size_t>(party)]) {
                     return Err("the hashes do not lead to the root");
                   }
                   return read;
                 }));
    std::size_t first = 0;
    while (hashes[0][first] == hashes[1][first]) ++first;  // their roots differ
    span = parts[first];
    hash = {hashes[0][first], hashes[1][first]};
  }
  return Difference{span.begin, hash};
}

Step<Both<Bytes>> Proceedings::OpenBoth(const TreeName& tree, std::uint64_t leaf, const Both<Digest>& roots) {
  const LeavesQuestion question{tree, {{leaf, leaf + 1}}};
  const std::uint64_t size = SizeOf(tree);
  const std::size_t limit = MaxLeafBytes(terms_, question);
  return ReadBoth(question, [&](Party party, ByteSpan body) -> Result<Bytes> {
    ASSAY_ASSIGN(auto spans, OpenLeaves(body, question, size, limit, roots[static_cast<std::size_t>(party)]));
    return std::move(spans.front().leaves.front());
  });
}

Step<std::vector<Bytes>> Proceedings::OpenAgreed(const TreeName& tree, std::span<const std::uint64_t> leaves,
                                                 const Digest& root) {
  const LeavesQuestion question{tree, SpansOf(leaves)};
  ASSAY_ASSIGN(const ByteSpan body, AskOne(question));
  auto spans = OpenLeaves(body, question, SizeOf(tree), MaxLeafBytes(terms_, question), root);
  if (!spans) {
    Finding finding{.cause = Cause::kUnproven, .step = StepAbout(question), .unproven = question};
    finding.reason = UnprovenReason(question, spans.error().message);
    return tl::unexpected(Convict(true, false, std::move(finding)));
  }
  std::vector<Bytes> opened;
  for (SpanProof& span : *spans) std::ranges::move(span.leaves, std::back_inserter(opened));
  return opened;
}

}  // namespace assay::dispute
