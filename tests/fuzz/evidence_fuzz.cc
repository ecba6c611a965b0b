// Evidence: as a file that may be anything, and as what a liar makes of true evidence. Whatever it drops, repeats, splices or signs anew with its own key,
// the honest key is not convicted.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/dispute/evidence.h"
#include "fuzz/stage.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

using namespace dispute;  // the whole file is about it

struct Originals {
  Stage stage;
  Evidence first = PlayedEvidence(stage, Digest{});
  Evidence second = PlayedEvidence(stage, HashBytes(AsBytes("second")));
  const SigningKey other{"liar", {3}};
  std::vector<std::string> receipts{first.parties[0].receipt, first.parties[1].receipt,
                                    SignReceipt(WithSteps(stage.liar_claim.receipt, stage.bad, 4), stage.bad),
                                    SignReceipt(WithSteps(stage.liar_claim.receipt, stage.bad, 5), stage.bad),
                                    SignReceipt(WithSteps(stage.honest_claim.receipt, other, 4), other)};

  static Receipt WithSteps(Receipt receipt, const SigningKey& key, std::int64_t steps) {
    receipt.steps = steps;
    receipt.loss_bits ^= 1;
    receipt.signer = key.verify_key().ToString();
    receipt.log.origin = "liar/log";
    return receipt;
  }
};

template <class T>
void DropOrRepeat(std::vector<T>& items, std::uint8_t which, std::uint8_t where, bool drop) {
  if (items.empty()) return;
  const auto at = items.begin() + which % static_cast<std::ptrdiff_t>(items.size());
  if (drop) {
    items.erase(at);
  } else if (items.size() < 64) {
    T copy = *at;
    items.insert(items.begin() + where % static_cast<std::ptrdiff_t>(items.size() + 1), std::move(copy));
  }
}

constexpr std::uint8_t kEdits = 18;

// Four bytes of the input are an instruction: what to do, to which, where, with what.
void Edit(Evidence& evidence, const Originals& originals, ByteSpan instruction) {
  const std::uint8_t what = instruction[0], which = instruction[1], where = instruction[2], with = instruction[3];
  Statement* statement = evidence.statements.empty() ? nullptr : &evidence.statements[which % evidence.statements.size()];
  Evidence::Party* party = evidence.parties.empty() ? nullptr : &evidence.parties[which % evidence.parties.size()];
  switch (what % kEdits) {
    case 0: DropOrRepeat(evidence.statements, which, where, true); break;
    case 1: DropOrRepeat(evidence.statements, which, where, false); break;
    case 2: DropOrRepeat(evidence.charges, which, where, true); break;
    case 3: DropOrRepeat(evidence.charges, which, where, false); break;
    case 4: DropOrRepeat(evidence.parties, which, where, true); break;
    case 5: DropOrRepeat(evidence.parties, which, where, false); break;
    case 6:
      if (statement != nullptr && !statement->body.empty()) statement->body[where * statement->body.size() / 256] ^= with;
      break;
    case 7:
      if (statement != nullptr) statement->body.resize(where * statement->body.size() / 256);
      break;
    case 8:
      if (statement != nullptr) DropOrRepeat(statement->by, where, with, with % 2 == 0);
      break;
    case 9:
      if (statement != nullptr)
        statement->question = originals.first.statements[where % originals.first.statements.size()].question;
      break;
    case 10: {
      const auto& from = originals.second.statements;
      evidence.statements.push_back(from[which % from.size()]);
      break;
    }
    case 11: evidence.charges.push_back(originals.second.charges[which % originals.second.charges.size()]); break;
    case 12:
      if (party != nullptr) party->receipt = originals.receipts[where % originals.receipts.size()];
      break;
    case 13: evidence.charges.push_back(TwoAnswers{.provider = which, .first = where, .second = with}); break;
    case 14: evidence.charges.push_back(TwoReceipts{.first = which, .second = where}); break;
    case 15: evidence.charges.push_back(UnprovenLog{.provider = which, .said = where}); break;
    case 16:
      if (party != nullptr) party->unsigned_answers = where % 2 == 0;
      break;
    default:
      evidence.referee[where % evidence.referee.size()] ^= with;
      evidence.nonce = with % 2 == 0 ? originals.first.nonce : originals.second.nonce;
      break;
  }
}

