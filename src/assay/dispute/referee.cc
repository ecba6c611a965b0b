#include "assay/dispute/referee.h"

#include <algorithm>
#include <numeric>

#include "assay/base/check.h"

namespace assay::dispute {

Referee::Referee(std::shared_ptr<const Law> law, std::vector<Claim> claims, const Clocks& clocks)
    : law_(std::move(law)), claims_(std::make_shared<const std::vector<Claim>>(std::move(claims))), clocks_(clocks) {
  players_.resize(claims_->size());
  record_.providers.resize(claims_->size());
  TakeIn();
}

// Of keys with several claims that do not contradict each other (runs of rounded jobs): the one that takes part, whatever the order in which they were named. What a key
// signs in a dispute could otherwise be held against another of its claims.
std::map<KeyPoint, Digest> Referee::KeptClaims() const {
  std::map<KeyPoint, const Claim*> least;
  std::map<KeyPoint, Digest> kept;
  if (!law_->one_claim_per_key) return kept;
  for (const Claim& claim : *claims_) {
    if (!law_->check(claim)) continue;
    const auto [first, fresh] = least.emplace(claim.signer.point(), &claim);
    if (!fresh && claim.receipt_hash.bytes < first->second->receipt_hash.bytes) first->second = &claim;
  }
  for (const auto& [key, claim] : least) {
    const bool contradicts = std::ranges::any_of(*claims_, [&, mine = claim](const Claim& other) {
      return other.signer.point() == mine->signer.point() && law_->check(other) && law_->group(other) != law_->group(*mine) &&
             law_->contradict(*mine, other);
    });
    if (!contradicts) kept.emplace(key, law_->group(*claim));
  }
  return kept;
}

// Who claims the same under the same key takes part once, with the receipt of the least hash. Groups and their members stand in the order of what they handed in. So the order in which
// they were named decides nothing.
void Referee::TakeIn() {
  std::map<KeyPoint, std::vector<ProviderId>> keys;  // who takes part under it
  std::map<Digest, std::vector<ProviderId>> groups;  // by what they claim
  const std::map<KeyPoint, Digest> kept = KeptClaims();
  std::vector<ProviderId> by_receipt(claims_->size());
  std::iota(by_receipt.begin(), by_receipt.end(), ProviderId{0});
  parties_ = by_receipt;
  std::ranges::stable_sort(by_receipt, {}, [&](ProviderId id) { return (*claims_)[id].receipt_hash.bytes; });
  for (const ProviderId id : by_receipt) {
    const Claim& claim = (*claims_)[id];
    ProviderRecord& provider = record_.providers[id];
    if (const Status good = law_->check(claim); !good) {
      provider.standing = Standing::kRefused;
      provider.why = good.error().message;
      continue;
    }
    const auto takes_part = kept.find(claim.signer.point());
    if (takes_part != kept.end() && takes_part->second != law_->group(claim)) {
      provider.standing = Standing::kRefused;
      provider.why = "another claim of the same key takes part; this one needs a dispute of its own";
      continue;
    }
    if (record_.receipts.empty() || record_.receipts.back() != claim.receipt_hash)
      record_.receipts.push_back(claim.receipt_hash);
    std::vector<ProviderId>& before = keys[claim.signer.point()];
    const Digest group = law_->group(claim);
    const auto same = std::ranges::find_if(before, [&](ProviderId other) { return law_->group((*claims_)[other]) == group; });
    if (same != before.end()) {
      provider.standing = Standing::kRepeated;
      provider.why = fmt::format("claims the same as provider {} under the same key", *same);
      parties_[id] = *same;
      continue;
    }
    groups[group].push_back(id);
    before.push_back(id);
  }
  for (auto& [group, members] : groups) {
    for (const ProviderId id : members) record_.providers[id].group = static_cast<std::uint32_t>(record_.groups.size());
    record_.groups.push_back(std::move(members));
  }
  for (const auto& [key, ids] : keys) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (law_->contradict((*claims_)[ids[j]], (*claims_)[ids[i]]))
          Equivocal(std::min(ids[i], ids[j]), std::max(ids[i], ids[j]));
      }
    }
  }
  record_.dispute = law_->dispute(record_.receipts);
  bracket_ = Bracket(static_cast<std::uint32_t>(record_.groups.size()));
}

void Referee::Equivocal(ProviderId first, ProviderId second) {
  if (!Stands(first) && !Stands(second)) return;  // both are out already
  const std::size_t charge = record_.charges.size();
  record_.charges.emplace_back(std::in_place_type<TwoReceipts>, TwoReceipts{first, second});
  const std::string why = "signed two receipts for one job that contradict each other";
  for (const ProviderId id : {first, second}) {
    if (Stands(id)) Fall(id, Standing::kEquivocated, why, charge);
  }
}

