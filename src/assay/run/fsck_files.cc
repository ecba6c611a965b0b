#include "assay/run/fsck_files.h"

#include <algorithm>

namespace assay {

Result<FsckFiles> FsckFiles::List(const std::string& directory) {
  FsckFiles files(directory);
  ASSAY_ASSIGN(const std::vector<std::string> names, ListTree(directory));
  for (const std::string& name : names) {
    const auto size = ReadThrough(files.Path(name));
    if (!size && size.error().system) return tl::unexpected(size.error());
    if (!size) {
      // Listed although it is a directory: a link to one.
      if (IsDirectory(files.Path(name))) files.links_.insert(name + "/");
      files.Note(name, "is no plain file, and counts as absent");
      continue;
    }
    files.report_.bytes += *size;
    files.all_.insert(name);
  }
  files.report_.files = files.all_.size();
  files.rest_ = files.all_;
  return files;
}

bool FsckFiles::Take(const std::string& file) {
  rest_.erase(file);
  return Has(file);
}

void FsckFiles::TakeAll(std::string_view prefix) {
  std::erase_if(rest_, [&](const std::string& file) { return file.starts_with(prefix); });
}

void FsckFiles::Damage(std::string_view file, std::string_view problem) {
  const auto link = std::ranges::find_if(links_, [&](const std::string& folder) { return file.starts_with(folder); });
  if (link != links_.end()) return DamageLink(*link);
  report_.findings.push_back({.file = std::string(file), .problem = std::string(problem), .damage = true});
}

// Once, instead of everything that is missing because of it.
void FsckFiles::DamageLink(const std::string& link) {
  if (std::ranges::any_of(report_.findings, [&](const Finding& finding) { return finding.damage && finding.file == link; }))
    return;
  std::erase_if(report_.findings, [&](const Finding& finding) { return finding.file + "/" == link; });
  report_.findings.push_back({.file = link, .problem = "is a symbolic link; a run holds its own files", .damage = true});
}

void FsckFiles::Note(std::string_view file, std::string_view problem) {
  report_.findings.push_back({.file = std::string(file), .problem = std::string(problem), .damage = false});
}

void FsckFiles::Refute(std::string_view file, std::string_view problem, std::optional<std::int64_t> step) {
  report_.findings.push_back(
      {.file = std::string(file), .problem = std::string(problem), .damage = false, .refutes = true, .step = step});
}

void FsckFiles::DamageFrom(const Error& error, std::string_view file) {
  std::string_view text = error.message;
  const std::string prefix = Path("");
  if (!text.starts_with(prefix)) return Damage(file, text);
  text.remove_prefix(prefix.size());
  const std::size_t colon = std::min(text.find(": "), text.size());
  Damage(text.substr(0, colon), text.substr(std::min(colon + 2, text.size())));
}

FsckReport FsckFiles::Report(bool has_receipt) const {
  FsckReport report = report_;
  const bool refuted = std::ranges::any_of(report.findings, &Finding::refutes);
  const bool damaged = std::ranges::any_of(report.findings, &Finding::damage);
  report.verdict = refuted       ? FsckVerdict::kRefuted
                   : damaged     ? FsckVerdict::kDamaged
                   : has_receipt ? FsckVerdict::kWhole
                                 : FsckVerdict::kUnfinished;
  return report;
}

}  // namespace assay
