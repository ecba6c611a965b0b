#include "assay/coordinator/caller.h"

#include <algorithm>
#include <array>

namespace assay::coordinator {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"client", "provider", "auditor", "admin"};

bool IsWordCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

std::string_view Name(AccountRole role) { return kNames[static_cast<std::size_t>(role)]; }

std::optional<AccountRole> AccountRoleOf(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<AccountRole>(found - kNames.begin());
}

bool IsAccountName(std::string_view name) {
  if (name.empty() || name.size() > 64 || !IsWordCharacter(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return IsWordCharacter(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace assay::coordinator
