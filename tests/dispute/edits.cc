#include "edits.h"

#include <algorithm>
#include <optional>

namespace assay::dispute {
namespace {

template <class List>
void EraseAt(List& list, std::uint64_t place) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
}
template <class List, class T>
void InsertAt(List& list, std::uint64_t place, T item) {
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), std::move(item));
}

template <class F>
void ForEachStatement(Charge& charge, const F& visit) {
  if (auto* trial = std::get_if<Trial>(&charge)) {
    for (auto* list : {&trial->said[0], &trial->said[1], &trial->shared}) {
      for (StatementId& id : *list) visit(id);
    }
  } else if (auto* log = std::get_if<UnprovenLog>(&charge)) {
    visit(log->said);
  } else if (auto* answers = std::get_if<TwoAnswers>(&charge)) {
    visit(answers->first);
    visit(answers->second);
  } else if (auto* draw = std::get_if<Draw>(&charge)) {
    for (auto& said : draw->said) std::ranges::for_each(said, visit);
  }
}

}  // namespace

Digest Editor::DisputeOf(const Evidence& evidence) const {
  std::vector<Digest> receipts;
  for (const std::string& other : evidence.others) receipts.push_back(HashBytes(AsBytes(other)));
  for (const Evidence::Party& party : evidence.parties) receipts.push_back(HashBytes(AsBytes(party.receipt)));
  const auto law =
      stage_.LawFor({.referee = evidence.referee, .nonce = evidence.nonce, .pair = evidence.pair, .unsigned_answers = {}});
  return law->dispute(std::move(receipts));
}

