// The `assay` program. Exit status: exit_status.h, and 128 + n where signal n ended it.
#pragma once

namespace assay::cli {

int Main(int argc, char** argv);

}  // namespace assay::cli
