// Matches of two groups, bouts of two voices, and who is asked what.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/dispute/referee.h"
#include "assay/dispute/scope.h"

namespace assay::dispute {
namespace {

bool IsAboutTraceLeaves(const Question& question) {
  const auto* leaves = std::get_if<LeavesQuestion>(&question);
  return leaves != nullptr && leaves->tree.kind == TreeKind::kTrace;
}

}  // namespace

// Goes on until something has to be waited for.
void Referee::Run() {
  while (phase_ == Phase::kPlaying) {
    if (!match_) {
      if (BeginMatch()) continue;
      phase_ = Phase::kDone;
      actions_.push_back(Done{});
      return;
    }
    if (match_->sides[0].voices.empty() || match_->sides[1].voices.empty()) {
      EndMatch();
      continue;
    }
    BeginBout();
    for (Pending& pending : batch_) Refresh(pending);
    if (!std::ranges::all_of(batch_, [&](const Pending& pending) { return IsComplete(pending); })) return;
    if (batch_.empty()) {
      Consult();
    } else {
      CloseBatch();
    }
  }
}

bool Referee::BeginMatch() {
  const auto pair = bracket_.Next([&](std::uint32_t group) { return GroupStands(group); });
  if (!pair) return false;
  match_ = Match();
  const std::uint32_t groups[] = {pair->first, pair->second};
  for (std::size_t s = 0; s < 2; ++s) {
    match_->record.groups[s] = match_->sides[s].group = groups[s];
    match_->sides[s].voices.push_back({.id = next_voice_++, .members = StandingOf(groups[s])});
  }
  return true;
}

void Referee::EndMatch() {
  WithdrawAll();
  batch_.clear();
  MatchRecord& record = match_->record;
  for (std::size_t s = 0; s < 2; ++s) record.fell[s] = !GroupStands(record.groups[s]);
  if (!record.fell[0] && !record.fell[1]) bracket_.Drawn({record.groups[0], record.groups[1]});
  record_.matches.push_back(std::move(record));
  match_.reset();
  progress_ = {};
}

// When other voices have come to the front, what was asked of those before them is void.
void Referee::BeginBout() {
  const std::uint64_t voices[] = {match_->sides[0].voices.front().id, match_->sides[1].voices.front().id};
  if (match_->bout != 0 && std::ranges::equal(voices, match_->voices)) return;
  WithdrawAll();
  batch_.clear();
  std::ranges::copy(voices, match_->voices);
  match_->bout = next_bout_++;
  ++match_->record.bouts;
}

void Referee::Consult() {
  for (Side& side : match_->sides) Recite(side);
  const auto claim = [&](std::size_t s) -> const Claim& { return (*claims_)[record_.groups[match_->sides[s].group].front()]; };
  Outcome outcome = law_->examine(claim(0), claim(1), match_->sides[0].testimony, match_->sides[1].testimony);
  progress_ = std::move(outcome.progress);
  if (const auto* finding = std::get_if<Finding>(&outcome.next)) return Decide(*finding);
  if (std::holds_alternative<Agreement>(outcome.next)) return Draw("the claims are the same", {});
  if (const auto* undecided = std::get_if<Undecided>(&outcome.next)) return Draw(undecided->why, undecided->decided_by);
  Put(std::get<std::vector<dispute::Ask>>(outcome.next));
}

// Brings the side's testimony up to what its first voice has said.
void Referee::Recite(Side& side) {
  const Voice& voice = side.voices.front();
  if (side.testimony_of != voice.id || side.testimony_lines > voice.lines.size()) {
    side.testimony = {};
    side.testimony_of = voice.id;
    side.testimony_lines = 0;
  }
  for (; side.testimony_lines < voice.lines.size(); ++side.testimony_lines) {
    const Line& line = voice.lines[side.testimony_lines];
    const Answer& answer = Words(line);
    side.testimony.Add(asked_.at(line.question).question, answer.body);
  }
}

void Referee::Put(const std::vector<dispute::Ask>& asks) {
  if (!match_->invited && std::ranges::any_of(asks, [](const auto& ask) { return !ProvesItself(ask.question); })) {
    match_->invited = true;
    if (Invite(asks)) return;
  }
  for (const dispute::Ask& ask : asks) {
    Side& side = match_->sides[static_cast<std::size_t>(ask.to)];
    const Voice& voice = side.voices.front();
    if (side.testimony.Find(ask.question) != nullptr) continue;
    std::vector<ProviderId> candidates = voice.members;
    if (IsAboutReceipt(ask.question)) {  // only who signed for this log can be asked about it
      std::erase_if(candidates, [&](ProviderId id) { return record_.providers[id].group != side.group; });
    }
    if (voice.speaker) {
      const auto speaker = std::ranges::find(candidates, *voice.speaker);
      if (speaker != candidates.end()) std::rotate(candidates.begin(), speaker, speaker + 1);
    }
    if (IsAboutTraceLeaves(ask.question)) match_->deciding = true;
    Add(ask.to, side.group, ask.question, std::move(candidates));
  }
  if (batch_.empty()) return Draw("the law asks for what it has been told", {});
  Open();
}

void Referee::Add(std::optional<Party> side, std::uint32_t group, const Question& question,
                  std::vector<ProviderId> candidates) {
  Bytes bytes = Encode(record_.dispute, question);
  Pending pending{.side = side, .group = group, .question = HashBytes(bytes), .candidates = std::move(candidates)};
  pending.proves_itself = ProvesItself(question);
  pending.patience_ms = clocks_.patience_ms + (RerunOf(question) ? clocks_.rerun_ms : 0);
  pending.hedge_ms = now_ms_ + pending.patience_ms;
  asked_.try_emplace(pending.question, Asked{question, std::move(bytes)});
  batch_.push_back(std::move(pending));
}

// Sends what has been added. A batch to which everything has been said in an earlier match is not a round.
void Referee::Open() {
  const std::size_t before = actions_.size();
  for (Pending& pending : batch_) Refresh(pending);
  if (actions_.size() > before) ++match_->record.rounds;
}

// Asks whoever has to be asked at this time.
void Referee::Refresh(Pending& pending) {
  if (!pending.proves_itself) {
    for (; pending.asked < pending.candidates.size(); ++pending.asked) {
      const ProviderId id = pending.candidates[pending.asked];
      if (Stands(id) && !HasAnswered(id, pending.question)) Ask(id, pending.question);
    }
    return;
  }
  if (!pending.answered && pending.asked == 0) {
    const auto known = std::ranges::find_if(pending.candidates,
                                            [&](ProviderId id) { return Stands(id) && HasAnswered(id, pending.question); });
    if (known != pending.candidates.end()) pending.answered = *known;
  }
  if (pending.answered) return;
  const auto open = std::ranges::count_if(pending.candidates, [&](ProviderId id) { return IsOpen(id, pending.question); });
  std::ptrdiff_t more = open == 0 ? 1 : 0;
  if (now_ms_ >= pending.hedge_ms) more = std::max<std::ptrdiff_t>(open, 1);  // twice as many each time
  for (; more > 0 && pending.asked < pending.candidates.size(); ++pending.asked) {
    const ProviderId id = pending.candidates[pending.asked];
    if (!Stands(id)) continue;
    Ask(id, pending.question);
    pending.hedge_ms = now_ms_ + pending.patience_ms;
    --more;
  }
}

bool Referee::IsComplete(const Pending& pending) const {
  if (pending.answered) return true;
  return std::ranges::none_of(pending.candidates, [&](ProviderId id) { return IsOpen(id, pending.question); });
}

void Referee::CloseBatch() {
  const std::vector<Pending> batch = std::move(batch_);
  batch_.clear();
  if (!batch.front().side) return CloseInvitation(batch);
  for (const Party party : {Party::kA, Party::kB}) Hear(party, batch);
}

void Referee::Hear(Party party, const std::vector<Pending>& batch) {
  Side& side = match_->sides[static_cast<std::size_t>(party)];
  Voice& voice = side.voices.front();
  std::vector<Digest> splitting;
  for (const Pending& pending : batch) {
    if (pending.side != party) continue;
    if (!pending.proves_itself) {
      splitting.push_back(pending.question);
    } else if (pending.answered) {
      voice.lines.push_back({pending.question, *pending.answered});
      voice.speaker = pending.answered;
    } else {  // of those whose log it is nobody is left
      return ReleaseGuests(side);
    }
  }
  if (!splitting.empty()) Split(side, splitting);
}

// Members who answered differently go on as voices of their own.
void Referee::Split(Side& side, const std::vector<Digest>& questions) {
  Voice whole = std::move(side.voices.front());
  std::vector<Voice> parts;
  const auto agree = [&](ProviderId a, ProviderId b) {
    return std::ranges::all_of(questions,
                               [&](const Digest& question) { return Words({question, a}).body == Words({question, b}).body; });
  };
  for (const ProviderId id : whole.members) {
    const auto same = std::ranges::find_if(parts, [&](const Voice& part) { return agree(part.members.front(), id); });
    if (same != parts.end()) {
      same->members.push_back(id);
      continue;
    }
    Voice part{.id = parts.empty() ? whole.id : next_voice_++, .members = {id}, .lines = whole.lines};
    for (const Digest& question : questions) part.lines.push_back({question, id});
    parts.push_back(std::move(part));
  }
  for (Voice& part : parts) {
    if (whole.speaker && std::ranges::count(part.members, *whole.speaker) > 0) part.speaker = whole.speaker;
  }
  side.voices.front() = std::move(parts.front());
  std::move(parts.begin() + 1, parts.end(), std::back_inserter(side.voices));
}

// Asks all groups for the entries around the disputed interval. False: there is nobody else to join.
bool Referee::Invite(const std::vector<dispute::Ask>& asks) {
  std::optional<std::int64_t> entry;
  for (const dispute::Ask& ask : asks) {
    if (!ProvesItself(ask.question) && !entry) entry = law_->entry(ask.question);
  }
  if (!entry || *entry < 1) return false;
  const auto at = static_cast<std::uint64_t>(*entry);
  match_->invitation = LeavesQuestion{{.kind = TreeKind::kLog}, {{at - 1, at + 1}}};
  bool others = false;
  for (std::uint32_t group = 0; group < record_.groups.size(); ++group) {
    others = others || (GroupStands(group) && group != match_->sides[0].group && group != match_->sides[1].group);
  }
  if (!others) return false;
  for (std::uint32_t group = 0; group < record_.groups.size(); ++group) {
    if (GroupStands(group)) Add(std::nullopt, group, match_->invitation, StandingOf(group));
  }
  Open();
  return true;
}

// Whoever did not prove its own log is out, and the next of its group is asked; when all have answered, the guests are seated.
void Referee::CloseInvitation(const std::vector<Pending>& batch) {
  for (const Pending& pending : batch) {
    if (!pending.answered) continue;
    const ProviderId id = *pending.answered;
    const Answer& answer = Words({pending.question, id});
    const Result<std::vector<Bytes>> leaves = law_->open_log((*claims_)[id], match_->invitation, answer.body);
    if (leaves) {
      match_->leaves[pending.group] = {{pending.question, id}, *leaves};
      continue;
    }
    if (Stands(id)) {
      const ProviderId by[] = {id};
      const std::size_t charge = record_.charges.size();
      record_.charges.emplace_back(std::in_place_type<UnprovenLog>, UnprovenLog{id, Note(pending.question, answer, by)});
      Fall(id, Standing::kConvicted, fmt::format("did not prove its own log: {}", leaves.error().message), charge);
    }
    if (GroupStands(pending.group)) Add(std::nullopt, pending.group, match_->invitation, StandingOf(pending.group));
  }
  if (batch_.empty()) {
    Seat();
  } else {
    Open();
  }
}

void Referee::Seat() {
  const auto first = match_->leaves.find(match_->sides[0].group), second = match_->leaves.find(match_->sides[1].group);
  if (first == match_->leaves.end() || second == match_->leaves.end()) return;
  if (first->second.second == second->second.second) return;
  for (const auto& [group, shown] : match_->leaves) {
    if (group == first->first || group == second->first) continue;
    for (Side& side : match_->sides) {
      if (shown.second != match_->leaves.at(side.group).second || side.voices.empty()) continue;
      std::ranges::copy(StandingOf(group), std::back_inserter(side.voices.front().members));
    }
  }
}

void Referee::Decide(const Finding& finding) {
  if (!finding.strikes(Party::kA) && !finding.strikes(Party::kB)) return Draw("the law convicts nobody", {});
  Trial trial{.finding = finding};
  for (std::size_t s = 0; s < 2; ++s) {
    const Side& side = match_->sides[s];
    if (!finding.strikes(static_cast<Party>(s))) continue;
    for (const ProviderId id : GuiltyOf(side.voices.front(), side.group, finding)) {
      if (!Stands(id)) continue;
      trial.convicted.push_back(id);
      Share(trial, side.group, *record_.providers[id].group);
    }
  }
  if (!trial.convicted.empty()) {
    for (const std::size_t s : {std::size_t{0}, std::size_t{1}}) Transcribe(trial, s);
  }
  for (auto* list : {&trial.convicted, &trial.shared}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  Strike(std::move(trial));
}

void Referee::Transcribe(Trial& trial, std::size_t s) {
  const Side& side = match_->sides[s];
  const Voice& voice = side.voices.front();
  trial.claims[s] = record_.groups[side.group].front();
  for (const Line& line : voice.lines) {
    const ProviderId signer[] = {line.signer};
    const bool proves_itself = ProvesItself(asked_.at(line.question).question);
    trial.said[s].push_back(Note(line.question, Words(line), proves_itself ? std::span(signer) : std::span(voice.members)));
  }
}

// An answer that does not prove itself is its signer's fault. Everything else is what all members stand by, guests as far as they have the same entries.
std::vector<ProviderId> Referee::GuiltyOf(const Voice& voice, std::uint32_t group, const Finding& finding) const {
  if (finding.unproven && ProvesItself(*finding.unproven)) {
    const Digest question = HashBytes(Encode(record_.dispute, *finding.unproven));
    const auto line = std::ranges::find(voice.lines, question, &Line::question);
    if (line == voice.lines.end()) return {};
    return {line->signer};
  }
  if (!IsAboutReceipt(finding.cause)) return voice.members;
  std::vector<ProviderId> own;
  std::ranges::copy_if(voice.members, std::back_inserter(own),
                       [&](ProviderId id) { return record_.providers[id].group == group; });
  return own;
}

// That a guest has the same entries as the group it stood with.
void Referee::Share(Trial& trial, std::uint32_t group, std::uint32_t guest) {
  if (group == guest) return;
  for (const std::uint32_t shown : {group, guest}) {
    const Line& line = match_->leaves.at(shown).first;
    const ProviderId by[] = {line.signer};
    trial.shared.push_back(Note(line.question, Words(line), by));
  }
}

void Referee::Strike(Trial trial) {
  const Finding finding = trial.finding;
  std::vector<std::pair<ProviderId, Standing>> fallen;
  for (const ProviderId id : trial.convicted) {
    const auto& members = match_->sides[0].voices.front().members;
    const Party side = std::ranges::find(members, id) != members.end() ? Party::kA : Party::kB;
    fallen.emplace_back(id, StruckAs(finding, side, (*claims_)[id]));
  }
  const std::size_t charge = record_.charges.size();
  if (!fallen.empty()) record_.charges.emplace_back(std::in_place_type<Trial>, std::move(trial));
  if (finding.unproven && ProvesItself(*finding.unproven)) {
    const Digest question = HashBytes(Encode(record_.dispute, *finding.unproven));
    bool known = false;
    for (std::size_t s = 0; s < 2; ++s) {
      if (finding.strikes(static_cast<Party>(s))) known = Forget(match_->sides[s], question) || known;
    }
    if (!known) return Draw("the law convicts of what was not said", {});
  } else if (IsAboutReceipt(finding.cause)) {
    for (std::size_t s = 0; s < 2; ++s) {
      if (finding.strikes(static_cast<Party>(s))) ReleaseGuests(match_->sides[s]);
    }
  }
  for (const auto& [id, standing] : fallen) Fall(id, standing, finding.reason, charge);
}

// Takes back what the first voice's signer said to this; true if it had been said.
bool Referee::Forget(Side& side, const Digest& question) {
  const auto& lines = side.voices.front().lines;
  const auto found = std::ranges::find(lines, question, &Line::question);
  if (found == lines.end()) return false;
  const ProviderId signer = found->signer;
  for (Voice& voice : side.voices) {
    std::erase_if(voice.lines, [&](const Line& line) { return line.question == question && line.signer == signer; });
  }
  side.testimony_of = 0;
  return true;
}

void Referee::Draw(std::string why, std::string decided_by) {
  match_->record.drawn = std::move(why);
  match_->record.decided_by = std::move(decided_by);
  match_->record.decided.reset();
  EndMatch();
}

// Guests cannot answer for what only the group itself has signed: they go back to their own.
void Referee::ReleaseGuests(Side& side) {
  for (Voice& voice : side.voices) {
    std::erase_if(voice.members, [&](ProviderId id) { return record_.providers[id].group != side.group; });
  }
  std::erase_if(side.voices, [](const Voice& voice) { return voice.members.empty(); });
}

}  // namespace assay::dispute