std::optional<Key> Editor::OwnKeyOf(const Evidence::Party& party) const {
  const KeyPoint point = stage_.Opened(party.receipt).signer.point();
  for (const Key key : keys_) {
    if (stage_.PointOf(key) == point) return key;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Editor::PlaceOf(const Evidence& evidence, Key key) const {
  for (std::uint32_t i = 0; i < evidence.parties.size(); ++i) {
    if (stage_.Opened(evidence.parties[i].receipt).signer.point() == stage_.PointOf(key)) return i;
  }
  return std::nullopt;
}

// A judge refuses what nothing rests on, and signers out of order.
void Editor::Tidy(Evidence& evidence) const {
  std::vector<bool> used(evidence.statements.size(), false);
  for (Charge& charge : evidence.charges) {
    ForEachStatement(charge, [&](StatementId& id) {
      if (id < used.size()) used[id] = true;
    });
  }
  std::vector<StatementId> places(used.size(), 0);
  std::vector<Statement> kept;
  for (std::size_t i = 0; i < used.size(); ++i) {
    places[i] = static_cast<StatementId>(kept.size());
    if (used[i]) kept.push_back(std::move(evidence.statements[i]));
  }
  evidence.statements = std::move(kept);
  for (Charge& charge : evidence.charges) {
    ForEachStatement(charge, [&](StatementId& id) { id = id < places.size() ? places[id] : id; });
  }
  for (Statement& statement : evidence.statements) std::ranges::sort(statement.by, {}, &SignedBy::provider);
}

void Editor::Drop(Evidence& evidence) {
  switch (dice_.Below(5)) {
    case 0:
      if (!evidence.charges.empty()) EraseAt(evidence.charges, dice_.Below(evidence.charges.size()));
      return;
    case 1:
      if (!evidence.statements.empty()) EraseAt(evidence.statements, dice_.Below(evidence.statements.size()));
      return;
    case 2:
      if (evidence.parties.size() > 1) EraseAt(evidence.parties, dice_.Below(evidence.parties.size()));
      return;
    case 3:
      if (!evidence.statements.empty()) {
        auto& by = dice_.Of(evidence.statements).by;
        if (!by.empty()) EraseAt(by, dice_.Below(by.size()));
      }
      return;
    default:
      for (Charge& charge : evidence.charges) {
        auto* trial = std::get_if<Trial>(&charge);
        if (trial == nullptr || !dice_.One(2)) continue;
        auto& list = dice_.One(4) ? trial->shared : trial->said[dice_.Below(2)];
        if (!list.empty()) EraseAt(list, dice_.Below(list.size()));
      }
  }
}

void Editor::Double(Evidence& evidence) {
  switch (dice_.Below(3)) {
    case 0:
      if (!evidence.charges.empty())
        InsertAt(evidence.charges, dice_.Below(evidence.charges.size()), Charge(dice_.Of(evidence.charges)));
      return;
    case 1:
      if (!evidence.statements.empty()) evidence.statements.push_back(Statement(dice_.Of(evidence.statements)));
      return;
    default:
      evidence.parties.push_back(Evidence::Party(dice_.Of(evidence.parties)));
      evidence.parties.back().number = evidence.parties[evidence.parties.size() - 2].number + 1;
  }
}

void Editor::Splice(Evidence& evidence) {
  const Evidence& other = dice_.Of(loot_.evidence);
  switch (dice_.Below(4)) {
    case 0:
      if (!other.statements.empty()) evidence.statements.push_back(dice_.Of(other.statements));
      return;
    case 1:
      if (!other.charges.empty()) evidence.charges.push_back(dice_.Of(other.charges));
      return;
    case 2: {
      // The words of another dispute in the place of those of this one.
      if (other.statements.empty() || evidence.statements.empty()) return;
      const Statement& from = dice_.Of(other.statements);
      for (Statement& statement : evidence.statements) {
        if (statement.question != from.question) continue;
        statement.body = from.body;
        if (dice_.One(2)) statement.by = from.by;
      }
      return;
    }
    default:
      evidence.statements = other.statements;
      if (dice_.One(2)) evidence.charges = other.charges;
  }
}

// A charge out of nothing, against anybody.
void Editor::Accuse(Evidence& evidence) {
  const std::uint32_t party = SomeParty(evidence), first = SomeStatement(evidence), second = SomeStatement(evidence);
  switch (dice_.Below(6)) {
    case 0: evidence.charges.emplace_back(UnprovenLog{party, first}); return;
    case 1: evidence.charges.emplace_back(TwoAnswers{party, first, second}); return;
    case 2: evidence.charges.emplace_back(TwoReceipts{party, SomeParty(evidence)}); return;
    case 3: evidence.charges.emplace_back(Silence{party, stage_.AnyQuestion(dice_)}); return;
    case 4: {  // or the last trial made out to be a draw
      Draw draw{.claims = {party, SomeParty(evidence)}, .said = {{first}, {second}}};
      auto* trial = evidence.charges.empty() ? nullptr : std::get_if<Trial>(&evidence.charges.back());
      if (trial != nullptr) {
        std::ranges::copy(trial->claims, draw.claims);
        std::ranges::copy(trial->said, draw.said);
        evidence.charges.pop_back();
      }
      evidence.charges.emplace_back(std::move(draw));
      return;
    }
    default:
      for (Charge& charge : evidence.charges) {
        auto* trial = std::get_if<Trial>(&charge);
        if (trial == nullptr || std::ranges::count(trial->convicted, party) > 0) continue;
        trial->convicted.push_back(party);
        std::ranges::sort(trial->convicted);
      }
  }
}

// What the honest have said to strangers, against them.
void Editor::Insert(Evidence& evidence) {
  if (loot_.answers.empty()) return;
  const Loot::Heard& heard = dice_.Of(loot_.answers);
  const auto place = PlaceOf(evidence, heard.by);
  if (!place) return;
  Statement statement{heard.question, heard.answer.body, {{*place, heard.answer.signature}}};
  const auto added = static_cast<StatementId>(evidence.statements.size());
  const auto same = std::ranges::find(evidence.statements, heard.question, &Statement::question);
  const auto known = static_cast<StatementId>(same - evidence.statements.begin());
  evidence.statements.push_back(std::move(statement));
  switch (dice_.Below(3)) {
    case 0: evidence.charges.emplace_back(UnprovenLog{*place, added}); return;
    case 1: evidence.charges.emplace_back(TwoAnswers{*place, known < added ? known : SomeStatement(evidence), added}); return;
    default:
      for (Charge& charge : evidence.charges) {
        auto* trial = std::get_if<Trial>(&charge);
        if (trial == nullptr) continue;
        auto& said = trial->said[dice_.Below(2)];
        const auto at = std::ranges::find(said, known);
        if (at != said.end()) {
          *at = added;
        } else {
          said.push_back(added);
        }
      }
  }
}

// Other words, under a key that liars have.
void Editor::SignAgain(Evidence& evidence) {
  if (evidence.statements.empty()) return;
  std::vector<std::uint32_t> own;
  for (std::uint32_t i = 0; i < evidence.parties.size(); ++i) {
    if (OwnKeyOf(evidence.parties[i])) own.push_back(i);
  }
  if (own.empty()) return;
  const Digest dispute = DisputeOf(evidence);
  for (std::uint64_t i = 1 + dice_.Below(3); i > 0; --i) {
    Statement& statement = dice_.Of(evidence.statements);
    if (dice_.One(3)) {
      if (!statement.body.empty()) dice_.Of(statement.body) ^= static_cast<std::uint8_t>(1 << dice_.Below(8));
    } else if (auto body = stage_.Answer(dice_.Below(stage_.runs()), statement.question)) {
      statement.body = std::move(*body);
    }
    const std::uint32_t party = dice_.Of(own);
    const Bytes question = Encode(dispute, statement.question);
    SignedBy by{party, stage_.SignAnswer(question, statement.body, *OwnKeyOf(evidence.parties[party]))};
    if (dice_.One(4)) {
      statement.by.push_back(by);
    } else {
      statement.by = {by};
    }
  }
}

void Editor::Relabel(Evidence& evidence) {
  const Evidence& other = dice_.Of(loot_.evidence);
  switch (dice_.Below(5)) {
    case 0: evidence.nonce = other.nonce; return;
    case 1: evidence.referee = other.referee; return;
    case 2: evidence.pair = !evidence.pair; return;
    case 3:
      if (evidence.others.empty() || dice_.One(2)) {
        evidence.others.push_back(dice_.Of(other.parties).receipt);
        std::ranges::sort(evidence.others, {}, [](const std::string& receipt) { return HashBytes(AsBytes(receipt)).bytes; });
      } else {
        EraseAt(evidence.others, dice_.Below(evidence.others.size()));
      }
      return;
    default: std::swap(dice_.Of(evidence.parties).receipt, dice_.Of(evidence.parties).receipt);
  }
}

// A trial about other claims or with the sides changed, and with the finding to which that leads.
void Editor::Turn(Evidence& evidence) {
  std::vector<Trial*> trials;
  for (Charge& charge : evidence.charges) {
    if (auto* trial = std::get_if<Trial>(&charge)) trials.push_back(trial);
  }
  if (trials.empty()) return;
  Trial& trial = *dice_.Of(trials);
  switch (dice_.Below(4)) {
    case 0:
      std::swap(trial.claims[0], trial.claims[1]);
      if (dice_.One(2)) std::swap(trial.said[0], trial.said[1]);
      break;
    case 1: trial.claims[dice_.Below(2)] = static_cast<ProviderId>(dice_.Below(evidence.parties.size())); break;
    case 2: trial.said[dice_.Below(2)] = dice_.Of(trials)->said[dice_.Below(2)]; break;
    default: break;
  }
  const auto count = static_cast<StatementId>(evidence.statements.size());
  Testimony said[2];
  for (std::size_t s = 0; s < 2; ++s) {
    for (const StatementId id : trial.said[s]) {
      if (id < count) said[s].Add(evidence.statements[id].question, evidence.statements[id].body);
    }
    if (trial.claims[s] >= evidence.parties.size()) return;
  }
  const auto law =
      stage_.LawFor({.referee = evidence.referee, .nonce = evidence.nonce, .pair = evidence.pair, .unsigned_answers = {}});
  const Outcome outcome = law->examine(stage_.Opened(evidence.parties[trial.claims[0]].receipt),
                                       stage_.Opened(evidence.parties[trial.claims[1]].receipt), said[0], said[1]);
  if (const auto* finding = std::get_if<Finding>(&outcome.next)) trial.finding = *finding;
  if (dice_.One(2)) trial.convicted = {static_cast<ProviderId>(dice_.Below(evidence.parties.size()))};
  if (dice_.One(8)) trial.finding.guilty[dice_.Below(2)] ^= true;
}

// As if the referee had a copy of somebody's run, and of what it likes.
void Editor::Unsign(Evidence& evidence) {
  const auto party = static_cast<std::uint32_t>(dice_.Below(evidence.parties.size()));
  evidence.parties[party].unsigned_answers = true;
  for (Statement& statement : evidence.statements) {
    for (SignedBy& by : statement.by) {
      if (by.provider == party) by.signature = {};
    }
    if (!dice_.One(3)) continue;
    if (auto body = stage_.Answer(dice_.Below(stage_.runs()), statement.question)) statement.body = std::move(*body);
    statement.by = {{party, {}}};
  }
}

void Editor::Join(Evidence& evidence) {
  Evidence::Party party{.receipt = stage_.ReceiptOf(dice_.Below(stage_.runs()), dice_.Of(keys_)), .number = 0};
  if (dice_.One(3)) party.receipt = dice_.Of(dice_.Of(loot_.evidence).parties).receipt;
  party.number = evidence.parties.empty() ? 0 : evidence.parties.back().number + 1;
  evidence.parties.push_back(std::move(party));
}

// In its encoding, which has to be one that a reader takes.
void Editor::Flip(Evidence& evidence) {
  Bytes bytes = Encode(evidence);
  dice_.Of(bytes) ^= static_cast<std::uint8_t>(1 << dice_.Below(8));
  if (auto read = DecodeEvidence(bytes)) evidence = std::move(*read);
}

void Editor::Change(Evidence& evidence) {
  if (evidence.parties.empty()) return;
  switch (dice_.Below(13)) {
    case 0: return Drop(evidence);
    case 1: return Double(evidence);
    case 2: return Splice(evidence);
    case 3: return Accuse(evidence);
    case 4:
    case 5: return Insert(evidence);
    case 6:
    case 7: return SignAgain(evidence);
    case 8: return Relabel(evidence);
    case 9: return Turn(evidence);
    case 10: return Unsign(evidence);
    case 11: return Join(evidence);
    default: return Flip(evidence);
  }
}

Evidence Editor::Edited() {
  Evidence evidence = dice_.Of(loot_.evidence);
  for (std::uint64_t i = 1 + dice_.Below(4); i > 0; --i) {
    Change(evidence);
    // A flipped bit may have made a receipt nobody's.
    if (std::ranges::any_of(evidence.parties, [&](const auto& party) { return !stage_.IsReceipt(party.receipt); })) break;
  }
  if (dice_.One(4)) {
    if (std::ranges::all_of(evidence.parties, [&](const auto& party) { return stage_.IsReceipt(party.receipt); }))
      Turn(evidence);
  }
  if (!dice_.One(4)) Tidy(evidence);
  return evidence;
}

Verdict Weighed(const Stage& stage, const Evidence& evidence, const std::vector<KeyPoint>& honest) {
  Verdict verdict;
  const Result<Judgement> judgement = stage.Judged(evidence);
  if (!judgement) return verdict;
  verdict.valid = true;
  for (const Judgement::Party& party : judgement->parties) {
    if (!IsGuilty(party.standing)) continue;
    if (party.proven) ++verdict.guilty;
    if (std::ranges::find(honest, party.signer->point()) == honest.end()) continue;
    if (party.proven) verdict.wrong = fmt::format("a judge convicts the honest party {}: {}", party.number, party.by);
  }
  return verdict;
}

}  // namespace assay::dispute
