#include "crafted.h"

#include <algorithm>

#include "assay/dispute/claim.h"

namespace assay::dispute {

namespace {

SigningKey KeyOf(std::string name, ProviderId number) {
  return {std::move(name), {static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(number >> 8)}};
}

}  // namespace

ProviderId Crafted::Add(std::optional<TreeName> lie, Forgeries forgeries) {
  const auto id = static_cast<ProviderId>(parties_.size());
  const bool one_signer = who_ == Parties::kOfOneSigner;
  parties_.push_back({.forged = Forged(terms_, lie, std::move(forgeries)),
                      .key = KeyOf(one_signer && id > 0 ? "alias" : "forger", one_signer ? 1 : id + 1),
                      .receipt = {}});
  Party& party = parties_.back();
  Receipt receipt = party.forged.MakeReceipt();
  receipt.signer = party.key.verify_key().ToString();
  party.receipt = SignReceipt(receipt, party.key);
  return id;
}

ProviderId Crafted::AddLike(ProviderId party) {
  const auto id = static_cast<ProviderId>(parties_.size());
  Receipt receipt = OpenClaim(parties_[party].receipt, "receipt").value().receipt;
  parties_.push_back({.forged = Forged(terms_, std::nullopt), .key = KeyOf("forger", id + 1), .receipt = {}});
  receipt.signer = parties_.back().key.verify_key().ToString();
  parties_.back().receipt = SignReceipt(receipt, parties_.back().key);
  return id;
}

std::string Crafted::Resigned(ProviderId party, const ReceiptChange& change) const {
  Receipt receipt = OpenClaim(parties_[party].receipt, "receipt").value().receipt;
  change(receipt);
  return SignReceipt(receipt, parties_[party].key);
}

Trial Crafted::Tried(ProviderId a, ProviderId b) {
  Trial trial{.claims = {a, b}, .finding = {.cause = Cause::kOutput}, .convicted = {b}};
  const auto speak = [&](std::size_t side) {
    return [&, side](const Question& question) -> Result<Bytes> {
      const ProviderId id = trial.claims[side];
      ASSAY_ASSIGN(Bytes body, parties_[id].forged.Answer(question));
      trial.said[side].push_back(Say(question, body, {id}));
      return body;
    };
  };
  const auto claim = [&](ProviderId id) { return OpenClaim(parties_[id].receipt, "receipt").value(); };
  outcome_ = Play(terms_, claim(a), claim(b), speak(0), speak(1)).outcome;
  const auto* finding = std::get_if<Finding>(&outcome_.next);
  if (finding == nullptr) return trial;
  trial.finding = *finding;
  trial.convicted.clear();
  for (std::size_t s = 0; s < 2; ++s) {
    if (finding->strikes(s == 0 ? dispute::Party::kA : dispute::Party::kB)) trial.convicted.push_back(trial.claims[s]);
  }
  return trial;
}

StatementId Crafted::Say(const Question& question, Bytes body, const std::vector<ProviderId>& by) {
  auto same = std::ranges::find_if(statements_, [&](const Statement& s) { return s.question == question && s.body == body; });
  if (same == statements_.end()) {
    statements_.push_back({question, std::move(body), {}});
    same = statements_.end() - 1;
  }
  for (const ProviderId id : by) {
    const auto place = std::ranges::lower_bound(same->by, id, {}, &SignedBy::provider);
    if (place == same->by.end() || place->provider != id) same->by.insert(place, {.provider = id, .signature = {}});
  }
  return static_cast<StatementId>(same - statements_.begin());
}

Evidence Crafted::Make(std::vector<Charge> charges, bool tidy) const {
  const bool pair = who_ != Parties::kProviders;
  Evidence evidence{.job = terms_.job_bytes(), .program = terms_.program_bytes(), .pair = pair};
  DisputeName name{.job = terms_.id(), .pair = pair};
  for (const Party& party : parties_) {
    evidence.parties.push_back({.receipt = party.receipt, .number = static_cast<std::uint32_t>(evidence.parties.size())});
    name.receipts.push_back(HashBytes(AsBytes(party.receipt)));
  }
  evidence.others = others_;
  std::ranges::sort(evidence.others, {}, [](const std::string& receipt) { return HashBytes(AsBytes(receipt)).bytes; });
  for (const std::string& other : others_) name.receipts.push_back(HashBytes(AsBytes(other)));
  const Digest dispute = DisputeId(name);
  std::vector<StatementId> places(statements_.size(), 0);
  std::vector<bool> used(statements_.size(), !tidy);
  const auto each = [&](const auto& visit) {
    for (Charge& charge : charges) {
      if (auto* trial = std::get_if<Trial>(&charge)) {
        for (auto* list : {&trial->said[0], &trial->said[1], &trial->shared}) std::ranges::for_each(*list, visit);
      } else if (auto* draw = std::get_if<Draw>(&charge)) {
        for (auto& list : draw->said) std::ranges::for_each(list, visit);
      } else if (auto* log = std::get_if<UnprovenLog>(&charge)) {
        visit(log->said);
      } else if (auto* answers = std::get_if<TwoAnswers>(&charge)) {
        visit(answers->first);
        visit(answers->second);
      }
    }
  };
  each([&](StatementId& id) { used[id] = true; });
  for (std::size_t i = 0; i < statements_.size(); ++i) {
    if (!used[i]) continue;
    places[i] = static_cast<StatementId>(evidence.statements.size());
    Statement statement = statements_[i];
    for (SignedBy& by : statement.by) {
      by.signature = Sign(Encode(dispute, statement.question), statement.body, parties_[by.provider].key).signature;
    }
    evidence.statements.push_back(std::move(statement));
  }
  each([&](StatementId& id) { id = places[id]; });
  evidence.charges = std::move(charges);
  return evidence;
}

}  // namespace assay::dispute
