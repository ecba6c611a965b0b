#include "assay/dispute/referee.h"

#include "assay/base/check.h"

namespace assay::dispute {

Referee::Referee(std::shared_ptr<const Law> law, std::vector<Claim> claims, const Clocks& clocks)
    : Referee(law, std::make_shared<const std::vector<Claim>>(claims), Enlist(*law, claims), clocks) {}

Referee::Referee(std::shared_ptr<const Law> law, std::shared_ptr<const std::vector<Claim>> claims, Roster roster,
                 const Clocks& clocks)
    : law_(std::move(law)),
      claims_(std::move(claims)),
      parties_(std::move(roster.parties)),
      bracket_(static_cast<std::uint32_t>(roster.record.groups.size())),
      ledger_(std::move(roster.record)),
      mail_(claims_->size(), clocks),
      refused_(claims_->size()),
      unable_(claims_->size()) {}

std::vector<Action> Referee::Handle(const Event& event) {
  if (const auto* started = std::get_if<Started>(&event)) {
    if (phase_ != Phase::kNew) return {};
    phase_ = Phase::kPlaying;
    mail_.Start(started->now_ms);
  }
  if (phase_ != Phase::kPlaying) return {};
  if (const auto* resumed = std::get_if<Resumed>(&event)) {
    mail_.Resume(resumed->now_ms);
    return mail_.TakeActions();
  }
  mail_.Advance(std::visit([](const auto& e) { return e.now_ms; }, event));
  for (const ProviderId id : mail_.Expired()) FallSilent(id, "gave no answer in time");
  if (const auto* answered = std::get_if<Answered>(&event)) OnAnswer(*answered);
  if (const auto* unreachable = std::get_if<Unreachable>(&event)) OnUnreachable(*unreachable);
  Run();
  if (phase_ == Phase::kPlaying) mail_.Resend();
  std::vector<Action> actions = mail_.TakeActions();
  if (phase_ == Phase::kDone) actions.push_back(Done{});
  return actions;
}

// Goes on until something has to be waited for.
void Referee::Run() {
  Floor floor = OpenFloor();
  while (true) {
    if (!match_) {
      const auto pair = bracket_.Next([&](std::uint32_t group) { return ledger_.GroupStands(group); });
      if (!pair) {
        phase_ = Phase::kDone;
        return;
      }
      match_.emplace(pair->first, pair->second, ledger_);
    }
    if (!match_->Run(floor)) return;
    MatchRecord record = match_->End(floor);
    if (!record.fell[0] && !record.fell[1]) bracket_.Drawn({record.groups[0], record.groups[1]});
    ledger_.Add(std::move(record));
    match_.reset();
  }
}

void Referee::OnAnswer(const Answered& event) {
  if (event.provider >= claims_->size() || !ledger_.Stands(event.provider)) return;
  const Correspondence::Received received = mail_.Receive(event, *law_, (*claims_)[event.provider].signer);
  ASSAY_CHECK(match_ || received.kind == Correspondence::Received::Kind::kNothing);
  if (received.kind == Correspondence::Received::Kind::kAnother)
    return SecondAnswer(event.provider, event.question, received.another);
  if (received.kind == Correspondence::Received::Kind::kAnswer)
    match_->OnAnswer(event.provider, event.question, event.answer.size(), mail_);
}

void Referee::SecondAnswer(ProviderId provider, const Digest& question, const Answer& answer) {
  const ProviderId by[] = {provider};
  const Question& asked = mail_.QuestionOf(question);
  const StatementId first = ledger_.Note(question, asked, mail_.Words(provider, question).body, mail_.Signatures(question, by));
  const SignedBy again[] = {{provider, answer.signature}};
  const StatementId second = ledger_.Note(question, asked, answer.body, again);
  const std::size_t charge = ledger_.Accuse(TwoAnswers{provider, first, second});
  Floor floor = OpenFloor();
  match_->Fall(floor, provider, Standing::kEquivocated, fmt::format("two answers about {}", Describe(asked)), charge);
}

void Referee::OnUnreachable(const Unreachable& event) {
  if (event.provider >= claims_->size()) return;
  if (event.hope != Hope::kLater) refused_[event.provider] = true;
  if (event.hope == Hope::kUnable) unable_[event.provider] = true;
  const bool falls = (event.hope == Hope::kNobody || event.hope == Hope::kUnable) && ledger_.Stands(event.provider);
  if (falls && (mail_.Unanswered(event.provider) || !mail_.HasSpoken(event.provider)))
    FallSilent(event.provider, "refused to answer");
  mail_.Bounce(event.provider);
  if (match_) match_->Hurry(event.provider, mail_.now_ms());
}

void Referee::FallSilent(ProviderId provider, std::string_view how) {
  Floor floor = OpenFloor();
  if (unable_[provider]) {
    return match_->Fall(floor, provider, Standing::kUnheard, "was not heard: the referee's machine failed", std::nullopt);
  }
  if (refused_[provider] && !mail_.HasSpoken(provider)) {
    return match_->Fall(floor, provider, Standing::kUnheard, "was not heard: it refused this dispute", std::nullopt);
  }
  const Question& question = mail_.QuestionOf(*mail_.Unanswered(provider));
  const std::size_t charge = ledger_.Accuse(Silence{provider, question});
  match_->Fall(floor, provider, Standing::kSilent, fmt::format("{} about {}", how, Describe(question)), charge);
}

std::optional<std::int64_t> Referee::WakeAt() const {
  if (phase_ != Phase::kPlaying) return std::nullopt;
  std::optional<std::int64_t> wake = mail_.WakeAt();
  const auto hedge = match_ ? match_->WakeAt() : std::nullopt;
  if (hedge) wake = std::min(wake.value_or(*hedge), *hedge);
  if (wake) wake = mail_.CallersTime(*wake);
  return wake;
}

Bytes Referee::Dump() const {
  ByteWriter out;
  const Record& record = ledger_.record();
  for (const ProviderRecord& provider : record.providers) {
    out.U8(static_cast<std::uint8_t>(provider.standing));
    out.String(provider.why);
    out.U64(provider.charge.value_or(SIZE_MAX));
  }
  out.U64(record.statements.size());
  for (const Statement& statement : record.statements) out.U64(statement.by.size());
  out.U64(record.charges.size());
  std::vector<MatchRecord> matches = record.matches;
  if (match_) matches.push_back(match_->record());
  for (const MatchRecord& match : matches) {
    for (std::size_t s = 0; s < 2; ++s) {
      out.U32(match.groups[s]);
      out.U8(match.fell[s] ? 1 : 0);
    }
    out.String(match.drawn);
    out.String(match.decided_by);
    out.U64(match.decided.value_or(SIZE_MAX));
    for (const std::size_t count : {match.bouts, match.rounds, match.bytes_received, match.decision_bytes}) out.U64(count);
  }
  for (ProviderId id = 0; id < claims_->size(); ++id) mail_.Dump(id, match_.has_value(), out);
  out.String(progress().phase);
  out.String(progress().interval);
  out.Blob(DumpOutlook());
  return out.Take();
}

Bytes Referee::DumpOutlook() const {
  ByteWriter out;
  out.U8(static_cast<std::uint8_t>(phase_));
  out.U64(ledger_.record().matches.size());
  for (ProviderId id = 0; id < claims_->size(); ++id) {
    out.U8(ledger_.Stands(id) ? 1 : 0);
    if (!ledger_.Stands(id)) continue;
    out.U8(static_cast<std::uint8_t>((refused_[id] ? 1 : 0) | (unable_[id] ? 2 : 0)));
    mail_.Dump(id, match_.has_value(), out);
  }
  out.U8(match_ ? 1 : 0);
  if (match_) match_->Dump(ledger_, mail_, out);
  return out.Take();
}

}  // namespace assay::dispute
