#include "assay/dispute/docket.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace assay::dispute {

bool Budget::Holds(const Budget& cost) const {
  return cost.work.steps_run <= work.steps_run && cost.work.steps_traced <= work.steps_traced &&
         cost.work.batches_loaded <= work.batches_loaded && cost.bytes <= bytes;
}

Budget Times(std::int64_t n, const Budget& budget) {
  const Work& w = budget.work;
  return {.work = {.steps_run = n * w.steps_run, .steps_traced = n * w.steps_traced, .batches_loaded = n * w.batches_loaded},
          .bytes = static_cast<std::uint64_t>(n) * budget.bytes};
}

Budget operator+(const Budget& a, const Budget& b) {
  return {.work = {.steps_run = a.work.steps_run + b.work.steps_run,
                   .steps_traced = a.work.steps_traced + b.work.steps_traced,
                   .batches_loaded = a.work.batches_loaded + b.work.batches_loaded},
          .bytes = a.bytes + b.bytes};
}

Budget Less(const Budget& from, const Budget& spent) {
  const auto left = [](auto of, auto less) { return of > less ? of - less : decltype(of){0}; };
  return {.work = {.steps_run = left(from.work.steps_run, spent.work.steps_run),
                   .steps_traced = left(from.work.steps_traced, spent.work.steps_traced),
                   .batches_loaded = left(from.work.batches_loaded, spent.work.batches_loaded)},
          .bytes = left(from.bytes, spent.bytes)};
}

Docket::Docket(Own own, Options options) : own_(std::move(own)), options_(std::move(options)), others_(options_.max_disputes) {
  for (const KeyPoint& key : options_.pinned) pinned_.try_emplace(key, options_.max_disputes);
}

std::int64_t Docket::BoutsOf(std::size_t parties) {
  return 2 * std::max<std::int64_t>(1, static_cast<std::int64_t>(parties) - 1) + 1;
}

Budget Docket::Left() const {
  Budget taken = spent_by_all_;
  others_.ForEach([&](const Dispute& dispute) { taken = taken + Less(dispute.budget, dispute.spent); });
  return Less(options_.open_to_all, taken);
}

std::int64_t Docket::BoutsLeft() const {
  const Budget left = Left();
  std::int64_t bouts = std::numeric_limits<std::int64_t>::max();
  const auto among = [&](auto of, auto bout) {
    if (bout > 0) bouts = std::min(bouts, static_cast<std::int64_t>(of / bout));
  };
  among(left.work.steps_run, options_.bout.work.steps_run);
  among(left.work.steps_traced, options_.bout.work.steps_traced);
  among(left.work.batches_loaded, options_.bout.work.batches_loaded);
  among(left.bytes, options_.bout.bytes);
  return bouts;
}

Docket::Dispute* Docket::Find(const Digest& dispute) {
  for (auto& [key, disputes] : pinned_) {
    if (Dispute* found = disputes.Find(dispute)) return found;
  }
  return others_.Find(dispute);
}

tl::expected<Docket::Opened, Denied> Docket::Open(const SignedOpening& message) {
  const auto deny = [](std::string why) { return tl::unexpected(Denied{Denial::kForbidden, std::move(why)}); };
  const Opening& opening = message.opening;
  const auto pinned = pinned_.find(opening.referee);
  if (!pinned_.empty() && pinned == pinned_.end()) return deny("only referees that are named here may ask");
  if (!own_.is_opened(message.bytes, message.signature, opening.referee))
    return deny("the opening is not signed by its referee");
  const auto lists = [&](const Digest& receipt) {
    return std::ranges::binary_search(opening.receipts, receipt.bytes, {}, &Digest::bytes);
  };
  if (!lists(own_.receipt)) return deny("our receipt takes no part in it");
  if (!lists(HashBytes(AsBytes(opening.shown)))) return deny("the receipt that it shows takes no part in it");
  if (const Status differs = own_.contradicts(opening.shown); !differs) return deny(differs.error().message);
  const Digest id = DisputeId({own_.job, opening.referee, opening.receipts, opening.nonce});
  const bool is_pinned = pinned != pinned_.end();
  if (Find(id) != nullptr) return Opened{id, is_pinned, true};
  const Budget budget = BudgetOf(opening.parties);
  if (!is_pinned && !Left().Holds(budget)) {
    return deny(fmt::format("a dispute of {} parties may take {} bouts; left for referees that are not named here: {}",
                            opening.parties, BoutsOf(opening.parties), BoutsLeft()));
  }
  // One that was let in can ask to the end: strangers who come later must not close it, since a provider that refuses in the middle of a dispute loses it.
  if (!is_pinned && others_.size() >= options_.max_disputes) {
    return deny(fmt::format("{} disputes of referees that are not named here are open, more are not opened", others_.size()));
  }
  (is_pinned ? pinned->second : others_).Put(id, {opening.referee, is_pinned, budget, {}}, 1);
  return Opened{id, is_pinned, false};
}

tl::expected<bool, Denied> Docket::Admit(const Digest& dispute, ByteSpan question, const Signature& signature, bool free) {
  const Dispute* open = Find(dispute);
  if (open == nullptr) return tl::unexpected(Denied{Denial::kNotOpen, "this dispute is not open here"});
  if (!own_.is_asked(question, own_.receipt, signature, open->referee)) {
    return tl::unexpected(Denied{Denial::kForbidden, "the question is not signed by the dispute's referee for us"});
  }
  if (free) return open->pinned;
  if (!Less(open->budget, options_.bout).Holds(open->spent)) {
    return tl::unexpected(Denied{Denial::kSpent, "this dispute has used up its budget"});
  }
  return open->pinned;
}

void Docket::Charge(const Digest& dispute, const Budget& cost) {
  Dispute* open = Find(dispute);
  if (open == nullptr || !open->pinned) spent_by_all_ = spent_by_all_ + cost;
  if (open != nullptr) open->spent = open->spent + cost;
}

}  // namespace assay::dispute
