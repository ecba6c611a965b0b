#include "assay/worker/lease_folder.h"

#include <sys/random.h>

#include <algorithm>

#include "assay/life/fields.h"
#include "assay/worker/messages.h"

namespace assay::worker {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{64} << 20;
constexpr const char* kState = "lease.json";

}  // namespace

Result<LeaseFolder> LeaseFolder::Open(const Workplace& place, const GivenLease& lease) {
  const std::string path = place.LeasePath(lease.name);
  ASSAY_TRY(MakePrivateFolder(place.OrderPath(lease.name.order)));
  ASSAY_TRY(MakePrivateFolder(path));
  if (auto found = Find(place, lease.name)) {
    found->lease_ = lease;
    return *std::move(found);
  }
  LeaseFolder folder(path, lease, 0);
  ASSAY_TRY(folder.Write());
  return folder;
}

std::optional<LeaseFolder> LeaseFolder::Find(const Workplace& place, const LeaseName& name) {
  const std::string path = place.LeasePath(name);
  const auto text = ReadFile(JoinPath(path, kState), kMaxFile);
  if (!text) return std::nullopt;
  const life::Json json = life::ParseObject({reinterpret_cast<const char*>(text->data()), text->size()});
  GivenLease lease{
      .name = name,
      .role = life::TextOf(json, "role") == life::Name(life::Role::kAudit) ? life::Role::kAudit : life::Role::kTrain,
      .of = life::CountOf(json, "of"),
      .nonce = life::TextOf(json, "nonce")};
  if (lease.of < 0) return std::nullopt;
  return LeaseFolder(path, std::move(lease), std::max<std::int64_t>(0, life::CountOf(json, "used_ms")));
}

Status LeaseFolder::Write() const {
  const life::Json json = {
      {"role", life::Name(lease_.role)}, {"of", lease_.of}, {"nonce", lease_.nonce}, {"used_ms", used_ms_}};
  return WriteFileAtomic(JoinPath(path_, kState), AsBytes(life::Compact(json)));
}

Status LeaseFolder::KeepOrder(const std::string& envelope) const {
  if (!Exists(order_path())) return WriteFileAtomic(order_path(), AsBytes(envelope));
  ASSAY_ASSIGN(const Bytes kept, ReadFile(order_path(), life::kMaxOrderBytes));
  if (std::string_view(reinterpret_cast<const char*>(kept.data()), kept.size()) == envelope) return {};
  return Err("order: is another one than was leased under this id before");
}

Status LeaseFolder::SetUsed(std::int64_t used_ms) {
  used_ms_ = used_ms;
  return Write();
}

Result<std::optional<std::string>> LeaseFolder::ReadText(const std::string& name) const {
  const std::string path = JoinPath(path_, name);
  if (!Exists(path)) return std::nullopt;
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxFile));
  return std::string(bytes.begin(), bytes.end());
}

Result<std::optional<Commitment>> LeaseFolder::ReadCommitment(const std::string& name) const {
  ASSAY_ASSIGN(const std::optional<std::string> text, ReadText(name));
  if (!text) return std::nullopt;
  ASSAY_ASSIGN(Commitment commitment, ParseCommitment(*text));
  return commitment;
}

Status LeaseFolder::SetPending(const Commitment& commitment) const {
  return WriteFileAtomic(JoinPath(path_, "pending.json"), AsBytes(ToJson(commitment)));
}

Status LeaseFolder::SetCommitted(const Commitment& commitment) const {
  ASSAY_TRY(WriteFileAtomic(JoinPath(path_, "committed.json"), AsBytes(ToJson(commitment))));
  return DropPending();
}

Status LeaseFolder::DropPending() const {
  const std::string pending = JoinPath(path_, "pending.json");
  return Exists(pending) ? RemoveFileDurably(pending) : Status();
}

Result<std::string> LeaseFolder::Share() const {
  ASSAY_ASSIGN(const std::optional<std::string> kept, ReadText("share"));
  if (kept) return *kept;
  Digest drawn;
  if (::getrandom(drawn.bytes.data(), drawn.bytes.size(), 0) != static_cast<ssize_t>(drawn.bytes.size())) {
    Error error{.message = "the system gives no randomness"};
    error.system = true;
    return tl::unexpected(error);
  }
  ASSAY_TRY(WriteFileAtomic(JoinPath(path_, "share"), AsBytes(drawn.hex())));
  return drawn.hex();
}

Result<std::optional<Delivery>> LeaseFolder::ReadDelivery() const {
  ASSAY_ASSIGN(const std::optional<std::string> text, ReadText("result.json"));
  if (!text) return std::nullopt;
  ASSAY_ASSIGN(Delivery delivery, ParseDelivery(*text));
  return delivery;
}

Status LeaseFolder::SetDelivery(const Delivery& delivery) const {
  return WriteFileAtomic(JoinPath(path_, "result.json"), AsBytes(ToJson(delivery)));
}

Result<std::optional<std::string>> LeaseFolder::ReadReport() const { return ReadText("report.json"); }

Status LeaseFolder::SetReport(const std::string& envelope) const {
  return WriteFileAtomic(JoinPath(path_, "report.json"), AsBytes(envelope));
}

Status LeaseFolder::SetDone() const { return WriteFileAtomic(JoinPath(path_, "done"), AsBytes("")); }

}  // namespace assay::worker
