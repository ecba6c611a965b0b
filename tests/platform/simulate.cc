// platform_simulate PLAYS [SEED]: plays so many worlds (world.h), the first with this seed, the next with the next one. A play that fails prints its seed, and
// `platform_simulate 1 SEED` plays it again. Exit status 1 if any failed.
#include <cstdio>
#include <cstdlib>

#include "world.h"

int main(int argc, char** argv) {
  const long plays = argc > 1 ? std::atol(argv[1]) : 200;
  const unsigned long long seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  assay::testkit::Tally tally;
  long failed = 0;
  for (long i = 0; i < plays; ++i) {
    const unsigned long long own = seed + static_cast<unsigned long long>(i);
    assay::testkit::World world(own);
    if (const std::string wrong = world.Play(tally); !wrong.empty()) {
      std::printf("seed %llu: %s\n", own, wrong.c_str());
      ++failed;
    }
  }
  std::printf("seeds %llu to %llu: %lld orders, %lld acts, %lld faults, %lld restarts, %lld leases, %lld disputes\n", seed,
              seed + static_cast<unsigned long long>(plays) - 1, static_cast<long long>(tally.orders),
              static_cast<long long>(tally.acts), static_cast<long long>(tally.faults), static_cast<long long>(tally.restarts),
              static_cast<long long>(tally.leases), static_cast<long long>(tally.disputes));
  const char* const names[] = {"verified", "refereed", "undecided", "withheld", "failed"};
  for (int i = 0; i < 5; ++i)
    std::printf("%s %lld%s", names[i], static_cast<long long>(tally.verdicts[i]), i < 4 ? ", " : "\n");
  std::printf("%ld of %ld plays failed\n", failed, plays);
  return failed == 0 ? 0 : 1;
}
