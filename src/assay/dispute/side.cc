#include "assay/dispute/side.h"

#include <algorithm>

namespace assay::dispute {

const Testimony& Side::Recite(const Correspondence& mail) {
  const Voice& voice = voices_.front();
  if (testimony_of_ != voice.id || testimony_lines_ > voice.lines.size()) {
    testimony_ = {};
    testimony_of_ = voice.id;
    testimony_lines_ = 0;
  }
  for (; testimony_lines_ < voice.lines.size(); ++testimony_lines_) {
    const Spoken& line = voice.lines[testimony_lines_];
    testimony_.Add(mail.QuestionOf(line.question), mail.Words(line.signer, line.question).body);
  }
  return testimony_;
}

void Side::Seat(const std::vector<ProviderId>& guests) {
  if (!voices_.empty()) std::ranges::copy(guests, std::back_inserter(voices_.front().members));
}

void Side::Say(const Digest& question, ProviderId signer) {
  voices_.front().lines.push_back({question, signer});
  voices_.front().speaker = signer;
}

void Side::Split(const std::vector<Digest>& questions, const Correspondence& mail) {
  Voice whole = std::move(voices_.front());
  std::vector<Voice> parts;
  const auto agree = [&](ProviderId a, ProviderId b) {
    return std::ranges::all_of(
        questions, [&](const Digest& question) { return mail.Words(a, question).body == mail.Words(b, question).body; });
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
  voices_.front() = std::move(parts.front());
  std::move(parts.begin() + 1, parts.end(), std::back_inserter(voices_));
}

bool Side::Forget(const Digest& question) {
  const auto& lines = voices_.front().lines;
  const auto found = std::ranges::find(lines, question, &Spoken::question);
  if (found == lines.end()) return false;
  const ProviderId signer = found->signer;
  for (Voice& voice : voices_) {
    std::erase_if(voice.lines, [&](const Spoken& line) { return line.question == question && line.signer == signer; });
  }
  testimony_of_ = 0;
  return true;
}

void Side::ReleaseGuests(const Record& record) {
  for (Voice& voice : voices_) {
    std::erase_if(voice.members, [&](ProviderId id) { return record.providers[id].group != group_; });
  }
  std::erase_if(voices_, [](const Voice& voice) { return voice.members.empty(); });
}

void Side::Leave(ProviderId provider) {
  for (Voice& voice : voices_) std::erase(voice.members, provider);
  std::erase_if(voices_, [](const Voice& voice) { return voice.members.empty(); });
}

void Side::Dump(const Ledger& ledger, const Correspondence& mail, ByteWriter& out) const {
  out.U32(group_);
  out.U64(voices_.size());
  for (const Voice& voice : voices_) {
    out.U64(voice.members.size());
    for (const ProviderId id : voice.members) out.U32(id);
    out.U8(voice.speaker ? 1 : 0);
    out.U32(voice.speaker.value_or(0));
    out.U64(voice.lines.size());
    for (const Spoken& line : voice.lines) {
      out.Raw(line.question.bytes);
      out.U32(ledger.Stands(line.signer) ? line.signer : static_cast<ProviderId>(ledger.record().providers.size()));
      out.Blob(mail.Words(line.signer, line.question).body);
    }
  }
}

}  // namespace assay::dispute
