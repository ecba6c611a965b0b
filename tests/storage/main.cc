// storage_test [--full] [--seed=N] [GoogleTest's own options]: without --full, as much as fits into `make test`.
#include <gtest/gtest.h>

#include <charconv>
#include <random>
#include <string_view>

#include "storage/workload.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  assay::storage::Settings& settings = assay::storage::TheSettings();
  settings.seed = 20250611;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--full") {
      settings.full = true;
    } else if (word == "--seed=random") {
      settings.seed = std::random_device{}();
    } else if (word.starts_with("--seed=")) {
      std::from_chars(word.data() + 7, word.data() + word.size(), settings.seed);
    } else {
      fmt::print(stderr, "storage_test: unknown option {}\n", word);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
