#include "assay/client/delivery.h"

#include <algorithm>
#include <filesystem>

#include "assay/base/file.h"
#include "assay/life/fields.h"
#include "assay/merkle/tree.h"
#include "assay/run/weights_root.h"
#include "assay/seal/seal.h"

namespace assay::client {
namespace {

constexpr char kModel[] = "model.safetensors";
constexpr std::uint64_t kMaxLifeBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kSealSlack = std::uint64_t{1} << 20;  // of headers; chunks add 16 bytes to 64 KiB

// The run that delivers, of a life that says so.
Checked<const life::Lease*> DeliveringLease(const life::Life& life) {
  if (!life.decision()) return tl::unexpected(Error{fmt::format("order {}: is not decided yet", life.order().id)});
  if (!Delivers(life.decision()->verdict))
    return tl::unexpected(
        Error{fmt::format("order {}: {}: delivers no model", life.order().id, life::Name(life.decision()->verdict))});
  const life::Lease* lease = life.Find(life.decision()->lease);
  if (lease == nullptr || !lease->receipt)
    return Refused("order {}: is decided by a lease that brought no run", life.order().id);
  return lease;
}

// A failed transfer says something of the coordinator where what it sends, or has not, is the trouble.
Trouble Blamed(const platform::ApiError& error, const std::string& what) {
  Trouble trouble(error);
  trouble.refused = error.code == platform::kOtherContent || error.status == 404 || error.status == 403;
  if (trouble.refused) trouble.message = fmt::format("{}: {}", what, error.message);
  return trouble;
}

Checked<void> FetchModel(platform::ApiClient& api, const life::Lease& lease, const std::string& path,
                         const platform::TransferProgress& progress) {
  if (const auto there = platform::HashFile(path); there && there->sha256 == lease.receipt->model) return {};
  const auto fetched =
      platform::DownloadBlob(api, lease.receipt->model, static_cast<std::uint64_t>(lease.model_bytes), path, progress);
  if (!fetched)
    return tl::unexpected(Blamed(fetched.error(), fmt::format("the model of lease {} is not delivered", lease.number)));
  return {};
}

// Whoever lacks the identity that results are sealed to cannot read them, which is nobody's fault but its own.
Status CheckIdentity(const life::Order& order, const std::vector<Identity>& identities) {
  const auto opens = [&](const Identity& identity) { return identity.recipient().ToString() == order.reply; };
  if (std::ranges::any_of(identities, opens)) return {};
  return Err("order {}: its results are sealed to {}, and no identity of this state folder (--state) opens that", order.id,
             order.reply);
}

// The sealed file is named by the coordinator; what is in it, by the receipt.
Checked<void> FetchSealedModel(platform::ApiClient& api, const std::string& order, const life::Lease& lease,
                               const std::vector<Identity>& identities, const std::string& path,
                               const platform::TransferProgress& progress) {
  if (Exists(path)) return {};
  const auto run = api.Get(fmt::format("/v1/orders/{}/runs/{}", order, lease.number));
  if (!run) return tl::unexpected(Blamed(run.error(), fmt::format("the run of lease {} is not delivered", lease.number)));
  Digest sha256{};
  bool found = false;
  if (const auto files = run->find("files"); files != run->end() && files->is_array()) {
    for (const platform::Json& file : *files) {
      if (life::TextOf(file, "name") != kModel) continue;
      sha256 = life::HashOf(file, "sha256");
      found = true;
    }
  }
  if (!found) return Refused("the run of lease {} has no {}", lease.number, kModel);
  const auto plain = static_cast<std::uint64_t>(lease.model_bytes);
  const std::string sealed = path + ".age";
  const auto fetched = platform::DownloadBlob(api, sha256, plain + plain / 1024 + kSealSlack, sealed, progress);
  if (!fetched)
    return tl::unexpected(Blamed(fetched.error(), fmt::format("the model of lease {} is not delivered", lease.number)));
  if (const Status opened = UnsealFile(sealed, identities, path); !opened) {
    static_cast<void>(RemoveFile(sealed));
    return Refused("the model of lease {}: {}", lease.number, opened.error().message);
  }
  ASSAY_TRY(RemoveFile(sealed));
  return {};
}

Status WriteText(const std::string& folder, const std::string& name, std::string_view text) {
  return WriteIfDifferent(JoinPath(folder, name), AsBytes(text));
}

Result<std::string> ReadText(const std::string& folder, const std::string& name, std::uint64_t max_bytes) {
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(JoinPath(folder, name), max_bytes));
  return std::string(bytes.begin(), bytes.end());
}

Status WriteRecords(const std::string& folder, const CheckedLife& checked, const life::Lease& lease) {
  std::string lines;
  for (const std::string& entry : checked.entries()) lines += entry + "\n";
  const auto first = life::ParseEntry(checked.entries().front(), "entry 0");
  ASSAY_TRY(first);
  ASSAY_TRY(WriteText(folder, "life.jsonl", lines));
  ASSAY_TRY(WriteText(folder, "checkpoint", checked.note()));
  ASSAY_TRY(WriteText(folder, "coordinator.pub", checked.terms().coordinator.ToString() + "\n"));
  ASSAY_TRY(WriteText(folder, "order.json", std::get<life::Submitted>(first->event).order));
  ASSAY_TRY(WriteText(folder, "receipt.json", lease.receipt_file));
  if (checked.evidence().empty()) return {};
  const std::string evidence = JoinPath(folder, "evidence");
  ASSAY_TRY(MakeDirectories(evidence));
  for (const auto& [hash, bytes] : checked.evidence()) ASSAY_TRY(WriteIfDifferent(JoinPath(evidence, hash), bytes));
  return {};
}

Checked<void> CheckModel(const std::string& path, const life::Lease& lease, ThreadPool& pool) {
  const auto file = Safetensors::Open(path);
  if (!file) return Refused("{}", file.error().message);
  const auto root = WeightsRoot(*file, pool);
  if (!root) return Refused("{}", root.error().message);
  if (*root != lease.receipt->weights) {
    return Refused(
        "{}: its tensors have the root {}, the receipt of lease {} promises {}: it is not the model that was signed for", path,
        root->hex(), lease.number, lease.receipt->weights.hex());
  }
  return {};
}

}  // namespace

