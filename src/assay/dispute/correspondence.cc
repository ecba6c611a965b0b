#include "assay/dispute/correspondence.h"

#include <algorithm>

namespace assay::dispute {

void Correspondence::Resume(std::int64_t now_ms) {
  shift_ms_ = now_ms - now_ms_;
  for (ProviderId id = 0; id < players_.size(); ++id) {
    for (const Digest& question : players_[id].open) Post(id, question, players_[id].heard.at(question));
  }
}

Digest Correspondence::Introduce(const Question& question, Bytes bytes) {
  const Digest hash = HashBytes(bytes);
  asked_.try_emplace(hash, Asked{question, std::move(bytes)});
  return hash;
}

void Correspondence::Ask(ProviderId provider, const Digest& question) {
  Player& player = players_[provider];
  if (player.bout != bout_) {
    player.bout = bout_;
    player.clock.Wind(clocks_.allowance_ms);
    player.rerun.clear();
  }
  const std::optional<Rerun> rerun = RerunOf(QuestionOf(question));
  player.clock.Ask(now_ms_, rerun && player.rerun.insert(*rerun).second ? clocks_.rerun_ms : 0);
  Heard& heard = player.heard[question];
  heard.state = Heard::State::kAsked;
  player.open.insert(question);
  Post(provider, question, heard);
}

void Correspondence::Post(ProviderId provider, const Digest& question, Heard& heard) {
  heard.resend_ms.reset();
  if (clocks_.resend_ms > 0) heard.resend_ms = now_ms_ + clocks_.resend_ms;
  actions_.push_back(Send{provider, asked_.at(question).bytes, CallersTime(players_[provider].clock.deadline_ms())});
}

void Correspondence::Withdraw(ProviderId provider, const Digest& question) {
  Player& player = players_[provider];
  const auto found = player.heard.find(question);
  if (found == player.heard.end() || found->second.state != Heard::State::kAsked) return;
  found->second.state = Heard::State::kWithdrawn;
  found->second.resend_ms.reset();
  player.open.erase(question);
  player.clock.Settle(now_ms_);
}

void Correspondence::WithdrawFrom(ProviderId provider) {
  while (!players_[provider].open.empty()) Withdraw(provider, Digest(*players_[provider].open.begin()));
}

void Correspondence::WithdrawAll() {
  for (ProviderId id = 0; id < players_.size(); ++id) WithdrawFrom(id);
}

Correspondence::Received Correspondence::Receive(const Answered& event, const Law& law, const VerifyKey& key) {
  Player& player = players_[event.provider];
  const auto found = player.heard.find(event.question);
  if (found == player.heard.end() || found->second.state == Heard::State::kWithdrawn) return {};
  const Asked& asked = asked_.at(event.question);
  if (event.answer.size() > law.max_answer_bytes(asked.question)) return {};
  Result<Answer> answer = DecodeAnswer(event.answer);
  if (!answer) return {};
  Heard& heard = found->second;
  const bool second = heard.state == Heard::State::kAnswered;
  if (second && heard.answer.body == answer->body) return {};
  if (!law.is_signed(*answer, asked.bytes, key)) return {};
  if (second) return {Received::Kind::kAnother, std::move(*answer)};
  heard.state = Heard::State::kAnswered;
  heard.answer = std::move(*answer);
  heard.resend_ms.reset();
  player.open.erase(event.question);
  player.clock.Settle(now_ms_);
  return {Received::Kind::kAnswer};
}

void Correspondence::Bounce(ProviderId provider) {
  Player& player = players_[provider];
  for (const Digest& question : player.open) player.heard.at(question).resend_ms = now_ms_ + clocks_.retry_ms;
}

void Correspondence::Resend() {
  for (ProviderId id = 0; id < players_.size(); ++id) {
    for (const Digest& question : players_[id].open) {
      Heard& heard = players_[id].heard.at(question);
      if (heard.resend_ms && *heard.resend_ms <= now_ms_) Post(id, question, heard);
    }
  }
}

bool Correspondence::HasAnswered(ProviderId provider, const Digest& question) const {
  const auto found = players_[provider].heard.find(question);
  return found != players_[provider].heard.end() && found->second.state == Heard::State::kAnswered;
}

bool Correspondence::HasSpoken(ProviderId provider) const {
  return std::ranges::any_of(players_[provider].heard,
                             [](const auto& heard) { return heard.second.state == Heard::State::kAnswered; });
}

std::vector<SignedBy> Correspondence::Signatures(const Digest& question, std::span<const ProviderId> by) const {
  std::vector<SignedBy> signatures;
  for (const ProviderId id : by) signatures.push_back({id, Words(id, question).signature});
  return signatures;
}

std::optional<Digest> Correspondence::Unanswered(ProviderId provider) const {
  const std::set<Digest>& open = players_[provider].open;
  if (open.empty()) return std::nullopt;
  return *open.begin();
}

std::vector<ProviderId> Correspondence::Expired() const {
  std::vector<ProviderId> expired;
  for (ProviderId id = 0; id < players_.size(); ++id) {
    if (players_[id].clock.Expired(now_ms_)) expired.push_back(id);
  }
  return expired;
}

std::optional<std::int64_t> Correspondence::WakeAt() const {
  std::optional<std::int64_t> wake;
  const auto at = [&](std::int64_t time_ms) { wake = std::min(wake.value_or(time_ms), time_ms); };
  for (const Player& player : players_) {
    if (player.clock.running()) at(player.clock.deadline_ms() + 1);
    for (const Digest& question : player.open) {
      if (const auto& resend = player.heard.at(question).resend_ms) at(*resend);
    }
  }
  return wake;
}

void Correspondence::Dump(ProviderId provider, bool playing, ByteWriter& out) const {
  const Player& player = players_[provider];
  const bool wound = playing && player.bout == bout_;  // of no consequence otherwise
  out.U8(wound ? 1 : 0);
  out.I64(wound ? player.clock.left_ms() : 0);
  out.U32(static_cast<std::uint32_t>(player.clock.unanswered()));
  out.I64(player.clock.running() ? player.clock.deadline_ms() - now_ms_ : 0);
  out.U64(wound ? player.rerun.size() : 0);
  out.U64(player.heard.size());
  for (const auto& [question, heard] : player.heard) {
    out.Raw(question.bytes);
    out.U8(static_cast<std::uint8_t>(heard.state));
    out.Blob(heard.answer.body);
    out.Raw(heard.answer.signature);
    out.I64(heard.resend_ms ? *heard.resend_ms - now_ms_ : -1);
  }
}

}  // namespace assay::dispute
