#include "assay/client/submission.h"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/client/order_files.h"
#include "assay/life/bound.h"
#include "assay/life/fields.h"
#include "assay/platform/transfer.h"
#include "assay/platform/work_limits.h"
#include "assay/seal/announcement.h"
#include "assay/seal/seal.h"
#include "assay/train/job_paths.h"

namespace assay::client {
namespace {

Result<std::string> DrawId() {
  std::array<std::uint8_t, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Err("the system gives no randomness");
  return Hex(bytes);
}

std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Where a file that is sent lies, and how the order names it.
struct Staged {
  std::string path;
  life::OrderFile file;
};

// The file as it is sent: a sealed copy that is bound to the order, or itself.
Result<Staged> Stage(const NamedFile& file, std::size_t index, const std::string& staging, const life::Order& order,
                     const std::vector<Recipient>& recipients) {
  Staged staged{.path = file.path, .file = {.name = file.name}};
  std::optional<SealBinding> binding;
  if (!recipients.empty()) {
    staged.path = JoinPath(staging, fmt::format("{}.age", index));
    ASSAY_ASSIGN(binding, SealFile(file.path, recipients, staged.path));
  }
  ASSAY_ASSIGN(const platform::BlobInfo blob, platform::HashFile(staged.path));
  staged.file.sha256 = blob.sha256;
  staged.file.bytes = static_cast<std::int64_t>(blob.bytes);
  if (binding) staged.file.bound = life::BoundOf(*binding, order, staged.file);
  return staged;
}

Trouble NotSent(const platform::ApiClient& api, const platform::ApiError& error) {
  Trouble trouble(error);
  constexpr int kFull = 507;  // nothing that patience helps against, but somebody may make room
  trouble.later = error.later || error.status == kFull || api.cancelled();
  return trouble;
}

Status CheckWish(const OrderWish& wish) {
  if (const Status good = life::CheckPolicy(wish.policy); !good) return Err("policy: {}", good.error().message);
  const auto enough = static_cast<std::size_t>(wish.policy.replicas + (wish.policy.audit > 0 ? 1 : 0));
  if (!wish.sealed.empty() && wish.sealed.size() < enough) {
    return Err("--sealed-to: names {} recipient{}, and the policy needs {} workers: {} that train{}", wish.sealed.size(),
               wish.sealed.size() == 1 ? "" : "s", enough, wish.policy.replicas,
               wish.policy.audit > 0 ? ", and one that audits" : "");
  }
  return {};
}

// What workers would find out one after the other, each at the price of a lease: that the job does not fit into what the order allows. An error where it fits no
// worker; a note where it fits those alone whose GPU has memory of its own for the work space. `data`: bytes that it takes of memory, as they count.
Status CheckLimits(const PreparedJob& prepared, std::int64_t data, const std::vector<NamedFile>& files, const OrderWish& wish,
                   const NoteHook& on_note) {
  if (wish.limits.memory == 0 && wish.limits.disk == 0) return {};
  platform::Needs needs = platform::LeastNeedsOf(prepared, !wish.sealed.empty());
  needs.memory += data;
  for (const NamedFile& file : files) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(file.path, unknown);
    if (!unknown) needs.disk += static_cast<std::int64_t>(bytes);
  }
  const auto check = [&](std::string_view what, std::int64_t takes, std::int64_t allowed) -> Status {
    if (allowed == 0 || takes <= allowed) return {};
    return Err("--{}: {} takes at least {}, and the order allows {}: workers would give it back; allow more, or leave --{} out",
               what, wish.job, Amount(takes), Amount(allowed), what);
  };
  ASSAY_TRY(check("memory", needs.memory, wish.limits.memory));
  ASSAY_TRY(check("disk", needs.disk, wish.limits.disk));
  if (wish.limits.memory == 0 || !on_note) return {};
  const std::int64_t on_host = platform::HostNeedsOf(prepared, !wish.sealed.empty()).memory + data;
  if (on_host > wish.limits.memory) {
    on_note(
        fmt::format("--memory: {} takes {} where there is no GPU, and the order allows {}: only workers with a GPU can take it",
                    wish.job, Amount(on_host), Amount(wish.limits.memory)));
  }
  return {};
}

}  // namespace

