// Every backend that this build and machine have, with every thread count under test. ASSAY_TEST_BACKENDS=cuda leaves only those whose names
// begin so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"

namespace assay::testkit {

struct NamedBackend {
  std::string name;  // "avx512_t7", "cuda", "cuda_32threads"
  std::shared_ptr<ThreadPool> pool;
  std::unique_ptr<Backend> backend;
};

std::vector<NamedBackend> AllBackends();

}  // namespace assay::testkit
