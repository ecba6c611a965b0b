#include "assay/worker/order_inputs.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <new>

#include "assay/base/quote.h"
#include "assay/life/bound.h"
#include "assay/platform/transfer.h"
#include "assay/seal/seal.h"
#include "assay/worker/messages.h"

namespace assay::worker {
namespace {

namespace fs = std::filesystem;

// A file that is there and is the one that was signed for.
bool IsThere(const life::OrderFile& file, const std::string& path) {
  if (!IsPlainFile(path)) return false;
  const auto found = platform::HashFile(path);
  return found && found->sha256 == file.sha256 && found->bytes == static_cast<std::uint64_t>(file.bytes);
}

Outcome<void> Download(const Porter& porter, const life::OrderFile& file, const std::string& path) {
  const auto done = Patiently<void>(porter.halt, [&] { return porter.link.Download(file, path); });
  if (!done) return tl::unexpected(SetbackOf(done.error(), porter.halt));
  return {};
}

Outcome<void> FetchSealed(const Porter& porter, const life::OrderFile& file, const std::string& path,
                          const std::string& scratch, const BindingCheck& check) {
  if (IsPlainFile(path)) return {};  // written whole, after it was opened
  const auto sealed = PathInside(scratch, file.name);
  if (!sealed) return tl::unexpected(SetbackOf(sealed.error()));
  if (!IsThere(file, *sealed)) {
    if (auto done = Download(porter, file, *sealed); !done) return done;
  }
  if (const Status opened = UnsealFile(*sealed, porter.identities, path, check); !opened)
    return tl::unexpected(SetbackOf(opened.error()));
  (void)RemoveFile(*sealed);
  return {};
}

Outcome<void> FetchFiles(const Porter& porter, const life::Order& order, const std::vector<life::OrderFile>& files,
                         const std::string& folder, const std::string& scratch,
                         const std::function<BindingCheck(const life::OrderFile&)>& check_of) {
  const bool sealed = !order.sealed.empty();
  if (sealed && porter.identities.empty()) {
    return tl::unexpected(Setback{.why = life::Ending::kGivenBack, .words = "this build cannot open sealed files"});
  }
  if (const Status made = MakePrivateFolder(folder); !made) return tl::unexpected(SetbackOf(made.error()));
  for (const life::OrderFile& file : files) {
    const auto path = PathInside(folder, file.name);
    if (!path) return tl::unexpected(SetbackOf(path.error()));
    if (sealed) {
      if (auto done = FetchSealed(porter, file, *path, scratch, check_of(file)); !done) return done;
    } else if (!IsThere(file, *path)) {
      if (auto done = Download(porter, file, *path); !done) return done;
    }
  }
  return {};
}

// The path of what the job names, if the order has it: a file, or a folder of files.
Status CheckNamed(const life::Order& order, const fs::path& folder, const std::string& path, std::string_view key) {
  if (path.empty()) return {};
  const std::string name = fs::path(path).lexically_normal().lexically_relative(folder).generic_string();
  const auto is_of = [&](const life::OrderFile& file) { return file.name == name || file.name.starts_with(name + "/"); };
  if (IsFileName(name) && std::ranges::any_of(order.files, is_of)) return {};
  return Err("job.toml: {}: names {}, which is not a file of the order", key, Quote(name));
}

// Arrays in a folder are found by their names, which must lead nowhere else.
Status CheckArrayName(const std::string& name, std::string_view key) {
  if (name.find('/') == std::string::npos && (name.empty() || IsFileName(name))) return {};
  return Err("job.toml: {}: expected a name without slashes, got {}", key, Quote(name));
}

}  // namespace

Setback SetbackOf(const Error& error) {
  return {.why = error.system ? life::Ending::kGivenBack : life::Ending::kFailed, .words = error.message};
}

Setback SetbackOf(const CallError& error, Halt& halt) {
  if (error.kind == CallError::Kind::kEnded) halt.Stop(Halt::Reason::kEnded, error.why);
  if (halt.stopped() || error.kind == CallError::Kind::kInterrupted) return {.halted = true, .words = error.why};
  return {.why = error.kind == CallError::Kind::kHere ? life::Ending::kGivenBack : life::Ending::kFailed, .words = error.why};
}

std::string WithoutPaths(std::string words, const std::string& folder) {
  const std::string prefix = folder + "/";
  for (std::size_t at = words.find(prefix); at != std::string::npos; at = words.find(prefix, at))
    words.erase(at, prefix.size());
  return words;
}

Result<life::Order> CheckOrder(const std::string& envelope, const LeaseName& lease, const VerifyKey& coordinator) {
  ASSAY_ASSIGN(life::Order order, life::OpenOrder(envelope, "order"));
  if (order.id != lease.order) return Err("order: is {}, the lease is of {}", order.id, lease.order);
  ASSAY_ASSIGN(const VerifyKey meant, VerifyKey::Parse(order.coordinator));
  if (meant.point() != coordinator.point())
    return Err("order: is for the coordinator {}, not for {}", meant.id(), coordinator.id());
  return order;
}

Outcome<void> FetchOrderFiles(const Porter& porter, const life::Order& order, const std::string& folder,
                              const std::string& scratch) {
  return FetchFiles(porter, order, order.files, folder, scratch, [&](const life::OrderFile& file) -> BindingCheck {
    return [&](const SealBinding& binding) { return life::CheckBound(binding, order, file); };
  });
}

Outcome<void> FetchRunFiles(const Porter& porter, const life::Order& order, const std::vector<life::OrderFile>& files,
                            const std::string& folder, const std::string& scratch) {
  return FetchFiles(porter, order, files, folder, scratch, [](const life::OrderFile&) { return BindingCheck(); });
}

Result<Job> LoadOrderJob(const life::Order& order, const std::string& folder) {
  ASSAY_ASSIGN(Job job, LoadJob(JoinPath(folder, life::kJobFile)));
  const fs::path inside = fs::path(folder).lexically_normal();
  ASSAY_TRY(CheckNamed(order, inside, job.data.path, "data.path"));
  ASSAY_TRY(CheckNamed(order, inside, job.data.vocabulary, "data.vocabulary"));
  ASSAY_TRY(CheckNamed(order, inside, job.init_weights, "init.weights"));
  // A client puts the model itself in its place, so that the job says what it is.
  if (job.model_folder) return Err("job.toml: model.kind: expected the model itself in an order, got 'huggingface'");
  if (IsDirectory(job.data.path)) {
    ASSAY_TRY(CheckArrayName(job.data.inputs, "data.inputs"));
    ASSAY_TRY(CheckArrayName(job.data.labels, "data.labels"));
  }
  return job;
}

Result<PreparedJob> PrepareOrder(const life::Order& order, const std::string& folder, ThreadPool& pool, Allowance& allowance) {
  ASSAY_ASSIGN(Job job, LoadOrderJob(order, folder));
  try {
    ASSAY_ASSIGN(PreparedJob prepared, Prepare(std::move(job), &pool, allowance));
    if (prepared.identity.job != order.job) {
      return Err("job.toml: is job {:.16}, the order is for {:.16}", prepared.identity.job.hex(), order.job.hex());
    }
    return prepared;
  } catch (const std::bad_alloc&) {
    Error error{.message = "out of memory while the job was prepared"};
    error.system = true;
    return tl::unexpected(error);
  }
}

}  // namespace assay::worker