Checked<life::Order> MakeOrder(const State& state, const SigningKey& key, const VerifyKey& coordinator,
                               const std::string& server, const OrderWish& wish, const NoteHook& on_note) {
  ASSAY_TRY(CheckWish(wish));
  ASSAY_ASSIGN(Job job, LoadJob(wish.job));
  ASSAY_TRY(UseData(job, wish.data));
  if (job.precision == Precision::kFp32Vendor)
    return tl::unexpected(
        Error{fmt::format("{}: precision: nobody can repeat a job of this precision, so nobody can check it", wish.job)});
  if (const Status taken = TakeModelFromFolder(job); !taken) return tl::unexpected(LocatedInFile(job.file, taken.error()));
  ASSAY_ASSIGN(const OrderFiles content, FilesOf(job));
  Allowance counted;
  ASSAY_ASSIGN(const PreparedJob prepared, Prepare(std::move(job), nullptr, counted));
  ASSAY_TRY(CheckLimits(prepared, counted.taken(), content.files, wish, on_note));

  life::Order order;
  order.client = key.verify_key().ToString();
  order.coordinator = coordinator.ToString();
  order.job = prepared.identity.job;
  order.policy = wish.policy;
  order.limits = wish.limits;
  order.made = Now();
  ASSAY_ASSIGN(order.id, DrawId());
  if (!wish.sealed.empty()) {
    for (const Recipient& recipient : wish.sealed) order.sealed.push_back(recipient.ToString());
    ASSAY_ASSIGN(const std::vector<Identity> own, state.OpenIdentities());
    order.reply = own.front().recipient().ToString();
  }
  ASSAY_ASSIGN(const std::string staging, state.StagingOf(order.id));
  std::vector<NamedFile> files = content.files;
  const std::string job_path = JoinPath(staging, std::string(life::kJobFile));
  ASSAY_TRY(WriteFileAtomic(job_path, AsBytes(content.job_toml), {.mode = 0600}));
  files.push_back({.name = std::string(life::kJobFile), .path = job_path});
  std::ranges::sort(files, {}, &NamedFile::name);

  MadeOrder made{.server = server, .envelope = {}, .job = std::filesystem::absolute(wish.job).string(), .data = wish.data};
  made.name = prepared.job.name;
  made.sealed = !wish.sealed.empty();
  if (!made.data.empty()) made.data = std::filesystem::absolute(made.data).string();
  for (std::size_t i = 0; i < files.size(); ++i) {
    ASSAY_ASSIGN(const Staged staged, Stage(files[i], i, staging, order, wish.sealed));
    order.files.push_back(staged.file);
    made.files.push_back({.name = files[i].name, .path = std::filesystem::absolute(staged.path).string()});
  }
  if (!wish.sealed.empty()) ASSAY_TRY(RemoveFile(job_path));
  made.envelope = life::SignOrder(order, key);
  ASSAY_TRY(life::OpenOrder(made.envelope, "the order"));
  ASSAY_TRY(state.Remember(order.id, made));
  return order;
}

Checked<void> SendOrder(platform::ApiClient& api, const State& state, const std::string& id, const SubmitHooks& hooks) {
  ASSAY_ASSIGN(const auto made, state.Recall(id));
  if (!made) return tl::unexpected(Error{fmt::format("order {}: was not made here", id)});
  ASSAY_ASSIGN(const life::Order order, life::OpenOrder(made->envelope, id));
  for (const life::OrderFile& file : order.files) {
    const auto at = std::ranges::find(made->files, file.name, &MadeOrder::File::name);
    if (at == made->files.end())
      return tl::unexpected(Error{fmt::format("order {}: it is not known where {} is", id, file.name)});
    const platform::BlobInfo blob{.sha256 = file.sha256, .bytes = static_cast<std::uint64_t>(file.bytes)};
    const auto sent = platform::UploadBlob(api, at->path, blob, [&](std::uint64_t done, std::uint64_t total) {
      if (hooks.on_upload) hooks.on_upload(file.name, done, total);
    });
    if (!sent && sent.error().status == 422) {
      return tl::unexpected(
          Error{fmt::format("{}: has changed since the order was made ({})", at->path, sent.error().message)});
    }
    if (!sent) return tl::unexpected(NotSent(api, sent.error()));
  }
  const auto answer = api.Send("POST", "/v1/orders", AsBytes(made->envelope));
  if (!answer) return tl::unexpected(NotSent(api, answer.error()));
  state.DropStaging(id);
  return {};
}

Checked<std::vector<SealableWorker>> ListSealable(platform::ApiClient& api) {
  ASSAY_ASSIGN(const platform::Json answer, api.Get("/v1/workers"));
  std::vector<SealableWorker> workers;
  const auto listed = answer.find("workers");
  if (listed == answer.end() || !listed->is_array())
    return tl::unexpected(Error{fmt::format("{}: lists no workers", api.server())});
  for (const platform::Json& worker : *listed) {
    const std::string envelope = life::TextOf(worker, "recipient");
    if (envelope.empty()) continue;
    const auto key = VerifyKey::Parse(life::TextOf(worker, "key"));
    if (!key) return Refused("{}: lists a worker without a key", api.server());
    const auto announced = OpenAnnouncement(envelope, *key, fmt::format("the announcement of {}", key->id()));
    // Whoever lists somebody else's recipient as a worker's would read what was meant for that worker.
    if (!announced) return Refused("{}: {}", api.server(), announced.error().message);
    workers.push_back({.key = *key, .recipient = announced->recipient});
  }
  return workers;
}

Checked<std::vector<Recipient>> ChooseRecipients(platform::ApiClient& api, const std::vector<std::string>& wanted) {
  std::vector<Recipient> out;
  const auto add = [&](const Recipient& recipient) {
    if (std::ranges::find(out, recipient) == out.end()) out.push_back(recipient);
  };
  std::optional<std::vector<SealableWorker>> workers;
  for (const std::string& text : wanted) {
    if (text.starts_with("age1")) {
      ASSAY_ASSIGN(const Recipient recipient, Recipient::Parse(text));
      add(recipient);
      continue;
    }
    if (!workers) {
      ASSAY_ASSIGN(workers, ListSealable(api));
    }
    if (text == "all") {
      for (const SealableWorker& worker : *workers) add(worker.recipient);
      if (workers->empty()) return tl::unexpected(Error{"--sealed-to all: no worker announces a recipient"});
      continue;
    }
    const auto key = Exists(text) ? ReadVerifyKey(text) : VerifyKey::Parse(text);
    if (!key)
      return tl::unexpected(Error{
          fmt::format("--sealed-to: expected 'all', a recipient (age1…) or a worker's public key or a file with one, got {}",
                      Quote(text))});
    const auto found =
        std::ranges::find_if(*workers, [&](const SealableWorker& worker) { return worker.key.point() == key->point(); });
    if (found == workers->end())
      return tl::unexpected(
          Error{fmt::format("--sealed-to: no worker with the key {} announces a recipient", key->ToString())});
    add(found->recipient);
  }
  return out;
}

}  // namespace assay::client
