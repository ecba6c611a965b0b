#include "assay/cli/readable_run.h"

#include <unistd.h>

#include <cerrno>

#include "assay/base/file.h"

namespace assay::cli {

Status CheckReadable(const std::string& run) {
  const auto files = ListTree(run);
  if (!files) return {};  // a tree that cannot be walked is reported by whoever opens it
  for (const std::string& file : *files) {
    const std::string path = JoinPath(run, file);
    if (::access(path.c_str(), R_OK) != 0 && errno == EACCES) return Err("{}: cannot open: Permission denied", path);
  }
  return {};
}

}  // namespace assay::cli
