// What a finding of the law does: whom it strikes, and the transcript that shows it.
#include <algorithm>

#include "assay/dispute/match.h"
#include "assay/dispute/scope.h"

namespace assay::dispute {

void Match::Decide(Floor& floor, const Finding& finding) {
  if (!finding.strikes(Party::kA) && !finding.strikes(Party::kB))
    return Draw({"the referee fails: it finds something and strikes nobody"});
  Trial trial{.finding = finding};
  for (std::size_t s = 0; s < 2; ++s) {
    const Side& side = sides_[s];
    if (!finding.strikes(static_cast<Party>(s))) continue;
    for (const ProviderId id : GuiltyOf(floor, side, finding)) {
      if (!floor.ledger.Stands(id)) continue;
      trial.convicted.push_back(id);
      Share(floor, trial, side.group(), *floor.ledger.record().providers[id].group);
    }
  }
  if (!trial.convicted.empty()) {
    for (const std::size_t s : {std::size_t{0}, std::size_t{1}}) Transcribe(floor, trial, s);
  }
  for (auto* list : {&trial.convicted, &trial.shared}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  Strike(floor, std::move(trial));
}

// An answer that does not prove itself is its signer's fault. Everything else is what all members stand by, guests as far as they have the same entries.
std::vector<ProviderId> Match::GuiltyOf(const Floor& floor, const Side& side, const Finding& finding) const {
  const Voice& voice = side.voice();
  const Record& record = floor.ledger.record();
  if (finding.unproven && ProvesItself(*finding.unproven)) {
    const Digest question = HashBytes(Encode(record.dispute, *finding.unproven));
    const auto line = std::ranges::find(voice.lines, question, &Spoken::question);
    if (line == voice.lines.end()) return {};
    return {line->signer};
  }
  if (!IsAboutReceipt(finding.cause)) return voice.members;
  std::vector<ProviderId> own;
  std::ranges::copy_if(voice.members, std::back_inserter(own),
                       [&](ProviderId id) { return record.providers[id].group == side.group(); });
  return own;
}

void Match::Transcribe(Floor& floor, Trial& trial, std::size_t s) const {
  const Voice& voice = sides_[s].voice();
  trial.claims[s] = floor.ledger.record().groups[sides_[s].group()].front();
  for (const Spoken& line : voice.lines) {
    const ProviderId signer[] = {line.signer};
    const Question& question = floor.mail.QuestionOf(line.question);
    const auto by = floor.mail.Signatures(line.question, ProvesItself(question) ? std::span(signer) : std::span(voice.members));
    trial.said[s].push_back(floor.ledger.Note(line.question, question, floor.mail.Words(line.signer, line.question).body, by));
  }
}

DrawnMatch Match::TranscribeDraw(const Floor& floor) const {
  DrawnMatch drawn;
  for (std::size_t s = 0; s < 2; ++s) {
    drawn.claims[s] = floor.ledger.record().groups[sides_[s].group()].front();
    for (const Spoken& line : sides_[s].voice().lines) {
      const ProviderId signer[] = {line.signer};
      drawn.said[s].push_back({floor.mail.QuestionOf(line.question), floor.mail.Words(line.signer, line.question).body,
                               floor.mail.Signatures(line.question, signer)});
    }
  }
  return drawn;
}

// That a guest has the same entries as the group it stood with.
void Match::Share(Floor& floor, Trial& trial, std::uint32_t group, std::uint32_t guest) const {
  if (group == guest) return;
  for (const std::uint32_t shown : {group, guest}) {
    const Spoken& line = leaves_.at(shown).first;
    const ProviderId by[] = {line.signer};
    trial.shared.push_back(floor.ledger.Note(line.question, invitation_, floor.mail.Words(line.signer, line.question).body,
                                             floor.mail.Signatures(line.question, by)));
  }
}

void Match::Strike(Floor& floor, Trial trial) {
  const Finding finding = trial.finding;
  std::vector<std::pair<ProviderId, Standing>> fallen;
  for (const ProviderId id : trial.convicted) {
    const Party side = std::ranges::count(sides_[0].voice().members, id) > 0 ? Party::kA : Party::kB;
    fallen.emplace_back(id, StruckAs(finding, side, floor.ledger.record().providers[id].follows));
  }
  std::size_t charge = 0;
  if (!fallen.empty()) charge = floor.ledger.Accuse(std::move(trial));
  if (finding.unproven && ProvesItself(*finding.unproven)) {
    const Digest question = HashBytes(Encode(floor.ledger.record().dispute, *finding.unproven));
    bool known = false;
    for (std::size_t s = 0; s < 2; ++s) {
      if (finding.strikes(static_cast<Party>(s))) known = sides_[s].Forget(question) || known;
    }
    if (!known) return Draw({"the referee fails: it convicts of what was not said"});
  } else if (IsAboutReceipt(finding.cause)) {
    for (std::size_t s = 0; s < 2; ++s) {
      if (finding.strikes(static_cast<Party>(s))) sides_[s].ReleaseGuests(floor.ledger.record());
    }
  }
  for (const auto& [id, standing] : fallen) Fall(floor, id, standing, finding.reason, charge);
}

}  // namespace assay::dispute
