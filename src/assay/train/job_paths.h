// Where the job of a run finds its files. RUN/job.toml has no absolute path: a run is handed to others, whom it does not concern where it was made and to
// whom such a path would mean nothing. Paths are not part of a job's identity.
#pragma once

#include <string>
#include <vector>

#include "assay/job/job.h"
#include "assay/run/directory.h"

namespace assay {

// The paths that a job has, some of them empty.
std::vector<std::string*> PathsOf(Job& job);

// The job as RUN/job.toml has it. A path is relative to the run directory where both have a folder in common beside the root, otherwise to the working
// directory where it lies below that, otherwise the file's name alone.
Job PortableJob(Job job, const std::string& run_path);

// The job of a run with paths that this process can open: `data_path` where it is not empty; otherwise what lies at the path from the run directory, or else
// from the working directory.
Result<Job> LoadRunJob(const RunDirectory& run, const std::string& data_path);

// Whether the files that the job of a run needs are there. The error says which is not, where it was looked for, and how to name it. `data_path`: as above.
Status CheckFilesOf(const RunDirectory& run, const Job& job, const std::string& data_path);

// Data that was named on a command line (--data) instead of the job's, where `data_path` is not empty. An error: there is none.
Status UseData(Job& job, const std::string& data_path);

}  // namespace assay