std::vector<Action> Referee::Handle(const Event& event) {
  actions_.clear();
  if (const auto* started = std::get_if<Started>(&event)) {
    if (phase_ != Phase::kNew) return {};
    phase_ = Phase::kPlaying;
    now_ms_ = started->now_ms;
  }
  if (phase_ != Phase::kPlaying) return {};
  if (const auto* resumed = std::get_if<Resumed>(&event)) {
    shift_ms_ = resumed->now_ms - now_ms_;
    Resend(true);
    return std::move(actions_);
  }
  Advance(std::visit([](const auto& e) { return e.now_ms; }, event));
  if (const auto* answered = std::get_if<Answered>(&event)) OnAnswer(*answered);
  if (const auto* unreachable = std::get_if<Unreachable>(&event); unreachable && unreachable->provider < players_.size()) {
    Player& player = players_[unreachable->provider];
    if (unreachable->for_good && !player.open.empty()) FallSilent(unreachable->provider);
    for (const Digest& question : player.open) player.heard.at(question).resend_ms = now_ms_ + clocks_.retry_ms;
    for (Pending& pending : batch_) {
      if (std::ranges::count(pending.candidates, unreachable->provider) > 0) pending.hedge_ms = now_ms_;
    }
  }
  Run();
  if (phase_ == Phase::kPlaying) Resend(false);
  return std::move(actions_);
}

void Referee::Advance(std::int64_t now_ms) {
  now_ms_ = std::max(now_ms_, now_ms - shift_ms_);
  Expire();
}

void Referee::Expire() {
  for (ProviderId id = 0; id < players_.size(); ++id) {
    Player& player = players_[id];
    if (player.clock.Expired(now_ms_)) FallSilent(id);
  }
}

void Referee::FallSilent(ProviderId id) {
  const Question& question = asked_.at(*players_[id].open.begin()).question;
  const std::size_t charge = record_.charges.size();
  record_.charges.emplace_back(std::in_place_type<Silence>, Silence{id, question});
  Fall(id, Standing::kSilent, fmt::format("gave no answer in time about {}", Describe(question)), charge);
}

void Referee::Resend(bool all) {
  for (ProviderId id = 0; id < players_.size(); ++id) {
    for (const Digest& question : players_[id].open) {
      Heard& heard = players_[id].heard.at(question);
      if (all || (heard.resend_ms && *heard.resend_ms <= now_ms_)) Post(id, question, heard);
    }
  }
}

void Referee::OnAnswer(const Answered& event) {
  if (event.provider >= players_.size() || !Stands(event.provider)) return;
  Player& player = players_[event.provider];
  const auto found = player.heard.find(event.question);
  if (found == player.heard.end() || found->second.state == Heard::State::kWithdrawn) return;
  const Asked& asked = asked_.at(event.question);
  if (event.answer.size() > law_->max_answer_bytes(asked.question)) return;
  Result<Answer> answer = DecodeAnswer(event.answer);
  if (!answer) return;
  Heard& heard = found->second;
  const bool second = heard.state == Heard::State::kAnswered;
  if (second && heard.answer.body == answer->body) return;
  if (!law_->is_signed(*answer, asked.bytes, (*claims_)[event.provider].signer)) return;
  if (second) return SecondAnswer(event.provider, event.question, *answer);

  heard.state = Heard::State::kAnswered;
  heard.answer = std::move(*answer);
  heard.resend_ms.reset();
  player.open.erase(event.question);
  player.clock.Settle(now_ms_);
  ASSAY_CHECK(match_.has_value());
  match_->record.bytes_received += event.answer.size();
  if (match_->deciding) match_->record.decision_bytes += event.answer.size();
  for (Pending& pending : batch_) {
    if (pending.question != event.question || !pending.proves_itself || pending.answered) continue;
    if (std::ranges::count(pending.candidates, event.provider) == 0) continue;
    pending.answered = event.provider;
    for (const ProviderId other : pending.candidates) Withdraw(other, event.question);
  }
}

void Referee::SecondAnswer(ProviderId provider, const Digest& question, const Answer& answer) {
  const ProviderId by[] = {provider};
  const StatementId first = Note(question, players_[provider].heard.at(question).answer, by);
  const auto second = static_cast<StatementId>(record_.statements.size());
  record_.statements.push_back({asked_.at(question).question, answer.body, {{provider, answer.signature}}});
  const std::size_t charge = record_.charges.size();
  record_.charges.emplace_back(std::in_place_type<TwoAnswers>, TwoAnswers{provider, first, second});
  Fall(provider, Standing::kEquivocated, fmt::format("two answers about {}", Describe(asked_.at(question).question)), charge);
}

