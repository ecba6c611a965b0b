// What Fsck keeps account of: the files of a directory, which of them some check has answered for, and what was found. Not
// synchronised.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/file.h"
#include "assay/run/fsck.h"

namespace assay {

class FsckFiles {
 public:
  // Reads every file to its end, so that what is mapped later can be read; an error where that fails. What is no plain file, such as a link that leads nowhere,
  // is noted and counts as absent; a link to a directory is damage as soon as something in it is wanted.
  static Result<FsckFiles> List(const std::string& directory);

  std::string Path(std::string_view file) const { return JoinPath(path_, file); }
  const std::set<std::string>& all() const { return all_; }
  const std::set<std::string>& rest() const { return rest_; }  // what no check has answered for
  bool Has(const std::string& file) const { return all_.contains(file); }
  // Whether it is a link to a directory.
  bool IsFolderLink(const std::string& name) const { return links_.contains(name + "/"); }
  // Whether the file is there; it is then answered for.
  bool Take(const std::string& file);
  void TakeAll(std::string_view prefix);
  // The files below `folder` whose names `matches` accepts, ascending.
  template <class Matches>
  std::vector<std::string> Below(std::string_view folder, const Matches& matches) const {
    std::vector<std::string> files;
    for (const std::string& file : all_) {
      if (file.starts_with(folder) && matches(std::string_view(file).substr(folder.size()))) files.push_back(file);
    }
    return files;
  }

  void Damage(std::string_view file, std::string_view problem);
  void Note(std::string_view file, std::string_view problem);
  void Refute(std::string_view file, std::string_view problem, std::optional<std::int64_t> step = std::nullopt);
  // For errors that begin with the path of the file at fault; otherwise it is `file`.
  void DamageFrom(const Error& error, std::string_view file);

  // The findings so far, and the verdict that they come to.
  FsckReport Report(bool has_receipt) const;

 private:
  explicit FsckFiles(std::string path) : path_(std::move(path)) {}
  void DamageLink(const std::string& link);

  std::string path_;
  std::set<std::string> all_, rest_;
  std::set<std::string> links_;  // to directories, with a slash at their end
  FsckReport report_;
};

}  // namespace assay
