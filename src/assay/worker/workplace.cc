#include "assay/worker/workplace.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "assay/seal/primitives.h"
#include "assay/worker/messages.h"

namespace assay::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLeasePrefix = "lease-";
constexpr std::uint64_t kMaxPinBytes = 1 << 12;
constexpr std::uint64_t kMaxReportBytes = 1 << 16;

std::optional<life::LeaseNumber> LeaseOf(std::string_view name) {
  if (!name.starts_with(kLeasePrefix)) return std::nullopt;
  name.remove_prefix(kLeasePrefix.size());
  life::LeaseNumber number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc() || end != name.data() + name.size() || number < 1) return std::nullopt;
  return number;
}

}  // namespace

Status MakePrivateFolder(const std::string& path) {
  ASSAY_TRY(MakeDirectories(path));
  std::error_code failed;
  fs::permissions(path, fs::perms::owner_all, failed);
  return failed ? Status(Err("{}: {}", path, failed.message())) : Status();
}

Status RemoveFolder(const std::string& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  return failed ? Status(Err("{}: {}", path, failed.message())) : Status();
}

Result<std::string> PathInside(const std::string& folder, const std::string& name) {
  if (!IsFileName(name)) return Err("'{}': is not a name of a file inside a folder", name);
  std::string path = JoinPath(folder, name);
  ASSAY_TRY(MakeDirectories(path.substr(0, path.find_last_of('/'))));
  return path;
}

Result<Workplace> Workplace::Open(const std::string& path) {
  const std::string absolute = fs::absolute(path).lexically_normal().string();
  if (!IsDirectory(absolute)) ASSAY_TRY(MakePrivateFolder(absolute));
  ASSAY_ASSIGN(auto lock, FileLock::TryAcquire(JoinPath(absolute, "lock")));
  if (!lock) return Err("{}: another worker runs in this folder", path);
  ASSAY_TRY(MakePrivateFolder(JoinPath(absolute, "orders")));
  ASSAY_TRY(MakePrivateFolder(JoinPath(absolute, "reports")));
  return Workplace(absolute, *std::move(lock));
}

Result<SigningKey> Workplace::OpenKey(const std::string& key_path) const {
  if (!key_path.empty()) return ReadSigningKey(key_path);
  const std::string own = JoinPath(path_, "key");
  if (!Exists(own)) ASSAY_TRY(WriteKeyFiles(own, SigningKey::Generate("worker")));
  return ReadSigningKey(own);
}

Result<std::optional<Identity>> Workplace::OpenIdentity() const {
  if (!seal::CanSeal()) return std::nullopt;
  const std::string path = JoinPath(path_, "identity");
  if (!Exists(path)) {
    ASSAY_ASSIGN(const Identity made, Identity::Generate());
    ASSAY_TRY(WriteIdentityFile(path, made));
  }
  ASSAY_ASSIGN(std::vector<Identity> identities, ReadIdentityFile(path));
  if (identities.size() != 1) return Err("{}: has {} identities, expected one", path, identities.size());
  return std::optional<Identity>(std::move(identities.front()));
}

Status Workplace::Pin(const std::string& coordinator) const {
  ASSAY_ASSIGN(const VerifyKey key, VerifyKey::Parse(coordinator));
  const std::string path = JoinPath(path_, "coordinator");
  if (!Exists(path)) return WriteFileAtomic(path, AsBytes(coordinator + "\n"));
  ASSAY_ASSIGN(const Bytes seen, ReadFile(path, kMaxPinBytes));
  std::string text(seen.begin(), seen.end());
  while (text.ends_with('\n')) text.pop_back();
  ASSAY_ASSIGN(const VerifyKey before, VerifyKey::Parse(text));
  if (before.point() == key.point()) return {};
  return Err("{}: the coordinator's key was {} and is {}; its referee would be another: delete this file where that is meant",
             path, before.ToString(), key.ToString());
}

std::string Workplace::OrderPath(const std::string& order) const { return JoinPath(JoinPath(path_, "orders"), order); }

std::string Workplace::LeasePath(const LeaseName& lease) const {
  return JoinPath(OrderPath(lease.order), fmt::format("{}{}", kLeasePrefix, lease.lease));
}

Result<std::vector<std::string>> Workplace::Orders() const {
  ASSAY_ASSIGN(std::vector<std::string> names, ListDirectory(JoinPath(path_, "orders")));
  std::erase_if(names, [](const std::string& name) { return !life::IsOrderId(name); });
  return names;
}

Result<std::vector<LeaseName>> Workplace::Leases() const {
  std::vector<LeaseName> leases;
  ASSAY_ASSIGN(const std::vector<std::string> orders, Orders());
  for (const std::string& order : orders) {
    ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(OrderPath(order)));
    for (const std::string& name : names) {
      if (const auto number = LeaseOf(name)) leases.push_back({order, *number});
    }
  }
  return leases;
}

Result<std::optional<std::string>> Workplace::ReportOf(const std::string& order) const {
  const std::string path = JoinPath(JoinPath(path_, "reports"), order);
  if (!Exists(path)) return std::nullopt;
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxReportBytes));
  return std::string(bytes.begin(), bytes.end());
}

Status Workplace::KeepReport(const std::string& order, const std::string& envelope) const {
  return WriteFileAtomic(JoinPath(JoinPath(path_, "reports"), order), AsBytes(envelope));
}

Status Workplace::Forget(const std::string& order) const { return RemoveFolder(OrderPath(order)); }

Status Workplace::Forget(const LeaseName& lease) const {
  ASSAY_TRY(RemoveFolder(LeasePath(lease)));
  ASSAY_ASSIGN(const std::vector<LeaseName> left, Leases());
  const bool more = std::ranges::any_of(left, [&](const LeaseName& other) { return other.order == lease.order; });
  return more ? Status() : Forget(lease.order);
}

}  // namespace assay::worker
