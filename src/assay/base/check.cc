#include "assay/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace assay {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "assay: internal error: %s is false at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace assay
