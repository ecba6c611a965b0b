#include "conformance/golden.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "assay/merkle/sha256.h"

namespace assay::testkit {
namespace {

std::string DigestOf(const CaseRun& run) {
  Sha256 hash;
  for (const Tensor& output : run.expected) hash.Update(output.bytes());
  return hash.Finish().hex();
}

}  // namespace

GoldenFile::GoldenFile(std::string path) : path_(std::move(path)) {
  const char* mode = std::getenv("ASSAY_GOLDEN");
  writing_ = mode != nullptr && std::string_view(mode) == "write";
  std::ifstream in(path_);
  std::string name, digest;
  while (in >> name >> digest) stored_[name] = digest;
}

std::string GoldenFile::Check(const CaseRun& run) {
  const std::string name = fmt::format("{}@{}/{}", run.def.name, run.def.version, run.c.name);
  const std::string digest = DigestOf(run);
  seen_.emplace_back(name, digest);
  const auto it = stored_.find(name);
  if (it == stored_.end())
    return writing_ ? std::string() : fmt::format("{} has no golden digest: run with ASSAY_GOLDEN=write", name);
  if (it->second == digest) return {};
  return fmt::format(
      "the bits of {} have changed: {} instead of {}. If that is meant, give the op a new semantics version in op_table.inc "
      "and run with ASSAY_GOLDEN=write",
      name, digest, it->second);
}

std::vector<std::string> GoldenFile::Unused() const {
  std::vector<std::string> unused;
  for (const auto& [name, digest] : stored_) {
    const bool known = std::any_of(seen_.begin(), seen_.end(), [&](const auto& entry) { return entry.first == name; });
    if (!known) unused.push_back(name);
  }
  return unused;
}

bool GoldenFile::Save(bool keep_others) const {
  std::ofstream out(path_, std::ios::trunc);
  for (const auto& [name, digest] : seen_) out << name << ' ' << digest << '\n';
  for (const std::string& name : keep_others ? Unused() : std::vector<std::string>{})
    out << name << ' ' << stored_.at(name) << '\n';
  return static_cast<bool>(out.flush());
}

}  // namespace assay::testkit
