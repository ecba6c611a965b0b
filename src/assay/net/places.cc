#include "assay/net/places.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace assay {

std::string PeerOfAddress(std::string_view address) {
  const std::string text(address);
  in6_addr bits{};
  if (inet_pton(AF_INET6, text.c_str(), &bits) != 1) return text;
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (IN6_IS_ADDR_V4MAPPED(&bits)) return inet_ntop(AF_INET, &bits.s6_addr[12], out.data(), out.size());
  std::fill(bits.s6_addr + 8, bits.s6_addr + 16, std::uint8_t{0});
  return std::string(inet_ntop(AF_INET6, &bits, out.data(), out.size())) + "/64";
}

// The end where all are busy.
Places::Holding::const_iterator Places::FirstToGo(const Holding& holding) {
  const auto rank = [](const auto& entry) { return std::make_pair(entry.second.doing, entry.second.since); };
  const auto first =
      std::min_element(holding.begin(), holding.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return first == holding.end() || first->second.doing == Doing::kBusy ? holding.end() : first;
}

std::optional<Places::Admission> Places::Admit(const std::string& peer) {
  const auto own = peers_.find(peer);
  const bool peer_full = own != peers_.end() && own->second.size() >= per_peer_;
  std::optional<Id> dismissed;
  if (peer_full || size_ >= total_) {
    // The newcomer counts as one of its peer's: between equals the others' connections are as good.
    std::tuple<std::size_t, std::uint64_t> most{0, 0};
    for (auto it = peers_.begin(); it != peers_.end(); ++it) {
      if (peer_full && it != own) continue;
      const auto first = FirstToGo(it->second);
      if (first == it->second.end()) continue;
      const std::tuple<std::size_t, std::uint64_t> weight{it->second.size() + (it == own ? 1 : 0), ~first->second.since};
      if (weight <= most) continue;
      most = weight;
      dismissed = first->first;
    }
    if (!dismissed) return std::nullopt;
    Leave(*dismissed);
  }
  const Id id = ++clock_;
  const auto owner = peers_.try_emplace(peer).first;
  owner->second.emplace(id, Held{.doing = Doing::kWaiting, .since = id});
  owners_.emplace(id, owner);
  ++size_;
  return Admission{.id = id, .dismissed = dismissed};
}

Places::Naming Places::Name(Id id, const std::string& peer) {
  const auto owner = owners_.find(id);
  if (owner == owners_.end() || owner->second->first == peer) return {};
  Naming naming;
  const auto named = peers_.find(peer);
  if (named != peers_.end() && named->second.size() >= per_peer_) {
    const auto first = FirstToGo(named->second);
    if (first == named->second.end()) return {.admitted = false};
    naming.dismissed = first->first;
    Leave(*naming.dismissed);
  }
  const auto from = owner->second;
  const auto to = peers_.try_emplace(peer).first;
  to->second.insert(from->second.extract(id));
  if (from->second.empty()) peers_.erase(from);
  owner->second = to;
  return naming;
}

void Places::Set(Id id, Doing doing) {
  const auto owner = owners_.find(id);
  if (owner == owners_.end()) return;
  owner->second->second.at(id) = {.doing = doing, .since = ++clock_};
}

bool Places::IsAtWork(Id id) const {
  const auto owner = owners_.find(id);
  if (owner == owners_.end()) return false;
  const Doing doing = owner->second->second.at(id).doing;
  return doing == Doing::kBusy || doing == Doing::kSending;
}

void Places::Leave(Id id) {
  const auto owner = owners_.find(id);
  if (owner == owners_.end()) return;
  Holding& holding = owner->second->second;
  holding.erase(id);
  if (holding.empty()) peers_.erase(owner->second);
  owners_.erase(owner);
  --size_;
}

}  // namespace assay
