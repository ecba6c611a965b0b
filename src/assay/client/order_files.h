// OrderFiles: the files that an order of a job consists of: the job, with the paths that it has there, and every file that it names. Only files that the job reads are
// taken, also where it names a folder.
#pragma once

#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/job/job.h"

namespace assay::client {

struct NamedFile {
  std::string name;  // in the order
  std::string path;  // on this machine
};

struct OrderFiles {
  std::string job_toml;          // the content of job.toml, whose paths are names of the order
  std::vector<NamedFile> files;  // the others, ascending by name
};

// `job` as LoadJob gives it, with paths that this process can open.
Result<OrderFiles> FilesOf(const Job& job);

}  // namespace assay::client
