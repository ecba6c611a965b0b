#include "assay/cli/failure.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "assay/cli/colour.h"
#include "assay/cli/exit_status.h"
#include "assay/cli/json.h"
#include "assay/tensor/memory_space.h"

namespace assay::cli {

int ReportFailure(const std::string& message, bool json) {
  if (json) {
    // Standard output may be what failed.
    std::clearerr(stdout);
    std::fputs((Dump({{"error", message}}) + "\n").c_str(), stdout);
  }
  std::fflush(stdout);
  fmt::print(stderr, "{} {}\n", Painted("assay:", Tone::kBad, stderr), message);
  return kExitBadInput;
}

int RunReported(const std::function<Result<int>()>& run, bool json) {
  try {
    const Result<int> status = run();
    if (!status) return ReportFailure(status.error().message, json);
    // Whether it failed now, or when a command wrote its verdict before it went on.
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      const int why = errno;  // 0: it failed before, and nobody knows why any more
      return ReportFailure(
          fmt::format("standard output: cannot write{}", why == 0 ? "" : ": " + std::generic_category().message(why)), false);
    }
    return *status;
  } catch (const OutOfMemory& error) {
    return ReportFailure(error.what(), json);
  } catch (const std::bad_alloc&) {
    return ReportFailure("out of memory", json);
  } catch (const std::exception& error) {
    return ReportFailure(error.what(), json);
  }
}

}  // namespace assay::cli
