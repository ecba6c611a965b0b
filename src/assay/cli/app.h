// The `assay` program. Exit status: 0 success, 1 a verification failed, 2 bad input or usage, 128 + n ended by signal n.
#pragma once

namespace assay::cli {

int Main(int argc, char** argv);

}  // namespace assay::cli