bool Delivers(life::Verdict verdict) { return verdict == life::Verdict::kVerified || verdict == life::Verdict::kRefereed; }

Status CheckPlace(const std::string& out) {
  if (!IsTaken(out)) return {};
  return Err("--out {}: exists already and is not overwritten; choose another name", out);
}

Checked<void> FetchDelivery(platform::ApiClient& api, const CheckedLife& checked, const std::vector<Identity>& identities,
                            const std::string& out, ThreadPool& pool, const platform::TransferProgress& progress) {
  ASSAY_ASSIGN(const life::Lease* const lease, DeliveringLease(checked.life()));
  ASSAY_TRY(CheckPlace(out));
  if (!checked.life().order().sealed.empty()) ASSAY_TRY(CheckIdentity(checked.life().order(), identities));
  const std::string staging = out + ".part";
  ASSAY_TRY(MakeDirectories(staging));
  const std::string model = JoinPath(staging, kModel);
  const auto fill = [&]() -> Checked<void> {
    const life::Order& order = checked.life().order();
    ASSAY_TRY(order.sealed.empty() ? FetchModel(api, *lease, model, progress)
                                   : FetchSealedModel(api, order.id, *lease, identities, model, progress));
    ASSAY_TRY(WriteRecords(staging, checked, *lease));
    ASSAY_ASSIGN(const CheckedLife again, CheckDelivery(staging, checked.terms(), pool));
    static_cast<void>(again);
    return {};
  };
  if (auto filled = fill(); !filled) {
    // What is false must not lie about; what was interrupted goes on another time.
    std::error_code ignored;
    if (filled.error().refused) std::filesystem::remove_all(staging, ignored);
    return filled;
  }
  ASSAY_TRY(SyncTree(staging));
  ASSAY_TRY(RenameDurably(staging, out));
  return {};
}

