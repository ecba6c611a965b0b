#include "toy_stage.h"

#include <algorithm>
#include <numeric>

#include "assay/dispute/fees.h"

namespace assay::dispute {
namespace {

Bytes Asked(ByteSpan question, const Digest& receipt) {
  Bytes asked(question.begin(), question.end());
  asked.insert(asked.end(), receipt.bytes.begin(), receipt.bytes.end());
  return asked;
}

}  // namespace

ToyStage::ToyStage(const toy::Shape& shape, std::vector<std::unique_ptr<const toy::Run>> runs)
    : shape_(shape), runs_(std::move(runs)) {}

// Nothing is loaded; a budget still has to leave something.
Budget ToyStage::bout() const {
  return {.work = {.steps_run = 2 * shape_.every, .steps_traced = 2, .batches_loaded = 1}, .bytes = kBoutBytes};
}

std::shared_ptr<const Law> ToyStage::LawFor(const LawOptions& options) const { return toy::ToyLaw(shape_, options); }

Evidence ToyStage::EvidenceOf(const LawOptions& options, const std::vector<std::string>& receipts, const Record& record) const {
  std::vector<std::uint32_t> numbers(record.providers.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  return MakeEvidence(options, receipts, numbers, record);
}

Result<Judgement> ToyStage::Judged(const Evidence& evidence) const {
  std::vector<Claim> claims, others;
  for (const Evidence::Party& party : evidence.parties) {
    ASSAY_ASSIGN(Claim claim, toy::OpenReceipt(party.receipt));
    claims.push_back(std::move(claim));
  }
  for (const std::string& receipt : evidence.others) {
    ASSAY_ASSIGN(Claim claim, toy::OpenReceipt(receipt));
    others.push_back(std::move(claim));
  }
  const auto law =
      LawFor({.referee = evidence.referee, .nonce = evidence.nonce, .pair = evidence.pair, .unsigned_answers = {}});
  return JudgeBy(*law, claims, evidence, others);
}

Question ToyStage::AnyQuestion(Dice& dice) const {
  const auto some = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(dice.Below(static_cast<std::uint64_t>(most)));
  };
  const TreeName trees[] = {{.kind = TreeKind::kLog},
                            {.kind = TreeKind::kStates, .at = some(shape_.steps / shape_.every)},
                            {.kind = TreeKind::kTrace, .at = some(shape_.steps)}};
  const std::uint64_t sizes[] = {shape_.entries(), static_cast<std::uint64_t>(shape_.every), shape_.nodes};
  const std::size_t which = dice.Below(3);
  switch (dice.Below(4)) {
    case 0: return CommitQuestion{trees[1 + dice.Below(2)]};
    case 1: {
      LeafSpan span{0, sizes[which]};
      while (span.size() > 3 && dice.One(2)) span = Frontier(span, 1)[dice.Below(2)];
      return ExpandQuestion{trees[which], span};
    }
    case 2: {
      const std::uint64_t begin = dice.Below(sizes[which]);
      return LeavesQuestion{trees[which], {{begin, std::min(sizes[which], begin + 1 + dice.Below(2))}}};
    }
    default: return PartsQuestion{.step = some(shape_.steps), .node = static_cast<std::uint32_t>(dice.Below(shape_.nodes))};
  }
}

Signature ToyStage::SignQuestion(ByteSpan question, const Digest& receipt, Key referee) const {
  return toy::SignAs("asked", Asked(question, receipt), PointOf(referee));
}

Docket ToyStage::DocketOf(const std::string& receipt, const Docket::Options& options) const {
  const Claim own = Opened(receipt);
  const auto law = LawFor({});
  const auto contradicts = [law, group = law->group(own)](const std::string& file) -> Status {
    ASSAY_ASSIGN(const Claim other, toy::OpenReceipt(file));
    ASSAY_TRY(law->check(other));
    if (law->group(other) == group) return Err("the receipt that it shows says the same as ours");
    return {};
  };
  return Docket(
      {.job = {},
       .receipt = own.receipt_hash,
       .contradicts = contradicts,
       .is_opened = [](ByteSpan opening, const Signature& signature,
                       const KeyPoint& key) { return signature == toy::SignAs("opened", opening, key); },
       .is_asked = [](ByteSpan question, const Digest& shown, const Signature& signature,
                      const KeyPoint& key) { return signature == toy::SignAs("asked", Asked(question, shown), key); }},
      options);
}

}  // namespace assay::dispute
