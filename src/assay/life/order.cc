#include "assay/life/order.h"

#include <algorithm>

#include "assay/base/base64.h"
#include "assay/base/quote.h"
#include "assay/life/fields.h"
#include "assay/seal/keys.h"
#include "assay/sign/dsse.h"

namespace assay::life {
namespace {

constexpr std::string_view kPayloadType = "application/vnd.assay.order+json";
constexpr std::size_t kMaxFiles = 1024;
constexpr std::size_t kMaxRecipients = 64;

std::string ToPayload(const Order& order) {
  Json files = Json::array();
  for (const OrderFile& file : order.files)
    files.push_back({{"name", file.name}, {"sha256", file.sha256.hex()}, {"bytes", file.bytes}, {"bound", file.bound}});
  const Json policy = {{"replicas", order.policy.replicas},
                       {"audit", order.policy.audit},
                       {"probe", order.policy.probe},
                       {"attempts", order.policy.attempts}};
  const Json limits = {{"memory", order.limits.memory}, {"disk", order.limits.disk}, {"seconds", order.limits.seconds}};
  return Compact({{"order", order.id},
                  {"client", order.client},
                  {"coordinator", order.coordinator},
                  {"job", order.job.hex()},
                  {"files", files},
                  {"policy", policy},
                  {"limits", limits},
                  {"sealed", order.sealed},
                  {"reply", order.reply},
                  {"made", order.made}});
}

Status CheckFiles(const Order& order, std::string_view what) {
  if (order.files.size() > kMaxFiles)
    return Err("{}: has {} files, at most {} are allowed", what, order.files.size(), kMaxFiles);
  bool job = false;
  const std::string* before = nullptr;
  for (const OrderFile& file : order.files) {
    if (!IsFileName(file.name) || file.bytes < 0) return Err("{}: a file's name or size is not one", what);
    if (before != nullptr && *before >= file.name) return Err("{}: its files are not in ascending order of their names", what);
    before = &file.name;
    job = job || file.name == kJobFile;
  }
  return job ? Status() : Err("{}: has no {}", what, kJobFile);
}

// Who cannot be sealed to would never be given a lease, and a sealed order without a reply could give its client nothing.
Status CheckSealing(const Order& order, std::string_view what) {
  if (order.sealed.size() > kMaxRecipients)
    return Err("{}: has {} recipients, at most {} are allowed", what, order.sealed.size(), kMaxRecipients);
  for (const std::string& recipient : order.sealed) {
    if (!Recipient::Parse(recipient)) return Err("{}: sealed: {} is no recipient (age1…)", what, Quote(recipient));
  }
  if (order.sealed.empty() != order.reply.empty())
    return Err("{}: {}", what,
               order.reply.empty() ? "is sealed, and has no recipient for its results (reply)"
                                   : "is not sealed, and has a recipient for sealed results (reply)");
  if (!order.reply.empty() && !Recipient::Parse(order.reply))
    return Err("{}: reply: {} is no recipient (age1…)", what, Quote(order.reply));
  for (const OrderFile& file : order.files) {
    const bool good = order.sealed.empty() ? file.bound.empty() : Digest::FromHex(file.bound).has_value();
    if (!good)
      return Err("{}: {}: {}", what, file.name,
                 order.sealed.empty() ? "is bound to an order that is not sealed" : "bound: expected 64 hex digits");
  }
  return {};
}

}  // namespace

bool IsOrderId(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 32 && std::all_of(text.begin(), text.end(), digit);
}

bool IsFileName(std::string_view name) {
  if (name.empty() || name.size() > 200) return false;
  const auto fits = [](unsigned char c) { return c > ' ' && c < 0x7f && c != '\\' && c != '"'; };
  if (!std::all_of(name.begin(), name.end(), fits)) return false;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

Status CheckPolicy(const Policy& policy) {
  const auto within = [](std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) -> Status {
    if (value >= least && value <= most) return {};
    return Err("{} is {}, expected {} to {}", name, value, least, most);
  };
  ASSAY_TRY(within("replicas", policy.replicas, 1, 16));
  ASSAY_TRY(within("audit", policy.audit, 0, 100));
  ASSAY_TRY(within("probe", policy.probe, 0, 100));
  ASSAY_TRY(within("attempts", policy.attempts, policy.replicas, 64));
  if (policy.replicas == 1 && policy.audit == 0)
    return Err("one replica and no audit: nothing would be checked; ask for two replicas, or for an audit");
  return {};
}

std::string SignOrder(const Order& order, const SigningKey& key) { return SignEnvelope(kPayloadType, ToPayload(order), key); }

Result<Order> OpenOrder(std::string_view envelope, std::string_view what) {
  if (envelope.size() > kMaxOrderBytes)
    return Err("{}: has {} bytes, at most {} are allowed", what, envelope.size(), kMaxOrderBytes);
  // Who signed it stands in the payload, so that is looked at before the signature, and believed after it.
  const Json outer = ParseObject(envelope);
  const auto unsigned_payload = FromBase64(TextOf(outer, "payload"));
  if (!unsigned_payload) return Err("{}: is no signed order", what);
  const std::string_view seen(reinterpret_cast<const char*>(unsigned_payload->data()), unsigned_payload->size());
  const auto client = VerifyKey::Parse(TextOf(ParseObject(seen), "client"));
  if (!client) return Err("{}: names no client's key", what);
  ASSAY_ASSIGN(const std::string payload, OpenEnvelope(envelope, kPayloadType, *client, what));
  const Json in = ParseObject(payload);
  const Json policy = ObjectOf(in, "policy"), limits = ObjectOf(in, "limits");
  Order order{
      .id = TextOf(in, "order"),
      .client = TextOf(in, "client"),
      .coordinator = TextOf(in, "coordinator"),
      .job = HashOf(in, "job"),
      .files = {},
      .policy = {.replicas = CountOf(policy, "replicas"),
                 .audit = CountOf(policy, "audit"),
                 .probe = CountOf(policy, "probe"),
                 .attempts = CountOf(policy, "attempts")},
      .limits = {.memory = CountOf(limits, "memory"), .disk = CountOf(limits, "disk"), .seconds = CountOf(limits, "seconds")},
      .sealed = TextsOf(in, "sealed"),
      .reply = TextOf(in, "reply"),
      .made = CountOf(in, "made")};
  if (const auto files = in.find("files"); files != in.end() && files->is_array()) {
    for (const Json& file : *files)
      order.files.push_back({.name = TextOf(file, "name"),
                             .sha256 = HashOf(file, "sha256"),
                             .bytes = CountOf(file, "bytes"),
                             .bound = TextOf(file, "bound")});
  }
  if (ToPayload(order) != payload) return Err("{}: is not in the form of an order (docs/formats/life.md)", what);
  if (!IsOrderId(order.id)) return Err("{}: its id is not 32 hex digits", what);
  if (!VerifyKey::Parse(order.coordinator)) return Err("{}: names no coordinator's key", what);
  const bool counts = order.limits.memory >= 0 && order.limits.disk >= 0 && order.limits.seconds >= 0 && order.made >= 0;
  if (!counts) return Err("{}: a limit or a time is negative", what);
  ASSAY_TRY(CheckSealing(order, what));
  if (const Status good = CheckPolicy(order.policy); !good) return Err("{}: policy: {}", what, good.error().message);
  ASSAY_TRY(CheckFiles(order, what));
  return order;
}

}  // namespace assay::life
