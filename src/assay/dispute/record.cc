#include "assay/dispute/record.h"

#include <algorithm>

namespace assay::dispute {
namespace {

bool Guilty(Standing standing) { return standing != Standing::kStanding && standing != Standing::kRepeated; }

}  // namespace

std::string_view ToString(Standing standing) {
  switch (standing) {
    case Standing::kStanding: return "standing";
    case Standing::kRefused: return "refused";
    case Standing::kRepeated: return "repeated";
    case Standing::kConvicted: return "convicted";
    case Standing::kEquivocated: return "equivocated";
    case Standing::kSilent: return "silent";
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

std::string VerdictOf(const std::vector<Standing>& standings, bool pair) {
  if (pair && standings.size() == 2) {
    const bool a = !Guilty(standings[0]), b = !Guilty(standings[1]);
    return a && b ? "both" : a ? "a" : b ? "b" : "none";
  }
  const auto stands = std::ranges::find(standings, Standing::kStanding);
  return stands == standings.end() ? "none" : std::to_string(stands - standings.begin());
}

}  // namespace assay::dispute
