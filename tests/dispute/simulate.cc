// simulate toy|real [COUNT [FIRST]]: COUNT disputes over the toy job or over real runs, from seeds FIRST, FIRST + 1, ... Exit status 1 when one went wrong; its seed is
// printed, and `simulate toy 1 SEED` plays it again.
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <string>

#include "simulation.h"

int main(int argc, char** argv) {
  using namespace assay::dispute;
  const bool real = argc > 1 && std::string(argv[1]) == "real";
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000;
  const std::uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::size_t wrong = 0, events = 0, crashes = 0, matches = 0, bouts = 0;
  std::map<Standing, std::size_t> standings;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Simulated played = real ? SimulateReal(seed) : SimulateToy(seed);
    events += played.events;
    crashes += played.crashes;
    matches += played.matches;
    bouts += played.bouts;
    for (const Standing standing : played.standings) ++standings[standing];
    if (played.problem.empty()) continue;
    fmt::print("seed {}: {}\n", seed, played.problem);
    if (++wrong == 10) break;
  }
  fmt::print("{} disputes from seed {}: {} wrong, {} events, {} crashes, {} matches, {} bouts", count, first, wrong, events,
             crashes, matches, bouts);
  for (const auto& [standing, number] : standings) fmt::print(", {} {}", number, ToString(standing));
  fmt::print("\n");
  return wrong == 0 ? 0 : 1;
}
