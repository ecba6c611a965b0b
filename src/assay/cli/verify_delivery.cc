// The folder that `assay fetch` leaves: a model with everything that it was believed by.
#include "assay/base/file.h"
#include "assay/cli/verification.h"
#include "assay/client/delivery.h"
#include "assay/life/order.h"
#include "assay/run/directory.h"

namespace assay::cli {

namespace {

// Under the name that the order has for it: a key is its 32 bytes.
VerifyKey NamedAsIn(const life::Order& order, const VerifyKey& key) {
  const auto own = VerifyKey::Parse(order.coordinator);
  return own && own->point() == key.point() ? *own : key;
}

}  // namespace

// Anybody can put a file into a run, which stays one: otherwise nobody could audit it.
bool IsDelivery(const std::string& path) {
  return IsDirectory(path) && IsPlainFile(JoinPath(path, "life.jsonl")) && !RunDirectory::IsRun(path);
}

Error NotARunButADelivery(const std::string& folder) {
  return {fmt::format(
      "{0}: is a delivery: assay verify {0} checks it; assay sample JOB --weights {1} (or assay eval) uses it, JOB being the "
      "job file that was ordered",
      folder, JoinPath(folder, "model.safetensors"))};
}

Result<Verification> VerifyDelivery(const std::string& folder, const Against& against, ThreadPool& pool) {
  constexpr char kKind[] = "delivery";
  const std::string order_path = JoinPath(folder, "order.json");
  const auto text = ReadFile(order_path, life::kMaxOrderBytes);
  if (!text) return Damaged(kKind, text.error().message);
  const std::string envelope(text->begin(), text->end());
  const auto order = life::OpenOrder(envelope, order_path);
  if (!order) return Damaged(kKind, order.error().message);
  const auto named = ReadVerifyKey(JoinPath(folder, "coordinator.pub"));
  if (against.signer && named && named->point() != against.signer->point()) {
    return Contradicted(kKind,
                        fmt::format("is of the coordinator {}, not of {}", named->ToString(), against.signer->ToString()));
  }
  const auto coordinator = against.signer ? Result<VerifyKey>(NamedAsIn(*order, *against.signer)) : named;
  if (!coordinator) return Damaged(kKind, coordinator.error().message);
  const auto checked =
      client::CheckDelivery(folder, {.id = order->id, .coordinator = *coordinator, .envelope = envelope}, pool);
  if (!checked) {
    const bool contradicts = checked.error().refused && !checked.error().bad_copy;
    return contradicts ? Contradicted(kKind, checked.error().message) : Damaged(kKind, checked.error().message);
  }
  const life::Life& life = checked->life();
  const life::Lease* lease = life.Find(life.decision()->lease);
  Verification out{.kind = kKind, .valid = true};
  out.shows.push_back(fmt::format("the {} entries of its life, which {} signed, lead to the verdict {} on order {} of {}",
                                  life.size(), coordinator->ToString(), life::Name(life.decision()->verdict), order->id,
                                  order->client));
  out.shows.push_back(fmt::format("its model is, bit for bit, the one that {} signed for as the result of job {}",
                                  lease->worker, order->job.hex()));
  if (!checked->evidence().empty()) out.shows.push_back("its evidence convicts everybody whom the life names as convicted");
  if (!against.signer) out.assumed.push_back("the coordinator is whoever coordinator.pub names; --signer KEY insists on one");
  for (const std::string& trusted : client::TakenOnTrust(life)) out.assumed.push_back(trusted);
  return out;
}

}  // namespace assay::cli