void Referee::Ask(ProviderId provider, const Digest& question) {
  Player& player = players_[provider];
  if (player.bout != match_->bout) {
    player.bout = match_->bout;
    player.clock.Wind(clocks_.allowance_ms);
    player.rerun.clear();
  }
  const std::optional<Rerun> rerun = RerunOf(asked_.at(question).question);
  player.clock.Ask(now_ms_, rerun && player.rerun.insert(*rerun).second ? clocks_.rerun_ms : 0);
  Heard& heard = player.heard[question];
  heard.state = Heard::State::kAsked;
  player.open.insert(question);
  Post(provider, question, heard);
}

void Referee::Post(ProviderId provider, const Digest& question, Heard& heard) {
  heard.resend_ms.reset();
  if (clocks_.resend_ms > 0) heard.resend_ms = now_ms_ + clocks_.resend_ms;
  actions_.push_back(Send{provider, asked_.at(question).bytes, players_[provider].clock.deadline_ms() + shift_ms_});
}

void Referee::Withdraw(ProviderId provider, const Digest& question) {
  Player& player = players_[provider];
  const auto found = player.heard.find(question);
  if (found == player.heard.end() || found->second.state != Heard::State::kAsked) return;
  found->second.state = Heard::State::kWithdrawn;
  found->second.resend_ms.reset();
  player.open.erase(question);
  player.clock.Settle(now_ms_);
}

void Referee::WithdrawAll() {
  for (ProviderId id = 0; id < players_.size(); ++id) {
    while (!players_[id].open.empty()) Withdraw(id, Digest(*players_[id].open.begin()));
  }
}

void Referee::Fall(ProviderId provider, Standing standing, std::string why, std::size_t charge) {
  ProviderRecord& record = record_.providers[provider];
  ASSAY_CHECK(record.standing == Standing::kStanding);
  record.standing = standing;
  record.why = std::move(why);
  record.charge = charge;
  while (!players_[provider].open.empty()) Withdraw(provider, Digest(*players_[provider].open.begin()));
  if (!match_) return;
  match_->record.decided = charge;
  for (Side& side : match_->sides) {
    for (Voice& voice : side.voices) std::erase(voice.members, provider);
    std::erase_if(side.voices, [](const Voice& voice) { return voice.members.empty(); });
  }
}

bool Referee::GroupStands(std::uint32_t group) const {
  return std::ranges::any_of(record_.groups[group], [&](ProviderId id) { return Stands(id); });
}

std::vector<ProviderId> Referee::StandingOf(std::uint32_t group) const {
  std::vector<ProviderId> standing;
  std::ranges::copy_if(record_.groups[group], std::back_inserter(standing), [&](ProviderId id) { return Stands(id); });
  return standing;
}

bool Referee::HasAnswered(ProviderId provider, const Digest& question) const {
  const auto found = players_[provider].heard.find(question);
  return found != players_[provider].heard.end() && found->second.state == Heard::State::kAnswered;
}

// The statement of these words, signed by these providers beside those who are noted already.
StatementId Referee::Note(const Digest& question, const Answer& answer, std::span<const ProviderId> by) {
  const auto next = static_cast<StatementId>(record_.statements.size());
  const auto [noted, fresh] = noted_.emplace(std::pair{question, HashBytes(answer.body)}, next);
  if (fresh) record_.statements.push_back({asked_.at(question).question, answer.body, {}});
  std::vector<SignedBy>& signers = record_.statements[noted->second].by;
  for (const ProviderId id : by) {
    const auto place = std::ranges::lower_bound(signers, id, {}, &SignedBy::provider);
    if (place != signers.end() && place->provider == id) continue;
    signers.insert(place, {id, players_[id].heard.at(question).answer.signature});
  }
  return noted->second;
}

std::optional<std::int64_t> Referee::WakeAt() const {
  if (phase_ != Phase::kPlaying) return std::nullopt;
  std::optional<std::int64_t> wake;
  const auto at = [&](std::int64_t time_ms) { wake = std::min(wake.value_or(time_ms), time_ms); };
  for (const Player& player : players_) {
    if (player.clock.running()) at(player.clock.deadline_ms() + 1);
    for (const Digest& question : player.open) {
      if (const auto& resend = player.heard.at(question).resend_ms) at(*resend);
    }
  }
  for (const Pending& pending : batch_) {
    if (pending.proves_itself && !pending.answered && pending.asked < pending.candidates.size()) at(pending.hedge_ms);
  }
  if (wake) *wake += shift_ms_;
  return wake;
}

}  // namespace assay::dispute
