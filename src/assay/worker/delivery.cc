#include "assay/worker/delivery.h"

#include <algorithm>

#include "assay/platform/transfer.h"
#include "assay/run/directory.h"
#include "assay/run/log.h"
#include "assay/seal/seal.h"

namespace assay::worker {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;

// The client, and everybody who may have to check the run.
Result<std::vector<Recipient>> RecipientsOf(const life::Order& order) {
  std::vector<Recipient> recipients;
  std::vector<std::string> texts = order.sealed;
  texts.push_back(order.reply);
  for (const std::string& text : texts) {
    ASSAY_ASSIGN(const Recipient recipient, Recipient::Parse(text));
    if (std::ranges::find(recipients, recipient) == recipients.end()) recipients.push_back(recipient);
  }
  return recipients;
}

// Of the run's files those that mean something to others.
Result<std::vector<std::string>> FilesOf(const std::string& run_path) {
  ASSAY_ASSIGN(std::vector<std::string> names, ListTree(run_path));
  std::erase_if(names, [](const std::string& name) {
    return name == "lock" || IsTemporaryName(name.substr(name.find_last_of('/') + 1));
  });
  return names;
}

// Workers of one account that trained the same job send the same blobs at the same time, and one may be refused for what the other has just finished. Sent once more,
// such a blob turns out to be there.
Call<void> UploadOf(const Porter& porter, const life::OrderFile& file, const std::string& path) {
  constexpr int kAttempts = 3;
  Call<void> sent;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    sent = Patiently<void>(porter.halt, [&] { return porter.link.Upload(file, path); });
    if (sent || sent.error().kind != CallError::Kind::kRefused) break;
  }
  return sent;
}

struct Sendable {
  life::OrderFile file;
  std::string path;
};

Result<Sendable> MakeSendable(const std::string& name, const LeaseFolder& folder, const std::vector<Recipient>& recipients) {
  Sendable made{.file = {.name = name}, .path = JoinPath(folder.run_path(), name)};
  if (!recipients.empty()) {
    const std::string plain = made.path;
    ASSAY_ASSIGN(made.path, PathInside(folder.sealed_path(), name));
    if (!Exists(made.path)) ASSAY_TRY(SealFile(plain, recipients, made.path));
  }
  ASSAY_ASSIGN(const platform::BlobInfo blob, platform::HashFile(made.path));
  made.file.sha256 = blob.sha256;
  made.file.bytes = static_cast<std::int64_t>(blob.bytes);
  return made;
}

Result<Delivery> Describe(const LeaseFolder& folder, const SigningKey& key, const Commitments& commitments) {
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(folder.run_path()));
  ASSAY_ASSIGN(const Bytes receipt, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  ASSAY_ASSIGN(const platform::BlobInfo model, platform::HashFile(run.weights_path()));
  Delivery delivery{.receipt = {receipt.begin(), receipt.end()}, .model = static_cast<std::int64_t>(model.bytes)};
  // A log that cannot be read proves nothing; the coordinator says what it thinks of that.
  if (const auto log = RunLog::Read(run.log_path(), key.verify_key(), run.identity().trajectory)) {
    delivery.proof = commitments.ProofFor(*log);
  }
  return delivery;
}

}  // namespace

Outcome<Delivery> MakeDelivery(const Porter& porter, const life::Order& order, const LeaseFolder& folder, const SigningKey& key,
                               const Commitments& commitments) {
  const auto here = [](const Error& error) { return tl::unexpected(SetbackOf(error)); };
  auto delivery = Describe(folder, key, commitments);
  if (!delivery) return here(delivery.error());
  std::vector<Recipient> recipients;
  if (!order.sealed.empty()) {
    auto parsed = RecipientsOf(order);
    if (!parsed) return here(parsed.error());
    recipients = *std::move(parsed);
  }
  const auto names = FilesOf(folder.run_path());
  if (!names) return here(names.error());
  for (const std::string& name : *names) {
    const auto sendable = MakeSendable(name, folder, recipients);
    if (!sendable) return here(sendable.error());
    const auto sent = UploadOf(porter, sendable->file, sendable->path);
    if (!sent) return tl::unexpected(SetbackOf(sent.error(), porter.halt));
    delivery->files.push_back(sendable->file);
  }
  if (const Status kept = folder.SetDelivery(*delivery); !kept) return here(kept.error());
  return *std::move(delivery);
}

Outcome<void> HandOver(const Porter& porter, const LeaseFolder& folder, const Delivery& delivery) {
  const auto done = Patiently<void>(porter.halt, [&] { return porter.link.Deliver(folder.lease().name, delivery); });
  if (!done) return tl::unexpected(SetbackOf(done.error(), porter.halt));
  if (const Status kept = folder.SetDone(); !kept) return tl::unexpected(SetbackOf(kept.error()));
  (void)RemoveFolder(folder.sealed_path());
  return {};
}

}  // namespace assay::worker
