// Disk: what may be left of a directory after a power cut.
//
// The model: a file's data is safe once the file was synced, a directory's entries once the directory was. Of everything since,
// anything may be there or not: later data without earlier, a name without its data, a removal undone, a write in part. A rename
// within a directory is done or not done. Not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "storage/operations.h"
#include "storage/workload.h"

namespace assay::storage {

struct Operation {
  Kind kind = Kind::kStart;
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  std::string path, second_path;
  Bytes data;
};

// What the interposed library recorded. Paths are made relative to `root`, which becomes "".
std::vector<Operation> ReadOperations(const std::string& record, const std::string& root);
std::string ToString(const Operation& operation);

// How much of what was not synced is there after the cut.
enum class Survives {
  kAll,       // as after a kill
  kNothing,   // only what was synced
  kNames,     // every directory entry, no data
  kData,      // all data, no directory entry
  kAnything,  // drawn for each directory, file and write
};

class Disk {
 public:
  // Everything in `files` is safe on it.
  explicit Disk(const Files& files);

  void Apply(const Operation& operation);
  Files Cut(Survives survives, std::mt19937_64& random) const;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  // Puts a node under a name, after taking another name away; either may be empty.
  struct EntryChange {
    std::string take, put;
    NodePtr node;
  };
  struct DataChange {
    bool truncates = false;
    std::uint64_t at = 0;
    Bytes data;
  };
  struct Node {
    bool directory = false;
    Bytes data{}, safe_data{};
    std::vector<DataChange> data_changes{};  // since the last sync
    std::map<std::string, NodePtr> entries{}, safe_entries{};
    std::vector<EntryChange> entry_changes{};
  };

  static void Change(std::map<std::string, NodePtr>& entries, const EntryChange& change);
  static void Change(Bytes& data, const DataChange& change, std::size_t size);
  static Bytes DataAfter(const Node& node, Survives survives, std::mt19937_64& random);
  static std::map<std::string, NodePtr> EntriesAfter(const Node& node, Survives survives, std::mt19937_64& random);
  static void Collect(const Node& directory, const std::string& prefix, Survives survives, std::mt19937_64& random, Files& out);

  NodePtr Find(std::string_view path) const;
  void ChangeEntries(const std::string& path, EntryChange change);
  void ChangeData(std::uint32_t handle, DataChange change);

  NodePtr root_ = std::make_shared<Node>();
  std::map<std::uint32_t, NodePtr> handles_;
};

}  // namespace assay::storage
