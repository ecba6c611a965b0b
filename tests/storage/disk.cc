#include "storage/disk.h"

#include <algorithm>
#include <utility>

#include "assay/base/check.h"

namespace assay::storage {
namespace {

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view FolderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

std::string Relative(std::string path, const std::string& root) {
  if (path.empty()) return path;
  ASSAY_CHECK(path.starts_with(root));
  return path.size() == root.size() ? "" : path.substr(root.size() + 1);
}

// Which of `count` changes are there: one of the ways in which caches are written back.
std::vector<bool> Draw(std::size_t count, Survives survives, bool names, std::mt19937_64& random) {
  const bool all = survives == Survives::kAll || survives == (names ? Survives::kNames : Survives::kData);
  std::vector<bool> there(count, all);
  if (survives != Survives::kAnything || count == 0) return there;
  switch (random() % 4) {
    case 0: std::fill(there.begin(), there.end(), true); break;
    case 1: break;
    case 2: std::fill_n(there.begin(), random() % (count + 1), true); break;
    default:
      for (std::size_t i = 0; i < count; ++i) there[i] = random() % 2 == 0;
  }
  return there;
}

}  // namespace

std::vector<Operation> ReadOperations(const std::string& record, const std::string& root) {
  const auto bytes = ReadFile(record, std::uint64_t{1} << 30);
  ASSAY_CHECK(bytes.has_value());
  std::vector<Operation> operations;
  ByteReader in(*bytes, record);
  while (in.remaining() > 0) {
    Operation operation;
    operation.kind = static_cast<Kind>(in.U8().value());
    operation.handle = in.U32().value();
    operation.offset = in.U64().value();
    operation.path = Relative(in.String().value(), root);
    const std::string rest = in.String().value();
    if (operation.kind == Kind::kWrite) {
      operation.data.assign(rest.begin(), rest.end());
    } else {
      operation.second_path = Relative(rest, root);
    }
    operations.push_back(std::move(operation));
  }
  return operations;
}

std::string ToString(const Operation& operation) {
  static constexpr const char* kNames[] = {"start", "open",   "create", "write", "truncate",
                                           "sync",  "rename", "unlink", "link",  "mkdir"};
  return fmt::format("{} {}{}{}", kNames[static_cast<std::size_t>(operation.kind)], operation.path,
                     operation.second_path.empty() ? "" : " to ", operation.second_path);
}

Disk::Disk(const Files& files) {
  root_->directory = true;
  for (const auto& [path, content] : files) {
    Node* folder = root_.get();
    for (std::size_t at = path.find('/'), begin = 0; at != std::string::npos; begin = at + 1, at = path.find('/', begin)) {
      NodePtr& inner = folder->entries[path.substr(begin, at - begin)];
      if (inner == nullptr) inner = std::make_shared<Node>(Node{.directory = true});
      folder->safe_entries = folder->entries;
      folder = inner.get();
    }
    folder->entries[std::string(NameOf(path))] = std::make_shared<Node>(Node{.data = content, .safe_data = content});
    folder->safe_entries = folder->entries;
  }
}

Disk::NodePtr Disk::Find(std::string_view path) const {
  NodePtr node = root_;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const auto found = node->entries.find(std::string(path.substr(0, slash)));
    ASSAY_CHECK(found != node->entries.end());
    node = found->second;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return node;
}

void Disk::Change(std::map<std::string, NodePtr>& entries, const EntryChange& change) {
  if (!change.take.empty()) entries.erase(change.take);
  if (!change.put.empty()) entries[change.put] = change.node;
}

void Disk::Change(Bytes& data, const DataChange& change, std::size_t size) {
  if (change.truncates) {
    data.resize(change.at);
    return;
  }
  if (size == 0) return;
  if (data.size() < change.at + size) data.resize(change.at + size);
  std::copy_n(change.data.begin(), size, data.begin() + static_cast<std::ptrdiff_t>(change.at));
}

void Disk::ChangeEntries(const std::string& path, EntryChange change) {
  Node& folder = *Find(FolderOf(path));
  Change(folder.entries, change);
  folder.entry_changes.push_back(std::move(change));
}

void Disk::ChangeData(std::uint32_t handle, DataChange change) {
  Node& file = *handles_.at(handle);
  Change(file.data, change, change.data.size());
  file.data_changes.push_back(std::move(change));
}

void Disk::Apply(const Operation& operation) {
  const std::string name(NameOf(operation.path));
  switch (operation.kind) {
    case Kind::kStart: handles_.clear(); break;
    case Kind::kOpen: handles_[operation.handle] = Find(operation.path); break;
    case Kind::kCreate: ChangeEntries(operation.path, {.take = "", .put = name, .node = std::make_shared<Node>()}); break;
    case Kind::kMkdir:
      ChangeEntries(operation.path, {.take = "", .put = name, .node = std::make_shared<Node>(Node{.directory = true})});
      break;
    case Kind::kUnlink: ChangeEntries(operation.path, {.take = name, .put = "", .node = nullptr}); break;
    case Kind::kRename:
      ASSAY_CHECK(FolderOf(operation.path) == FolderOf(operation.second_path));
      ChangeEntries(operation.path,
                    {.take = name, .put = std::string(NameOf(operation.second_path)), .node = Find(operation.path)});
      break;
    case Kind::kLink:
      ChangeEntries(operation.second_path,
                    {.take = "", .put = std::string(NameOf(operation.second_path)), .node = Find(operation.path)});
      break;
    case Kind::kWrite:
      ChangeData(operation.handle, {.truncates = false, .at = operation.offset, .data = operation.data});
      break;
    case Kind::kTruncate: ChangeData(operation.handle, {.truncates = true, .at = operation.offset, .data = {}}); break;
    case Kind::kSync: {
      Node& node = *handles_.at(operation.handle);
      node.safe_data = node.data;
      node.safe_entries = node.entries;
      node.data_changes.clear();
      node.entry_changes.clear();
    }
  }
}

Bytes Disk::DataAfter(const Node& node, Survives survives, std::mt19937_64& random) {
  Bytes data = node.safe_data;
  const std::vector<bool> there = Draw(node.data_changes.size(), survives, false, random);
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (!there[i]) continue;
    const DataChange& change = node.data_changes[i];
    const bool torn = survives == Survives::kAnything && !change.data.empty() && random() % 4 == 0;
    Change(data, change, torn ? random() % change.data.size() : change.data.size());
  }
  return data;
}

std::map<std::string, Disk::NodePtr> Disk::EntriesAfter(const Node& node, Survives survives, std::mt19937_64& random) {
  std::map<std::string, NodePtr> entries = node.safe_entries;
  const std::vector<bool> there = Draw(node.entry_changes.size(), survives, true, random);
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (there[i]) Change(entries, node.entry_changes[i]);
  }
  return entries;
}

void Disk::Collect(const Node& directory, const std::string& prefix, Survives survives, std::mt19937_64& random, Files& out) {
  for (const auto& [name, node] : EntriesAfter(directory, survives, random)) {
    if (node->directory) {
      Collect(*node, prefix + name + "/", survives, random, out);
    } else {
      out[prefix + name] = DataAfter(*node, survives, random);
    }
  }
}

Files Disk::Cut(Survives survives, std::mt19937_64& random) const {
  Files files;
  Collect(*root_, "", survives, random, files);
  return files;
}

}  // namespace assay::storage
