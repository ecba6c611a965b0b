#include "assay/coordinator/tokens.h"

#include <sys/random.h>

#include <cerrno>

#include "assay/base/check.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

constexpr std::string_view kPrefix = "assay_";
constexpr std::size_t kIdDigits = 16;

std::string TextOf(const Digest& secret) { return std::string(kPrefix) + secret.hex(); }

bool IsTokenName(const std::string& name) { return name.size() <= 200 && store::IsUtf8(name); }

}  // namespace

Digest RandomDigest() {
  Digest digest;
  std::size_t filled = 0;
  while (filled < digest.bytes.size()) {
    const ssize_t got = ::getrandom(digest.bytes.data() + filled, digest.bytes.size() - filled, 0);
    ASSAY_CHECK(got > 0 || errno == EINTR);  // a kernel without randomness cannot make tokens
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  return digest;
}

std::optional<Digest> BearerHash(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme)) return std::nullopt;
  const std::string_view token = authorization.substr(kScheme.size());
  if (!token.starts_with(kPrefix) || !Digest::FromHex(token.substr(kPrefix.size()))) return std::nullopt;
  return HashBytes(AsBytes(token));
}

Tokens::Tokens(store::Database& database, std::shared_ptr<store::Clock> clock)
    : database_(database), clock_(std::move(clock)) {}

Result<NewToken> Tokens::Insert(Transaction& t, const Digest& secret, AccountRole role, std::string account,
                                const std::string& name, std::int64_t expires_ms) {
  const std::string token = TextOf(secret);
  const std::string hash = HashBytes(AsBytes(token)).hex();
  const std::string id = hash.substr(0, kIdDigits);
  if (account.empty()) account = fmt::format("{}-{}", Name(role), id);
  ASSAY_TRY(t.Run("INSERT INTO accounts (id, made) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", {account, clock_->WallMs()}));
  ASSAY_TRY(t.Run("INSERT INTO tokens (hash, account, role, name, made, expires, revoked) VALUES ($1, $2, $3, $4, $5, $6, 0)",
                  {hash, account, std::string(Name(role)), name, clock_->WallMs(), expires_ms}));
  return NewToken{.token = token, .id = id, .account = account};
}

Result<NewToken> Tokens::Make(AccountRole role, std::string account, const std::string& name, std::int64_t expires_ms) {
  if (!account.empty() && !IsAccountName(account))
    return Err("account: expected 1 to 64 characters from A-Z a-z 0-9 . _ -, the first a letter or digit");
  if (!IsTokenName(name)) return Err("name: expected at most 200 bytes of UTF-8");
  if (expires_ms < 0) return Err("expires_ms: expected a time since 1970, or 0 for never");
  const Digest secret = RandomDigest();
  return database_.Write([&](Transaction& t) { return Insert(t, secret, role, account, name, expires_ms); });
}

Result<std::optional<NewToken>> Tokens::MakeFirst() {
  const Digest secret = RandomDigest();
  // Alone: of two that start at once, one finds the other's token.
  return database_.In(store::Access::kAlone, [&](Transaction& t) -> Result<std::optional<NewToken>> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT 1 FROM tokens WHERE role = 'admin' LIMIT 1"));
    if (!rows.empty()) return std::optional<NewToken>();
    ASSAY_ASSIGN(NewToken made, Insert(t, secret, AccountRole::kAdmin, "admin", "first", 0));
    return std::optional<NewToken>(std::move(made));
  });
}

Result<std::vector<TokenLine>> Tokens::List() {
  return database_.Read([&](Transaction& t) -> Result<std::vector<TokenLine>> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT hash, account, role, name, made, expires, revoked FROM tokens ORDER BY made, hash"));
    std::vector<TokenLine> lines;
    for (const store::Row& row : rows) {
      TokenLine line;
      ASSAY_ASSIGN(line.id, row.Text(0));
      line.id.resize(kIdDigits);
      ASSAY_ASSIGN(line.account, row.Text(1));
      ASSAY_ASSIGN(line.role, row.Text(2));
      ASSAY_ASSIGN(line.name, row.Text(3));
      ASSAY_ASSIGN(line.made_ms, row.Integer(4));
      ASSAY_ASSIGN(line.expires_ms, row.Integer(5));
      ASSAY_ASSIGN(line.revoked_ms, row.Integer(6));
      lines.push_back(std::move(line));
    }
    return lines;
  });
}

Result<bool> Tokens::Revoke(const std::string& id) {
  if (id.size() != kIdDigits || id.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  ASSAY_ASSIGN(const bool found, database_.Write([&](Transaction& t) -> Result<bool> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT hash FROM tokens WHERE hash >= $1 AND hash < $2", {id, id + "g"}));
    ASSAY_TRY(t.Run("UPDATE tokens SET revoked = $3 WHERE hash >= $1 AND hash < $2 AND revoked = 0",
                    {id, id + "g", clock_->WallMs()}));
    return !rows.empty();
  }));
  const std::lock_guard lock(mutex_);
  ++revocations_;
  std::erase_if(cached_, [&](const auto& at) { return at.second.caller.token == id; });
  return found;
}

std::optional<Tokens::Known> Tokens::Remembered(const Digest& hash) {
  const std::lock_guard lock(mutex_);
  const auto found = cached_.find(hash);
  if (found == cached_.end()) return std::nullopt;
  const Cached& cached = found->second;
  Known known{.fresh = clock_->SteadyMs() - cached.at_ms < kFreshMs};
  if (!Expired(cached.expires_ms)) known.caller = cached.caller;
  return known;
}

Result<std::optional<Caller>> Tokens::Find(const Digest& hash) {
  const std::int64_t at_ms = clock_->SteadyMs();
  std::uint64_t revocations = 0;
  {
    const std::lock_guard lock(mutex_);
    revocations = revocations_;
  }
  ASSAY_ASSIGN(std::optional<Cached> found, database_.Read([&](Transaction& t) -> Result<std::optional<Cached>> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT account, role, expires FROM tokens WHERE hash = $1 AND revoked = 0", {hash.hex()}));
    if (rows.empty()) return std::optional<Cached>();
    Cached cached;
    ASSAY_ASSIGN(cached.caller.account, rows[0].Text(0));
    ASSAY_ASSIGN(const std::string role, rows[0].Text(1));
    const std::optional<AccountRole> known = AccountRoleOf(role);
    if (!known) return store::Broken("a token has the role {}, which is none", role);
    cached.caller.role = *known;
    cached.caller.token = hash.hex().substr(0, kIdDigits);
    ASSAY_ASSIGN(cached.expires_ms, rows[0].Integer(2));
    return std::optional<Cached>(std::move(cached));
  }));
  const std::lock_guard lock(mutex_);
  if (!found) {
    cached_.erase(hash);
    return std::optional<Caller>();
  }
  if (cached_.size() >= kMostCached && !cached_.contains(hash)) cached_.clear();
  found->at_ms = at_ms;
  if (revocations == revocations_) cached_[hash] = *found;
  if (Expired(found->expires_ms)) return std::optional<Caller>();
  return std::optional<Caller>(found->caller);
}

}  // namespace assay::coordinator
