// simulate toy|real [COUNT [FIRST]]: COUNT disputes over the toy job or over real runs, from seeds FIRST, FIRST + 1, ... Exit status 1 when one went wrong; its seed is
// printed, and `simulate toy 1 SEED` plays it again.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

#include "simulation.h"

namespace assay::dispute {
namespace {

class Tally {
 public:
  void Add(const Simulated& played) {
    ++disputes_;
    for (const auto& [name, number] : std::initializer_list<std::pair<const char*, std::size_t>>{
             {"events", played.events},
             {"crashes", played.crashes},
             {"of which restarts of honest parties", played.restarts},
             {"matches", played.matches},
             {"bouts", played.bouts},
             {"receipts handed out by others", played.poses},
             {"questions by strangers answered", played.deeds.answered},
             {"questions by strangers denied", played.deeds.denied},
             {"of which replays of the referee's", played.deeds.replays},
             {"answers that strangers asked for themselves", played.deeds.learnt},
             {"disputes refereed by strangers", played.deeds.games},
             {"of which evidence judged", played.judged},
             {"edits judged", played.edits},
             {"of which no evidence", played.invalid},
             {"of which convicting fewer", played.less},
             {"of which convicting as many", played.same},
             {"of which convicting more", played.more},
             {"games in another order", played.reordered},
             {"refusals met by the referee", played.refusals},
             {"honest parties not heard for want of budget", played.unheard},
             {"honest parties convicted", played.honest_convicted},
             {"wrong verdicts", played.wrong_verdicts}}) {
      if (disputes_ == 1) names_.push_back(name);
      numbers_[name] += number;
    }
    for (const Standing standing : played.standings) ++standings_[standing];
    most_used_ = std::max(most_used_, played.most_used);
  }
  void Print() const {
    for (const std::string& name : names_) fmt::print("{:>14} {}\n", numbers_.at(name), name);
    for (const auto& [standing, number] : standings_) fmt::print("{:>14} providers {}\n", number, ToString(standing));
    fmt::print("{:>13.0f}% of its budget, at most, used by an honest party\n", 100 * most_used_);
  }

 private:
  std::size_t disputes_ = 0;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> numbers_;
  std::map<Standing, std::size_t> standings_;
  double most_used_ = 0;
};

}  // namespace
}  // namespace assay::dispute

int main(int argc, char** argv) {
  using namespace assay::dispute;
  const bool real = argc > 1 && std::string(argv[1]) == "real";
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000;
  const std::uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::size_t wrong = 0;
  Tally tally;
  const auto started = std::chrono::steady_clock::now();
  std::uint64_t seed = first;
  for (; seed < first + count && wrong < 10; ++seed) {
    const Simulated played = real ? SimulateReal(seed) : SimulateToy(seed);
    tally.Add(played);
    if (played.problem.empty()) continue;
    ++wrong;
    fmt::print("seed {}: {}\n", seed, played.problem);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const auto played = static_cast<double>(seed - first);
  fmt::print("{} disputes from seed {}: {} wrong; {:.2f} ms each\n", seed - first, first, wrong,
             1e3 * seconds / std::max(1.0, played));
  tally.Print();
  return wrong == 0 ? 0 : 1;
}
