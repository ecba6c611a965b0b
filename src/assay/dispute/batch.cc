#include "assay/dispute/batch.h"

#include <algorithm>

namespace assay::dispute {
namespace {

void AskAll(Pending& pending, const Ledger& ledger, Correspondence& mail) {
  for (; pending.asked < pending.candidates.size(); ++pending.asked) {
    const ProviderId id = pending.candidates[pending.asked];
    if (ledger.Stands(id) && !mail.HasAnswered(id, pending.question)) mail.Ask(id, pending.question);
  }
}

void AskSome(Pending& pending, const Ledger& ledger, Correspondence& mail) {
  if (!pending.answered && pending.asked == 0) {
    const auto known = std::ranges::find_if(
        pending.candidates, [&](ProviderId id) { return ledger.Stands(id) && mail.HasAnswered(id, pending.question); });
    if (known != pending.candidates.end()) pending.answered = *known;
  }
  if (pending.answered) return;
  const auto open = std::ranges::count_if(pending.candidates, [&](ProviderId id) { return mail.IsOpen(id, pending.question); });
  std::ptrdiff_t more = open == 0 ? 1 : 0;
  if (mail.now_ms() >= pending.hedge_ms) more = std::max<std::ptrdiff_t>(open, 1);  // twice as many each time
  for (; more > 0 && pending.asked < pending.candidates.size(); ++pending.asked) {
    const ProviderId id = pending.candidates[pending.asked];
    if (!ledger.Stands(id)) continue;
    mail.Ask(id, pending.question);
    pending.hedge_ms = mail.now_ms() + pending.patience_ms;
    --more;
  }
}

}  // namespace

void Batch::Refresh(const Ledger& ledger, Correspondence& mail) {
  for (Pending& pending : pending_) (pending.proves_itself ? AskSome : AskAll)(pending, ledger, mail);
}

bool Batch::IsComplete(const Correspondence& mail) const {
  return std::ranges::all_of(pending_, [&](const Pending& pending) {
    return pending.answered ||
           std::ranges::none_of(pending.candidates, [&](ProviderId id) { return mail.IsOpen(id, pending.question); });
  });
}

void Batch::OnAnswer(ProviderId provider, const Digest& question, Correspondence& mail) {
  for (Pending& pending : pending_) {
    if (pending.question != question || !pending.proves_itself || pending.answered) continue;
    if (std::ranges::count(pending.candidates, provider) == 0) continue;
    pending.answered = provider;
    for (const ProviderId other : pending.candidates) mail.Withdraw(other, question);
  }
}

void Batch::Hurry(ProviderId provider, std::int64_t now_ms) {
  for (Pending& pending : pending_) {
    if (std::ranges::count(pending.candidates, provider) > 0) pending.hedge_ms = now_ms;
  }
}

std::optional<std::int64_t> Batch::WakeAt() const {
  std::optional<std::int64_t> wake;
  for (const Pending& pending : pending_) {
    if (!pending.proves_itself || pending.answered || pending.asked == pending.candidates.size()) continue;
    wake = std::min(wake.value_or(pending.hedge_ms), pending.hedge_ms);
  }
  return wake;
}

void Batch::Dump(std::int64_t now_ms, ByteWriter& out) const {
  out.U64(pending_.size());
  for (const Pending& pending : pending_) {
    out.U8(pending.side ? static_cast<std::uint8_t>(*pending.side) : 2);
    out.U32(pending.group);
    out.Raw(pending.question.bytes);
    out.U64(pending.candidates.size());
    for (const ProviderId id : pending.candidates) out.U32(id);
    out.U64(pending.asked);
    out.I64(pending.hedge_ms - now_ms);
    out.U8(pending.answered ? 1 : 0);
    out.U32(pending.answered.value_or(0));
  }
}

}  // namespace assay::dispute
