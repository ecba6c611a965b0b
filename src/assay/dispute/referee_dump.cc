// The referee's state as bytes, for comparing two of them.
#include "assay/dispute/referee.h"

namespace assay::dispute {
namespace {

void Write(const Digest& digest, ByteWriter& out) { out.Raw(digest.bytes); }
void Write(const Bytes& bytes, ByteWriter& out) { out.Blob(bytes); }
void Write(std::integral auto number, ByteWriter& out) { out.U64(static_cast<std::uint64_t>(number)); }
void Write(const std::string& text, ByteWriter& out) { out.String(text); }

void Write(const Answer& answer, ByteWriter& out) {
  out.Blob(answer.body);
  out.Raw(answer.signature);
}

void Write(const MatchRecord& match, ByteWriter& out);

template <class T>
void Write(const std::optional<T>& value, ByteWriter& out) {
  out.U8(value ? 1 : 0);
  if (value) Write(*value, out);
}

template <class T>
void Write(const std::vector<T>& values, ByteWriter& out) {
  out.U64(values.size());
  for (const T& value : values) Write(value, out);
}

void Write(const MatchRecord& match, ByteWriter& out) {
  for (std::size_t s = 0; s < 2; ++s) {
    out.U32(match.groups[s]);
    out.U8(match.fell[s] ? 1 : 0);
  }
  Write(match.drawn, out);
  Write(match.decided_by, out);
  Write(match.decided, out);
  for (const std::size_t count : {match.bouts, match.rounds, match.bytes_received, match.decision_bytes}) out.U64(count);
}

}  // namespace

Bytes Referee::Dump() const {
  ByteWriter out;
  out.U8(static_cast<std::uint8_t>(phase_));
  for (const ProviderRecord& provider : record_.providers) {
    out.U8(static_cast<std::uint8_t>(provider.standing));
    out.String(provider.why);
    Write(provider.charge, out);
  }
  out.U64(record_.statements.size());
  for (const Statement& statement : record_.statements) out.U64(statement.by.size());
  out.U64(record_.charges.size());
  Write(record_.matches, out);
  for (const Player& player : players_) DumpPlayer(player, out);
  out.U8(match_ ? 1 : 0);
  if (match_) {
    Write(match_->record, out);
    DumpMatch(out);
  }
  DumpBatch(out);
  out.String(progress_.phase);
  out.String(progress_.interval);
  return out.Take();
}

Bytes Referee::DumpOutlook() const {
  ByteWriter out;
  out.U8(static_cast<std::uint8_t>(phase_));
  out.U64(record_.matches.size());
  for (ProviderId id = 0; id < players_.size(); ++id) {
    out.U8(Stands(id) ? 1 : 0);
    if (Stands(id)) DumpPlayer(players_[id], out);
  }
  out.U8(match_ ? 1 : 0);
  if (match_) DumpMatch(out);
  DumpBatch(out);
  return out.Take();
}

void Referee::DumpBatch(ByteWriter& out) const {
  out.U64(batch_.size());
  for (const Pending& pending : batch_) {
    out.U8(pending.side ? static_cast<std::uint8_t>(*pending.side) : 2);
    out.U32(pending.group);
    Write(pending.question, out);
    Write(pending.candidates, out);
    out.U64(pending.asked);
    out.I64(pending.hedge_ms - now_ms_);
    Write(pending.answered, out);
  }
}

void Referee::DumpPlayer(const Player& player, ByteWriter& out) const {
  const bool wound = match_ && player.bout == match_->bout;  // of no consequence otherwise
  out.U8(wound ? 1 : 0);
  out.I64(wound ? player.clock.left_ms() : 0);
  out.U32(static_cast<std::uint32_t>(player.clock.unanswered()));
  out.I64(player.clock.running() ? player.clock.deadline_ms() - now_ms_ : 0);
  out.U64(wound ? player.rerun.size() : 0);
  out.U64(player.heard.size());
  for (const auto& [question, heard] : player.heard) {
    Write(question, out);
    out.U8(static_cast<std::uint8_t>(heard.state));
    Write(heard.answer, out);
    out.I64(heard.resend_ms ? *heard.resend_ms - now_ms_ : -1);
  }
}

void Referee::DumpMatch(ByteWriter& out) const {
  for (const Side& side : match_->sides) {
    out.U32(side.group);
    out.U64(side.voices.size());
    for (const Voice& voice : side.voices) {
      Write(voice.members, out);
      Write(voice.speaker, out);
      out.U64(voice.lines.size());
      for (const Line& line : voice.lines) {
        Write(line.question, out);
        out.U32(Stands(line.signer) ? line.signer : static_cast<ProviderId>(players_.size()));
        out.Blob(Words(line).body);
      }
    }
  }
  out.U8(match_->invited ? 1 : 0);
  out.U8(match_->deciding ? 1 : 0);
  out.U64(match_->leaves.size());
  for (const auto& [group, shown] : match_->leaves) {
    out.U32(group);
    Write(shown.second, out);
  }
}

}  // namespace assay::dispute
