#include "assay/client/checked_life.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"
#include "assay/platform/outcome.h"

namespace assay::client {
namespace {

std::vector<Digest> LeavesOf(const std::vector<std::string>& entries) {
  std::vector<Digest> leaves;
  for (const std::string& text : entries) leaves.push_back(LeafHash(AsBytes(text)));
  return leaves;
}

}  // namespace

Checked<void> CheckedLife::CheckOrder(const life::Entry& first, const std::string& envelope) const {
  const auto order = life::OpenOrder(envelope, fmt::format("order {}", terms_.id));
  if (!order) return Refused("entry {}: {}", first.n, order.error().message);
  if (order->id != terms_.id) return Refused("the life is of order {}, not of {}", order->id, terms_.id);
  if (order->coordinator != terms_.coordinator.ToString()) {
    return Refused("order {}: was made for the coordinator {}, not for {}", terms_.id, order->coordinator,
                   terms_.coordinator.ToString());
  }
  if (!terms_.envelope.empty()) {
    if (envelope != terms_.envelope) return Refused("order {}: is not the order that was submitted under this id", terms_.id);
    return {};
  }
  const auto signer = VerifyKey::Parse(order->client);
  const auto is_signer = [&](const VerifyKey& key) { return signer && key.point() == signer->point(); };
  if (std::ranges::any_of(terms_.clients, is_signer)) return {};
  auto unknown = Refused(
      "order {}: was submitted by {}, and is not remembered here; if that is who it should be, name the key with --signer",
      terms_.id, order->client);
  unknown.value().refused = terms_.insists;
  unknown.value().stranger = true;
  return unknown;
}

Checked<void> CheckedLife::CheckHistory(const Checkpoint& head, const std::vector<Digest>& leaves,
                                        const std::optional<std::string>& before) const {
  const std::string what = fmt::format("the life of order {}", terms_.id);
  if (head.size != leaves.size())
    return Refused("{}: its checkpoint is of {} entries, not of {}", what, head.size, leaves.size());
  if (head.root != TreeRoot(leaves)) return Refused("{}: its checkpoint is not of these entries", what);
  if (!before) return {};
  const auto old = OpenCheckpoint(*before, terms_.coordinator, "the checkpoint that was kept");
  // It was checked before it was kept, and the order names the key: what cannot be read of it was damaged here, and says nothing of the coordinator.
  if (!old) return tl::unexpected(Error{fmt::format("{}: {}", what, old.error().message)});
  if (old->size > leaves.size()) {
    return Refused("{}: has {} entries; it had {} when it was seen before, and a life only grows", what, leaves.size(),
                   old->size);
  }
  const std::vector<Digest> prefix(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(old->size));
  if (old->root != TreeRoot(prefix)) {
    return Refused("{}: its first {} entries are not those that were seen before: the coordinator shows two histories", what,
                   old->size);
  }
  return {};
}

Checked<void> CheckedLife::Continue(const std::vector<std::string>& entries, const std::string& note,
                                    const std::optional<std::string>& before) {
  const std::string what = fmt::format("the life of order {}", terms_.id);
  const auto head = OpenCheckpoint(note, terms_.coordinator, what);
  if (!head) return Refused("{}", head.error().message);
  if (head->origin != "assay.life/" + terms_.id) return Refused("{}: its checkpoint is of another log, {}", what, head->origin);

  CheckedLife next = *this;
  for (const std::string& text : entries) {
    const auto entry = life::ParseEntry(text, what);
    if (!entry) return Refused("{}", entry.error().message);
    if (const auto* submitted = std::get_if<life::Submitted>(&entry->event); submitted != nullptr && next.size() == 0) {
      if (auto good = CheckOrder(*entry, submitted->order); !good) {
        // Whoever has signed two histories has done so whosever order the second begins with.
        if (good.error().stranger) {
          if (auto history = CheckHistory(*head, LeavesOf(entries), before); !history && history.error().refused)
            return history;
        }
        return good;
      }
    }
    const Status applied = next.life_.Apply(*entry);
    if (!applied) return Refused("{}: {}", what, applied.error().message);
    next.entries_.push_back(text);
    next.leaves_.push_back(LeafHash(AsBytes(text)));
  }
  if (auto good = CheckHistory(*head, next.leaves_, before); !good) return good;
  // Last, so that nothing that the coordinator contradicts itself in is taken for that.
  for (const WitnessKey& witness : terms_.witnesses) {
    const Status seen = witness.Verify(note, what);
    if (seen) continue;
    Trouble trouble(seen.error());
    trouble.refused = trouble.unwitnessed = true;
    return tl::unexpected(std::move(trouble));
  }
  next.note_ = note;
  *this = std::move(next);
  return {};
}

// By its place, not by its evidence: what convicts somebody in one dispute need not convict whom another names.
std::vector<life::Judged> CheckedLife::Unproven() const {
  std::vector<life::Judged> out;
  const std::vector<life::Judged>& all = life_.disputes();
  for (std::size_t i = proven_; i < all.size(); ++i) {
    if (!all[i].convicted.empty()) out.push_back(all[i]);
  }
  return out;
}

Checked<void> CheckedLife::Prove(std::vector<Bytes> evidence) {
  const std::vector<life::Judged>& all = life_.disputes();
  std::size_t at = proven_;
  while (at < all.size() && all[at].convicted.empty()) ++at;
  ASSAY_CHECK(at < all.size());
  const Status convicts = platform::CheckConvictions(life_, all[at], evidence, terms_.start);
  if (!convicts) return Refused("the life of order {}: {}", terms_.id, convicts.error().message);
  for (std::size_t i = 0; i < evidence.size(); ++i) evidence_.emplace(all[at].evidence[i], std::move(evidence[i]));
  proven_ = at + 1;
  return {};
}

std::vector<std::string> TakenOnTrust(const life::Life& life) {
  std::vector<std::string> out;
  // Of a sealed order its client has signed that. It asks through the coordinator, which may have kept questions or answers back.
  const std::string whose = life.order().sealed.empty()
                                ? "the coordinator's word"
                                : fmt::format("the client's word, {}, who asked through the coordinator", life.order().client);
  for (const life::Judged& judged : life.disputes()) {
    for (const life::LeaseNumber number : judged.silent) {
      const life::Lease* lease = life.Find(number);
      if (lease == nullptr) continue;
      out.push_back(fmt::format("that {} (lease {}), whose run is another, was asked and gave no answer: {}", lease->worker,
                                number, whose));
    }
  }
  std::vector<life::LeaseNumber> unreported;
  for (const auto& [number, lease] : life.leases()) {
    if (lease.role == life::Role::kAudit && lease.state == life::Lease::State::kGone) unreported.push_back(number);
    if (lease.waived)
      out.push_back(
          fmt::format("the record and the draw by which the run of {} (lease {}) went unchecked", lease.worker, number));
  }
  // Whoever may throw reports away chooses among samples.
  if (!unreported.empty()) {
    out.push_back(fmt::format("that {} audit{} (lease{} {}) brought no report", unreported.size(),
                              unreported.size() == 1 ? "" : "s", unreported.size() == 1 ? "" : "s",
                              fmt::join(unreported, ", ")));
  }
  return out;
}

}  // namespace assay::client
