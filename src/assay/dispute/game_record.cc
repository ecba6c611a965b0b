#include "assay/dispute/game_record.h"

#include <algorithm>
#include <set>

namespace assay::dispute {
std::string_view ToString(Standing standing) {
  switch (standing) {
    case Standing::kStanding: return "standing";
    case Standing::kRefused: return "refused";
    case Standing::kRepeated: return "repeated";
    case Standing::kConvicted: return "convicted";
    case Standing::kEquivocated: return "equivocated";
    case Standing::kSilent: return "silent";
    case Standing::kMisled: return "misled";
    case Standing::kUnheard: return "unheard";
  }
  return "unknown";
}

std::vector<ProviderId> Survivors(const Record& record) {
  std::vector<ProviderId> survivors;
  for (ProviderId id = 0; id < record.providers.size(); ++id) {
    if (record.providers[id].standing == Standing::kStanding) survivors.push_back(id);
  }
  return survivors;
}

bool TakesPart(Standing standing) { return standing != Standing::kRefused && standing != Standing::kRepeated; }
bool IsGuilty(Standing standing) { return standing == Standing::kConvicted || standing == Standing::kEquivocated; }

std::string VerdictOf(std::span<const Standing> standings, std::span<const std::optional<std::uint32_t>> groups,
                      std::span<const std::uint32_t> numbers, bool pair) {
  std::set<std::uint32_t> claimed, left, unheard;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    if (!groups[i]) continue;
    claimed.insert(*groups[i]);
    if (standings[i] == Standing::kUnheard) unheard.insert(*groups[i]);
    if (standings[i] != Standing::kStanding) continue;
    left.insert(*groups[i]);
    if (!first) first = i;
  }
  if (left.size() > 1 || !std::ranges::includes(left, unheard)) return "undecided";
  if (left.empty()) return "none";
  if (claimed.size() == 1) return "both";
  if (pair) return *first == 0 ? "a" : "b";
  return std::to_string(numbers[*first]);
}

}  // namespace assay::dispute
