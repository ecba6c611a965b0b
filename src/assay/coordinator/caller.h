// Caller: who sent a request, as its token says. Value types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::coordinator {

enum class AccountRole : std::uint8_t { kClient, kProvider, kAuditor, kAdmin };
std::string_view Name(AccountRole role);  // "client"
std::optional<AccountRole> AccountRoleOf(std::string_view name);

// Which roles a route is for. Administrators may do everything.
class Roles {
 public:
  constexpr Roles() = default;  // open to everybody, with or without a token
  constexpr Roles(AccountRole role) : bits_(Bit(role)) {}
  friend constexpr Roles operator|(Roles a, Roles b) {
    Roles both;
    both.bits_ = a.bits_ | b.bits_;
    return both;
  }
  constexpr bool open() const { return bits_ == 0; }
  friend constexpr bool operator==(Roles, Roles) = default;
  constexpr bool Has(AccountRole role) const { return role == AccountRole::kAdmin || (bits_ & Bit(role)) != 0; }

 private:
  static constexpr unsigned Bit(AccountRole role) { return 1U << static_cast<unsigned>(role); }
  unsigned bits_ = 0;
};
inline constexpr Roles kOpenToAll{};
inline constexpr Roles kClients = AccountRole::kClient;
inline constexpr Roles kWorkers = Roles(AccountRole::kProvider) | AccountRole::kAuditor;
inline constexpr Roles kAnyToken = kClients | kWorkers;
inline constexpr Roles kAdmins = AccountRole::kAdmin;

struct Caller {
  std::string account{};
  AccountRole role = AccountRole::kClient;
  std::string token{};  // its id: the first 16 hex digits of its hash. Empty: a route that is open to all
  bool admin() const { return !token.empty() && role == AccountRole::kAdmin; }
};

// 1 to 64 characters from A-Z a-z 0-9 . _ -, the first a letter or digit.
bool IsAccountName(std::string_view name);

}  // namespace assay::coordinator
