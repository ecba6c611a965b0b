// Every fuzz target over its seeds, over the inputs kept in corpus/NAME, and over seeded mutations, with whatever compiler is at hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "assay/base/file.h"
#include "fuzz/mutate.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

// ASSAY_FUZZ_RUNS asks for more.
std::uint64_t Runs() {
  const char* asked = std::getenv("ASSAY_FUZZ_RUNS");
  return asked == nullptr ? 3000 : std::strtoull(asked, nullptr, 10);
}

class Regression : public testing::TestWithParam<Target> {};

TEST_P(Regression, Seeds) {
  for (const Bytes& seed : GetParam().seeds()) GetParam().run(seed);
  GetParam().run({});
}

TEST_P(Regression, Corpus) {
  const std::filesystem::path folder = std::filesystem::path(ASSAY_FUZZ_CORPUS) / GetParam().name;
  if (!std::filesystem::exists(folder)) return;  // nothing kept for this target
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto bytes = ReadFile(entry.path().string(), 1 << 24);
    ASSERT_TRUE(bytes) << bytes.error().message;
    GetParam().run(*bytes);
  }
}

TEST_P(Regression, Mutations) {
  const std::vector<Bytes> seeds = GetParam().seeds();
  for (std::uint64_t number = 0; number < Runs() / GetParam().cost; ++number) {
    SCOPED_TRACE(number);
    GetParam().run(Mutate(seeds, number));
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Regression, testing::ValuesIn(Targets().begin(), Targets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Mutate, IsSeededAndVaried) {
  const std::vector<Bytes> seeds = {Bytes(50, 1), Bytes(20, 2)};
  int changed = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    EXPECT_EQ(Mutate(seeds, number), Mutate(seeds, number));
    changed += Mutate(seeds, number) != seeds[0] && Mutate(seeds, number) != seeds[1] ? 1 : 0;
  }
  EXPECT_GT(changed, 90);
}

}  // namespace
}  // namespace assay::fuzz
