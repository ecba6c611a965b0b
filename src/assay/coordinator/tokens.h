// Tokens: who may call the API, and as what.
//
// A token is `assay_` and 64 hex digits of 32 random bytes. The database keeps its SHA-256, by which it is looked up: what a lookup's time could tell is about
// the hash, of which nothing leads back. What was looked up is remembered for two seconds, so that a token that another coordinator has revoked ends here by
// then; one revoked here ends at once. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"
#include "assay/coordinator/caller.h"
#include "assay/merkle/sha256.h"
#include "assay/store/clock.h"
#include "assay/store/database.h"

namespace assay::coordinator {

struct TokenLine {
  std::string id, account, role, name;
  std::int64_t made_ms = 0, expires_ms = 0, revoked_ms = 0;  // 0: never
};

struct NewToken {
  std::string token, id, account;
};

Digest RandomDigest();  // from the system
// The hash of the token that an Authorization header carries; nothing where it carries none.
std::optional<Digest> BearerHash(std::string_view authorization);

class Tokens {
 public:
  Tokens(store::Database& database, std::shared_ptr<store::Clock> clock);

  // The account is made where there is none. An empty account: one of the token's own, named after its role and id. `expires_ms`: since 1970; 0: never.
  Result<NewToken> Make(AccountRole role, std::string account, const std::string& name, std::int64_t expires_ms);
  Result<std::vector<TokenLine>> List();
  // False where there is none of this id. Revoking twice is the same as once.
  Result<bool> Revoke(const std::string& id);
  // Makes the first administrator's token, unless there has ever been one; nothing then. Safe when several processes start at once.
  Result<std::optional<NewToken>> MakeFirst();

  struct Known {
    std::optional<Caller> caller{};  // none: expired
    bool fresh = false;              // looked up so recently that it need not be again
  };
  // What is remembered; does not wait.
  std::optional<Known> Remembered(const Digest& hash);
  // Looked up; no caller where the token is unknown, revoked or has expired.
  Result<std::optional<Caller>> Find(const Digest& hash);

 private:
  struct Cached {
    Caller caller;
    std::int64_t expires_ms = 0, at_ms = 0;
  };
  bool Expired(std::int64_t expires_ms) const { return expires_ms > 0 && clock_->WallMs() >= expires_ms; }
  Result<NewToken> Insert(store::Transaction& t, const Digest& secret, AccountRole role, std::string account,
                          const std::string& name, std::int64_t expires_ms);

  static constexpr std::int64_t kFreshMs = 2000;
  static constexpr std::size_t kMostCached = 16'384;

  store::Database& database_;
  const std::shared_ptr<store::Clock> clock_;
  std::mutex mutex_;
  std::map<Digest, Cached> cached_;
  std::uint64_t revocations_ = 0;  // what was looked up before one is not remembered after it
};

}  // namespace assay::coordinator
