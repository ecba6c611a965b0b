// Dice: all that is left to chance in a simulation, from one seed. std:: distributions differ between libraries; this does not.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace assay::dispute {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t Next() { return engine_(); }
  std::uint64_t Below(std::uint64_t n) { return engine_() % n; }
  bool One(std::uint64_t in) { return Below(in) == 0; }
  std::int64_t Ms(std::int64_t most) { return 1 + static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(most))); }
  template <class List>
  auto& Of(List& list) {
    return list[Below(list.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace assay::dispute
