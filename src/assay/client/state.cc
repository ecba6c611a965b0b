#include "assay/client/state.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/life/fields.h"
#include "assay/life/order.h"
#include "assay/net/target.h"

namespace assay::client {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{4} << 20;
constexpr int kLockAttempts = 200;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<std::string> ReadText(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxFile));
  return std::string(bytes.begin(), bytes.end());
}

// Held for as long as it takes to read a small file and write it anew.
Result<FileLock> Lock(const std::string& path) {
  for (int i = 0; i < kLockAttempts; ++i) {
    ASSAY_ASSIGN(auto lock, FileLock::TryAcquire(path));
    if (lock) return std::move(*lock);
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return Err("{}: another process holds this lock", path);
}

}  // namespace

Result<State> State::Open(const std::string& path) {
  std::string folder = path;
  if (folder.empty()) {
    const std::string state = Environment("XDG_STATE_HOME"), home = Environment("HOME");
    if (state.starts_with('/')) {
      folder = JoinPath(state, "assay");
    } else if (home.starts_with('/')) {
      folder = JoinPath(home, ".local/state/assay");
    } else {
      return Err("no folder to remember orders in: HOME is not set; name one with --state DIR");
    }
  }
  for (const std::string& made : {folder, JoinPath(folder, "coordinators"), JoinPath(folder, "orders")}) {
    if (const Status there = MakeDirectories(made); !there) {
      return Err(
          "{}; what is remembered of coordinators and orders needs a folder: name one that can be written with --state DIR",
          there.error().message);
    }
  }
  return State(std::move(folder));
}

Result<std::optional<VerifyKey>> State::PinOf(const std::string& server) const {
  const std::string path = JoinPath(JoinPath(path_, "coordinators"), PercentEncode(server));
  if (!Exists(path)) return std::nullopt;
  ASSAY_ASSIGN(VerifyKey key, ReadVerifyKey(path));
  return std::optional<VerifyKey>(std::move(key));
}

Status State::Pin(const std::string& server, const VerifyKey& key) const {
  const std::string path = JoinPath(JoinPath(path_, "coordinators"), PercentEncode(server));
  return WriteFileAtomic(path, AsBytes(key.ToString() + "\n"));
}

std::string State::OrderPath(const std::string& order, const std::string& name) const {
  return JoinPath(JoinPath(JoinPath(path_, "orders"), order), name);
}

Status State::Remember(const std::string& order, const MadeOrder& made) const {
  ASSAY_TRY(MakeDirectories(JoinPath(JoinPath(path_, "orders"), order)));
  life::Json files = life::Json::array();
  for (const MadeOrder::File& file : made.files) files.push_back({{"name", file.name}, {"path", file.path}});
  const life::Json json = {{"server", made.server}, {"job", made.job},       {"data", made.data},
                           {"name", made.name},     {"sealed", made.sealed}, {"files", files}};
  ASSAY_TRY(WriteFileAtomic(OrderPath(order, "made.json"), AsBytes(life::Compact(json) + "\n")));
  return WriteFileAtomic(OrderPath(order, "order.json"), AsBytes(made.envelope));
}

Result<std::optional<MadeOrder>> State::Recall(const std::string& order) const {
  if (!life::IsOrderId(order)) return Err("{}: expected the 32 hex digits of an order", Quote(order));
  const std::string path = OrderPath(order, "order.json");
  if (!Exists(path)) return std::nullopt;
  MadeOrder made;
  ASSAY_ASSIGN(made.envelope, ReadText(path));
  ASSAY_ASSIGN(const std::string text, ReadText(OrderPath(order, "made.json")));
  const life::Json json = life::ParseObject(text);
  made.server = life::TextOf(json, "server");
  made.job = life::TextOf(json, "job");
  made.data = life::TextOf(json, "data");
  made.name = life::TextOf(json, "name");
  made.sealed = life::FlagOf(json, "sealed");
  if (const auto files = json.find("files"); files != json.end() && files->is_array()) {
    for (const life::Json& file : *files)
      made.files.push_back({.name = life::TextOf(file, "name"), .path = life::TextOf(file, "path")});
  }
  return std::optional<MadeOrder>(std::move(made));
}

Status State::RememberCancelled(const std::string& order) const {
  ASSAY_TRY(MakeDirectories(JoinPath(JoinPath(path_, "orders"), order)));
  return WriteFileAtomic(OrderPath(order, "cancelled"), ByteSpan());
}

bool State::WasCancelled(const std::string& order) const {
  return life::IsOrderId(order) && Exists(OrderPath(order, "cancelled"));
}

Result<std::string> State::StagingOf(const std::string& order) const {
  std::string path = OrderPath(order, "staging");
  ASSAY_TRY(MakeDirectories(path));
  return path;
}

void State::DropStaging(const std::string& order) const {
  std::error_code ignored;
  std::filesystem::remove_all(OrderPath(order, "staging"), ignored);
}

Result<std::optional<std::string>> State::CheckpointOf(const std::string& order) const {
  const std::string path = OrderPath(order, "checkpoint");
  if (!Exists(path)) return std::nullopt;
  ASSAY_ASSIGN(std::string note, ReadText(path));
  return std::optional<std::string>(std::move(note));
}

Status State::KeepCheckpoint(const std::string& order, const std::string& note, std::uint64_t size,
                             const VerifyKey& coordinator) const {
  ASSAY_TRY(MakeDirectories(JoinPath(JoinPath(path_, "orders"), order)));
  ASSAY_ASSIGN(const FileLock lock, Lock(OrderPath(order, "lock")));
  ASSAY_ASSIGN(const auto kept, CheckpointOf(order));
  if (kept) {
    const auto before = OpenCheckpoint(*kept, coordinator, "checkpoint");
    if (before && before->size >= size) return {};
  }
  return WriteFileAtomic(OrderPath(order, "checkpoint"), AsBytes(note));
}

std::string State::KeepContradiction(const std::string& order, const std::string& note,
                                     const std::vector<std::string>& entries) const {
  const std::string folder = OrderPath(order, "contradiction");
  std::string lines;
  for (const std::string& entry : entries) lines += entry + "\n";
  const auto kept = CheckpointOf(order);
  const bool written = MakeDirectories(folder) && WriteFileAtomic(JoinPath(folder, "checkpoint"), AsBytes(note)) &&
                       WriteFileAtomic(JoinPath(folder, "life.jsonl"), AsBytes(lines)) && kept && *kept &&
                       WriteFileAtomic(JoinPath(folder, "checkpoint-before"), AsBytes(**kept));
  return written ? folder : std::string();
}

std::string State::IdentityPath() const { return JoinPath(path_, "identity"); }

Result<std::vector<Identity>> State::OpenIdentities() const {
  const std::string path = IdentityPath();
  if (!Exists(path)) {
    ASSAY_ASSIGN(const Identity identity, Identity::Generate());
    // Another process may have been faster; its identity is as good.
    if (const Status written = WriteIdentityFile(path, identity); !written && !Exists(path))
      return tl::unexpected(written.error());
  }
  return ReadIdentityFile(path);
}

}  // namespace assay::client
