#include "assay/dispute/match.h"

#include <algorithm>

#include "assay/dispute/scope.h"

namespace assay::dispute {
namespace {

bool IsAboutTraceLeaves(const Question& question) {
  const auto* leaves = std::get_if<LeavesQuestion>(&question);
  return leaves != nullptr && leaves->tree.kind == TreeKind::kTrace;
}

}  // namespace

Match::Match(std::uint32_t first, std::uint32_t second, const Ledger& ledger)
    : sides_{{first, ledger.StandingOf(first)}, {second, ledger.StandingOf(second)}} {
  for (std::size_t s = 0; s < 2; ++s) record_.groups[s] = sides_[s].group();
}

bool Match::Run(Floor& floor) {
  while (!drawn_ && !sides_[0].silent() && !sides_[1].silent()) {
    BeginBout(floor.mail);
    batch_.Refresh(floor.ledger, floor.mail);
    if (!batch_.IsComplete(floor.mail)) return false;
    if (batch_.empty()) {
      Consult(floor);
    } else {
      CloseBatch(floor);
    }
  }
  return true;
}

MatchRecord Match::End(Floor& floor) {
  floor.mail.WithdrawAll();
  for (std::size_t s = 0; s < 2; ++s) record_.fell[s] = !floor.ledger.GroupStands(record_.groups[s]);
  return std::move(record_);
}

void Match::OnAnswer(ProviderId provider, const Digest& question, std::size_t bytes, Correspondence& mail) {
  record_.bytes_received += bytes;
  if (deciding_) record_.decision_bytes += bytes;
  batch_.OnAnswer(provider, question, mail);
}

void Match::Fall(Floor& floor, ProviderId provider, Standing standing, std::string why, std::optional<std::size_t> charge) {
  floor.ledger.Fall(provider, standing, std::move(why), charge);
  floor.mail.WithdrawFrom(provider);
  if (charge) record_.decided = charge;
  for (Side& side : sides_) side.Leave(provider);
}

// When other voices have come to the front, what was asked of those before them is void.
void Match::BeginBout(Correspondence& mail) {
  const std::uint64_t voices[] = {sides_[0].voice().id, sides_[1].voice().id};
  if (std::ranges::equal(voices, voices_)) return;
  mail.WithdrawAll();
  batch_.Clear();
  std::ranges::copy(voices, voices_);
  mail.BeginBout();
  ++record_.bouts;
}

void Match::Consult(Floor& floor) {
  const auto claim = [&](std::size_t s) -> const Claim& {
    return floor.claims[floor.ledger.record().groups[sides_[s].group()].front()];
  };
  Outcome outcome = floor.law.examine(claim(0), claim(1), sides_[0].Recite(floor.mail), sides_[1].Recite(floor.mail));
  progress_ = std::move(outcome.progress);
  if (const auto* finding = std::get_if<Finding>(&outcome.next)) return Decide(floor, *finding);
  if (std::holds_alternative<Agreement>(outcome.next)) return Draw({"the claims are the same"});
  if (auto* undecided = std::get_if<Undecided>(&outcome.next)) {
    floor.ledger.KeepDrawn(TranscribeDraw(floor));
    return Draw(std::move(*undecided));
  }
  Put(floor, std::get<std::vector<Ask>>(outcome.next));
}

void Match::Put(Floor& floor, const std::vector<Ask>& asks) {
  if (!invited_ && std::ranges::any_of(asks, [](const Ask& ask) { return !ProvesItself(ask.question); })) {
    invited_ = true;
    if (Invite(floor, asks)) return;
  }
  for (const Ask& ask : asks) {
    Side& side = sides_[static_cast<std::size_t>(ask.to)];
    if (side.Recite(floor.mail).Find(ask.question) != nullptr) continue;
    std::vector<ProviderId> candidates = side.voice().members;
    if (IsAboutReceipt(ask.question)) {  // only who signed for this log can be asked about it
      std::erase_if(candidates, [&](ProviderId id) { return floor.ledger.record().providers[id].group != side.group(); });
    }
    if (side.voice().speaker) {
      const auto speaker = std::ranges::find(candidates, *side.voice().speaker);
      if (speaker != candidates.end()) std::rotate(candidates.begin(), speaker, speaker + 1);
    }
    if (IsAboutTraceLeaves(ask.question)) deciding_ = true;
    Add(floor, ask.to, side.group(), ask.question, std::move(candidates));
  }
  if (batch_.empty()) return Draw({"the referee fails: it asks again for what it has been told"});
  Open(floor);
}

void Match::Add(Floor& floor, std::optional<Party> side, std::uint32_t group, const Question& question,
                std::vector<ProviderId> candidates) {
  const Digest hash = floor.mail.Introduce(question, Encode(floor.ledger.record().dispute, question));
  Pending pending{.side = side, .group = group, .question = hash, .candidates = std::move(candidates)};
  pending.proves_itself = ProvesItself(question);
  const Clocks& clocks = floor.mail.clocks();
  pending.patience_ms = clocks.patience_ms + (RerunOf(question) ? clocks.rerun_ms : 0);
  pending.hedge_ms = floor.mail.now_ms() + pending.patience_ms;
  batch_.Add(std::move(pending));
}

// Sends what has been added. A batch to which everything has been said in an earlier match is not a round.
void Match::Open(Floor& floor) {
  const std::size_t before = floor.mail.waiting_actions();
  batch_.Refresh(floor.ledger, floor.mail);
  if (floor.mail.waiting_actions() > before) ++record_.rounds;
}

void Match::CloseBatch(Floor& floor) {
  const std::vector<Pending> batch = batch_.Take();
  if (!batch.front().side) return CloseInvitation(floor, batch);
  for (const Party party : {Party::kA, Party::kB}) Hear(floor, party, batch);
}

void Match::Hear(Floor& floor, Party party, const std::vector<Pending>& batch) {
  Side& side = sides_[static_cast<std::size_t>(party)];
  std::vector<Digest> splitting;
  for (const Pending& pending : batch) {
    if (pending.side != party) continue;
    if (!pending.proves_itself) {
      splitting.push_back(pending.question);
    } else if (pending.answered) {
      side.Say(pending.question, *pending.answered);
    } else {  // of those whose log it is nobody is left
      return side.ReleaseGuests(floor.ledger.record());
    }
  }
  if (!splitting.empty()) side.Split(splitting, floor.mail);
}

void Match::Draw(Undecided why) {
  drawn_ = true;
  record_.drawn = std::move(why.why);
  record_.decided_by = std::move(why.decided_by);
  record_.step = why.step;
  record_.decided.reset();
}

void Match::Dump(const Ledger& ledger, const Correspondence& mail, ByteWriter& out) const {
  for (const Side& side : sides_) side.Dump(ledger, mail, out);
  out.U8(invited_ ? 1 : 0);
  out.U8(deciding_ ? 1 : 0);
  out.U64(leaves_.size());
  for (const auto& [group, shown] : leaves_) {
    out.U32(group);
    out.U64(shown.second.size());
    for (const Bytes& leaf : shown.second) out.Blob(leaf);
  }
  batch_.Dump(mail.now_ms(), out);
}

}  // namespace assay::dispute