// Every statement that is said to be by a liar gets a good signature of that key: in whatever dispute the edited evidence is about.
void SignAsLiar(Evidence& evidence, const Originals& originals) {
  std::vector<Claim> claims;
  for (const Evidence::Party& party : evidence.parties) {
    auto claim = OpenClaim(party.receipt, "receipt");
    ASSAY_CHECK(claim.has_value());
    claims.push_back(std::move(*claim));
  }
  DisputeName name{
      .job = originals.stage.honest.terms().id(), .referee = evidence.referee, .nonce = evidence.nonce, .pair = evidence.pair};
  for (const Claim& claim : claims) name.receipts.push_back(claim.receipt_hash);
  for (const std::string& other : evidence.others) name.receipts.push_back(HashBytes(AsBytes(other)));
  const Digest id = DisputeId(std::move(name));
  for (Statement& statement : evidence.statements) {
    for (SignedBy& by : statement.by) {
      if (by.provider >= claims.size()) continue;
      const Bytes question = dispute::Encode(id, statement.question);
      for (const SigningKey* key : {&originals.stage.bad, &originals.other}) {
        if (key->verify_key() == claims[by.provider].signer) by.signature = Sign(question, statement.body, *key).signature;
      }
    }
  }
}

bool Convicts(const Judgement& judgement, std::size_t party) {
  const Judgement::Party& found = judgement.parties[party];
  return found.proven && (found.standing == Standing::kConvicted || found.standing == Standing::kEquivocated);
}

}  // namespace

void RunEvidence(ByteSpan input) {
  const auto evidence = DecodeEvidence(input);
  if (!evidence) return;
  ASSAY_CHECK(std::ranges::equal(dispute::Encode(*evidence), input));
  const auto judgement = Judge(*evidence);
  ASSAY_CHECK(judgement || judgement.error().message.find('\n') == std::string::npos);
}

void RunEvidenceEdits(ByteSpan input) {
  static const Originals originals;
  Evidence evidence = originals.first;
  for (; input.size() >= 4; input = input.subspan(4)) Edit(evidence, originals, input);
  SignAsLiar(evidence, originals);
  for (std::uint32_t i = 0; i < evidence.parties.size(); ++i) evidence.parties[i].number = i;
  const auto read = DecodeEvidence(dispute::Encode(evidence));
  if (!read) return;
  const auto judgement = Judge(*read);
  if (!judgement) return;
  for (std::size_t i = 0; i < read->parties.size(); ++i) {
    const auto claim = OpenClaim(read->parties[i].receipt, "receipt");
    ASSAY_CHECK(claim.has_value());
    if (claim->signer == originals.stage.good.verify_key()) ASSAY_CHECK(!Convicts(*judgement, i));
  }
}

std::vector<Bytes> EvidenceSeeds() {
  Stage stage;
  Evidence unjudged;
  unjudged.job = stage.honest.job();
  unjudged.program = stage.honest.program();
  unjudged.pair = true;
  for (const MemoryRun* run : {&stage.honest, &stage.liar}) {
    unjudged.parties.push_back({.receipt = run->receipt(), .number = static_cast<std::uint32_t>(unjudged.parties.size())});
  }
  return {dispute::Encode(Evidence{}), dispute::Encode(unjudged), dispute::Encode(PlayedEvidence(stage, Digest{}))};
}

// Each edit once; and an honest party's answer changed and held against it as a second one, which fails for want of its signature alone.
std::vector<Bytes> EvidenceEditsSeeds() {
  std::vector<Bytes> seeds{{}};
  for (std::uint8_t what = 0; what < kEdits; ++what)
    seeds.push_back({what, what, 1, 2, static_cast<std::uint8_t>(what + 1), 1, 128, 1});
  Stage stage;
  const std::vector<Statement> said = PlayedEvidence(stage, Digest{}).statements;
  const auto by_honest = [](const Statement& statement) { return statement.by.size() == 1 && statement.by[0].provider == 0; };
  const auto at = static_cast<std::uint8_t>(std::ranges::find_if(said, by_honest) - said.begin());
  const auto end = static_cast<std::uint8_t>(said.size());
  ASSAY_CHECK(at < end);
  seeds.push_back({1, at, end, 0, 6, end, 128, 1, 13, 0, at, end});
  return seeds;
}

}  // namespace assay::fuzz