namespace {

template <class... Args>
tl::unexpected<Trouble> BadCopy(fmt::format_string<Args...> format, Args&&... args) {
  auto refused = Refused(format, std::forward<Args>(args)...);
  refused.value().bad_copy = true;
  return refused;
}

// Whether these are the entries that the coordinator signed for, and the order among them. Whether they are true is another question.
Checked<void> CheckCopy(const std::string& folder, const LifeTerms& terms, const std::vector<std::string>& entries,
                        const std::string& note) {
  const std::string path = JoinPath(folder, "life.jsonl");
  const auto head = OpenCheckpoint(note, terms.coordinator, JoinPath(folder, "checkpoint"));
  if (!head) return BadCopy("{}", head.error().message);
  if (head->origin != "assay.life/" + terms.id) {
    return BadCopy("{}: is of another log, {}, expected the life of order {}", JoinPath(folder, "checkpoint"), head->origin,
                   terms.id);
  }
  std::vector<Digest> leaves;
  for (const std::string& entry : entries) leaves.push_back(LeafHash(AsBytes(entry)));
  if (head->size != leaves.size())
    return BadCopy("{}: has {} entries, its checkpoint is of {}", path, leaves.size(), head->size);
  if (head->root != TreeRoot(leaves)) return BadCopy("{}: its entries are not those of its checkpoint", path);
  const auto first = entries.empty() ? Result<life::Entry>(Err("none")) : life::ParseEntry(entries.front(), path);
  const auto* submitted = first ? std::get_if<life::Submitted>(&first->event) : nullptr;
  if (submitted != nullptr && !terms.envelope.empty() && submitted->order != terms.envelope)
    return BadCopy("{}: is not the order that the life begins with", JoinPath(folder, "order.json"));
  return {};
}

}  // namespace

Checked<CheckedLife> CheckDelivery(const std::string& folder, const LifeTerms& terms, ThreadPool& pool) {
  ASSAY_ASSIGN(const std::string lines, ReadText(folder, "life.jsonl", kMaxLifeBytes));
  ASSAY_ASSIGN(const std::string note, ReadText(folder, "checkpoint", kMaxNoteBytes));
  std::vector<std::string> entries;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    entries.push_back(lines.substr(at, end - at));
    at = end + 1;
  }
  ASSAY_TRY(CheckCopy(folder, terms, entries, note));
  CheckedLife checked(terms);
  ASSAY_TRY(checked.Continue(entries, note, std::nullopt));
  for (const life::Judged& judged : checked.Unproven()) {
    std::vector<Bytes> files;
    for (const std::string& name : judged.evidence) {
      const std::string path = JoinPath(JoinPath(folder, "evidence"), name);
      ASSAY_ASSIGN(files.emplace_back(), ReadFile(path, dispute::kMaxEvidenceBytes));
      if (HashBytes(files.back()).hex() != name) return BadCopy("{}: has another hash than its name", path);
    }
    ASSAY_TRY(checked.Prove(std::move(files)));
  }
  ASSAY_ASSIGN(const life::Lease* const lease, DeliveringLease(checked.life()));
  ASSAY_ASSIGN(const std::string receipt, ReadText(folder, "receipt.json", kMaxLifeBytes));
  if (receipt != lease->receipt_file)
    return BadCopy("{}: is not the receipt of the run that delivers", JoinPath(folder, "receipt.json"));
  if (auto model = CheckModel(JoinPath(folder, kModel), *lease, pool); !model) {
    model.error().bad_copy = true;
    return tl::unexpected(model.error());
  }
  return checked;
}

}  // namespace assay::client
